//go:build !linux

package eventloop

import "net"

// Join says that there are no loops here.
func (Link) Join() error { return ErrNoLoop }

// BelowTLS returns a connection like nc whose first bytes are came.
func BelowTLS(nc net.Conn, came []byte) net.Conn { return &begun{nc, came} }

// A begun is a connection whose first bytes were read.
type begun struct {
	net.Conn
	came []byte
}

// Read implements net.Conn.
func (b *begun) Read(p []byte) (int, error) {
	if len(b.came) > 0 {
		n := copy(p, b.came)
		b.came = b.came[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}
