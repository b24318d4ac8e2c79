package linksfront

import (
	"bytes"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// ServeHTTP answers through net/http: what the event loop could not read with
// certainty, other methods, and what is not about redirects at all. Paths are
// taken as they were sent. http.ServeMux would clean them, and send a request for
// //evil.example/.. somewhere else.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	c := &counted{ResponseWriter: w}
	f.serve(c, r, began)
	took := time.Since(began)
	f.observe(took)
	f.logFull(c, r, began, took)
}

// serve answers one request.
func (f *Front) serve(w http.ResponseWriter, r *http.Request, now time.Time) {
	o := f.live.Load()
	x := f.fullExchange(r, o, now)
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !o.hosts.Allow(r.Host, local) {
		x.transcribe(w, x.problem(nil, &unknownHost))
		return
	}
	if len(x.req.Path) == 0 || x.req.Path[0] != '/' || len(x.req.Path) > http1.MaxRequestLine {
		x.transcribe(w, x.problem(nil, &notFound))
		return
	}
	x.asked.parse(x.req.Path, o.Fold)
	if x.asked.kind == elsewhere {
		f.serveOther(w, r, x)
		return
	}
	x.transcribe(w, x.answer(r.Context(), make([]byte, 0, 512)))
}

// fullExchange makes the exchange of a request that net/http has read.
func (f *Front) fullExchange(r *http.Request, o *settings, now time.Time) *exchange {
	x := &exchange{f: f, o: o, now: now, req: new(http1.Request), counts: &f.shared}
	path, query, hasQuery := strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(path, "/") { // the absolute form, or "*"
		path, query, hasQuery = r.URL.EscapedPath(), r.URL.RawQuery, r.URL.RawQuery != ""
	}
	x.req.Path = []byte(path)
	if hasQuery {
		x.req.Query = []byte(query)
	}
	x.req.Accept = []byte(r.Header.Get("Accept"))
	x.req.Head = r.Method == http.MethodHead
	if r.Method != http.MethodGet && !x.req.Head {
		x.method = r.Method
	}
	if at, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		x.peer = at.Addr().Unmap()
	}
	x.fields.read(r.Header)
	return x
}

// read reads the fields from headers that net/http has parsed.
func (f *fields) read(h http.Header) {
	f.agent = []byte(h.Get("User-Agent"))
	f.referrer = []byte(h.Get("Referer"))
	if all := h["X-Forwarded-For"]; len(all) > 0 {
		f.forwarded = []byte(all[len(all)-1])
	}
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose"} {
		f.purpose([]byte(h.Get(name)))
	}
	f.private = h.Get("Sec-Gpc") == "1" || h.Get("Dnt") == "1"
}

// serveOther answers what is no redirect.
func (f *Front) serveOther(w http.ResponseWriter, r *http.Request, x *exchange) {
	path := string(x.req.Path)
	switch {
	case path == "/" && x.o.Root != "":
		http.Redirect(w, r, x.o.Root, http.StatusFound)
	case path == "/robots.txt":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("User-agent: *\nDisallow: /\n"))
	case f.API != nil && isAPI(path):
		f.API.ServeHTTP(w, r)
	case f.Page != nil && !isAPI(path):
		f.Page.ServeHTTP(w, r)
	default:
		x.transcribe(w, x.problem(nil, &notFound))
	}
}

// isAPI reports whether a path is the API's.
func isAPI(path string) bool {
	first, _, _ := strings.Cut(path[1:], "/")
	return first == "api" || first == "auth"
}

// transcribe writes an answer that was made for a connection: net/http adds the
// headers that are the connection's own.
func (x *exchange) transcribe(w http.ResponseWriter, answer []byte) {
	head, body, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
	status, lines, _ := strings.Cut(string(head), "\r\n")
	for line := range strings.SplitSeq(lines, "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			w.Header()[name] = []string{value}
		}
	}
	code, err := strconv.Atoi(status[9:12])
	if err != nil {
		code = http.StatusInternalServerError
	}
	w.WriteHeader(code)
	_, _ = w.Write(body) // who has gone needs no answer
}

// A counted notes what is answered.
type counted struct {
	http.ResponseWriter
	code, bytes int
}

// WriteHeader notes the status.
func (c *counted) WriteHeader(code int) {
	if c.code == 0 && code >= 200 {
		c.code = code
	}
	c.ResponseWriter.WriteHeader(code)
}

// Write counts the body.
func (c *counted) Write(b []byte) (int, error) {
	if c.code == 0 {
		c.code = http.StatusOK
	}
	n, err := c.ResponseWriter.Write(b)
	c.bytes += n
	return n, err
}

// Unwrap lets http.ResponseController reach what is below, to flush events.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Flush sends what was written.
func (c *counted) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }

// ClientIP returns whose request it is that net/http has read: the peer's, or
// that of whom a trusted proxy asks for.
func (f *Front) ClientIP(r *http.Request) netip.Addr {
	return f.fullExchange(r, f.live.Load(), time.Time{}).client()
}
