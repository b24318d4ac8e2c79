package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// errUseHTTP2 says that an upstream has chosen HTTP/2, which net/http speaks.
var errUseHTTP2 = errors.New("the upstream speaks HTTP/2")

// speaksHTTP2 reports whether the target has agreed on HTTP/2.
func (t *target) speaksHTTP2() bool { return t.transport != nil && t.http2.Load() }

// learn finds out what an upstream speaks that may choose, by connecting to it.
func (t *target) learn(c *client) error {
	if t.transport == nil || t.http2.Load() || t.known.Load() {
		return nil
	}
	up, err := t.acquire(c, false)
	if errors.Is(err, errUseHTTP2) {
		return nil
	}
	if err == nil {
		t.known.Store(true)
		up.release(0)
	}
	return err
}

// newTransport returns the client of a target that may speak HTTP/2. Its
// addresses and their check are the target's own.
func newTransport(t *target) *http.Transport {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		list := t.backends()
		if len(list) == 0 {
			return nil, errNoAddress
		}
		b := t.pick(list, nil)
		if b == nil {
			return nil, errOpen
		}
		if !t.trusted && !t.srv.opts.permits(b.addr.Addr()) {
			return nil, errDenied
		}
		d := net.Dialer{KeepAlive: keepAlive, Timeout: t.srv.opts.Dial}
		nc, err := d.DialContext(ctx, "tcp", b.addr.String())
		if err != nil {
			return nil, err
		}
		conn := tls.Client(nc, t.srv.tlsConfig(b.origin.name, true))
		if err := conn.HandshakeContext(ctx); err != nil {
			_ = nc.Close()
			return nil, err
		}
		return conn, nil
	}
	return &http.Transport{
		DialTLSContext: dial, ForceAttemptHTTP2: true, DisableCompression: true,
		IdleConnTimeout: t.srv.opts.IdleConn, TLSHandshakeTimeout: handshakeTimeout,
	}
}

// roundTripHTTP2 relays a request whose head is the first n bytes of the input.
func (c *client) roundTripHTTP2(x *exchange, t *target, n int) bool {
	if _, err := t.resolved(c); err != nil {
		x.in.consume(n)
		return c.fail(x, err)
	}
	req := c.requestHTTP2(x, t)
	x.in.consume(n)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.onCancel(cancel)
	defer c.onCancel(nil)
	x.addr, x.sent = t.key, x.began
	t.requests.Add(1)
	c.since.Store(c.srv.now.Load())
	c.due.Store(c.srv.after(c.srv.opts.ProxyRead))
	resp, err := t.transport.RoundTrip(req.WithContext(ctx))
	c.since.Store(0)
	c.due.Store(0)
	body, _ := req.Body.(*pumpReader)
	if err != nil {
		x.whole = body == nil || body.end(c.sock)
		switch {
		case c.fate.Load() == fateGone:
			err = errClientGone
		case x.up.readErr != nil:
			err = x.up.readErr
		case c.fate.Load() == fateLate:
			err = errSlowUpstream
		}
		return c.fail(x, err)
	}
	x.whole = body == nil || body.ended()
	keep := c.relayHTTP2(x, resp)
	_ = resp.Body.Close()
	if body != nil && !body.end(c.sock) {
		c.linger()
		return false
	}
	return keep
}

// requestHTTP2 makes the request for net/http.
func (c *client) requestHTTP2(x *exchange, t *target) *http.Request {
	r := &x.req
	header := http.Header{}
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Kind == http1.EndToEnd && !r.Nominated(f) {
			header.Add(string(r.Name(f)), string(r.FieldValue(f)))
		}
	}
	if x.fresh {
		header.Set("X-Chocon-Id", string(x.id))
	}
	header.Set("X-Chocon-Ver", "hotrow/"+c.srv.opts.Version)
	header.Add("Via", "1.1 "+string(c.srv.pseudonym))
	if r.Trailers {
		header.Set("Te", "trailers")
	}
	if header.Get("User-Agent") == "" {
		header["User-Agent"] = []string{""} // else net/http adds its own
	}
	authority := string(t.authority)
	req := &http.Request{
		Method: string(r.Method), Header: header, Host: authority, ProtoMajor: 1, ProtoMinor: 1,
		URL: &url.URL{Scheme: "https", Host: authority, Opaque: "//" + authority +
			string(x.path(r))},
	}
	if t.passHost && len(r.Host) > 0 {
		req.Host = string(r.Host)
	}
	x.up.from, x.up.in, x.up.out = c.sock, &x.in, x.up.out[:0]
	switch {
	case r.Chunked:
		x.up.begin(bodyChunked, 0)
		req.ContentLength = -1
	case r.Length > 0:
		x.up.begin(bodyLength, r.Length)
		req.ContentLength = r.Length
	default:
		x.up.begin(bodyNone, 0)
		x.whole = true
		return req
	}
	req.Body = &pumpReader{p: &x.up}
	return req
}

// A pumpReader reads a request's body out of a pump. net/http may go on reading
// when it has returned the response.
type pumpReader struct {
	p *pump

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

// relayHTTP2 relays the response of net/http.
func (c *client) relayHTTP2(x *exchange, resp *http.Response) bool {
	p := &x.down
	sized := resp.ContentLength >= 0 || x.req.IsHead || resp.Body == http.NoBody
	p.begin(bodyToEOF, 0)
	p.to, p.framed = c.sock, !sized && !x.req.HTTP10
	closing := c.mustClose(x) || !sized && !p.framed || !x.whole
	p.out = append(strconv.AppendInt(append(p.out[:0], "HTTP/1.1 "...),
		int64(resp.StatusCode), 10), ' ')
	p.out = append(append(p.out, http.StatusText(resp.StatusCode)...), "\r\n"...)
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		for _, value := range resp.Header[name] {
			if name != "X-Chocon-Id" && name != "Connection" && name != "Transfer-Encoding" {
				p.out = http1.AppendHeader(p.out, name, value)
			}
		}
	}
	if p.framed {
		p.out = append(p.out, "Transfer-Encoding: chunked\r\n"...)
	}
	p.out = http1.AppendHeader(p.out, "X-Chocon-Id", string(x.id))
	p.out = append(c.appendConnection(p.out, x, closing), "\r\n"...)
	err := c.copyHTTP2(x, resp)
	c.finish(x, resp.StatusCode, err)
	if err != nil && !p.framed && !sized {
		c.sock.reset()
	}
	return err == nil && !closing
}

// copyHTTP2 sends the head that has been prepared and the body as it comes.
func (c *client) copyHTTP2(x *exchange, resp *http.Response) error {
	p := &x.down
	for !p.done {
		if !p.flush() {
			return errClientGone
		}
		c.beforeRead(false)
		n, err := resp.Body.Read(x.back.b)
		c.afterRead(false)
		p.put(x.back.b[:n])
		if errors.Is(err, io.EOF) {
			var trailers []byte
			for name, values := range resp.Trailer {
				for _, v := range values {
					trailers = http1.AppendHeader(trailers, name, v)
				}
			}
			p.finish(trailers)
		} else if err != nil {
			p.flush()
			return errCutShort
		}
	}
	if !p.flush() {
		return errClientGone
	}
	return nil
}
