package proxy

import (
	"errors"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/hotrow/hotrow/internal/trace"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// A roundTrip is what a request needs while it is under way. It is given back
// when the client is idle, so that ten thousand of those cost little.
type roundTrip struct {
	req  http1.RequestHead
	resp http1.ResponseHead
	in   buffer // from the client
	back buffer // from the upstream
	up   pump   // the request's body; its out begins with the head
	down pump   // the response's

	whole    bool          // all of the request was in the first write
	uploaded chan struct{} // closed when the upload beside us has ended; nil: none
	began    time.Time
	sent     time.Time // when the request had been sent
	log      Entry
	uri      []byte
	host     []byte
	method   []byte
	agent    []byte
	id       []byte
	traits
	span  *trace.Span // of the request; nil: it is not recorded
	key   bool        // there is an Idempotency-Key
	fresh bool        // id is ours
	cut   int         // how much of the target is for us
	reply []byte
	addr  string
	to    *target // nil while it is not known
}

// takeRoundTrip returns a round trip for a client.
func (s *Server) takeRoundTrip(c *client) *roundTrip {
	x, _ := s.roundTrips.Get().(*roundTrip)
	if x == nil {
		x = &roundTrip{}
		x.in.b = make([]byte, bufferSize)
		x.back.b = make([]byte, bufferSize)
		x.up.upload = true
	}
	x.up.c, x.down.c = c, c
	return x
}

// putRoundTrip takes it back.
func (s *Server) putRoundTrip(x *roundTrip) {
	x.in.reset()
	x.back.reset()
	for _, b := range []*[]byte{&x.up.out, &x.down.out, &x.up.saved, &x.uri, &x.reply} {
		if cap(*b) > 2*flushSize {
			*b = nil
		}
	}
	s.roundTrips.Put(x)
}

// roundTrip answers the request whose head is the first n bytes of the input.
func (c *client) roundTrip(x *roundTrip, n int) (keep bool) {
	x.began = time.Now()
	x.sent, x.uploaded, x.whole = time.Time{}, nil, false
	c.reason.Store(reasonNone)
	x.cut, x.up.total, x.down.total = 0, 0, 0
	c.note(x)
	c.srv.count.requests.Add(1)
	if answer := c.srv.ownAnswer(x); answer != nil {
		return c.answerOwn(x, n, answer)
	}
	if c.ops {
		x.in.consume(n)
		x.whole = x.req.Length <= 0 && !x.req.Chunked
		return c.fail(x, errNoPage)
	}
	t, err := c.srv.route(x)
	if err != nil {
		x.in.consume(n)
		return c.fail(x, err)
	}
	x.to = t
	if x.req.Connect {
		return c.connect(x, n, t)
	}
	if err := t.learn(c); err != nil {
		x.in.consume(n)
		return c.fail(x, err)
	}
	if t.speaksHTTP2() && (!x.req.Upgrade || c.h2c(&x.req)) {
		return c.roundTripHTTP2(x, t, n)
	}
	c.prepare(x, t, n)
	if err := c.forward(x, t); err != nil {
		return c.fail(x, err)
	}
	return c.respond(x)
}

// prepare writes the request as the upstream will get it into x.up.out, with as
// much of the body as is there already.
func (c *client) prepare(x *roundTrip, t *target, n int) {
	r := &x.req
	x.up.from, x.up.in = c.sock, &x.in
	switch {
	case r.Chunked:
		x.up.begin(bodyChunked, 0)
		x.up.framed = true
	case r.Length > 0:
		x.up.begin(bodyLength, r.Length)
	default:
		x.up.begin(bodyNone, 0)
	}
	x.up.out = c.appendRequest(x.up.out[:0], x, t)
	x.in.consume(n)
	x.up.gather()
	x.whole = x.up.done
}

// forward sends the request to an upstream, again if that is safe, and reads
// the first head of the response.
func (c *client) forward(x *roundTrip, t *target) error {
	if x.up.readErr != nil {
		return x.up.readErr
	}
	x.log.Retries = 0
	for fresh := false; ; {
		up, err := t.acquire(c, fresh)
		if err != nil {
			return err
		}
		if x.addr != up.backend.name {
			x.addr = up.backend.name
		}
		x.log.Reused = up.uses > 1
		c.attach(up)
		written, err := c.attempt(x, up)
		if err == nil {
			up.backend.answered(x.resp.Status, c.srv, x.began)
			return nil
		}
		c.discard()
		if errors.Is(err, errStale) && up.uses > 1 {
			continue // as if it had not been there
		}
		again := up.uses > 1 && c.mayRetry(x, written, err, t)
		if !again {
			return c.blame(x, up, err)
		}
		fresh = true
		x.log.Retries++
		c.srv.count.retries.Add(1)
	}
}

// attempt sends the request on one connection and waits for a response. It
// reports whether any byte of the request may have arrived.
func (c *client) attempt(x *roundTrip, up *upstream) (written bool, err error) {
	x.up.to = up.socket
	x.back.r, x.back.w = 0, 0
	again := x.up.saved
	if len(again) == 0 {
		again = x.up.out
	}
	n, err := c.put(x, up, again)
	if err != nil {
		c.since.Store(0)
		c.due.Store(0)
		return n > 0, err
	}
	if !x.whole && (x.uploaded == nil || !x.up.done) {
		c.startUpload(x)
	}
	x.sent = x.began
	c.since.Store(c.srv.now.Load())
	c.due.Store(c.srv.after(c.srv.opts.ProxyRead))
	err = c.readResponse(x, up)
	c.since.Store(0)
	c.due.Store(0)
	return true, err
}

// put sends the first part of a request, and reads what comes back if that is
// all of it. It returns how much was sent.
func (c *client) put(x *roundTrip, up *upstream, b []byte) (int, error) {
	sent := 0
	if up.plain() {
		if x.whole {
			c.since.Store(c.srv.now.Load())
			c.due.Store(c.srv.after(c.srv.opts.ProxyRead))
			n, got, err := up.ask(b, x.back.space())
			x.back.w += got
			if err != nil || got > 0 {
				return n, err
			}
			c.since.Store(0)
			sent = n
		} else if up.lookOnce() != peekNothing {
			return 0, errStale
		}
	}
	c.due.Store(c.srv.after(c.srv.opts.Write))
	n, err := up.write(b[sent:])
	return sent + n, err
}

// startUpload moves the rest of the request's body beside us: the upstream may
// answer before it has all of it.
func (c *client) startUpload(x *roundTrip) {
	if len(x.up.saved) == 0 {
		x.up.saving = idempotent(x)
		x.up.save(x.up.out)
		x.up.out = x.up.out[:0]
	}
	done := make(chan struct{})
	x.uploaded = done
	go func() {
		defer close(done)
		defer c.rescueUpload()
		if !x.up.run() && x.up.readErr != nil {
			c.interruptUpstream() // the response will not come
		}
		c.upDue.Store(0)
	}()
}

// rescueUpload ends the request when a bug has shown up as a panic.
func (c *client) rescueUpload() {
	if v := recover(); v != nil {
		c.srv.log.Error("panic while relaying", "panic", v, "stack", string(debug.Stack()))
		c.reason.CompareAndSwap(reasonNone, reasonGone)
		c.interruptUpstream()
	}
}

// uploading reports whether the upload has not ended.
func (x *roundTrip) uploading() bool {
	if x.uploaded == nil {
		return false
	}
	select {
	case <-x.uploaded:
		return false
	default:
		return true
	}
}

// lastWrite is how long an answer waits for the write of the last part of its
// request to return: what has come by it may be answered before that. It is
// waited for in full only where an upstream answers before it has read all.
const lastWrite = 50 * time.Millisecond

// passed reports whether the whole request has gone to the upstream: an upload
// may also have ended because the upstream takes no more of it.
func (x *roundTrip) passed() bool {
	if x.uploaded == nil {
		return x.whole
	}
	if x.uploading() && x.up.ending.Load() {
		select {
		case <-x.uploaded:
		case <-time.After(lastWrite):
		}
	}
	return !x.uploading() && x.up.done && x.up.writeErr == nil
}

// stopUpload ends the upload and waits for it. It reports whether the request
// was read to its end.
func (c *client) stopUpload(x *roundTrip) (complete bool) {
	if x.uploading() {
		c.sock.interruptRead()
		c.mu.Lock()
		if c.up != nil {
			c.up.interrupt()
		}
		c.mu.Unlock()
		<-x.uploaded
		c.sock.resumeRead()
	}
	return x.passed()
}

// readResponse reads until a whole head of a response is at the beginning of
// x.back.
func (c *client) readResponse(x *roundTrip, up *upstream) error {
	for {
		if x.back.size() > 0 {
			n, err := x.resp.Parse(x.back.bytes())
			if err != nil {
				return errResponse{err}
			}
			if n > 0 {
				x.back.r += n // consume would forget what the head points to
				return nil
			}
		}
		if _, err := x.back.fill(up.socket); err != nil {
			return err
		}
	}
}

// mayRetry reports whether a request whose reused connection has failed may be
// sent on another one: when nothing of it was sent, or nothing can have come
// of it, or doing it twice does no harm.
func (c *client) mayRetry(x *roundTrip, written bool, err error, t *target) bool {
	var bad errResponse
	if errors.As(err, &bad) || x.back.size() > 0 || c.reason.Load() != reasonNone ||
		x.log.Retries > 2 {
		return false
	}
	if written && (!idempotent(x) || x.log.Retries > 0 || !t.budget()) {
		return false
	}
	if x.whole {
		return true
	}
	if x.uploaded == nil { // the first write has failed
		return !written
	}
	c.stopUpload(x)
	if errors.Is(x.up.readErr, os.ErrDeadlineExceeded) {
		x.up.readErr = nil
	}
	return x.up.saving && x.up.readErr == nil
}

// idempotent reports whether the request may be carried out twice (RFC 9110
// 9.2.2).
func idempotent(x *roundTrip) bool {
	switch string(x.method) {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut,
		http.MethodDelete, http.MethodTrace:
		return true
	}
	return x.key
}

// blame turns the error of an upstream connection into that of the request, and
// counts it against the upstream if it is its fault.
func (c *client) blame(x *roundTrip, up *upstream, err error) error {
	if x.uploaded != nil {
		c.stopUpload(x)
		if x.up.readErr != nil && !errors.Is(x.up.readErr, os.ErrDeadlineExceeded) {
			return x.up.readErr
		}
	}
	switch {
	case c.reason.Load() == reasonGone:
		return errClientGone
	case errors.Is(err, os.ErrDeadlineExceeded) && x.up.readErr != nil:
		return errSlowClient
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errSlowUpstream
	case errors.Is(err, io.EOF):
		err = errUpstreamClosed
	}
	up.backend.failed(c.srv, false)
	return err
}

// discard closes the upstream connection that is in use.
func (c *client) discard() {
	if up := c.detach(); up != nil {
		up.discard()
	}
}

// bodyEnded gives the upstream connection back when the response is complete:
// a slow client need not keep it.
func (c *client) bodyEnded() {
	x := c.x
	up := c.detach()
	if up == nil {
		return
	}
	if x.resp.Persists() && x.down.kind != bodyToEOF && x.back.size() == 0 && !x.uploading() &&
		(x.whole || x.up.done && x.up.writeErr == nil) && c.reason.Load() == reasonNone {
		up.release(x.reuseFor())
		return
	}
	up.discard()
}
