package lane

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"
)

// A streamLent is a stream's connection that is away. The stream's goroutine
// waits for it.
type streamLent struct {
	net.Conn
	s      *stream
	unread []byte
	done   atomic.Bool
}

// tlsLent is a streamLent under TLS. Only it has ConnectionState: net/http
// takes a connection with that method for an encrypted one.
type tlsLent struct{ *streamLent }

// ConnectionState returns what the handshake has agreed on.
func (x tlsLent) ConnectionState() tls.ConnectionState {
	return x.Conn.(*tls.Conn).ConnectionState()
}

// lend gives the connection to Config.Full and waits for it to come back. It
// reports false when it does not.
func (s *stream) lend() bool {
	if s.srv.cfg.Full == nil {
		lingerOn(s.nc)
		return false
	}
	x := &streamLent{Conn: s.nc, s: s, unread: s.buf}
	s.home = make(chan []byte, 1)
	s.buf, s.half = nil, false
	s.setAway(true)
	_ = s.nc.SetDeadline(time.Time{}) // whoever has it now sets its own
	s.srv.count.lent.Add(1)
	if _, ok := s.nc.(*tls.Conn); ok {
		s.srv.cfg.Full(tlsLent{x})
	} else {
		s.srv.cfg.Full(x)
	}
	b, ok := <-s.home
	if !ok {
		return false
	}
	s.srv.count.returned.Add(1)
	_ = s.nc.SetDeadline(time.Time{})
	s.readBy, s.writeBy = time.Time{}, time.Time{}
	s.setAway(false)
	s.buf = owned(b)
	return true
}

// Unread implements Lent.
func (x *streamLent) Unread() []byte { return x.unread }

// Draining implements Lent.
func (x *streamLent) Draining() bool { return x.s.srv.draining.Load() }

// Gone implements Lent. A reset is not told of by package net before a write.
func (x *streamLent) Gone() <-chan struct{} { return x.s.srv.aborted }

// Read implements net.Conn.
func (x *streamLent) Read(p []byte) (int, error) {
	if x.done.Load() {
		return 0, net.ErrClosed
	}
	return x.Conn.Read(p)
}

// Write implements net.Conn.
func (x *streamLent) Write(p []byte) (int, error) {
	if x.done.Load() {
		return 0, net.ErrClosed
	}
	return x.Conn.Write(p)
}

// SetDeadline implements net.Conn.
func (x *streamLent) SetDeadline(t time.Time) error {
	if x.done.Load() {
		return net.ErrClosed
	}
	return x.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (x *streamLent) SetReadDeadline(t time.Time) error {
	if x.done.Load() {
		return net.ErrClosed
	}
	return x.Conn.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (x *streamLent) SetWriteDeadline(t time.Time) error {
	if x.done.Load() {
		return net.ErrClosed
	}
	return x.Conn.SetWriteDeadline(t)
}

// CloseWrite implements Lent.
func (x *streamLent) CloseWrite() error {
	half, ok := x.Conn.(interface{ CloseWrite() error })
	if !ok || x.done.Load() {
		return net.ErrClosed
	}
	return half.CloseWrite()
}

// Return implements Lent.
func (x *streamLent) Return(unread []byte) {
	if x.done.CompareAndSwap(false, true) {
		x.s.home <- unread
	}
}

// Close implements net.Conn.
func (x *streamLent) Close() error {
	if !x.done.CompareAndSwap(false, true) {
		return net.ErrClosed
	}
	err := x.Conn.Close()
	close(x.s.home)
	return err
}
