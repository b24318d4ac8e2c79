package eventloop

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/eventloop/nonblock"
)

// A borrowedConn is a loop's connection that is hijacked. It reads and writes the socket
// itself, and waits for the loop to report events, so that the descriptor
// stays where it is registered: no copy of it, no second poller.
type borrowedConn struct {
	c      *conn
	addrs  *endpoints // the connection's own are the loop's to look at
	unread []byte

	reading sync.Mutex // held during Read
	writing sync.Mutex // held during Write
	wakeR   chan struct{}
	wakeW   chan struct{}
	readBy  deadline
	writeBy deadline
	done    atomic.Bool
	ready   atomic.Bool // the socket may have input that Read has not seen
	gone    chan struct{}
	reset   bool // gone is closed; the loop's
}

func newBorrowedConn(c *conn) *borrowedConn {
	x := &borrowedConn{
		c: c, addrs: c.endpoints(), unread: c.in,
		wakeR: make(chan struct{}, 1), wakeW: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	x.readBy.start, x.writeBy.start = c.srv.start, c.srv.start
	x.ready.Store(c.ready)
	x.noteReset(c.reset)
	return x
}

// noteReset is called by the loop.
func (x *borrowedConn) noteReset(reset bool) {
	if reset && !x.reset {
		x.reset = true
		close(x.gone)
	}
}

// event is called by the loop.
func (x *borrowedConn) event(input, reset bool) {
	if input {
		x.ready.Store(true)
	}
	x.noteReset(reset)
	poke(x.wakeR)
	poke(x.wakeW)
}

// Unread implements Borrowed.
func (x *borrowedConn) Unread() []byte { return x.unread }

// Meter returns that of the connection: see MeterOf.
func (x *borrowedConn) Meter() Meter { return x.c.meter }

// Draining implements Borrowed.
func (x *borrowedConn) Draining() bool { return x.c.srv.draining.Load() }

// Gone implements Borrowed.
func (x *borrowedConn) Gone() <-chan struct{} { return x.gone }

// Read implements net.Conn.
func (x *borrowedConn) Read(p []byte) (int, error) {
	x.reading.Lock()
	defer x.reading.Unlock()
	for {
		if err := x.over("read", &x.readBy); err != nil {
			return 0, err
		}
		x.ready.Store(false) // before recv: what comes later sets it again
		n, e := nonblock.Recv(x.c.fd, p)
		switch {
		case e == unix.EAGAIN:
			x.wait(x.wakeR, &x.readBy)
		case e == unix.EINTR:
		case e != 0:
			x.ready.Store(true)
			return 0, x.failed("read", os.NewSyscallError("recv", e))
		case n == 0 && len(p) > 0:
			x.ready.Store(true) // the loop is to see the end too
			return 0, io.EOF
		default:
			if n == len(p) {
				x.ready.Store(true) // there may be more
			}
			return n, nil
		}
	}
}

// Write implements net.Conn.
func (x *borrowedConn) Write(p []byte) (n int, err error) {
	x.writing.Lock()
	defer x.writing.Unlock()
	for n < len(p) {
		if err := x.over("write", &x.writeBy); err != nil {
			return n, err
		}
		sent, e := nonblock.Send(x.c.fd, p[n:])
		switch e {
		case 0:
			n += sent
		case unix.EAGAIN:
			x.wait(x.wakeW, &x.writeBy)
		case unix.EINTR:
		default:
			return n, x.failed("write", os.NewSyscallError("send", e))
		}
	}
	return n, nil
}

// over returns the error of a connection that has ended or whose deadline has
// passed.
func (x *borrowedConn) over(op string, by *deadline) error {
	if x.done.Load() {
		return x.failed(op, net.ErrClosed)
	}
	if by.passed() {
		return x.failed(op, os.ErrDeadlineExceeded)
	}
	return nil
}

// failed returns err as package net would.
func (x *borrowedConn) failed(op string, err error) error {
	return &net.OpError{Op: op, Net: x.addrs.local.Network(), Source: x.addrs.local,
		Addr: x.addrs.remote, Err: err}
}

// wait returns when something may have changed.
func (x *borrowedConn) wait(wake chan struct{}, by *deadline) {
	left, limited := by.left()
	if !limited {
		<-wake
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-wake:
	case <-timer.C:
	}
}

// SetDeadline implements net.Conn.
func (x *borrowedConn) SetDeadline(t time.Time) error {
	_ = x.SetReadDeadline(t) // neither fails
	return x.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (x *borrowedConn) SetReadDeadline(t time.Time) error {
	x.readBy.set(t)
	poke(x.wakeR)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (x *borrowedConn) SetWriteDeadline(t time.Time) error {
	x.writeBy.set(t)
	poke(x.wakeW)
	return nil
}

// LocalAddr implements net.Conn.
func (x *borrowedConn) LocalAddr() net.Addr { return x.addrs.local }

// RemoteAddr implements net.Conn.
func (x *borrowedConn) RemoteAddr() net.Addr { return x.addrs.remote }

// CloseWrite implements Borrowed.
func (x *borrowedConn) CloseWrite() error {
	x.writing.Lock()
	defer x.writing.Unlock()
	if x.done.Load() {
		return x.failed("close", net.ErrClosed)
	}
	if err := unix.Shutdown(x.c.fd, unix.SHUT_WR); err != nil {
		return x.failed("close", os.NewSyscallError("shutdown", err))
	}
	return nil
}

// end sees to it that nobody uses the socket, now or later. It reports whether
// this call was the one to do so.
func (x *borrowedConn) end() bool {
	if !x.done.CompareAndSwap(false, true) {
		return false
	}
	poke(x.wakeR)
	poke(x.wakeW)
	x.reading.Lock()
	x.writing.Lock()
	//lint:ignore SA2001 to have had both is what counts
	x.writing.Unlock()
	x.reading.Unlock()
	return true
}

// Return implements Borrowed.
func (x *borrowedConn) Return(unread []byte) {
	if x.end() {
		x.c.loop.queue.post(message{kind: giveBack, c: x.c, borrowed: x, b: unread})
	}
}

// Close implements net.Conn. Only the loop closes descriptors: one whose
// number is used again cannot get an event that was meant for its predecessor.
func (x *borrowedConn) Close() error {
	if !x.end() {
		return x.failed("close", net.ErrClosed)
	}
	x.c.loop.queue.post(message{kind: giveUp, c: x.c, borrowed: x})
	return nil
}
