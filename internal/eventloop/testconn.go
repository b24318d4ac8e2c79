package eventloop

import (
	"crypto/tls"
	"net"
)

// NewTestConn returns a connection without a socket, for tests and benchmarks
// of a Protocol's Step. What a protocol sends or resumes is lost.
func NewTestConn(s Scope) *Conn {
	own := nowhere{}
	srv := &Server{cfg: Config{}.withDefaults(), addr: own.localAddr()}
	return &Conn{srv: srv, own: own, scope: s}
}

// nowhere is the owner of a connection without a socket.
type nowhere struct{}

func (nowhere) resume([]byte, Next)  {}
func (nowhere) send([]byte) bool     { return false }
func (nowhere) backlog() int         { return 0 }
func (nowhere) poke()                {}
func (nowhere) hold(int)             {}
func (nowhere) secured() *tls.Conn   { return nil }
func (nowhere) localAddr() net.Addr  { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
func (nowhere) remoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2} }
