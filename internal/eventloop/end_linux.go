package eventloop

import (
	"crypto/tls"
	"net"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/eventloop/nonblock"
)

// end hands c over or closes it, as soon as the peer has taken its output.
func (l *loop) end(c *conn, how Next) {
	if how == HandOver && l.srv.cfg.HandedOver != nil {
		l.become(c, handing)
	} else {
		l.become(c, closing)
		l.unlink(c)
	}
	if c.pending() == 0 {
		l.finish(c)
	}
}

// finish does what end has begun, the peer having taken the output.
func (l *loop) finish(c *conn) {
	switch {
	case c.phase == handing:
		l.handOver(c)
	case c.upstream, len(c.in) == 0 && !c.ready && !l.srv.draining.Load():
		c.closeNotify()
		l.drop(c)
	default:
		// The peer is sending, or soon may be. Closing now would answer that
		// with a reset, which may overtake the last answer.
		c.closeNotify()
		_ = unix.Shutdown(c.fd, unix.SHUT_WR)
		l.become(c, lingering)
		c.in, c.ready = nil, true
		l.wheel.set(c, l.tick+1+lingerTicks, l.tick)
		l.throwAway(c)
	}
}

// throwAway takes from the socket what nobody wants any more. It does so without any
// buffer of the loop's, which may hold the input of others at this time.
func (l *loop) throwAway(c *conn) {
	for c.ready {
		n, e := l.discard(c.fd)
		c.lingered += n
		switch {
		case e == unix.EAGAIN:
			c.ready = false
		case e == unix.EINTR:
		case e != 0, n == 0, c.lingered > lingerMaximum:
			l.drop(c)
			return
		}
	}
}

// discard drops up to readSize bytes that have come. A unix socket does not do that itself.
func (l *loop) discard(fd int) (n int, e unix.Errno) {
	if l.srv.overTCP {
		return nonblock.Discard(fd, readSize)
	}
	if l.rubbish == nil {
		l.rubbish = make([]byte, readSize)
	}
	return nonblock.Recv(fd, l.rubbish)
}

// drop closes c.
func (l *loop) drop(c *conn) {
	opened := c.phase != handshaking
	l.become(c, closed)
	l.wheel.unlink(c)
	l.conns[c.fd] = nil
	l.open--
	c.queued.Store(closedQueue)
	c.Hold(0)
	release(c.in)
	release(c.out)
	c.in, c.out, c.aside, c.borrowed = nil, nil, nil, nil
	_ = unix.Close(c.fd)
	if c.upstream {
		l.srv.endUpstream(&c.Conn)
	} else {
		l.srv.end(&c.Conn, opened)
	}
	l.unlink(c)
}

// resume takes the answer that c is parked for, and goes on with its input.
func (l *loop) resume(c *conn, b []byte, next Next) {
	if c.phase != parked && c.phase != streaming {
		return
	}
	c.inFlush += int64(len(b))
	if next == Stream || c.phase == streaming {
		l.stream(c, append(l.out[:0], b...), next)
		return
	}
	l.become(c, reading)
	out := c.rejoin(next, append(l.out[:0], b...))
	goesOn := next == Again || next == More && len(c.in) > 0
	if goesOn && c.pending() < l.srv.cfg.MaxUnread {
		l.step(c, c.in, out) // so that all is sent at once
	} else {
		c.again = goesOn
		if !l.flush(c, out) {
			return
		}
		if next != More && next != Again {
			l.end(c, next)
			return
		}
	}
	l.turn(c)
}

// stream begins an answer that Send goes on with, or ends it.
func (l *loop) stream(c *conn, out []byte, next Next) {
	switch {
	case next != Stream:
		if l.flush(c, out) {
			l.end(c, Close)
		}
		return
	case c.phase == parked:
		l.become(c, streaming)
		c.keep(nil)
		c.again = false
	}
	if l.flush(c, out) && c.hup {
		l.drop(c)
	}
}

// handOver gives c to Config.HandedOver.
func (l *loop) handOver(c *conn) {
	l.become(c, hijacked)
	x := newBorrowedConn(c)
	c.in, c.borrowed, c.partial = nil, x, false
	l.wheel.set(c, 0, l.tick)
	l.srv.count.handedOver.Add(1)
	if c.secure != nil {
		c.secure.hijacker = x
		l.srv.cfg.HandedOver(&secureBorrowed{borrowedConn: x, s: c.secure})
		return
	}
	l.srv.cfg.HandedOver(x)
}

// takeBack goes on with a connection that was handed over.
func (l *loop) takeBack(c *conn, m *message) {
	l.srv.count.returned.Add(1)
	l.become(c, reading)
	c.borrowed = nil
	c.in, c.again = owned(m.b), len(m.b) > 0
	c.ready = m.borrowed.ready.Load() || c.hup
	if c.secure != nil {
		c.secure.hijacker = nil
		c.ready = true // crypto/tls may hold a request already
	}
	c.blocked = false
	l.arm(c)
	l.turn(c)
}

// resume is Conn.Resume.
func (c *conn) resume(b []byte, next Next) {
	c.resumed.Add(int64(len(b)))
	c.meterUntaken()
	c.loop.queue.post(message{kind: resume, c: c, b: b, next: next, fd: sum(b)})
}

// send is Conn.Send.
func (c *conn) send(b []byte) bool {
	if c.queued.Add(int64(len(b))) <= 2*int64(c.srv.cfg.MaxOutput) {
		return c.loop.queue.post(message{kind: push, c: c, b: b, fd: sum(b)})
	}
	if !c.refused.Swap(true) { // the first that is too much
		c.loop.queue.post(message{kind: cut, c: c})
	}
	return false
}

// poke is Conn.Poke.
func (c *conn) poke() { c.loop.queue.post(message{kind: tick, c: c}) }

// hold is Conn.Hold.
func (c *conn) hold(n int) { c.loop.queue.busy.Add(int32(n - c.held)) }

// secured returns the connection's TLS.
func (c *conn) secured() *tls.Conn {
	if c.secure == nil {
		return nil
	}
	return c.secure.tls
}

// backlog is Conn.Backlog.
func (c *conn) backlog() int { return int(c.queued.Load()) }

// endpoints are the addresses of a connection.
type endpoints struct{ local, remote net.Addr }

func (c *conn) localAddr() net.Addr  { return c.endpoints().local }
func (c *conn) remoteAddr() net.Addr { return c.endpoints().remote }

// endpoints asks the kernel once. It is called by the owner of c only.
func (c *conn) endpoints() *endpoints {
	switch {
	case c.addrs != nil:
	case c.phase == closed:
		return &endpoints{c.srv.nowhere(), c.srv.nowhere()}
	default:
		local, localErr := unix.Getsockname(c.fd)
		remote, remoteErr := unix.Getpeername(c.fd)
		c.addrs = &endpoints{c.srv.address(local, localErr), c.srv.address(remote, remoteErr)}
	}
	return c.addrs
}

// nowhere returns the address of an end that nobody knows.
func (s *Server) nowhere() net.Addr {
	if s.overTCP {
		return &net.TCPAddr{}
	}
	return &net.UnixAddr{Net: "unix"}
}

// address returns an address as package net has it: nowhere when the peer has gone
// before anybody asked.
func (s *Server) address(sa unix.Sockaddr, err error) net.Addr {
	if err == nil {
		switch a := sa.(type) {
		case *unix.SockaddrInet4:
			return &net.TCPAddr{IP: a.Addr[:], Port: a.Port}
		case *unix.SockaddrInet6:
			addr := &net.TCPAddr{IP: a.Addr[:], Port: a.Port}
			if a.ZoneId != 0 {
				if dev, err := net.InterfaceByIndex(int(a.ZoneId)); err == nil {
					addr.Zone = dev.Name
				}
			}
			return addr
		case *unix.SockaddrUnix:
			return &net.UnixAddr{Name: a.Name, Net: "unix"}
		}
	}
	return s.nowhere()
}
