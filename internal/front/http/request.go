package httpfront

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// A request is what the rules of this package look at. The event loop makes it from the
// bytes that came, ServeHTTP from net/http's. A header that was not sent is nil.
type request struct {
	http1.Request               // its slices are good for as long as the bytes that they are of
	head          []byte        // as it came; nil: of net/http
	content       []byte        // the body; nil: there is none, or net/http has it
	http          *http.Request // nil: of the event loop
}

// parse reads the request at the beginning of b.
func (r *request) parse(b []byte) (n int, v http1.Verdict) {
	n, v = r.Parse(b)
	r.head, r.content = b[:n], nil
	return n, v
}

// parseWhole reads the request at the beginning of b, of which parse has said HandOver, if
// all of it is there and nothing in it is for net/http: it changes something, and has a body
// of at most MaxBody bytes, or none; or it is a preflight where pages of other origins may ask.
func (r *request) parseWhole(b []byte, o *settings) (n int, ok bool) {
	if n, ok = r.Preflight(b); ok && o.cors != nil {
		r.head, r.content = b[:n], nil
		return n, true
	}
	body, n, ok := r.Body(b)
	if !ok && string(r.Path) == "/-"+watchPath { // pages follow, too: see mayFollow
		body, n, ok = r.PageBody(b)
	}
	if !ok || int64(len(body)) > o.MaxBody {
		return 0, false
	}
	r.head, r.content = b[:n-len(body)], body
	return n, true
}

// contentType returns what the body is, and how it is coded; "" where that is not said, or
// not once.
func (r *request) contentType() (name, coding string) {
	if r.http == nil {
		return row.Alias(r.ContentType), row.Alias(r.ContentEncoding) // see http1.Request.Body
	}
	if lines := r.http.Header.Values("Content-Type"); len(lines) == 1 {
		name = lines[0]
	}
	return name, strings.Join(r.http.Header.Values("Content-Encoding"), ",")
}

// newRequest makes the request of net/http's. What was sent in several lines is one list
// (RFC 9110 5.3), except where two lines are as good as none.
func newRequest(of *http.Request) *request {
	r := &request{http: of}
	r.Method, r.Head = of.Method, of.Method == http.MethodHead
	b := make([]byte, 0, 512)
	keep := func(field *[]byte, text string) {
		at := len(b)
		b = append(b, text...)
		*field = b[at:len(b):len(b)]
	}
	keep(&r.Path, of.URL.EscapedPath())
	keep(&r.Query, of.URL.RawQuery)
	keep(&r.Host, of.Host)
	for _, h := range []struct {
		name  string
		field *[]byte
	}{
		{"Accept", &r.Accept}, {"Accept-Encoding", &r.AcceptEncoding},
		{"If-Match", &r.IfMatch}, {"If-None-Match", &r.IfNoneMatch},
		{"Cache-Control", &r.CacheControl}, {"Prefer", &r.Prefer},
		{positionHeader, &r.MinPosition}, {"Range", &r.Range}, {"If-Range", &r.IfRange},
		{"Origin", &r.Origin}, {"Apikey", &r.APIKey},
	} {
		if lines := of.Header.Values(h.name); len(lines) > 0 {
			keep(h.field, strings.Join(lines, ","))
		}
	}
	profiles := append(of.Header.Values("Accept-Profile"), of.Header.Values("Content-Profile")...)
	if len(profiles) > 0 {
		keep(&r.Profile, strings.Join(profiles, ","))
	}
	if text, sent := authorization(of); sent {
		keep(&r.Authorization, text)
	}
	if id := of.Header.Get("X-Request-Id"); id != "" {
		keep(&r.RequestID, id)
	}
	return r
}

// agent returns the User-Agent. No rule looks at it: only a request that is logged is
// searched for it.
func (r *request) agent() string {
	if r.http != nil {
		return r.http.Header.Get("User-Agent")
	}
	return headerText(r.head, "user-agent:")
}

// protocol returns which version of HTTP the request was sent by.
func (r *request) protocol(p *peer) string {
	if r.http != nil {
		return r.http.Proto
	}
	return front.ProtocolOf(p.http2, r.HTTP10)
}

// A peer is at the other end of a connection.
type peer struct {
	conn endpoints
	gap  http1.Gap
	host []byte    // the last Host that was allowed
	by   *settings // that allowed it: a reload may change who is known
	addr string    // see address

	wrong int // tokens that nobody has

	http2 bool // whose streams the requests are; of the event loop

	following atomic.Pointer[stream] // whose answer goes on; nil: none does
	ended     atomic.Bool            // the connection, or the stream
}

// follow notes whose answer goes on. It reports false when the peer has left.
func (p *peer) follow(s *stream) bool {
	p.following.Store(s)
	if p.ended.Load() { // before it could know of s, perhaps
		s.leave()
		return false
	}
	return true
}

// end ends what the peer follows: it has left.
func (p *peer) end() {
	p.ended.Store(true)
	if s := p.following.Load(); s != nil {
		s.leave()
	}
}

// endpoints are the two ends of a connection.
type endpoints interface {
	LocalAddr() net.Addr
	RemoteAddr() net.Addr
}

// ends are the endpoints of a connection that net/http has.
type ends struct{ local net.Addr }

func (e ends) LocalAddr() net.Addr  { return e.local }
func (e ends) RemoteAddr() net.Addr { return nil }

// peerOf returns the peer of a request that net/http has read.
func peerOf(r *http.Request) *peer {
	own, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return &peer{conn: ends{own}, addr: r.RemoteAddr}
}

// address returns the address of the peer. It is made at the first request that is
// logged.
func (p *peer) address() string {
	if p.addr == "" {
		p.addr = p.conn.RemoteAddr().String()
	}
	return p.addr
}

// mayAsk reports whether the Host is one that is served here, which the connection
// remembers.
func (p *peer) mayAsk(o *settings, host []byte) bool {
	// Fast path: the Host of the request before.
	if p.by == o && bytes.Equal(p.host, host) {
		return true
	}

	// Slow path.
	if !o.hosts.Allow(row.Alias(host), p.conn.LocalAddr()) {
		return false
	}
	if len(host) <= front.HostBytes {
		p.host, p.by = append(p.host[:0], host...), o
	}
	return true
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

// conditions are the conditional headers of a request that writes.
type conditions struct {
	match, noneMatch []string // nil: the header is not there
	impossible       bool     // If-Match has weak tags only
}

func (r *request) conditions() (conditions, error) {
	var cond conditions
	if err := checkConditions(r); err != nil {
		return cond, err
	}
	if r.IfMatch == nil && r.http != nil && r.http.Header.Get("If-Unmodified-Since") != "" {
		return cond, refused("If-Unmodified-Since cannot be held: documents have no date",
			"send If-Match with the ETag of the document")
	}
	cond.match = httprule.StrongTags(httprule.Tags(string(r.IfMatch)))
	cond.impossible = r.IfMatch != nil && cond.match == nil
	cond.noneMatch = httprule.WeakTags(httprule.Tags(string(r.IfNoneMatch)))
	return cond, nil
}

// checkConditions refuses conditions that are no lists of entity tags.
func checkConditions(r *request) error {
	if r.IfMatch != nil && !httprule.IsTagList(row.Alias(r.IfMatch)) {
		return problem{kind: kindBadHeader, detail: "If-Match is not a list of entity tags"}
	}
	if r.IfNoneMatch != nil && !httprule.IsTagList(row.Alias(r.IfNoneMatch)) {
		return problem{kind: kindBadHeader, detail: "If-None-Match is not a list of entity tags"}
	}
	return nil
}
