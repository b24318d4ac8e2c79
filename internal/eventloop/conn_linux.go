package eventloop

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/eventloop/nonblock"
	"github.com/hotrow/hotrow/internal/workers"
)

const (
	lingerTicks   = 20        // 2 s for the peer to take the last answer
	lingerMaximum = 256 << 10 // bytes thrown away meanwhile
)

// A conn is a connection of a loop, which alone uses it. The exceptions are
// atomic.
type conn struct {
	Conn
	loop  *loop
	fd    int
	phase phase // see loop.become
	time  timing

	in       []byte // read and not consumed
	aside    []byte // pushes that wait for the end of an answer
	out      []byte // not taken by the peer yet, from sent on
	sent     int
	borrowed *borrowedConn // who has borrowed it, or nil

	secure *secure // or nil

	linked     *conn // see Link; or nil
	upstream   bool  // it is the one that the caller of Join has opened
	endsOutput bool  // its client sends nothing more
	deaf       bool  // its peer takes nothing more, and what it has said is still read

	// What is known of the socket.
	ready   bool // it may have input
	hup     bool // the peer has ended its side: read until EOF
	reset   bool // and reads nothing either
	blocked bool // it takes nothing at present

	again    bool // in may hold whole requests
	partial  bool // in is an unfinished request, whose deadline is set
	waits    bool // in loop.later
	dirty    bool // in loop.dirty
	lingered int  // bytes thrown away

	queued  atomic.Int64 // bytes of Send that are in the queue, and of out
	noted   int64        // what queued has of out
	refused atomic.Bool  // Send has refused something, and the connection is cut
	addrs   *endpoints
}

// adopt takes a new connection from an address.
func (l *loop) adopt(fd int, from netip.Addr) {
	c := &conn{loop: l, fd: fd}
	c.from = from
	c.srv, c.proto, c.own, c.scope = l.srv, l.srv.firstProtocol(), c, l.scope
	c.meter = l.srv.newMeter()
	if err := l.register(c); err != nil {
		l.srv.cfg.Log.Warn("a connection was closed at once", "error", err)
		_ = unix.Close(fd)
		l.srv.end(&c.Conn, false)
		return
	}
	if every := l.srv.cfg.Tick; every > 0 {
		c.time.tickAt = l.tick + ticks(every)
	}
	if l.srv.cfg.TLS != nil {
		l.startHandshake(c)
		return
	}
	l.begin(c)
}

// register has the events of a new connection come.
func (l *loop) register(c *conn) error {
	if l.srv.isAborted() {
		return ErrClosed
	}
	if err := l.watch(c.fd, c.fd, sockEvents); err != nil {
		return err
	}
	for len(l.conns) <= c.fd {
		l.conns = append(l.conns, nil)
	}
	l.conns[c.fd] = c
	l.open++
	return nil
}

// begin tells the protocol of a new connection.
func (l *loop) begin(c *conn) (ok bool) {
	l.become(c, reading)
	defer l.rescue(c)
	l.arm(c)
	return l.flush(c, c.proto.Open(&c.Conn, l.out[:0]))
}

// rescue ends a connection whose protocol has panicked.
func (l *loop) rescue(c *conn) {
	v := recover()
	if v == nil {
		return
	}
	l.srv.count.panics.Add(1)
	_ = workers.Caught(l.srv.cfg.Log, "serve a connection", v)
	l.out = nil // the protocol may have kept it
	if c.phase != closed {
		l.drop(c)
	}
}

// pending returns how many bytes the peer has not taken.
func (c *conn) pending() int { return len(c.out) - c.sent }

// idle reports whether c waits for a request of which nothing has come.
func (c *conn) idle() bool {
	return c.phase == reading && c.held == 0 && c.pending() == 0 && len(c.in) == 0 && !c.within &&
		c.linked == nil
}

// turn does for c what can be done now, one read at a time.
func (l *loop) turn(c *conn) {
	defer l.rescue(c)
	l.advance(c)
	l.afterTurn(c)
}

func (l *loop) advance(c *conn) {
	if c.phase == closed || c.phase.in(borrowed) || c.pending() > 0 && !l.flush(c, nil) {
		return
	}
	switch {
	case c.phase == streaming && c.hup, c.phase == halfClosed && c.reset && c.linked.pending() == 0:
		l.drop(c) // nobody reads the rest
	case c.phase == lingering:
		l.throwAway(c)
	case !l.runs(c):
	case c.again:
		l.step(c, c.in, l.out[:0])
	case c.ready && c.secure != nil:
		l.receiveSecure(c)
	case c.ready:
		l.receive(c)
	}
}

// afterTurn sees to it that c has another turn if it needs one.
func (l *loop) afterTurn(c *conn) {
	switch {
	case !l.runs(c):
	case c.again || c.ready:
		l.postpone(c)
	case l.srv.reaping.Load() && c.idle():
		l.drop(c)
	}
}

// postpone gives c another turn, behind others.
func (l *loop) postpone(c *conn) {
	if !c.waits {
		c.waits = true
		l.later = append(l.later, c)
	}
}

// runs reports whether c may go on with its input.
func (l *loop) runs(c *conn) bool {
	switch {
	case c.phase != reading:
		return false
	case c.linked != nil && c.linked.pending() > 0:
		return false
	case c.upstream: // what it says may be why its peer takes nothing
		return true
	}
	return c.pending() < l.srv.cfg.MaxUnread
}

// receive reads once and steps over what has come.
func (l *loop) receive(c *conn) {
	buf, kept := l.in, len(c.in)
	if kept < largeInput {
		copy(buf, c.in)
	} else {
		// Fewer copies for what is large and comes in many parts. The buffer
		// grows with what has come, not with what was announced.
		if cap(c.in)-kept < kept/4 {
			c.in = slices.Grow(c.in, kept)
		}
		buf = c.in[:min(cap(c.in), l.srv.cfg.MaxInput)]
	}
	if c.linked != nil {
		buf = buf[:min(len(buf), max(l.srv.cfg.MaxUnread, kept+1))]
	}
	n, e := nonblock.Recv(c.fd, buf[kept:])
	if kept >= largeInput {
		c.in = buf[:kept+n]
	}
	l.received(c, buf, kept, n, e)
	release(l.in)
}

// received goes on with what a read has brought: n bytes of buf behind those
// that were kept, or an error.
func (l *loop) received(c *conn, buf []byte, kept, n int, e unix.Errno) {
	switch {
	case e == unix.EAGAIN:
		c.ready = false
	case e == unix.EINTR:
	case e != 0:
		l.drop(c)
	case n == 0 && c.linked != nil:
		l.ended(c)
	case n == 0: // a peer that has ended its side still gets its answers
		c.in, c.ready = nil, false
		l.end(c, Close)
	default:
		c.ready = kept+n == len(buf) || c.hup
		l.step(c, buf[:kept+n], l.out[:0])
	}
}

// step lets the protocol consume in, sends its answers behind out, and does
// what comes next.
func (l *loop) step(c *conn, in, out []byte) {
	next, made := More, 0
	c.again = false
	for c.within || len(in) > 0 && len(in) >= c.want {
		var n int
		c.want = 0
		n, out, next = step(&c.Conn, in, out)
		in = in[n:]
		if n > 0 {
			c.partial = false
		}
		out = c.rejoin(next, out)
		if next != Flush && next != Again {
			break
		}
		made += max(len(out), turnSize/8) // also when nothing comes of it
		if !l.flush(c, out) {
			return
		}
		out = l.out[:0]
		if made >= turnSize || c.pending() >= l.srv.cfg.MaxUnread {
			c.again = true
			break
		}
	}
	c.keep(in)
	if next == Parked {
		c.again = true
		l.become(c, parked)
	}
	if !l.flush(c, out) {
		return
	}
	switch next {
	case More:
		if len(in) >= max(l.srv.cfg.MaxInput, 1) && !c.again {
			l.srv.count.cut.Add(1)
			l.drop(c)
		}
	case HandOver, Close:
		l.end(c, next)
	}
}

// rejoin notes whether the output ends within an answer. If not, the pushes that have waited
// for that come behind it.
func (c *conn) rejoin(next Next, out []byte) []byte {
	c.goesWithin(next)
	if !c.within && len(c.aside) > 0 {
		out = append(out, c.aside...)
		c.queued.Add(-int64(len(c.aside)))
		c.aside = nil
	}
	return out
}

// keep stores what was not consumed. rest may be a part of c.in.
func (c *conn) keep(rest []byte) {
	if len(rest) == 0 {
		release(c.in)
		c.in = nil // an idle connection holds no buffer
		return
	}
	c.in = append(c.in[:0], rest...)
	release(c.in[len(c.in):])
}

// flush sends what is pending, then out. What the socket does not take waits
// in c.out. It reports false when the connection is gone.
func (l *loop) flush(c *conn, out []byte) bool {
	if cap(out) > cap(l.out) && cap(out) <= keptOutput {
		l.out = out // it has grown
	}
	waits := c.pending() > 0
	ok := l.write(c, out)
	release(l.out)
	switch {
	case !ok:
		l.drop(c)
	case waits && c.pending() == 0 && c.phase.in(ending):
		l.finish(c)
	default:
		return true
	}
	return false
}

// write is flush for output that need not be the loop's own. It drops nothing: it reports false
// when the connection has to be.
func (l *loop) write(c *conn, out []byte) bool {
	if c.secure != nil && len(out) > 0 {
		var ok bool
		if out, ok = l.seal(c, out); !ok {
			return l.hearsNot(c)
		}
	}
	waits := c.pending() > 0
	if waits {
		c.out = append(c.out, out...)
		out = c.out[c.sent:]
	}
	sent := 0
	for sent < len(out) && !c.blocked {
		n, e := nonblock.Send(c.fd, out[sent:])
		switch e {
		case 0:
			sent += n // after a short one the next says EAGAIN: only then comes an edge
		case unix.EAGAIN:
			c.blocked = true
		case unix.EINTR:
		default:
			return l.hearsNot(c)
		}
	}
	switch {
	case sent == len(out):
		release(c.out)
		c.out, c.sent = nil, 0
	case waits:
		c.advance(sent)
	default:
		c.out = append([]byte(nil), out[sent:]...)
	}
	release(l.sealedOut)
	l.outputChanged(c, waits, sent)
	return true
}

// outputChanged notes that so many bytes of the output were sent, and the rest waits.
func (l *loop) outputChanged(c *conn, waited bool, sent int) {
	fresh := c.noted == 0
	l.account(c)
	if c.noted != 0 || c.told.Load() != 0 {
		c.meterUntaken()
	}
	if fresh || sent > 0 {
		l.arm(c)
	}
	if waited && c.linked != nil && c.pending() == 0 {
		l.taken(c)
	}
}

// hearsNot reports whether a connection goes on whose peer takes nothing more: an upstream does,
// for what its peer has said last.
func (l *loop) hearsNot(c *conn) bool {
	if !c.upstream || c.linked == nil {
		return false
	}
	waited := c.pending() > 0
	c.deaf, c.ready = true, true
	c.out, c.sent = nil, 0
	l.outputChanged(c, waited, 0)
	l.postpone(c)
	return true
}

// advance notes that n bytes of the output were taken, and now and then frees
// their space.
func (c *conn) advance(n int) {
	c.sent += n
	if c.sent > len(c.out)/2 {
		c.out = append(c.out[:0], c.out[c.sent:]...)
		c.sent = 0
	}
}

// account corrects what Send knows about the output.
func (l *loop) account(c *conn) {
	if n := int64(c.pending()); n != c.noted {
		c.queued.Add(n - c.noted)
		c.noted = n
	}
	c.written()
}

// arm gives c the deadline of what it waits for now.
func (l *loop) arm(c *conn) {
	cfg := &l.srv.cfg
	switch {
	case c.linked != nil: // see Link
	case c.pending() > 0:
		l.wheel.set(c, l.tick+1+ticks(cfg.Write), l.tick)
	case c.phase == lingering:
	case c.phase == parked, c.phase == streaming, c.within: // it waits for us
		l.wheel.set(c, 0, l.tick)
	case len(c.in) > 0:
		if !c.partial { // once: a trickle does not put it off
			c.partial = true
			l.wheel.set(c, l.tick+1+ticks(cfg.Header), l.tick)
		}
	case c.held > 0:
		l.wheel.set(c, 0, l.tick)
	default:
		l.wheel.set(c, l.tick+1+ticks(cfg.Idle), l.tick)
	}
}

// look closes c if its deadline has passed, and ticks.
func (l *loop) look(c *conn) (ended bool) {
	defer l.rescue(c)
	t := &c.time
	if t.deadline != 0 && t.deadline <= l.tick {
		if c.phase != lingering {
			l.srv.count.timedOut.Add(1)
		}
		l.expire(c)
		l.cutAt = l.now
		return true
	}
	if t.tickAt == 0 || t.tickAt > l.tick {
		l.wheel.link(c, l.tick)
		return false
	}
	t.tickAt = l.tick + ticks(l.srv.cfg.Tick)
	l.wheel.link(c, l.tick)
	if !c.phase.in(served) {
		return false
	}
	l.callTick(c)
	return false
}

// expire closes c, whose time is over, with the protocol's last word if the peer takes any.
func (l *loop) expire(c *conn) {
	e, ok := c.proto.(Expirer)
	if !ok || c.phase != reading || c.pending() > 0 {
		l.drop(c)
		return
	}
	if l.flush(c, e.Expired(&c.Conn, l.out[:0])) {
		c.ready = true // a request that comes now must not reset it
		l.end(c, Close)
	}
}

// callTick calls the Tick of a connection that is served.
func (l *loop) callTick(c *conn) {
	out, next := c.proto.Tick(&c.Conn, l.out[:0])
	if l.flush(c, out) && next == Close {
		l.end(c, Close)
	}
}
