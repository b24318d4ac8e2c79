package eventloop

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"
)

// A streamBorrowed is a stream's connection that is hijacked. The stream's goroutine
// waits for it.
type streamBorrowed struct {
	net.Conn
	s      *stream
	unread []byte
	done   atomic.Bool
}

// tlsBorrowed is a streamBorrowed under TLS. Only it has ConnectionState: net/http
// takes a connection with that method for an encrypted one.
type tlsBorrowed struct{ *streamBorrowed }

// ConnectionState returns what the handshake has agreed on.
func (x tlsBorrowed) ConnectionState() tls.ConnectionState {
	return x.Conn.(*tls.Conn).ConnectionState()
}

// handOver gives the connection to Config.HandedOver and waits for it to come back. It
// reports false when it does not.
func (s *stream) handOver() bool {
	if s.srv.cfg.HandedOver == nil {
		lingerOn(s.nc)
		return false
	}
	x := &streamBorrowed{Conn: s.nc, s: s, unread: s.buf}
	s.home = make(chan []byte, 1)
	s.buf, s.half = nil, false
	s.setHijacked(true)
	_ = s.nc.SetDeadline(time.Time{}) // whoever has it now sets its own
	s.srv.count.handedOver.Add(1)
	if _, ok := s.nc.(*tls.Conn); ok {
		s.srv.cfg.HandedOver(tlsBorrowed{x})
	} else {
		s.srv.cfg.HandedOver(x)
	}
	b, ok := <-s.home
	if !ok {
		return false
	}
	s.srv.count.returned.Add(1)
	_ = s.nc.SetDeadline(time.Time{})
	s.readBy, s.writeBy = time.Time{}, time.Time{}
	s.setHijacked(false)
	s.buf = owned(b)
	return true
}

// Unread implements Borrowed.
func (x *streamBorrowed) Unread() []byte { return x.unread }

// Meter returns that of the connection: see MeterOf.
func (x *streamBorrowed) Meter() Meter { return x.s.meter }

// Draining implements Borrowed.
func (x *streamBorrowed) Draining() bool { return x.s.srv.draining.Load() }

// Gone implements Borrowed. Package net does not report a reset before a write.
func (x *streamBorrowed) Gone() <-chan struct{} { return x.s.srv.aborted }

// Read implements net.Conn.
func (x *streamBorrowed) Read(p []byte) (int, error) {
	if x.done.Load() {
		return 0, net.ErrClosed
	}
	return x.Conn.Read(p)
}

// Write implements net.Conn.
func (x *streamBorrowed) Write(p []byte) (int, error) {
	if x.done.Load() {
		return 0, net.ErrClosed
	}
	return x.Conn.Write(p)
}

// SetDeadline implements net.Conn.
func (x *streamBorrowed) SetDeadline(t time.Time) error {
	if x.done.Load() {
		return net.ErrClosed
	}
	return x.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (x *streamBorrowed) SetReadDeadline(t time.Time) error {
	if x.done.Load() {
		return net.ErrClosed
	}
	return x.Conn.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (x *streamBorrowed) SetWriteDeadline(t time.Time) error {
	if x.done.Load() {
		return net.ErrClosed
	}
	return x.Conn.SetWriteDeadline(t)
}

// CloseWrite implements Borrowed.
func (x *streamBorrowed) CloseWrite() error {
	half, ok := x.Conn.(interface{ CloseWrite() error })
	if !ok || x.done.Load() {
		return net.ErrClosed
	}
	return half.CloseWrite()
}

// Return implements Borrowed.
func (x *streamBorrowed) Return(unread []byte) {
	if x.done.CompareAndSwap(false, true) {
		x.s.home <- unread
	}
}

// Close implements net.Conn.
func (x *streamBorrowed) Close() error {
	if !x.done.CompareAndSwap(false, true) {
		return net.ErrClosed
	}
	err := x.Conn.Close()
	close(x.s.home)
	return err
}
