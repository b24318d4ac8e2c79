package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// errUseHTTP2 says that an upstream has chosen HTTP/2, which net/http speaks.
var errUseHTTP2 = errors.New("the upstream speaks HTTP/2")

// speaksHTTP2 reports whether the target has agreed on HTTP/2.
func (t *target) speaksHTTP2() bool { return t.transport != nil && t.http2.Load() }

// learn finds out what an upstream speaks that may choose, by connecting to it.
func (t *target) learn(c *client) error {
	if t.transport == nil || t.http2.Load() || t.protocolKnown.Load() {
		return nil
	}
	up, err := t.acquire(c, false)
	if errors.Is(err, errUseHTTP2) {
		return nil
	}
	if err == nil {
		t.protocolKnown.Store(true)
		up.release(0)
	}
	return err
}

// streamWindow is how much of an answer waits here for a client that does not take
// it. net/http takes 4 MiB, for each of any number of clients.
const streamWindow = 256 << 10

// newTransport returns the client of a target that may speak HTTP/2. Which backend
// it connects to is said by the key of a backend, in place of a host: so each has
// its own connections, and the choice is the target's, as it is for HTTP/1.
func newTransport(t *target) *http.Transport {
	dial := func(ctx context.Context, _, key string) (net.Conn, error) {
		for _, b := range t.backends() {
			if b.key == key {
				conn, err := b.dialHTTP2(ctx)
				if err != nil {
					return nil, &dialError{err}
				}
				return conn, nil
			}
		}
		return nil, errNoAddress // they have changed
	}
	return &http.Transport{
		DialTLSContext: dial, ForceAttemptHTTP2: true, DisableCompression: true,
		IdleConnTimeout: idleConn, TLSHandshakeTimeout: handshakeTimeout,
		MaxResponseHeaderBytes: http1.MaxRelayHead,
		HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerStream: streamWindow},
	}
}

// A dialError is the error of a connection that there is not: nothing was sent.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// dialHTTP2 connects for net/http.
func (b *backend) dialHTTP2(ctx context.Context) (net.Conn, error) {
	o := &b.target.srv.opts
	if !b.target.trusted && !o.permits(b.addr.Addr()) {
		return nil, fmt.Errorf("%s is %s: %w", b.origin.name, b.addr.Addr(), errDenied)
	}
	d := net.Dialer{KeepAlive: keepAlive, Timeout: o.Dial}
	nc, err := d.DialContext(ctx, "tcp", b.addr.String())
	if err != nil {
		return nil, err
	}
	conn := tls.Client(nc, b.target.srv.tlsConfig(b.origin.name, true))
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = nc.Close()
		return nil, fmt.Errorf("TLS with %s: %w", b.origin.name, err)
	}
	return conn, nil
}

// roundTripHTTP2 relays a request whose head is the first n bytes of the input. It
// waits for its place among those of the target, as every other.
func (c *client) roundTripHTTP2(x *roundTrip, t *target, n int) bool {
	t.requests.Add(1)
	err := t.queue.enter(c)
	if err != nil {
		x.in.consume(n)
		return c.fail(x, err)
	}
	defer t.queue.leave()
	req := c.requestHTTP2(x, t)
	x.in.consume(n)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	resp, b, err := c.askHTTP2(x, t, req.WithContext(ctx), cancel)
	body, _ := req.Body.(*pumpReader)
	if err != nil {
		x.whole = body == nil || body.end(c.sock)
		return c.fail(x, c.blameHTTP2(x, b, err))
	}
	defer b.inflight.Add(-1)
	x.whole = body == nil || body.ended()
	c.onCancel(cancel)
	defer c.onCancel(nil)
	keep := c.relayHTTP2(x, resp)
	endHTTP2(x, resp, cancel)
	if body != nil && !body.end(c.sock) {
		c.linger()
		return false
	}
	return keep
}

// askHTTP2 sends the request to a backend, to another while none has been reached,
// and returns whose response it is; b counts it until it has been relayed.
func (c *client) askHTTP2(x *roundTrip, t *target, req *http.Request, cancel func()) (
	resp *http.Response, b *backend, err error,
) {
	list, err := t.resolved(c)
	if err != nil {
		return nil, nil, err
	}
	c.onCancel(cancel)
	defer c.onCancel(nil)
	x.sent = x.began
	var last *backend
	for tries := min(len(list), 3); ; tries-- {
		b = t.pick(list, last)
		if b == nil {
			return nil, nil, errOpen
		}
		x.addr, req.URL.Host = b.name, b.key
		b.inflight.Add(1)
		resp, err = c.awaitHTTP2(x, t, req)
		if err == nil {
			b.answered(resp.StatusCode, c.srv, x.began)
			return resp, b, nil
		}
		b.inflight.Add(-1)
		var dial *dialError
		if !errors.As(err, &dial) || errors.Is(err, errDenied) || c.reason.Load() != reasonNone {
			return nil, b, err
		}
		b.failed(c.srv, true)
		if tries <= 1 || b == last {
			return nil, nil, err
		}
		last = b
	}
}

// blameHTTP2 returns why there was no answer. b is whose fault it may be, or nil.
func (c *client) blameHTTP2(x *roundTrip, b *backend, err error) error {
	switch {
	case c.reason.Load() == reasonGone:
		return errClientGone
	case x.up.readErr != nil:
		return x.up.readErr
	case c.reason.Load() == reasonLate:
		err = errSlowUpstream
	}
	if b != nil && !errors.Is(err, errDenied) {
		b.failed(c.srv, false)
	}
	return err
}

// requestHTTP2 makes the request for net/http.
func (c *client) requestHTTP2(x *roundTrip, t *target) *http.Request {
	r := &x.req
	header := http.Header{}
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Kind == http1.EndToEnd && !r.Nominated(f) {
			header.Add(string(r.Name(f)), string(r.FieldValue(f)))
		}
	}
	if x.span != nil {
		header.Set("Traceparent", x.span.Traceparent())
	}
	if x.fresh {
		header.Set("X-Chocon-Id", string(x.id))
	}
	header.Set("X-Chocon-Ver", "hotrow/"+c.srv.opts.Version)
	header.Add("Via", "1.1 "+string(c.srv.pseudonym))
	if r.Trailers {
		header.Set("Te", "trailers")
	}
	if r.Expect && !r.HTTP10 {
		header.Set("Expect", "100-continue")
	}
	if header.Get("User-Agent") == "" {
		header["User-Agent"] = []string{""} // else net/http adds its own
	}
	authority := string(t.authority)
	host := authority
	if t.passHost && len(r.Host) > 0 {
		host = string(r.Host)
	}
	path := string(x.path(r))
	if r.Slashed {
		path = "/" + path
	}
	req := &http.Request{
		Method: string(r.Method), Header: header, Host: host, ProtoMajor: 1, ProtoMinor: 1,
		// The path goes on as it came behind the Host that is sent (http2 cuts this off).
		URL: &url.URL{Scheme: "https", Host: authority, Opaque: "//" + host + path},
	}
	x.up.from, x.up.in, x.up.out = c.sock, &x.in, x.up.out[:0]
	switch {
	case r.Chunked:
		x.up.begin(bodyChunked, 0)
		req.ContentLength = -1
		req.Trailer = announced(header)
	case r.Length > 0:
		x.up.begin(bodyLength, r.Length)
		req.ContentLength = r.Length
	default:
		x.up.begin(bodyNone, 0)
		x.whole = true
		return req
	}
	req.Body = &pumpReader{p: &x.up, trailer: req.Trailer}
	return req
}

// announced takes the names of trailers out of a header: net/http sends those that
// it knows before the body, and no other.
func announced(header http.Header) http.Header {
	trailer := http.Header{}
	for _, list := range header.Values("Trailer") {
		for name := range strings.SplitSeq(list, ",") {
			switch name = http.CanonicalHeaderKey(strings.TrimSpace(name)); name {
			case "", "Transfer-Encoding", "Trailer", "Content-Length":
			default:
				trailer[name] = nil
			}
		}
	}
	header.Del("Trailer")
	return trailer
}

// setTrailers gives trailer the values of lines.
func setTrailers(trailer http.Header, lines []byte) {
	for line := range bytes.Lines(lines) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		key := http.CanonicalHeaderKey(string(name))
		if _, known := trailer[key]; known {
			trailer.Add(key, string(bytes.TrimSpace(value)))
		}
	}
}

// A pumpReader reads a request's body out of a pump. net/http may go on reading
// when it has returned the response.
type pumpReader struct {
	p       *pump
	trailer http.Header // of the request: set when its body has ended

	mu   sync.Mutex // held by a Read; guards over and the pump
	over bool
}

// Read implements io.Reader.
func (r *pumpReader) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.p
	for !r.over && len(p.out) == 0 {
		if p.done {
			setTrailers(r.trailer, p.chunks.Trailers)
			p.chunks.Trailers = nil
			return 0, io.EOF
		}
		p.gather()
		if p.readErr != nil {
			return 0, p.readErr
		}
		if len(p.out) == 0 && !p.done && !p.fill() {
			return 0, p.readErr
		}
	}
	if r.over {
		return 0, io.ErrClosedPipe
	}
	n := copy(b, p.out)
	p.out = append(p.out[:0], p.out[n:]...)
	return n, nil
}

// Close implements io.Closer.
func (r *pumpReader) Close() error { return nil }

// end stops the reading. It reports whether the body was read to its end.
func (r *pumpReader) end(s *socket) bool {
	if !r.mu.TryLock() {
		s.interruptRead()
		r.mu.Lock()
		s.resumeRead()
	}
	defer r.mu.Unlock()
	r.over = true
	return r.p.done
}

// ended reports whether the body has been read to its end.
func (r *pumpReader) ended() bool {
	if !r.mu.TryLock() {
		return false
	}
	defer r.mu.Unlock()
	return r.p.done
}
