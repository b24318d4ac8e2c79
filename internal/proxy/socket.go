package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// A socket is a connection to a client or an upstream. One goroutine may read
// and another write.
type socket struct {
	conn  net.Conn        // what is read and written: TCP, unix or TLS
	under net.Conn        // the TCP or unix connection itself
	raw   syscall.RawConn // of under; nil: conn is read and written by its methods

	// Arguments of RawConn's methods that are made for each call would be garbage,
	// and for each connection, too, where it has one short request: they are made
	// when they are needed first.
	recvFn, sendFn, peekFn, askFn func(fd uintptr) bool

	in, out       []byte
	got, sent     int
	inErr, outErr error
	peeked        peekResult
	asked         bool
}

type peekResult uint8

const (
	peekNothing peekResult = iota // the peer is there and silent
	peekBytes
	peekEnd // the peer has ended its side, or is gone
)

// newSocket wraps a connection. under is the one below TLS, conn itself
// without.
func newSocket(conn, under net.Conn) *socket {
	s := &socket{conn: conn, under: under}
	sc, ok := under.(syscall.Conn)
	if !rawSockets || !ok {
		return s
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return s
	}
	s.raw = raw
	return s
}

// plain reports whether bytes of the socket are bytes of the connection.
func (s *socket) plain() bool { return s.raw != nil && s.conn == s.under }

// read reads at least one byte, or returns an error: io.EOF at the end.
func (s *socket) read(p []byte) (int, error) {
	if !s.plain() {
		return s.conn.Read(p)
	}
	if s.recvFn == nil {
		s.recvFn = s.recvOnce
	}
	s.in = p
	err := s.raw.Read(s.recvFn)
	s.in = nil
	if err != nil {
		return 0, err
	}
	return s.got, s.inErr
}

// recvOnce is the part of read that tries.
func (s *socket) recvOnce(fd uintptr) bool {
	n, e := recv(fd, s.in)
	if e == syscall.EAGAIN {
		return false
	}
	s.received(n, e)
	return true
}

// received notes what a recv has returned.
func (s *socket) received(n int, e syscall.Errno) {
	s.got, s.inErr = n, nil
	if e != 0 {
		s.inErr = os.NewSyscallError("recv", e)
	} else if n == 0 {
		s.inErr = io.EOF
	}
}

// write writes all of p. It returns how much the kernel has taken.
func (s *socket) write(p []byte) (int, error) {
	if !s.plain() {
		return s.conn.Write(p)
	}
	if s.sendFn == nil {
		s.sendFn = s.sendOnce
	}
	s.out, s.sent, s.outErr = p, 0, nil
	err := s.raw.Write(s.sendFn)
	s.out = nil
	if err == nil {
		err = s.outErr
	}
	return s.sent, err
}

// sendOnce is the part of write that tries.
func (s *socket) sendOnce(fd uintptr) bool {
	for s.sent < len(s.out) {
		n, e := send(fd, s.out[s.sent:])
		if e == syscall.EAGAIN {
			return false
		}
		if e != 0 {
			s.outErr = os.NewSyscallError("send", e)
			return true
		}
		s.sent += n
	}
	return true
}

// errStale says that a connection had something to say before it was asked.
var errStale = errors.New("the connection is not in order any more")

// ask is write and then read, for a plain socket that must be silent before: it
// saves the read that would find nothing yet. When the kernel does not take all
// of p, got is 0 and nothing has been waited for.
func (s *socket) ask(p, in []byte) (sent, got int, err error) {
	if s.askFn == nil {
		s.askFn = s.askOnce
	}
	s.out, s.sent, s.outErr = p, 0, nil
	s.in, s.got, s.inErr = in, 0, nil
	s.asked = false
	err = s.raw.Read(s.askFn)
	s.in, s.out = nil, nil
	switch {
	case err != nil:
		return s.sent, 0, err
	case s.outErr != nil:
		return s.sent, 0, s.outErr
	}
	return s.sent, s.got, s.inErr
}

// askOnce is the part of ask that tries. The poller has been told to listen
// before the first call, so whatever comes after the look wakes it.
func (s *socket) askOnce(fd uintptr) bool {
	if s.asked {
		return s.recvOnce(fd)
	}
	s.asked = true
	s.peeked = peekNothing
	if s.peekOnce(fd); s.peeked != peekNothing {
		s.outErr = errStale
		return true
	}
	return !s.sendOnce(fd) || s.outErr != nil
}

// look says what the next read would find, without waiting. Nobody else may
// call it at the same time.
func (s *socket) look() peekResult {
	s.peeked = peekNothing
	if s.raw != nil && s.raw.Control(func(fd uintptr) { s.peekOnce(fd) }) != nil {
		return peekEnd
	}
	return s.peeked
}

// lookOnce is look for a socket that nobody reads; it is cheaper.
func (s *socket) lookOnce() peekResult {
	if s.peekFn == nil {
		s.peekFn = s.peekOnce
	}
	s.peeked = peekNothing
	if s.raw != nil && s.raw.Read(s.peekFn) != nil {
		return peekEnd
	}
	return s.peeked
}

// peekOnce is the part of look that tries.
func (s *socket) peekOnce(fd uintptr) bool {
	var b [1]byte
	n, e := peek(fd, b[:])
	switch {
	case n > 0:
		s.peeked = peekBytes
	case e == 0 || e != syscall.EAGAIN:
		s.peeked = peekEnd
	}
	return true
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// interrupt makes the reads and writes that wait now, and all later ones, fail
// with os.ErrDeadlineExceeded.
func (s *socket) interrupt() { _ = s.under.SetDeadline(past) }

// interruptRead is interrupt for reads alone, until resumeRead.
func (s *socket) interruptRead() { _ = s.under.SetReadDeadline(past) }

// resumeRead lets reads wait again.
func (s *socket) resumeRead() { _ = s.under.SetReadDeadline(time.Time{}) }

// closeWrite ends our side of the stream.
func (s *socket) closeWrite() error {
	if c, ok := s.conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return s.conn.Close()
}

// reset closes the connection such that the peer takes what it has got for cut
// off: where the end of the connection is the end of the message, nothing else
// tells.
func (s *socket) reset() {
	if c, ok := s.under.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(0)
	}
	_ = s.under.Close()
}

// settle makes ready for bytes that nobody here reads: package net has the kernel
// move those from one of its connections to another.
func (s *socket) settle() {
	if c, ok := s.conn.(interface{ settle() (net.Conn, error) }); ok {
		if nc, err := c.settle(); err == nil {
			s.conn = nc
		}
	}
}

// close closes the connection.
func (s *socket) close() { _ = s.conn.Close() }
