package proxy

import (
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/eventloop/nonblock"
)

// A deferredListener is a listener of TCP whose connections cost less to accept and to close
// than those of package net: of the calls for a connection that has one short
// request it saves four, and those that are left do not tell Go's scheduler,
// which would hand the core over while the kernel is at it.
type deferredListener struct {
	file *os.File // the socket, in the runtime's poller
	raw  syscall.RawConn
	addr net.Addr

	closed atomic.Bool

	try func(fd uintptr) bool // method value of tryAccept
	nc  *deferredConn         // what it has accepted
	err error
}

// newDeferredListener returns what takes the place of l. Only one goroutine may accept.
func newDeferredListener(l net.Listener) (net.Listener, error) {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return l, nil
	}
	file, err := tcp.File()
	if err != nil {
		return nil, err
	}
	_ = tcp.Close() // left open it would wake the poller for every connection, too
	d := &deferredListener{file: file, addr: l.Addr()}
	if d.raw, err = file.SyscallConn(); err != nil {
		_ = file.Close()
		return nil, err
	}
	err = d.raw.Control(func(fd uintptr) {
		nonblock.SetTCP(int(fd), unix.TCP_NODELAY, 1) // connections have it from their listener
		// A connection is worth a look when its request is there. One that is
		// silent is seen after this time, in seconds.
		nonblock.SetTCP(int(fd), unix.TCP_DEFER_ACCEPT, 1)
	})
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	d.try = d.tryAccept
	return d, nil
}

// Accept implements net.Listener.
func (d *deferredListener) Accept() (net.Conn, error) {
	err := d.raw.Read(d.try)
	switch {
	case err == nil:
		err = d.err
	case d.closed.Load(): // the error for that is one of the poller's own
		err = net.ErrClosed
	}
	if err != nil {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: d.addr, Err: err}
	}
	return d.nc, nil
}

// tryAccept is the part of Accept that tries.
func (d *deferredListener) tryAccept(fd uintptr) bool {
	for {
		conn, from, e := nonblock.AcceptFrom(int(fd))
		switch e {
		case 0:
			d.nc, d.err = &deferredConn{fd: conn, local: d.addr, remote: from}, nil
			return true
		case unix.EINTR, unix.ECONNABORTED:
		case unix.EAGAIN:
			return false
		default:
			d.nc, d.err = nil, os.NewSyscallError("accept4", e)
			return true
		}
	}
}

// Close implements net.Listener.
func (d *deferredListener) Close() error {
	d.closed.Store(true)
	return d.file.Close()
}

// Addr implements net.Listener.
func (d *deferredListener) Addr() net.Addr { return d.addr }
