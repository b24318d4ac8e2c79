// Package ops is the operator's port: health, metrics, profiles, the state of
// feeds and tiers as JSON, the console, and the drop of cached documents.
//
// It knows no other package of hotrow but what its page looks like. What it shows it is given as
// a Snapshot, taken when somebody asks; what it does it does through callbacks. It makes the
// handler and leaves listening, timeouts and shutdown to the caller.
package ops

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/webpage"
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

	// Strict returns nil unless /readyz?strict is to say no though requests can be
	// answered. It must not wait. nil: never.
	Strict func() error

	// Behind returns how many sources are not fresh. Who looks at /-/live is told at once
	// when it changes: it is called ten times a second then. nil: never.
	Behind func() int

	// ReadyTimeout bounds the wait for Ready; 0 is 1 s, as long as Kubernetes
	// waits for a probe.
	ReadyTimeout time.Duration

	// Invalidate drops the cached documents of a resource: that of a key, or all
	// of them. It reports false when nothing was kept of the key. The error of what
	// cannot be named wraps ErrNoResource or ErrKey.
	Invalidate func(context.Context, Target) (kept bool, err error)

	// Inspect says what is kept of a document, and how it compares with the database
	// when compare is set. Its errors are as those of Invalidate.
	Inspect func(ctx context.Context, t Target, compare bool) (Inspection, error)

	// Hottest returns the keys that are read and changed most. It is called about once a
	// second while somebody looks at /-/live, and Rest when nobody does any more. nil: none.
	Hottest func() Hottest
	Rest    func()

	// Statements returns what was counted of SQL, the most expensive first; nil: SQL is off.
	Statements func() (list []Statement, mode string)

	// Doctor says what the feeds need and what is in their way. It asks the databases.
	Doctor func(context.Context) ([]Finding, error)

	// Check compares what the cache holds with what it says of it, and returns what is
	// wrong, each a line; nil: nothing is. It may take seconds. One call runs at a time.
	Check func() error

	// Events are the last records of the log; nil: none are told.
	Events *Events

	// Transports returns the names of the connections of the wire protocol, and
	// Transport the counters of one of them under gofast's names, or of "" those
	// of all. nil: the paths under /gofast/ are not there.
	Transports func() []string
	Transport  func(name string) (map[string]uint64, bool)

	// Authorize returns nil when a request is the operator's, ErrUnauthorized when
	// it says not or wrongly who asks, and ErrForbidden when that is somebody else.
	// nil: nobody is the operator.
	Authorize func(*http.Request) error

	// PublicMetrics reports whether anybody may read the metrics; nil: nobody but
	// the operator.
	PublicMetrics func() bool

	Pages webpage.Pages // where the tabs of the console lead

	// Hosts returns the names answered besides localhost and the addresses that
	// clients connect to, which may change between requests; nil: there are none.
	Hosts func() []string
}

// A Port is the handler of the operator's port.
type Port struct {
	o       Options
	handler http.Handler
	live    *live
	doctor  *doctor // one, wherever it is asked: it bounds how often databases are looked at
}

// New returns the operator's port.
func New(o Options) *Port {
	p := &Port{o: o, live: newLive(o), doctor: newDoctor(o.Doctor)}
	p.handler = checkHost(o.Hosts, handler(o, p.routes()))
	return p
}

// handler answers the paths of a list.
func handler(o Options, list []Route) http.Handler {
	mux := http.NewServeMux()
	for _, r := range list {
		mux.Handle(r.Pattern, guard(o, r))
	}
	return withHeaders(http.NewCrossOriginProtection().Handler(mux))
}

// Console returns the console and what it asks, to be served at another listener, whose owner
// checks the Host and takes away the path in front. authorize and pages are as those of Options.
// Pages of other origins may lead to the console; all else they are refused.
func (p *Port) Console(authorize func(*http.Request) error, pages webpage.Pages) http.Handler {
	o := p.o
	o.Authorize, o.PublicMetrics = authorize, nil
	page := []Route{consolePage(pages)}
	own := handler(o, slices.Concat(page, consoleRoutes(), p.consoleData(authorize)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" && isForeign(r) {
			writeText(w, http.StatusForbidden, "a page of another origin asks\n")
			return
		}
		own.ServeHTTP(w, r)
	})
}

// isForeign reports whether a page of another origin has caused a request, as browsers say it.
func isForeign(r *http.Request) bool {
	_, host, _ := strings.Cut(r.Header.Get("Origin"), "://")
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none" ||
		r.Header.Get("Origin") != "" && !strings.EqualFold(host, r.Host)
}

// ServeHTTP answers a request.
func (p *Port) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// Start begins to keep the figures of /-/live, before anybody looks.
func (p *Port) Start() { p.live.start() }

// Stop ends that, and the streams of /-/live, which end by themselves only when their clients go.
func (p *Port) Stop() { p.live.stop() }

// routes returns everything that the port answers. Who may is said beside each.
func (p *Port) routes() []Route {
	o := p.o
	ready := newReadiness(o.Ready, o.ReadyTimeout)
	ready.notes, ready.strict = o.Notes, o.Strict
	list := []Route{
		to("GET /-/feed", Operator, func(w http.ResponseWriter, _ *http.Request) {
			serveFeed(w, o.Stats())
		}),
		to("GET /-/cache", Operator, func(w http.ResponseWriter, r *http.Request) {
			serveCache(w, r, o.Stats())
		}),
		to("GET /-/check", Operator, (&checker{check: o.Check}).ServeHTTP),
		// Not pprof.Cmdline: arguments may hold the password of a database.
		to("GET /debug/pprof/", Operator, pprof.Index),
		to("GET /debug/pprof/profile", Operator, pprof.Profile),
		to("GET /debug/pprof/trace", Operator, pprof.Trace),
		to("GET /debug/pprof/symbol", Operator, pprof.Symbol),
		to("POST /debug/pprof/symbol", Operator, pprof.Symbol),
	}
	page := consolePage(o.Pages)
	list = append(list, Route{Pattern: page.Pattern, Who: Anybody, whole: true,
		serve: func(w http.ResponseWriter, r *http.Request) { serveRoot(w, r, page.serve) }})
	list = slices.Concat(list, consoleRoutes(), p.consoleData(o.Authorize))
	for _, path := range []string{"/livez", "/healthz", "/-/healthy"} {
		list = append(list, to("GET "+path, Anybody, serveAlive))
	}
	for _, path := range []string{"/readyz", "/-/ready"} {
		list = append(list, to("GET "+path, Anybody, ready.ServeHTTP))
	}
	if o.Transports != nil && o.Transport != nil {
		list = append(list, gofastRoutes(o)...)
	}
	return list
}

// consoleData is what the console asks, or leads to. authorize is asked again before each frame.
func (p *Port) consoleData(authorize func(*http.Request) error) []Route {
	o, l := p.o, p.live
	return []Route{
		to("GET /metrics", Scraper, newMetrics(o).ServeHTTP),
		to("GET /-/resources", Operator, func(w http.ResponseWriter, r *http.Request) {
			servePage(w, r, slices.Sorted(maps.Keys(resourceOrders)), l.resources)
		}),
		to("GET /-/live", Operator, func(w http.ResponseWriter, r *http.Request) {
			l.serve(w, r, authorize)
		}),
		to("GET /-/sql", Operator, func(w http.ResponseWriter, r *http.Request) {
			servePage(w, r, slices.Sorted(maps.Keys(statementOrders)), func(p Page) any {
				return statementPage(o.Statements, p)
			})
		}),
		to("GET /-/inspect", Operator, func(w http.ResponseWriter, r *http.Request) {
			serveInspect(w, r, o.Inspect)
		}),
		to("GET /-/doctor", Operator, p.doctor.ServeHTTP),
		to("POST /-/invalidate", Operator, func(w http.ResponseWriter, r *http.Request) {
			serveInvalidate(w, r, o.Invalidate)
		}),
	}
}

const index = `hotrow, the operator's port: open it in a browser, or ask for

GET  /livez              the process answers
GET  /readyz             requests can be answered, or why not
GET  /metrics            for Prometheus
GET  /-/feed             the change feeds
GET  /-/cache            tiers and resources: all, or [?name=PART&from=N&limit=N]
GET  /-/resources        resources and their rates [?name=PART&sort=-rate&from=N&limit=N]
GET  /-/live             all of it, a frame a second (server-sent events)
GET  /-/inspect?path=/RESOURCE/KEY[&compare]
GET  /-/doctor           what the feeds need, with the SQL [?name=PART&from=N&limit=N]
GET  /-/sql              statements of SQL by shape [?name=PART&sort=-saved&from=N&limit=N]
GET  /-/check            whether the cache holds what it says
POST /-/invalidate?resource=NAME[&key=KEY] or ?path=/RESOURCE[/KEY]
GET  /debug/pprof/       profiles
GET  /gofast/transports, /gofast/statistics[?name=N&keys=A,B], /gofast/memstats
`

func serveAlive(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") }

// withHeaders keeps answers out of caches, and browsers from guessing types. A
// request goes on when its client ends its side of the connection, as nc -N does:
// net/http would cancel it, and /readyz would say that its check hangs. None takes
// longer than its own bound.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r.WithContext(context.WithoutCancel(r.Context())))
	})
}

// writeText answers with text. An error of the write is that of a client that
// has gone: nobody is left to be told.
func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}
