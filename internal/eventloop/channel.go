package eventloop

import (
	"crypto/tls"
	"net"
)

// A Resumer gets what is given to the Resume of a channel. Any goroutine calls it.
type Resumer interface {
	Resumed(c *Conn, b []byte, next Next)
	// Unsent returns how many bytes of what it got wait, and are no output yet.
	Unsent(c *Conn) int
}

// A channel is the owner of a Conn for one of several conversations over a connection.
type channel struct {
	of    *Conn
	own   *Conn
	to    Resumer
	local net.Addr
	peer  net.Addr
}

// Channel returns a Conn for one of several conversations over c, for a protocol that
// another one carries. What it is resumed with is given to r, and what it is sent, with
// Stream.
func (c *Conn) Channel(p Protocol, r Resumer) *Conn {
	ch := &channel{of: c, to: r, local: c.LocalAddr(), peer: c.RemoteAddr()}
	ch.own = &Conn{srv: c.srv, proto: p, own: ch, meter: c.meter}
	ch.own.http2.Store(c.http2.Load())
	return ch.own
}

// StepChannel calls the Step of the protocol of a channel of c, within a call of the
// protocol of c.
func (c *Conn) StepChannel(ch *Conn, in, out []byte) (n int, grown []byte, next Next) {
	ch.scope = c.scope
	n, grown, next = step(ch, in, out)
	ch.scope = nil
	return n, grown, next
}

// HandOver gives the request of one conversation over c to Config.HandedOver, and reports false if
// there is none. x is its connection.
func (c *Conn) HandOver(x Borrowed) bool {
	if c.srv.cfg.HandedOver == nil {
		return false
	}
	c.srv.count.handedOver.Add(1)
	c.srv.cfg.HandedOver(x)
	return true
}

// Returned notes that what was handed over has been answered.
func (c *Conn) Returned() { c.srv.count.returned.Add(1) }

func (ch *channel) resume(b []byte, next Next) { ch.to.Resumed(ch.own, b, next) }
func (ch *channel) backlog() int               { return ch.of.Backlog() + ch.to.Unsent(ch.own) }
func (ch *channel) send(b []byte) bool         { ch.to.Resumed(ch.own, b, Stream); return true }
func (ch *channel) poke()                      {}
func (ch *channel) hold(int)                   {}
func (ch *channel) secured() *tls.Conn         { return ch.of.own.secured() }
func (ch *channel) localAddr() net.Addr        { return ch.local }
func (ch *channel) remoteAddr() net.Addr       { return ch.peer }
