package httpfront

import (
	"net/http"
	"strings"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// Pages of other origins (Fetch, "CORS protocol"). A browser sends what they ask for and then
// decides by the answer whether they may read it; before anything but a simple request it asks
// with an OPTIONS (preflight). So reads are not refused, but for the header lines that would
// open them, and writes of origins that are not named are refused here.

// anyOrigin, alone, lets every page read what everybody may read.
const anyOrigin = "*"

const (
	// exposed are the headers of answers that pages may read, besides those that Fetch
	// always lets them read.
	exposed = "Access-Control-Expose-Headers: Age, Content-Range, ETag, Hotrow-Position, Link, " +
		"Location, Preference-Applied, Retry-After, X-Request-Id"

	// maxAge is how long a browser may remember what a preflight has said: 10 minutes.
	maxAge = "Access-Control-Max-Age: 600\r\n"

	// varyOrigin is in every answer that pages of some origins may read: whoever keeps it must
	// not give it to those of others.
	varyOrigin = "Vary: Origin\r\n"
)

// cors is which pages of other origins may do what.
type cors struct {
	any   bool
	lines map[string]string // by origin: the header lines of answers to its pages
}

// newCORS returns the rules for origins, as browsers write them, or anyOrigin alone; nil for
// none: then nothing is different from a server that has never heard of other origins.
func newCORS(origins []string) *cors {
	if len(origins) == 0 {
		return nil
	}
	c := &cors{lines: make(map[string]string, len(origins))}
	for _, o := range origins {
		if o == anyOrigin {
			c.any = true
			continue
		}
		c.lines[o] = "Access-Control-Allow-Origin: " + o + "\r\n" + exposed + ", Cache-Status\r\n" +
			"Timing-Allow-Origin: " + o + "\r\n"
	}
	return c
}

// allowsAny are the lines of answers that every page may read. They tell nothing about what
// others have asked: neither Cache-Status nor how long the answer took.
const allowsAny = "Access-Control-Allow-Origin: *\r\n" + exposed + "\r\n"

// exact reports whether the answers depend on who asks.
func (c *cors) exact() bool { return c != nil && !c.any }

// names reports whether an origin is one by its name.
func (c *cors) names(origin []byte) bool {
	return c.exact() && c.lines[string(origin)] != ""
}

// allow returns the header lines by which a browser lets the page that has sent r read its
// answer. private says that it is not for everybody. It allocates nothing.
func (o *settings) allow(r *request, private bool) string {
	// Fast path: there are no pages of other origins.
	if o.cors == nil {
		return ""
	}

	// Slow path.
	return o.cors.allow(r, private)
}

// allow is settings.allow where there are.
func (c *cors) allow(r *request, private bool) string {
	switch {
	case c.any:
		if private || r.Method != http.MethodGet && r.Method != http.MethodHead {
			return ""
		}
		return allowsAny // to whoever asks: caches may give the answer to anybody
	case r.Origin == nil:
		return ""
	}
	return c.lines[string(r.Origin)]
}

// isPreflight reports whether a browser asks by r what a page may send.
func (r *request) isPreflight() bool {
	method, _ := r.asked()
	return r.Method == http.MethodOptions && r.Origin != nil && method != ""
}

// asked returns the method and the headers that a preflight asks for. They may alias r.
func (r *request) asked() (method, headers string) {
	const ofMethod, ofHeaders = "Access-Control-Request-Method", "Access-Control-Request-Headers"
	if r.http == nil {
		return headerText(r.head, "access-control-request-method:"),
			headerText(r.head, "access-control-request-headers:")
	}
	return r.http.Header.Get(ofMethod), strings.Join(r.http.Header.Values(ofHeaders), ",")
}

// preflight answers the question of a browser, which sends no token with it: no right is
// needed, and no database is asked.
func (c *call) preflight() (*answer, error) {
	if !c.p.mayAsk(c.o, c.r.Host) {
		return nil, problem{kind: kindMisdirected}
	}
	return &answer{code: http.StatusNoContent, shared: c.shared(""),
		more: c.o.cors.preflight(c.r)}, nil
}

// preflight returns the header lines of the answer to a preflight; "" if what it asks for is
// not allowed.
func (c *cors) preflight(r *request) string {
	method, headers := r.asked()
	origin, methods := string(r.Origin), "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
	if c.any {
		origin, methods = anyOrigin, "GET, HEAD"
		if method != http.MethodGet && method != http.MethodHead {
			return ""
		}
	} else if !c.names(r.Origin) {
		return ""
	}
	lines := http1.AppendHeader(nil, "Access-Control-Allow-Origin", origin)
	lines = http1.AppendHeader(lines, "Access-Control-Allow-Methods", methods)
	if names := string(appendAsked(nil, headers)); names != "" {
		lines = http1.AppendHeader(lines, "Access-Control-Allow-Headers", names)
	}
	return string(append(lines, maxAge...))
}

// appendAsked appends the names of a list of headers that a preflight asks for, without those
// beyond front.AskedHeaders, and without what is no name. "*" is one that would mean all.
func appendAsked(dst []byte, list string) []byte {
	n := 0
	for name := range strings.SplitSeq(list, ",") {
		name = strings.Trim(name, " \t")
		if name == "*" || !http1.IsToken(name) {
			continue
		}
		if n++; n > front.AskedHeaders {
			break
		}
		if len(dst) > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(dst, name...)
	}
	return dst
}

// fromOtherPage decides about a write that a browser has sent from a page of another origin:
// one of an origin that is named may go on, with a token.
func (c *call) fromOtherPage() error {
	if c.o.cors.names(c.r.Origin) {
		c.foreign = true
		return nil
	}
	p := problem{kind: kindCrossOrigin}
	if c.o.cors != nil {
		p.hint = "name the origin of the page in http.cors.origins; \"*\" is for reading alone"
	}
	return p
}

// amend adds what all answers of h have in common to one that it has not made.
func (h *Handler) amend(answer []byte) []byte {
	return http1.InsertLines(answer, h.live.Load().common)
}

// allow returns the header lines by which a browser lets a page read the answer. That to a
// preflight has lines of its own.
func (c *call) allow() string {
	if c.o.cors == nil || c.r.isPreflight() {
		return ""
	}
	return c.o.allow(c.r, c.private)
}
