package eventloop

import (
	"crypto/tls"
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

// A Conn is what a Protocol sees of a connection. Its fields and methods are
// for the goroutine that calls the Protocol, except where they say otherwise.
type Conn struct {
	// Data is the protocol's own state of this connection.
	Data any

	srv      *Server
	proto    Protocol
	own      owner
	lowWater atomic.Int64 // see Below; one more than the level, 0: nobody asked
	scope    Scope
	want     int
	held     int // see Hold

	from   netip.Addr // of the peer, where it is counted
	within bool       // the output ends within an answer; the owner's

	meter Meter        // or nil
	told  atomic.Int64 // what it knows of
	kept  atomic.Int64 // see Keep

	resumed atomic.Int64 // bytes given to Resume that the output does not have yet
	inFlush int64        // of them, what the output has from the next flush on; the owner's

	http2 atomic.Bool // proto is Config.HTTP2
}

// An owner is the form of a connection.
type owner interface {
	resume(b []byte, next Next)
	send(b []byte) bool
	backlog() int
	poke()
	hold(n int)
	secured() *tls.Conn
	localAddr() net.Addr
	remoteAddr() net.Addr
}

// Resume gives the answer that the connection is parked for. It is called once
// per Parked, by any goroutine, and even before Step has returned. b must not
// be written to afterwards.
func (c *Conn) Resume(b []byte) { c.own.resume(b, More) }

// ResumeThen is Resume, and says what is next: More, Stream, HandOver or, after an
// answer that says so, Close. Behind Stream it is called once more, with Close.
//
// Step sees again what it has not consumed. So it may leave the request that
// it parks for in the input, and be resumed with nothing when memory holds the
// answer, or with HandOver when it turns out to be for net/http.
func (c *Conn) ResumeThen(b []byte, next Next) { c.own.resume(b, next) }

// Send appends b to the output at any time: a frame that has no place in the
// order of answers. Any goroutine may call it; it does not block. b must not be
// written to afterwards. Send reports false when the connection is closed, or
// is being cut because its peer does not take what it is sent.
func (c *Conn) Send(b []byte) bool { return c.own.send(b) }

// Backlog returns how many bytes of output the peer has not taken: those given to
// Send, and on a loop all others, too. Who has much to send waits while it is
// large. Any goroutine may call it.
func (c *Conn) Backlog() int { return c.own.backlog() }

// Untaken is Backlog, what was given to Resume and is not in the output yet, and what the
// protocol keeps. It may be too much for a moment, never too little. Any goroutine may
// call it.
func (c *Conn) Untaken() int {
	resumed := c.resumed.Load() // first: what leaves it is in the backlog by then
	return int(resumed+c.kept.Load()) + c.Backlog()
}

// Keep says that the protocol keeps n bytes more for the peer, or fewer, that are not
// output yet. Any goroutine may call it.
func (c *Conn) Keep(n int) {
	if n != 0 {
		c.kept.Add(int64(n))
		c.meterUntaken()
	}
}

// closeMeter says that the connection has ended.
func (c *Conn) closeMeter() {
	if c.meter != nil {
		c.meter.Close()
	}
}

// Within says that the output of this Step, which returns Parked, ends within an answer: as
// behind Again, what is given to Send comes behind that.
func (c *Conn) Within() { c.within = true }

// goesWithin notes what Step or Resume has said of the output: Parked leaves it as it is.
func (c *Conn) goesWithin(next Next) {
	if next != Parked {
		c.within = next == Again
	}
}

// Meter returns what Config.Meter has made for the connection, or nil.
func (c *Conn) Meter() Meter { return c.meter }

// closedQueue as the backlog says that the connection is closed.
const closedQueue = 1 << 62

// meterUntaken tells the meter what has changed. Who changes it calls this behind the
// change, so that the last of several who do it at once tells the truth.
func (c *Conn) meterUntaken() {
	if c.meter == nil {
		return
	}
	for {
		now := int64(c.Untaken())
		if now >= closedQueue {
			return
		}
		if old := c.told.Swap(now); old != now {
			c.meter.Untaken(now - old)
		}
		if int64(c.Untaken()) == now {
			return
		}
	}
}

// Below has the protocol's Drained called once, if it is a Drainer, when no more than
// n bytes of output wait for the peer, or what a former call asked for if that is
// more. It reports false when that is so already. Any goroutine may call it.
func (c *Conn) Below(n int) bool {
	c.NextBelow(n)
	return !c.drops(c.Backlog())
}

// NextBelow is Below for who has output that is not written yet: within a call of the
// protocol, or given to Resume. Drained is called when something has been written next, even
// if no more than n bytes wait now. Any goroutine may call it.
func (c *Conn) NextBelow(n int) {
	for {
		old := c.lowWater.Load()
		if old >= int64(n)+1 || c.lowWater.CompareAndSwap(old, int64(n)+1) {
			return
		}
	}
}

// written notes that the output has been written, or waits for the peer where Backlog
// counts it, and tells the protocol. It is for the owner.
func (c *Conn) written() {
	if c.inFlush != 0 {
		c.resumed.Add(-c.inFlush)
		c.inFlush = 0
	}
	c.drained()
}

// drops reports whether a backlog is one that Below waits for, and that it waits no
// more.
func (c *Conn) drops(backlog int) bool {
	level := c.lowWater.Load()
	return level > 0 && int64(backlog) < level && c.lowWater.CompareAndSwap(level, 0)
}

// drained tells the protocol if the backlog is what Below waits for.
func (c *Conn) drained() {
	if c.lowWater.Load() == 0 {
		return
	}
	if d, ok := c.proto.(Drainer); ok && c.drops(c.Backlog()) {
		d.Drained(c)
	}
}

// Poke has the protocol's Tick called soon. Any goroutine may call it.
func (c *Conn) Poke() { c.own.poke() }

// Hold says how many answers are being made for the connection by others than its owner:
// while there are some it is not idle, though nothing comes.
func (c *Conn) Hold(n int) {
	c.own.hold(n)
	c.held = n
}

// ConnectionState returns what the handshake of TLS has agreed on, if there was one.
func (c *Conn) ConnectionState() (state tls.ConnectionState, ok bool) {
	tc := c.own.secured()
	if tc == nil {
		return state, false
	}
	return tc.ConnectionState(), true
}

// HTTP2 reports whether the connection, or the one that it is a conversation over, speaks
// Config.HTTP2. Any goroutine may call it.
func (c *Conn) HTTP2() bool { return c.http2.Load() }

// Want says that Step has no use for less than n bytes of input. It holds for
// the next call.
func (c *Conn) Want(n int) { c.want = n }

// Scope returns the state of the loop, or nil. It may be another one at the
// next call of the Protocol.
func (c *Conn) Scope() Scope { return c.scope }

// Draining reports whether the server is shutting down: the answer should say
// that the connection ends, and Step return Close. Any goroutine may call it.
func (c *Conn) Draining() bool { return c.srv.draining.Load() }

// WriteLimit returns how long a peer may take nothing of an answer: Config.Write.
func (c *Conn) WriteLimit() time.Duration { return c.srv.cfg.Write }

// LocalAddr returns the address at which the connection arrived.
func (c *Conn) LocalAddr() net.Addr { return c.own.localAddr() }

// ListenAddr returns the address of the listener, which says who can reach it. LocalAddr does not:
// for a listener on every address it is what this peer has chosen of them.
func (c *Conn) ListenAddr() net.Addr { return c.srv.addr }

// RemoteAddr returns the address of the peer.
func (c *Conn) RemoteAddr() net.Addr { return c.own.remoteAddr() }
