// Package httpfront speaks HTTP for the resources: it reads paths, headers and
// bodies, asks package resource, and writes answers and problems.
//
// It is the full road, built on net/http: every method, HTTP/2, TLS and bodies.
// It keeps no documents, knows no database and no configuration file, and
// opens no socket: a caller gives the listener (see Server).
package httpfront

import (
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
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
	// (see Tokens.Issued). nil: the lane takes no tokens.
	Issued func() any

	// Hosts are the Host names that are answered besides localhost and the
	// address of the listener. "*" answers every name, which is safe only
	// behind a proxy that checks it.
	Hosts []string

	// Open says that a listener beyond loopback is meant to be read without a
	// token. Such a listener still takes no anonymous writes.
	Open bool

	// Compression are the content codings that are offered, the preferred one
	// first. Empty: nothing is compressed.
	Compression []row.Coding

	BasePath     string         // before every path: "/api"; "" or "/": none
	MaxBody      int64          // bytes of a request's body; 0: 1 MiB
	MaxList      int            // bytes of one list; 0: 8 MiB
	WriteTimeout time.Duration  // of one write in the database; 0: 30 s
	CacheControl string         // of documents; "": "no-cache"
	XCache       bool           // add X-Cache: HIT or MISS
	HSTS         bool           // tell browsers to come by HTTPS only; for HTTPS listeners
	Unsent       *front.Unsent  // bounds answers that clients do not read; stays; nil: its own
	Log          *slog.Logger   // nil: discard
	Access       *accesslog.Log // of the requests, with front.AccessColumns; nil: none
	Now          func() time.Time
}

// A Handler answers HTTP requests. It is an http.Handler.
type Handler struct {
	live     atomic.Pointer[settings]
	csrf     http.CrossOriginProtection
	stats    stats
	lane     atomic.Pointer[Lane] // nil: there is none in front
	coder    row.Coder
	examples sync.Map // of *example, by the name of the resource
	logLimit front.Limiter
	unsent   *front.Unsent
}

// settings are Options made ready for use. They never change: Configure puts
// others in their place.
type settings struct {
	Options
	hosts httprule.Hosts
}

// New returns the handler for o.
func New(o Options) *Handler {
	h := &Handler{unsent: o.Unsent}
	if h.unsent == nil {
		h.unsent = front.NewUnsent(0, 0)
	}
	h.Configure(o)
	return h
}

// Configure replaces the options. The next request on any connection is
// answered by them.
func (h *Handler) Configure(o Options) {
	o.BasePath = strings.TrimRight(o.BasePath, "/")
	if o.MaxBody <= 0 {
		o.MaxBody = 1 << 20
	}
	if o.MaxList <= 0 {
		o.MaxList = 8 << 20
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = 30 * time.Second
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
	h.live.Store(&settings{o, httprule.NewHosts(o.Hosts)})
}

// A call is one request that is being answered. It belongs to one goroutine.
type call struct {
	h       *Handler
	o       *settings
	w       *recorder
	r       *http.Request
	res     *resource.Resource // nil until the path has named one
	private bool               // the answer is for this principal only
	who     string             // the name of the principal, once it was asked for
	claimed int64              // room for the answer
	got     *answered          // what the resource has said already; nil: it was not asked
}

// ServeHTTP answers one request. Errors become problem documents here and
// nowhere else.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.serve(w, r, nil) }

// serve is ServeHTTP for a read whose document is there already; nil: it is not.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, got *answered) {
	o := h.live.Load()
	start := o.Now()
	if got != nil {
		start = got.since
	}
	c := &call{h: h, o: o, w: &recorder{ResponseWriter: w}, r: r, got: got}
	defer func() {
		if v := recover(); v != nil {
			c.recovered(v)
		}
		c.release()
		took := o.Now().Sub(start)
		h.stats.observe(c.resourceName(), c.w.code, took)
		if o.Access != nil {
			c.logAccess(start, took)
		}
	}()
	head := w.Header()
	head.Set("Server", "hotrow")
	head.Set("X-Content-Type-Options", "nosniff")
	if o.HSTS {
		head.Set("Strict-Transport-Security", strictTransport)
	}
	if id := requestID(r.Header.Get("X-Request-Id")); id != "" {
		head.Set("X-Request-Id", id)
	}
	if err := c.serve(); err != nil {
		c.fail(err)
	}
}

// recovered ends a request whose handler panicked: a bug of ours that must not
// take the answer with it, nor the process.
func (c *call) recovered(v any) {
	if v == http.ErrAbortHandler {
		panic(v)
	}
	c.o.Log.Error("request panicked", "path", c.r.URL.EscapedPath(), "panic", v,
		"stack", string(debug.Stack()))
	if c.w.code == 0 {
		c.send(problem{kind: kindInternal})
	}
}

// resourceName returns the name under which the request is counted. Only names
// of resources that exist become labels.
func (c *call) resourceName() string {
	if c.res == nil {
		return ""
	}
	return c.res.Name()
}

// serve checks what holds for every path, and routes.
func (c *call) serve() error {
	if !c.hostAllowed() {
		return problem{kind: kindMisdirected}
	}
	if err := c.h.csrf.Check(c.r); err != nil {
		return problem{kind: kindCrossOrigin}
	}
	path, ok := strings.CutPrefix(c.r.URL.EscapedPath(), c.o.BasePath)
	if !ok {
		return problem{kind: kindNotFound, detail: "nothing is served at this path"}
	}
	t, err := parsePath(path)
	if err != nil {
		return err
	}
	switch t.kind {
	case pathIndex:
		return c.index()
	case pathSystem:
		return c.system(t.name)
	}
	if c.res, ok = c.o.Resources.Lookup(t.name); !ok {
		if c.o.Starting != nil && c.o.Starting() {
			return problem{kind: kindStarting, after: time.Second}
		}
		return problem{kind: kindNotFound, detail: "there is no resource of this name",
			hint: "GET / lists the resources"}
	}
	if t.kind == pathList {
		return c.collection()
	}
	return c.document(t.key)
}

// collection answers /{resource}.
func (c *call) collection() error {
	switch c.r.Method {
	case http.MethodGet, http.MethodHead:
		return c.list()
	case http.MethodPost:
		if c.allows(source.OpCreate) {
			return c.create()
		}
	case http.MethodOptions:
		return c.options(c.allowed(false))
	}
	return c.notAllowed(c.allowed(false))
}

// document answers /{resource}/{key}.
func (c *call) document(rawKey string) error {
	key, err := parseKey(rawKey, len(c.res.KeyType()))
	if err != nil {
		return err
	}
	switch c.r.Method {
	case http.MethodGet, http.MethodHead:
		return c.read(key)
	case http.MethodPut, http.MethodPatch, http.MethodDelete:
		if c.allows(documentOps[c.r.Method]) {
			return c.change(key)
		}
	case http.MethodOptions:
		return c.options(c.allowed(true))
	}
	return c.notAllowed(c.allowed(true))
}

// documentOps are the operations on a document by method.
var documentOps = map[string]source.Op{
	http.MethodPut: source.OpReplace, http.MethodPatch: source.OpMerge,
	http.MethodDelete: source.OpDelete,
}

// allows reports whether anybody at all may do op to the resource.
func (c *call) allows(op source.Op) bool { return allows(c.res, op) }

func allows(res *resource.Resource, op source.Op) bool {
	rule := res.Access().Write
	return res.Allows(op) && rule != "" && rule != "none"
}

// allowed returns the methods of a document, or of a collection.
func (c *call) allowed(document bool) string { return allowed(c.res, document) }

func allowed(res *resource.Resource, document bool) string {
	list := "GET, HEAD, OPTIONS"
	if !document {
		if allows(res, source.OpCreate) {
			list += ", POST"
		}
		return list
	}
	for _, m := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if allows(res, documentOps[m]) {
			list += ", " + m
		}
	}
	return list
}

func (c *call) options(allow string) error {
	c.w.Header().Set("Allow", allow)
	if strings.Contains(allow, "PATCH") {
		c.w.Header().Set("Accept-Patch", patchTypes)
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (c *call) notAllowed(allow string) error {
	c.w.Header().Set("Allow", allow)
	p := problem{kind: kindMethod}
	if c.res != nil && !c.res.Writable() {
		p.detail = "the resource " + c.res.Name() + " is read-only"
		p.hint = "start hotrow with --writable, or set access.write in the configuration"
	}
	return p
}

// requestID returns id if it may be echoed: at most 128 bytes that are safe in
// a header, a log line and a page; else "".
func requestID(id string) string {
	if len(id) > 128 {
		return ""
	}
	for i := range len(id) {
		if !isIDByte(id[i]) {
			return ""
		}
	}
	return id
}

func isIDByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' ||
		strings.IndexByte("-._~:/+=@", b) >= 0
}

// A recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	code  int // 0: nothing has been written
	bytes int // of the body
}

// WriteHeader sends the header with code.
func (w *recorder) WriteHeader(code int) {
	if w.code == 0 && code >= 200 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write sends a part of the body.
func (w *recorder) Write(b []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += n
	return n, err
}

// Unwrap gives http.ResponseController the writer beneath.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// hostAllowed reports whether the Host is one that is served here.
func (c *call) hostAllowed() bool {
	own, _ := c.r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return c.o.hosts.Allow(c.r.Host, own)
}
