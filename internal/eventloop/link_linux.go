package eventloop

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// BelowTLS returns a connection like nc whose first bytes are came. crypto/tls over it can go on
// on a loop: see Link.
func BelowTLS(nc net.Conn, came []byte) net.Conn {
	return &secure{hijacker: nc, fed: came, addrs: &endpoints{nc.LocalAddr(), nc.RemoteAddr()}}
}

// belowTLS returns the connection below crypto/tls that a loop can have, and what is between
// them; nil: nothing.
func belowTLS(nc net.Conn) (net.Conn, *secure) {
	if tc, ok := nc.(*tls.Conn); ok {
		if s, ok := tc.NetConn().(*secure); ok {
			s.tls = tc
			return s.hijacker, s
		}
	}
	return nc, nil
}

// A joining is a Link on its way to the loop.
type joining struct {
	upstream *conn
	secure   *secure // of the client
}

// Join has the loop of the client take both connections, and returns before it does. An
// upstream ends by Ender.End once, its client too. With an error nothing of that comes to be:
// ErrNoLoop leaves both to the caller, any other closes both.
func (k Link) Join() error {
	below, secured := belowTLS(k.Conn)
	x, ok := below.(*borrowedConn)
	if !ok {
		return ErrNoLoop
	}
	up, err := newUpstream(x.c, k)
	if err != nil {
		return err
	}
	if !x.end() {
		_ = unix.Close(up.fd)
		up.closeMeter()
		return fmt.Errorf("link: %w", net.ErrClosed)
	}
	m := message{kind: join, c: x.c, borrowed: x, b: k.Unread, join: &joining{up, secured}}
	if !x.c.loop.queue.post(m) {
		up.abandon()
	}
	return nil
}

// newUpstream returns the connection of a loop that an upstream is to be, beside c. The caller's
// is closed.
func newUpstream(c *conn, k Link) (*conn, error) {
	below, secured := belowTLS(k.Upstream)
	from, ok := below.(syscall.Conn)
	if !ok {
		return nil, ErrNoLoop
	}
	fd, err := dup(from)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLoop, err)
	}
	if _, tcp := below.(*net.TCPConn); tcp {
		tune(fd)
	}
	_ = below.Close() // the copy is what stays
	if secured != nil {
		secured.hijacker = nil
	}
	up := &conn{loop: c.loop, fd: fd, upstream: true, secure: secured, in: k.Came}
	up.srv, up.proto, up.own, up.scope, up.Data = c.srv, c.proto, up, c.loop.scope, k.Data
	up.meter = c.srv.newMeter()
	return up, nil
}

// dup returns a copy of the descriptor of a socket or a listener.
func dup(from syscall.Conn) (fd int, err error) {
	raw, err := from.SyscallConn()
	if err != nil {
		return -1, err
	}
	var dupErr error
	err = raw.Control(func(old uintptr) {
		fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0)
	})
	return fd, errors.Join(err, dupErr)
}

// join takes the connections of a Link.
func (l *loop) join(c *conn, m *message) {
	up := m.join.upstream
	if err := l.register(up); err != nil {
		l.srv.cfg.Log.Warn("a connection was closed at once", "error", err)
		up.abandon()
		l.drop(c)
		return
	}
	l.become(up, reading)
	up.ready, up.again = true, len(up.in) > 0
	c.linked, up.linked, c.secure, c.Data = up, c, m.join.secure, up.Data
	l.wheel.unlink(c)
	l.takeBack(c, m)
	l.turn(up)
	if l.srv.draining.Load() {
		c.poke()
	}
}

// abandon ends an upstream that its loop does not have.
func (c *conn) abandon() {
	c.phase = closed
	_ = unix.Close(c.fd)
	c.srv.endUpstream(&c.Conn)
}

// endUpstream tells the protocol that an upstream has ended.
func (s *Server) endUpstream(c *Conn) {
	if e, ok := c.proto.(Ender); ok {
		e.End(c)
	}
	c.closeMeter()
}

// pass is Conn.Pass.
func (c *conn) pass(b []byte) bool {
	if !c.phase.in(served) || c.deaf {
		return false
	}
	if !c.loop.write(c, b) {
		c.reset = true
		return false
	}
	return !c.deaf
}

// ended goes on with a linked connection whose peer has ended its side.
func (l *loop) ended(c *conn) {
	if r, ok := c.proto.(LastReader); ok && !c.upstream && len(c.in) > 0 {
		r.Rest(&c.Conn, c.in)
	}
	c.in, c.ready = nil, false
	if c.upstream {
		l.drop(c)
		return
	}
	l.become(c, halfClosed)
	c.linked.endsOutput = true
	if up := c.linked; up.pending() == 0 {
		up.endOutput()
	}
	if c.reset {
		l.postpone(c)
	}
}

// endOutput tells the peer of an upstream that nothing more will be sent to it.
func (c *conn) endOutput() {
	c.closeNotify()
	_ = unix.Shutdown(c.fd, unix.SHUT_WR) // it has gone, or hears it
}

// unlink ends the connection that c, which has ended, was joined with.
func (l *loop) unlink(c *conn) {
	other := c.linked
	if other == nil {
		return
	}
	c.linked, other.linked = nil, nil
	switch {
	case other.upstream, other.reset:
		l.drop(other)
	case other.phase.in(served):
		other.ready = true // what its peer sends now must not reset it
		l.end(other, Close)
	}
}

// taken gives the connection that c is joined with its turn, which has waited until the peer of c
// has taken its output.
func (l *loop) taken(c *conn) {
	if c.endsOutput && !c.deaf {
		c.endOutput()
	}
	if o := c.linked; o.ready || o.again || o.reset {
		l.postpone(o)
	}
}

func (c *conn) isUpstream() bool { return c.upstream }

func (c *conn) other() *Conn {
	if c.linked == nil {
		return nil
	}
	return &c.linked.Conn
}
