// Package api is the link shortener over HTTP: links, their statistics and
// clicks, keys and health, below /api/v1/ (docs/reference/links-api.md), and,
// where it is wanted, the endpoints of the program shortcut (compat.go).
//
// It is a http.Handler for a listener that somebody else opens. It answers no
// redirect and no page, and its rules about links are package links'.
package api

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/links/clicklog"
)

// Options are what a Handler needs. Links, Keys and Stats have to be there.
type Options struct {
	Links *links.Store
	Keys  *links.Keys
	Stats *links.Stats

	// Live gives the clicks as they come; nil: there is no live stream.
	Live Live

	// Record records a click that was counted elsewhere, and reports whether there was
	// room for it; nil: clicks are not recorded.
	Record func(*clicklog.Record) bool

	// State says how the recording of clicks is; nil: they are not recorded.
	State func() State

	// Hosts are the Host names that are answered besides this machine's own;
	// nil: the caller has looked at them.
	Hosts []string

	// Open says that a listener beyond this machine may be used without a key:
	// links can be read and made then, not changed.
	Open bool

	// Private reports whether the shortener is for this machine alone, which may
	// then do everything as long as there is no key. It is not where the site has a
	// public name, for a proxy in front of it need not say that it is one. nil: no.
	Private func() bool

	// CreateRate is how many links a client without a key may make in a minute;
	// 0: any number.
	CreateRate int

	// ClientIP returns whose request it is; nil: the peer of the connection.
	ClientIP func(*http.Request) netip.Addr

	MaxBody int64 // bytes of a body, or of one line of NDJSON; 0: 64 KiB

	// Shortcut serves the endpoints of the program shortcut; nil: they are not
	// there.
	Shortcut *Shortcut

	Log *slog.Logger // nil: nothing is logged
	Now func() time.Time
}

// A State is how the recording of clicks is.
type State struct {
	Lag     time.Duration // of the oldest click that is not in the database
	Pending int64         // clicks that are not in the database
	Lost    int64         // clicks that could not be recorded
	Full    bool          // the log takes no more
	Err     error         // why nothing is taken to the database now; nil: all is well
}

// A Handler answers the requests of the API. It is made by New.
type Handler struct {
	o       Options
	csrf    http.CrossOriginProtection
	hosts   *httprule.Hosts
	rate    *rate
	dryRate *rate  // the same of dry runs, which take nothing from rate
	prober  prober // of the database
	last    totals
	shut    chan struct{} // closed by Close
}

// New returns the handler for o.
func New(o Options) *Handler {
	if o.MaxBody <= 0 {
		o.MaxBody = 64 << 10
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Private == nil {
		o.Private = func() bool { return false }
	}
	if o.ClientIP == nil {
		o.ClientIP = peerOf
	}
	h := &Handler{o: o, rate: newRate(o.CreateRate),
		dryRate: newRate(o.CreateRate), shut: make(chan struct{})}
	h.prober.ask = o.Links.Ping
	if o.Hosts != nil {
		hosts := httprule.NewHosts(o.Hosts)
		h.hosts = &hosts
	}
	return h
}

// Close ends the live streams, so that a server can shut down. It is called once.
func (h *Handler) Close() { close(h.shut) }

// peerOf returns the address of the other end of the connection.
func peerOf(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}

// A call is one request that is being answered. It belongs to one goroutine.
type call struct {
	h     *Handler
	o     *Options
	w     http.ResponseWriter
	r     *http.Request
	form  url.Values // of the query
	who   string     // the name of the key, "" without one
	local bool       // without a key, and all the same may do everything
	sent  bool       // an answer has been begun
}

// ServeHTTP answers one request. Errors become problem documents here and
// nowhere else.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{h: h, o: &h.o, w: w, r: r}
	defer func() {
		if v := recover(); v != nil {
			c.recovered(v)
		}
	}()
	head := w.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cache-Control", "no-store")
	if err := c.serve(); err != nil {
		c.fail(err)
	}
}

// recovered ends a request whose handler panicked: a bug of ours that must not
// take the process with it.
func (c *call) recovered(v any) {
	if v == http.ErrAbortHandler {
		panic(v)
	}
	c.o.Log.Error("request panicked", "path", c.r.URL.EscapedPath(), "panic", v,
		"stack", string(debug.Stack()))
	if !c.sent {
		c.send(problem{kind: kindInternal})
	}
}

// serve checks what holds for every path, and routes.
func (c *call) serve() error {
	local, _ := c.r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if c.h.hosts != nil && !c.h.hosts.Allow(c.r.Host, local) {
		return problem{kind: kindMisdirected}
	}
	if err := c.h.csrf.Check(c.r); err != nil {
		return problem{kind: kindForbidden, detail: "a page of another site may not write"}
	}
	var err error
	if c.form, err = url.ParseQuery(c.r.URL.RawQuery); err != nil {
		return problem{kind: kindBadQuery, detail: "the query cannot be read"}
	}
	return c.serveAt(c.r.URL.EscapedPath())
}

// at answers a path.
func (c *call) at(path string) error {
	if rest, ok := strings.CutPrefix(path, "/api/v1/"); ok {
		return c.route(rest)
	}
	if c.o.Shortcut != nil {
		return c.shortcut(path)
	}
	return problem{kind: kindNotFound, detail: "the API is below /api/v1/"}
}

// A handlers is what a path does by method.
type handlers map[string]func(*call) error

// paths are the paths without a name in them, below /api/v1/.
var paths = map[string]handlers{
	"links":   {http.MethodGet: (*call).list, http.MethodPost: (*call).create},
	"stats":   {http.MethodGet: func(c *call) error { return c.stats("") }},
	"orphans": {http.MethodGet: (*call).orphans},
	"clicks":  {http.MethodGet: (*call).clicks, http.MethodPost: (*call).takeClicks},
	"users":   {http.MethodPost: (*call).takeUsers}, "clicks/live": {http.MethodGet: (*call).live},
	"keys":   {http.MethodGet: (*call).keys, http.MethodPost: (*call).addKey},
	"health": {http.MethodGet: (*call).health}, "openapi.json": {http.MethodGet: (*call).openapi},
}

// A namedHandlers is what a path with a name in it does by method.
type namedHandlers map[string]func(*call, string) error

// named are the paths with a name in them, which stands where {} does.
var named = map[string]namedHandlers{
	"links/{}": {http.MethodGet: (*call).get, http.MethodPut: (*call).put,
		http.MethodPatch: (*call).patch, http.MethodDelete: (*call).remove},
	"links/{}/stats":   {http.MethodGet: (*call).stats},
	"links/{}/edits":   {http.MethodGet: (*call).edits},
	"links/{}/restore": {http.MethodPost: (*call).restore},
	"keys/{}":          {http.MethodDelete: (*call).removeKey},
}

// Routes returns every method and path of the API but those of Shortcut, such as
// "GET /api/v1/links/{}", where {} stands for a name.
func Routes() []string {
	var list []string
	for path, h := range paths {
		for method := range h {
			list = append(list, method+" /api/v1/"+path)
		}
	}
	for path, h := range named {
		for method := range h {
			list = append(list, method+" /api/v1/"+path)
		}
	}
	slices.Sort(list)
	return list
}

// route answers a path below /api/v1/.
func (c *call) route(path string) error {
	if h, ok := paths[path]; ok {
		return c.dispatch(h)
	}
	parts := strings.Split(path, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return problem{kind: kindNotFound, detail: "there is nothing at this path"}
	}
	name, err := url.PathUnescape(parts[1])
	parts[1] = "{}"
	h, ok := named[strings.Join(parts, "/")]
	if err != nil || name == "" || !ok {
		return problem{kind: kindNotFound, detail: "there is nothing at this path"}
	}
	bound := make(handlers, len(h))
	for method, fn := range h {
		bound[method] = func(c *call) error { return fn(c, name) }
	}
	return c.dispatch(bound)
}

// dispatch calls what the path does for the method.
func (c *call) dispatch(h handlers) error {
	method := c.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if fn, ok := h[method]; ok {
		return fn(c)
	}
	c.w.Header().Set("Allow", allowOf(h))
	if method == http.MethodOptions {
		c.sent = true
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return problem{kind: kindMethod}
}

// allowOf returns the methods of a path.
func allowOf(h handlers) string {
	allow := "OPTIONS"
	for _, m := range []string{
		http.MethodDelete, http.MethodPatch, http.MethodPut, http.MethodPost, http.MethodGet,
	} {
		if _, ok := h[m]; ok {
			allow = m + ", " + allow
		}
	}
	return strings.Replace(allow, "GET, ", "GET, HEAD, ", 1)
}

// known returns a problem when the query has a parameter that is not among
// names: a typing error would be ignored, and a key has no place there.
func (c *call) known(names ...string) error {
next:
	for name := range c.form {
		for _, n := range names {
			if n == name {
				continue next
			}
		}
		return problem{kind: kindBadQuery, detail: "there is no parameter " + clip(name) +
			" here; there are " + strings.Join(names, ", ")}
	}
	return nil
}
