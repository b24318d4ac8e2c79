package proxy

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// awaitHTTP2 has net/http send the request, and relays the interim answers. They
// come in the goroutine that reads the connection, which others share: so it only
// hands them over.
func (c *client) awaitHTTP2(x *roundTrip, t *target, req *http.Request) (*http.Response, error) {
	in := c.newInterims(x)
	trace := &httptrace.ClientTrace{Got1xxResponse: in.got}
	var resp *http.Response
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx := httptrace.WithClientTrace(req.Context(), trace)
		resp, err = t.transport.RoundTrip(req.WithContext(ctx))
	}()
	wait := func() {
		c.since.Store(c.srv.now.Load())
		c.due.Store(c.srv.after(c.srv.opts.ProxyRead))
	}
	write := func(head []byte) {
		c.since.Store(0)
		c.beforeWrite(false)
		if _, err := c.sock.write(head); err != nil {
			c.reason.CompareAndSwap(reasonNone, reasonGone)
		}
	}
	for wait(); ; wait() {
		select {
		case head := <-in.heads:
			write(head)
			continue
		case <-done:
		}
		break
	}
	for len(in.heads) > 0 {
		write(<-in.heads)
	}
	c.since.Store(0)
	c.due.Store(0)
	if bad := in.bad.Load(); bad != nil && err != nil {
		err = errResponse{bad}
	}
	return resp, err
}

// interims takes the interim answers to a request.
type interims struct {
	heads  chan []byte // for the client
	drop   bool        // it gets none
	expect bool        // it has asked for a 100
	count  atomic.Int64
	bad    atomic.Pointer[statusError] // what was wrong with one
}

// newInterims returns what takes the interim answers to x.
func (c *client) newInterims(x *roundTrip) *interims {
	return &interims{
		heads: make(chan []byte, maxInterim), expect: x.req.Expect,
		drop: x.req.HTTP10 || c.srv.opts.NoInterim,
	}
}

// got takes one. HTTP/2 has no 101 (RFC 9113 8.6): a client that got it would take what
// follows for another protocol.
func (in *interims) got(code int, header textproto.MIMEHeader) error {
	bad := errInterim
	switch {
	case code == http.StatusSwitchingProtocols:
		bad = errSwitch
	case in.count.Add(1) > maxInterim:
	case in.drop || code == http.StatusContinue && !in.expect:
		return nil
	default:
		in.heads <- appendInterim(nil, code, header)
		return nil
	}
	in.bad.Store(bad)
	return bad
}

// appendInterim appends the head of an interim answer.
func appendInterim(out []byte, code int, header textproto.MIMEHeader) []byte {
	out = append(strconv.AppendInt(append(out, "HTTP/1.1 "...), int64(code), 10), ' ')
	out = append(append(out, http.StatusText(code)...), "\r\n"...)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			if relayedHTTP2(name) && name != "Content-Length" {
				out = http1.AppendHeader(out, name, value)
			}
		}
	}
	return append(out, "\r\n"...)
}

// relayHTTP2 relays the response of net/http.
func (c *client) relayHTTP2(x *roundTrip, resp *http.Response) bool {
	p := &x.down
	// Whether HTTP/1 has a body here is said by the status and the method alone, however
	// the stream ends; a length that is named may be that of another answer.
	bare := bodilessHTTP2(x, resp)
	kind, sized := bodyToEOF, bare || resp.ContentLength >= 0
	if bare {
		kind = bodyNone
	}
	p.begin(kind, 0)
	p.to, p.framed = c.sock, !sized && !x.req.HTTP10
	closing := c.mustClose(x) || !sized && !p.framed || !x.whole
	p.out = append(strconv.AppendInt(append(p.out[:0], "HTTP/1.1 "...),
		int64(resp.StatusCode), 10), ' ')
	p.out = append(append(p.out, http.StatusText(resp.StatusCode)...), "\r\n"...)
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		if !relayedHTTP2(name) || name == "X-Chocon-Id" || name == "Content-Length" {
			continue
		}
		for _, value := range resp.Header[name] {
			p.out = http1.AppendHeader(p.out, name, value)
		}
	}
	// A stream that has no body may name no length, and others one that is none.
	if _, named := resp.Header["Content-Length"]; resp.ContentLength >= 0 && (named || !bare) &&
		resp.StatusCode != http.StatusNoContent {
		length := strconv.FormatInt(resp.ContentLength, 10)
		p.out = http1.AppendHeader(p.out, "Content-Length", length)
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
func (c *client) copyHTTP2(x *roundTrip, resp *http.Response) error {
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
					if !http1.MayTrail([]byte(name)) {
						continue
					}
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

// bodilessHTTP2 reports whether the response has no body whatever its fields say.
func bodilessHTTP2(x *roundTrip, resp *http.Response) bool {
	head := http1.ResponseHead{Status: resp.StatusCode}
	return head.Bodiless(x.req.IsHead)
}

// relayedHTTP2 reports whether a field of an answer goes on. Those that are about a
// connection of HTTP/1 have no place in HTTP/2 (RFC 9113 8.2.2), but nobody has looked.
func relayedHTTP2(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Proxy-Connection", "Te", "Trailers", "Transfer-Encoding", "Upgrade":
		return false
	}
	return true
}

// lateEnd is how long the end of a stream is waited for whose answer is complete
// without: upstreams count streams that are reset, and close the connections of clients
// that do so often.
const lateEnd = 200 * time.Millisecond

// endHTTP2 ends the use of the response.
func endHTTP2(x *roundTrip, resp *http.Response, cancel func()) {
	if bodilessHTTP2(x, resp) {
		late := time.AfterFunc(lateEnd, cancel)
		_, _ = resp.Body.Read(x.back.b)
		late.Stop()
	}
	_ = resp.Body.Close()
}
