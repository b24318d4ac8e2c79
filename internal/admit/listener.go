package admit

import (
	"net"
	"net/netip"
	"sync"
)

// Listener returns l with the bounds of g: a connection that is one too many is closed as soon
// as it is accepted, and Accept waits for the next.
func Listener(l net.Listener, g *Gate) net.Listener { return &listener{l, g} }

type listener struct {
	net.Listener
	gate *Gate
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := AddrOf(nc.RemoteAddr())
		if l.gate.Enter(from) {
			return &conn{Conn: nc, gate: l.gate, from: from}, nil
		}
		_ = nc.Close()
	}
}

// A conn leaves the gate when it is closed.
type conn struct {
	net.Conn
	gate *Gate
	from netip.Addr
	once sync.Once
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.once.Do(func() { c.gate.Leave(c.from) })
	return c.Conn.Close()
}

// CloseWrite ends our side of the stream, so that net/http has the peer read the last answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
