package proxy

import (
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/eventloop/nonblock"
)

// A deferredConn is an accepted connection of which the runtime's poller learns when
// it has to wait for the first time. Most that have one short request end before
// that: their request is there when they are accepted, and their answer fits
// into the socket's buffer.
type deferredConn struct {
	local  net.Addr
	remote netip.AddrPort

	// mu guards what follows. It is held while fd is used, so that nobody
	// closes it meanwhile and it cannot become another connection's.
	mu              sync.Mutex
	fd              int             // until inner is there
	inner           pollable        // nil: the poller does not know it
	raw             syscall.RawConn // of inner
	closed          bool
	readBy, writeBy time.Time // deadlines, until inner is there
}

// A pollable is a socket that the poller knows: an os.File or a net.TCPConn.
type pollable interface {
	Close() error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
	SyscallConn() (syscall.RawConn, error)
}

// SyscallConn implements syscall.Conn.
func (c *deferredConn) SyscallConn() (syscall.RawConn, error) { return (*deferredRaw)(c), nil }

// A deferredRaw is a deferredConn as its syscall.RawConn.
type deferredRaw deferredConn

// Read implements syscall.RawConn.
func (r *deferredRaw) Read(try func(fd uintptr) bool) error {
	c := (*deferredConn)(r)
	raw, err := c.once(try, &c.readBy)
	if raw == nil {
		return err
	}
	return raw.Read(try)
}

// Write implements syscall.RawConn.
func (r *deferredRaw) Write(try func(fd uintptr) bool) error {
	c := (*deferredConn)(r)
	raw, err := c.once(try, &c.writeBy)
	if raw == nil {
		return err
	}
	return raw.Write(try)
}

// Control implements syscall.RawConn.
func (r *deferredRaw) Control(f func(fd uintptr)) error {
	c := (*deferredConn)(r)
	raw, err := c.once(func(fd uintptr) bool { f(fd); return true }, &time.Time{})
	if raw == nil {
		return err
	}
	return raw.Control(f)
}

// once tries without waiting. It returns what can wait if that was not enough, or
// has been there before.
func (c *deferredConn) once(try func(fd uintptr) bool, by *time.Time) (syscall.RawConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, net.ErrClosed
	case c.raw != nil:
		return c.raw, nil
	case !by.IsZero() && time.Now().After(*by):
		return nil, os.ErrDeadlineExceeded
	case try(uintptr(c.fd)):
		return nil, nil
	}
	err := c.become(os.NewFile(uintptr(c.fd), "socket"))
	return c.raw, err
}

// polled reports whether the poller knows the connection.
func (c *deferredConn) polled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inner != nil
}

// become makes inner what the connection is from now on. mu is held.
func (c *deferredConn) become(inner pollable) (err error) {
	c.inner = inner
	if c.raw, err = inner.SyscallConn(); err != nil {
		return err
	}
	if !c.readBy.IsZero() {
		_ = inner.SetReadDeadline(c.readBy)
	}
	if !c.writeBy.IsZero() {
		_ = inner.SetWriteDeadline(c.writeBy)
	}
	return nil
}

// settle makes the connection one of package net, which moves bytes from one to
// another without reading them. Nobody else may use it meanwhile.
func (c *deferredConn) settle() (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, net.ErrClosed
	}
	if nc, ok := c.inner.(net.Conn); ok {
		return nc, nil
	}
	file, ok := c.inner.(*os.File)
	if !ok {
		file = os.NewFile(uintptr(c.fd), "socket")
		if err := c.become(file); err != nil {
			return nil, err
		}
	}
	nc, err := net.FileConn(file) // has a descriptor of its own
	if err != nil {
		return nil, err
	}
	_ = file.Close()
	tcp, ok := nc.(*net.TCPConn)
	if !ok { // it was accepted by a listener of TCP
		_ = nc.Close()
		return nil, net.UnknownNetworkError(nc.LocalAddr().Network())
	}
	return tcp, c.become(tcp)
}

// Read implements net.Conn.
func (c *deferredConn) Read(p []byte) (int, error) {
	nc, err := c.settle()
	if err != nil {
		return 0, err
	}
	return nc.Read(p)
}

// Write implements net.Conn.
func (c *deferredConn) Write(p []byte) (int, error) {
	nc, err := c.settle()
	if err != nil {
		return 0, err
	}
	return nc.Write(p)
}

// Close implements net.Conn.
func (c *deferredConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closed = true
	if c.inner != nil {
		return c.inner.Close()
	}
	nonblock.Close(c.fd)
	return nil
}

// CloseWrite ends our side of the stream.
func (c *deferredConn) CloseWrite() (err error) {
	return c.control(func(fd int) error { return unix.Shutdown(fd, unix.SHUT_WR) })
}

// SetLinger is that of net.TCPConn.
func (c *deferredConn) SetLinger(seconds int) error {
	l := &unix.Linger{Onoff: 1, Linger: int32(seconds)}
	return c.control(func(fd int) error {
		return unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, l)
	})
}

// control returns what f says.
func (c *deferredConn) control(f func(fd int) error) (err error) {
	other := (*deferredRaw)(c).Control(func(fd uintptr) { err = f(int(fd)) })
	if other != nil {
		return other
	}
	return err
}

// SetDeadline implements net.Conn.
func (c *deferredConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *deferredConn) SetReadDeadline(t time.Time) error {
	return c.limit(t, &c.readBy, pollable.SetReadDeadline)
}

// SetWriteDeadline implements net.Conn.
func (c *deferredConn) SetWriteDeadline(t time.Time) error {
	return c.limit(t, &c.writeBy, pollable.SetWriteDeadline)
}

// limit sets a deadline, now or when there is something that waits.
func (c *deferredConn) limit(
	t time.Time, by *time.Time, set func(pollable, time.Time) error,
) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return net.ErrClosed
	case c.inner != nil:
		return set(c.inner, t)
	}
	*by = t
	return nil
}

// LocalAddr implements net.Conn.
func (c *deferredConn) LocalAddr() net.Addr { return c.local }

// peer is the address of RemoteAddr.
func (c *deferredConn) peer() netip.Addr { return c.remote.Addr() }

// RemoteAddr implements net.Conn.
func (c *deferredConn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.remote) }
