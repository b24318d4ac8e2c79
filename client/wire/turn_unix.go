//go:build unix

package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// canTurn reports whether callers may read nc themselves: a wait for bytes has to end when
// a context does, they must be able to look whether there are some, and what they read
// must be for nobody else.
func canTurn(nc net.Conn, handlers int) bool {
	switch nc.(type) {
	case *net.TCPConn, *net.UnixConn:
		return handlers == 0
	}
	return false
}

// receiveNow takes in what one read brings that does not wait.
func (c *Conn) receiveNow() error {
	raw, err := c.nc.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	if c.turns.limited {
		if err := c.unbound(); err != nil {
			return err
		}
	}
	var n int
	var told error
	err = raw.Read(func(fd uintptr) bool {
		n, told = syscall.Read(int(fd), c.in[c.have:])
		return true
	})
	switch {
	case err != nil:
		return err
	case errors.Is(told, syscall.EAGAIN), errors.Is(told, syscall.EINTR):
		return nil
	case told != nil:
		return os.NewSyscallError("read", told)
	case n == 0:
		return io.ErrUnexpectedEOF
	}
	return c.took(n)
}
