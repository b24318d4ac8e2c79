package eventloop

import (
	"errors"
	"net"
)

// A Link joins a connection that was handed over with one that the caller has opened to
// another server, its upstream. Both belong to one loop from then on, which calls the Protocol
// for either. What the Protocol is given of one it passes on with Conn.Pass of the other, in
// the same turn, from the loop's own buffer: nothing is copied but what a peer does not take.
//
// Of a connection nothing is read while the other has bytes that its peer has not taken, and at
// most Config.MaxUnread at once. So this bounds what is on its way in one direction, and who
// takes nothing stops who sends. A client that leaves more than that untaken is not read, either:
// the Protocol may answer it without the upstream. The bounds of time in Config hold for neither.
//
// A client that ends its side has its upstream hear so; what the upstream sends still reaches
// it. When an upstream ends, its client is closed behind its output; when a client ends
// altogether, so does the upstream.
type Link struct {
	Conn     net.Conn // a Borrowed, or crypto/tls over BelowTLS of one
	Upstream net.Conn // of TCP or of a unix socket, or crypto/tls over BelowTLS of one
	Unread   []byte   // of Conn: what was read and not consumed; the loop's from Join on
	Came     []byte   // the same of Upstream
	Data     any      // Conn.Data of both
}

// ErrNoLoop says that there are no loops, or that one of the connections is none for them.
var ErrNoLoop = errors.New("eventloop: no loop can have the connection")

// A linked is an owner that Link can join with another.
type linked interface {
	other() *Conn
	isUpstream() bool
	pass(b []byte) bool
}

// Linked returns the connection that c is joined with, or nil.
func (c *Conn) Linked() *Conn {
	if l, ok := c.own.(linked); ok {
		return l.other()
	}
	return nil
}

// Upstream reports whether c is the upstream of a Link.
func (c *Conn) Upstream() bool {
	l, ok := c.own.(linked)
	return ok && l.isUpstream()
}

// Pass sends b at once, and keeps what the peer does not take. It is called within a call of the
// Protocol for c or the connection that it is joined with. b stays the caller's. Pass reports
// false when c takes nothing more: its peer has gone, or it is being closed.
func (c *Conn) Pass(b []byte) bool {
	l, ok := c.own.(linked)
	return ok && l.pass(b)
}
