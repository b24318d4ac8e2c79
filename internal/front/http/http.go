// Package httpfront speaks HTTP for the resources: it reads paths, headers and
// bodies, asks package resource, and writes answers and problems.
//
// A request comes from an event loop, which answers what memory holds (loop.go), and has
// goroutines answer misses and writes, or from net/http (nethttp.go): what a page in a browser
// sends, bodies that come in parts, and whatever is rare. Both make one request value
// of it, which the same rules decide about and one function answers: decide.go and
// answer.go.
//
// The package keeps no documents, knows no database and no configuration file, and opens
// no socket: a caller gives the listener (see Serve).
package httpfront

import (
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/jwt"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/trace"
)

// Options are what a Handler needs. The zero value of every field but
// Resources is usable.
type Options struct {
	Resources *resource.Set

	// Starting reports whether the resources are not known yet: then a name that is
	// not served may be soon. nil: they are.
	Starting func() bool

	// Auth says whose bearer token it is (see Tokens.Principal). nil: nobody's.
	Auth func(bearer string) (front.Principal, bool)

	// Issued returns a value that changes when the tokens that Auth knows do
	// (see Tokens.Issued). nil: the set is asked at each request.
	Issued func() any

	// JWT says what tokens are worth that Auth does not know. A token that is good for
	// neither is refused, whatever is asked for. nil: there are no JWTs.
	JWT *jwt.Verifier

	// Anonymous is the role of who sends no token, and of a JWT that names no role; "": none.
	Anonymous string

	// Hosts are the Host names that are answered besides localhost and the
	// address of the listener. "*" answers every name, which is safe only
	// behind a proxy that checks it.
	Hosts []string

	// Origins are those whose pages may read the answers, and write with a token, as browsers
	// write them; or "*" alone: pages of every origin may read what everybody may. Empty:
	// browsers let no page of another origin read.
	Origins []string

	// Open says that a listener beyond loopback is meant to be read without a
	// token. Such a listener still takes no anonymous writes.
	Open bool

	// Compression are the content codings that are offered, the preferred one
	// first. Empty: nothing is compressed.
	Compression []row.Coding

	Pages Pages // what the page for browsers leads to

	BasePath     string              // before every path: "/api"; "" or "/": none
	MaxBody      int64               // bytes of a request's body; 0: 1 MiB
	MaxList      int                 // bytes of one list; 0: 8 MiB
	WriteTimeout time.Duration       // of one write in the database; 0: 30 s
	CacheControl string              // of documents; "": "no-cache"
	Postgrest    string              // the path of the profile of PostgREST: "/rest/v1"; "": none
	Schemas      []string            // whose tables the profile has, with Roles; the first: usual
	Roles        []string            // of the database, whose rights the profile keeps; nil: none
	Anon         string              // which of Roles is that of who sends no token; "": none
	Fallback     *Fallback           // what answers for the profile what it does not; nil: nothing
	Resttest     bool                // serve the paths of resttest, too
	HSTS         bool                // tell browsers to come by HTTPS only; for HTTPS listeners
	Unsent       *front.OutputBudget // bounds answers that clients do not read; stays; nil: its own
	Log          *slog.Logger        // nil: discard
	Access       *accesslog.Log      // of the requests, with front.AccessColumns; nil: none
	Trace        *trace.Tracer       // of what memory does not answer; nil: none
	Now          func() time.Time
}

// A Handler answers HTTP requests (see ServeHTTP).
type Handler struct {
	live     atomic.Pointer[settings]
	csrf     http.CrossOriginProtection
	requests front.Requests[int]      // by status
	loops    atomic.Pointer[protocol] // nil: there are none in front
	coder    row.Coder
	examples sync.Map // of *example, by the name of the resource
	logLimit front.Limiter
	unsent   *front.OutputBudget
	watches  watches
}

// settings are Options made ready for use. They never change: Configure puts
// others in their place.
type settings struct {
	Options
	hosts  httprule.Hosts
	random *picker // nil: no Resttest

	anonymous []string // the roles of who sends no token
	cors      *cors    // nil: no Origins
	varies    string   // Vary of documents and lists
	variesBy  string   // and of those that not everybody may read
	common    string   // the header lines that all answers have, with their ends
}

// New returns the handler for o.
func New(o Options) *Handler {
	h := &Handler{unsent: o.Unsent}
	if h.unsent == nil {
		h.unsent = front.NewOutputBudget(0, 0)
	}
	h.watches.live = &h.live
	h.Configure(o)
	return h
}

// Configure replaces the options. The next request on any connection is
// answered by them.
func (h *Handler) Configure(o Options) {
	o.BasePath = strings.TrimRight(o.BasePath, "/")
	o.Postgrest = strings.TrimRight(o.Postgrest, "/")
	if o.MaxBody <= 0 {
		o.MaxBody = front.BodyBytes
	}
	if o.MaxList <= 0 {
		o.MaxList = front.ListBytes
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = front.WriteWait
	}
	if o.CacheControl == "" {
		o.CacheControl = "no-cache"
	}
	o.Compression = compression(o.Compression)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &settings{Options: o, hosts: httprule.NewHosts(o.Hosts), cors: newCORS(o.Origins)}
	s.varies = s.vary()
	s.variesBy = s.varies + ", Authorization, apikey"
	if s.cors.exact() {
		s.common = varyOrigin
	}
	if o.Anonymous != "" {
		s.anonymous = []string{o.Anonymous}
	}
	if o.Resttest {
		s.random = new(picker)
	}
	h.live.Store(s)
	h.watches.endAll() // who may follow what has changed, perhaps
}
