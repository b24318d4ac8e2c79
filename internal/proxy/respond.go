package proxy

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// maxInterim is how many 1xx answers may come before the final one.
const maxInterim = 32

// respond relays the response whose first head has been read. It reports
// whether the client's connection may be used again.
func (c *client) respond(x *roundTrip) bool {
	for n := 0; x.resp.Status < 200; n++ {
		if x.resp.Status == http.StatusSwitchingProtocols {
			return c.upgrade(x)
		}
		err := c.interim(x)
		if n == maxInterim {
			err = errInterim
		}
		if err != nil {
			c.discard()
			return c.fail(x, err)
		}
	}
	return c.relay(x)
}

// interim relays an informational answer and reads the next head.
func (c *client) interim(x *roundTrip) error {
	wanted := x.resp.Status != http.StatusContinue || x.req.Expect
	if wanted && !x.req.HTTP10 && !c.srv.opts.NoInterim {
		x.reply = appendStatus(x.reply[:0], &x.resp)
		for i := range x.resp.Fields {
			f := &x.resp.Fields[i]
			if f.Kind == http1.EndToEnd && !x.resp.Nominated(f) {
				x.reply = append(x.reply, x.resp.Line(f)...)
			}
		}
		x.reply = append(x.reply, "\r\n"...)
		c.beforeWrite(false)
		if _, err := c.sock.write(x.reply); err != nil {
			return errClientGone
		}
	}
	up := c.up
	c.since.Store(c.srv.now.Load())
	c.due.Store(c.srv.after(c.srv.opts.ProxyRead))
	err := c.readResponse(x, up)
	c.since.Store(0)
	c.due.Store(0)
	if err != nil {
		return c.blame(x, up, err)
	}
	return nil
}

// relay relays the final answer.
func (c *client) relay(x *roundTrip) bool {
	r := &x.resp
	up := c.up
	kind, length := bodyToEOF, int64(0)
	switch {
	case r.Bodiless(x.req.IsHead):
		kind = bodyNone
	case r.Chunked:
		kind = bodyChunked
	case r.Length >= 0:
		kind, length = bodyLength, r.Length
	}
	// Only what has arrived whole leaves the connection in order; a body that
	// HTTP/1.0 cannot frame ends with it.
	unframed := x.req.HTTP10 && (kind == bodyChunked || kind == bodyToEOF)
	closing := c.mustClose(x) || unframed || !x.passed()
	x.down.from, x.down.in, x.down.to = up.socket, &x.back, c.sock
	x.down.begin(kind, length)
	x.down.framed = !unframed && (kind == bodyChunked || kind == bodyToEOF)
	x.down.out = c.appendResponse(x.down.out[:0], x, closing)
	ok := x.down.run()
	c.due.Store(0)
	if !ok {
		c.discard()
		c.closed = true
		if unframed && x.down.writeErr == nil {
			c.sock.reset()
		}
	}
	complete := c.stopUpload(x)
	c.finish(x, r.Status, c.broken(x))
	if ok && !complete {
		c.linger()
	}
	return ok && complete && !closing
}

// broken returns why a response was not relayed to its end, or nil.
func (c *client) broken(x *roundTrip) error {
	switch err := x.down.readErr; {
	case x.down.writeErr != nil, c.reason.Load() == reasonGone:
		return errClientGone
	case err == nil:
		return nil
	case errors.Is(x.up.readErr, errBodyEnded):
		return errBodyEnded
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errCutShort
	case errors.Is(err, os.ErrDeadlineExceeded) && x.up.readErr != nil:
		return errSlowClient
	default:
		return err
	}
}

// mustClose reports whether the client's connection ends after this request.
func (c *client) mustClose(x *roundTrip) bool {
	return !x.req.Persists() || c.srv.draining.Load()
}

// appendStatus appends the status line of a response, as ours.
func appendStatus(out []byte, r *http1.ResponseHead) []byte {
	out = strconv.AppendInt(append(out, "HTTP/1.1 "...), int64(r.Status), 10)
	return append(append(append(out, ' '), r.Reason...), "\r\n"...)
}

// appendResponse appends the head of the response as the client is to get it.
func (c *client) appendResponse(out []byte, x *roundTrip, closing bool) []byte {
	r := &x.resp
	out = appendStatus(out, r)
	coded := !x.down.framed // there is no coding to be named
	for i := range r.Fields {
		f := &r.Fields[i]
		switch f.Kind {
		case http1.EndToEnd:
			if r.Nominated(f) || int(f.Colon-f.Start) == len(fieldID) &&
				isName(r.Name(f), fieldID) {
				continue
			}
			out = append(out, r.Line(f)...)
		case http1.FieldContentLength:
			if r.Status != http.StatusNoContent {
				out = append(out, r.Line(f)...)
			}
		case http1.FieldTransferEncoding:
			if x.down.framed || x.req.IsHead && !x.req.HTTP10 {
				coded = true
				out = append(append(out, r.Name(f)...), ": chunked\r\n"...)
			}
		case http1.FieldHost, http1.FieldExpect:
			out = append(out, r.Line(f)...) // mean nothing here
		}
	}
	if !coded {
		out = append(out, "Transfer-Encoding: chunked\r\n"...)
	}
	out = append(append(append(out, "X-Chocon-Id: "...), x.id...), "\r\n"...)
	return append(c.appendConnection(out, x, closing), "\r\n"...)
}

// appendConnection appends the Connection field that an answer needs, if any.
func (c *client) appendConnection(out []byte, x *roundTrip, closing bool) []byte {
	switch {
	case closing:
		return append(out, "Connection: close\r\n"...)
	case x.req.HTTP10:
		return append(out, "Connection: keep-alive\r\n"...)
	}
	return out
}

// reuseFor returns how long the upstream keeps the connection, as it says.
func (x *roundTrip) reuseFor() time.Duration {
	r := &x.resp
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Kind == http1.FieldHop && isName(r.Name(f), "keep-alive") {
			return keepAliveTimeout(r.FieldValue(f))
		}
	}
	return 0
}

// keepAliveTimeout reads "timeout=5, max=100". It returns 0 when nothing is
// said, and less than 0 when the connection must not be used again.
func keepAliveTimeout(v []byte) time.Duration {
	const key = "timeout="
	for i := 0; i+len(key) < len(v); i++ {
		if !isName(v[i:i+len(key)], key) {
			continue
		}
		seconds := 0
		for _, c := range v[i+len(key):] {
			if c < '0' || c > '9' || seconds > 1<<20 {
				break
			}
			seconds = seconds*10 + int(c-'0')
		}
		// A request must not be under way when the upstream closes.
		return time.Duration(seconds)*time.Second - time.Second
	}
	return 0
}

const (
	lingerTime = time.Second
	lingerSize = 256 << 10
)

// linger lets the client read the last answer although it is still sending:
// closing at once would make its system throw the answer away (RFC 9112 9.6).
func (c *client) linger() {
	if c.sock.closeWrite() != nil {
		return
	}
	_ = c.sock.under.SetReadDeadline(time.Now().Add(lingerTime))
	b := c.x.in.b
	for read := 0; read < lingerSize; {
		n, err := c.sock.read(b)
		if err != nil {
			return
		}
		read += n
	}
}
