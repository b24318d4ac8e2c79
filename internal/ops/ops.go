// Package ops is the operator's port: health, metrics, profiles, the state of
// feeds and tiers as JSON, and the drop of cached documents.
//
// It knows no other package of hotrow. What it shows it is given as a Snapshot,
// taken when somebody asks; what it does it does through callbacks. It makes
// the handler and leaves listening, timeouts and shutdown to the caller.
package ops

import (
	"context"
	"io"
	"net/http"
	"net/http/pprof"
	"time"
)

// Options say what the operator's port shows and does.
type Options struct {
	Version string // of hotrow, for hotrow_build_info
	Commit  string

	// Stats returns the numbers of now. It must not wait for a database.
	Stats func() Snapshot

	// Ready returns nil when requests can be answered, else the reasons why
	// not: errors.Join puts each on a line of its own. One call runs at a time.
	Ready func() error

	// Notes returns lines that /readyz shows besides when requests can be
	// answered, such as how far the cache is warm; nil: none.
	Notes func() []string

	// ReadyTimeout bounds the wait for Ready; 0 is 1 s, as long as Kubernetes
	// waits for a probe.
	ReadyTimeout time.Duration

	// Invalidate drops the cached documents of a resource: that of key, or all
	// of them when key is nil. Its error wraps ErrNoResource when there is no
	// such resource, ErrKey when no row can have the key.
	Invalidate func(ctx context.Context, resource string, key *string) error

	// Transports returns the names of the connections of the wire protocol, and
	// Transport the counters of one of them under gofast's names, or of "" those
	// of all. nil: the paths under /gofast/ are not there.
	Transports func() []string
	Transport  func(name string) (map[string]uint64, bool)

	// Hosts are the names answered besides localhost and the addresses that
	// clients connect to.
	Hosts []string
}

// New returns the handler of the operator's port.
func New(o Options) http.Handler {
	mux := http.NewServeMux()
	ready := newReadiness(o.Ready, o.ReadyTimeout)
	ready.notes = o.Notes
	for _, path := range []string{"/livez", "/healthz", "/-/healthy"} {
		mux.HandleFunc("GET "+path, serveAlive)
	}
	for _, path := range []string{"/readyz", "/-/ready"} {
		mux.Handle("GET "+path, ready)
	}
	mux.Handle("GET /metrics", newMetrics(o))
	mux.HandleFunc("GET /-/feed", func(w http.ResponseWriter, _ *http.Request) {
		serveFeed(w, o.Stats())
	})
	mux.HandleFunc("GET /-/cache", func(w http.ResponseWriter, _ *http.Request) {
		serveCache(w, o.Stats())
	})
	mux.HandleFunc("POST /-/invalidate", func(w http.ResponseWriter, r *http.Request) {
		serveInvalidate(w, r, o.Invalidate)
	})
	// Not pprof.Cmdline: arguments may hold the password of a database.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /{$}", serveIndex)
	if o.Transports != nil && o.Transport != nil {
		addGofast(mux, o)
	}

	return checkHost(o.Hosts, withHeaders(http.NewCrossOriginProtection().Handler(mux)))
}

const index = `hotrow, the operator's port

GET  /livez              the process answers
GET  /readyz             requests can be answered, or why not
GET  /metrics            for Prometheus
GET  /-/feed             the change feeds
GET  /-/cache            tiers and resources
POST /-/invalidate?resource=NAME[&key=KEY]
GET  /debug/pprof/       profiles
GET  /gofast/transports, /gofast/statistics[?name=N&keys=A,B], /gofast/memstats
`

func serveIndex(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, index) }

func serveAlive(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") }

// withHeaders keeps answers out of caches, and browsers from guessing types.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// writeText answers with text. An error of the write is that of a client that
// has gone: nobody is left to be told.
func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}
