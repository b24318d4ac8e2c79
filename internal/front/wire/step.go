package wirefront

import (
	"slices"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
)

// Step answers the messages at the front of in.
//
// Answers that fit into one frame and are there at once go to out. Their order
// is of no account: each has its own opaque. All other output is sent in the
// order in which the session made it: see conn.flush.
func (f *Front) Step(lc *eventloop.Conn, in, out []byte) (int, []byte, eventloop.Next) {
	c, s := lc.Data.(*conn), lc.Scope().(*scope)
	c.mu.Lock()
	defer c.mu.Unlock()
	start, n, next := len(out), 0, eventloop.More
	for n < len(in) {
		used, side, err := c.session.Next(in[n:], c.side, &s.event)
		c.side, n = side, n+used
		if err != nil {
			c.broken(err)
			n, next = len(in), eventloop.Close
			break
		}
		if s.event.Type == gofast.EventNone {
			lc.Want(c.session.Want())
			break
		}
		out = c.handle(s, &s.event, out)
		if c.wrong >= front.WrongTokens {
			n, next = len(in), eventloop.Close
			break
		}
		if c.keys > front.ParkedKeys { // what waits for its turn has a bound, too
			c.full, next = true, eventloop.Parked
			break
		}
		if len(out)+len(c.side) >= eventloop.FlushSize {
			next = eventloop.Flush
			break
		}
	}
	c.launch(s.live)
	if f.draining.Load() {
		c.sendGoingAway()
	}
	if c.pumpSome(); len(c.side) > 0 {
		// What was answered first goes first: a barrier promises that.
		c.send(append(slices.Clip(out[start:]), c.side...))
		c.side, out = nil, out[:start]
	} else if len(out) > start {
		c.session.CountFlush()
	}
	return n, out, next
}

// handle does what an event asks for. c.mu is held.
func (c *conn) handle(s *scope, e *gofast.Event, out []byte) []byte {
	switch e.Type {
	case gofast.EventRequest:
		return c.request(s, e, out)
	case gofast.EventPost:
		c.hint(e)
	case gofast.EventReady:
		c.ready()
	case gofast.EventAuth:
		c.identify(s.live, string(e.Data))
	case gofast.EventStart:
		c.begin(s, e)
	case gofast.EventMessage:
		c.side = c.session.AppendConsumed(c.side, e.Opaque, len(e.Data))
	case gofast.EventFinish:
		c.finished(e)
	case gofast.EventCancel:
		c.canceled(e)
	case gofast.EventCredit:
		c.credited(e)
	}
	return out
}

// ready notes who the peer is.
func (c *conn) ready() {
	peer := c.session.Peer()
	c.single = min(int(min(peer.Buffer, front.PacketBytes)), c.session.MaxData()) - gofast.Overhead
	if peer.Ext != nil {
		c.who = front.NewIdentity(string(peer.Ext.Token))
	}
}

// request answers a request of the peer, or sees to it that it is answered.
func (c *conn) request(s *scope, e *gofast.Event, out []byte) []byte {
	if e.Refuse {
		f := fail(kindTooLarge, "too many requests are under way")
		if c.f.draining.Load() {
			f = &fault{kind: kindDraining}
		}
		c.deny(e, f)
		return out
	}
	switch e.ID {
	case rows.IDGet:
		return c.get(s, e, out)
	case rows.IDGetMulti:
		c.getMulti(s, e)
	case rows.IDQuery:
		c.query(s, e)
	case rows.IDPut, rows.IDPatch, rows.IDDelete, rows.IDCreate:
		c.write(s, e)
	case rows.IDInfo:
		c.info(s, e)
	case rows.IDEchoRequest:
		if s.live.Perf {
			return c.echo(e, out)
		}
		fallthrough
	default:
		c.hint(e)
		c.deny(e, &fault{kind: kindNoMessage})
	}
	return out
}

// begin is for a stream that the peer has opened.
func (c *conn) begin(s *scope, e *gofast.Event) {
	switch {
	case e.ID == rows.IDWatch:
		c.watch(s, e)
	case e.ID == rows.IDEchoSend && s.live.Perf:
		_ = c.session.Sink(e.Opaque) // the stream has just begun
		c.side = c.session.AppendConsumed(c.side, e.Opaque, len(e.Data))
	case e.ID == rows.IDEchoReceive && s.live.Perf:
		c.produce(e)
	default:
		c.hint(e)
		c.endStream(e.Opaque, &fault{kind: kindNoMessage})
	}
}

// finished is for a stream on which the peer sends no more: that is the end of
// it for us, too.
func (c *conn) finished(e *gofast.Event) {
	if w, ok := e.User.(*watcher); ok {
		w.end(nil)
		return
	}
	if p, ok := e.User.(*producer); ok && p.stop(false) {
		return // it finishes itself
	}
	c.side, _ = c.session.AppendFinish(c.side, e.Opaque) // or it was finished before
}

// canceled is for an exchange that the peer does not want any more. A write that
// has begun goes on: one that is cut off has an outcome that nobody knows.
func (c *conn) canceled(e *gofast.Event) {
	f := &fault{kind: kindCanceled}
	switch u := e.User.(type) {
	case *task:
		if !u.isWrite {
			u.abandon()
			c.refuse(u.opaque, u.id, f)
			c.f.stats.Observe(u.resourceName(), f.kind.code, time.Since(u.began))
			u.log(f.kind.code)
		}
	case *watcher:
		u.end(f)
	case *producer:
		u.stop(true)
		c.endStream(e.Opaque, f)
	default:
		c.endStream(e.Opaque, f)
	}
}

// credited is for a stream that may go on.
func (c *conn) credited(e *gofast.Event) {
	switch u := e.User.(type) {
	case *watcher:
		u.drain()
	case *producer:
		u.wake()
	case nil:
		for w := range c.watchers {
			w.drain()
		}
	}
}

// deny refuses a request at once. c.mu is held.
func (c *conn) deny(e *gofast.Event, f *fault) {
	c.refuse(e.Opaque, e.ID, f)
	c.f.stats.Observe("", f.kind.code, 0)
	c.logNow(e.ID, e.Data, f.kind.code)
}

// denyStream refuses a stream at once. c.mu is held.
func (c *conn) denyStream(e *gofast.Event, f *fault) {
	c.endStream(e.Opaque, f)
	c.logNow(e.ID, e.Data, f.kind.code)
}

// refuse answers a request with a fault. c.mu is held.
func (c *conn) refuse(opaque, id uint64, f *fault) {
	e := f.wire()
	var err error
	if c.side, err = c.session.AppendError(c.side, opaque, e); err != gofast.ErrNotAgreed {
		return
	}
	// An old peer's answer says so itself. What is too long for it is cut.
	text := e.Text
	if most := c.session.MaxData() - 16; len(text) > most {
		text = front.Clip(text, max(most-3, 0))
	}
	m := gofast.Message{ID: id, Data: rows.AppendFailure(nil, rows.Status(e.Code), text)}
	c.side, _ = c.session.AppendResponse(c.side, opaque, &m)
}

// endStream ends a stream of the peer, with a fault or without. c.mu is held.
func (c *conn) endStream(opaque uint64, f *fault) {
	if f == nil {
		c.side, _ = c.session.AppendFinish(c.side, opaque)
		return
	}
	c.f.stats.Observe("", f.kind.code, 0)
	c.side, _ = c.session.AppendError(c.side, opaque, f.wire())
}

// respond answers a request with a payload that nobody writes to any more. c.mu
// is held.
func (c *conn) respond(opaque, id uint64, prefix, payload []byte) {
	m := gofast.Message{ID: id, Prefix: prefix, Data: payload}
	var err error
	if c.side, err = c.session.AppendResponse(c.side, opaque, &m); err == gofast.ErrTooLarge {
		c.refuse(opaque, id, fail(kindTooLarge, "the answer is larger than the peer accepts"))
	}
}
