package sqlfront

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
)

// A leg is one of the two connections of a session that goroutines have. One goroutine reads,
// one writes, and any may close it.
type leg struct {
	net.Conn          // what is spoken over
	socket   net.Conn // below TLS, or the same
	meter    eventloop.Meter
	buf      []byte // to read into
}

// newLeg returns the leg over a connection, which may speak TLS.
func newLeg(nc net.Conn, meter eventloop.Meter) *leg {
	l := &leg{Conn: nc, socket: nc, meter: meter}
	if secured, ok := nc.(*tls.Conn); ok {
		l.socket = secured.NetConn()
	}
	return l
}

// secured reports whether the leg has TLS.
func (l *leg) secured() bool { return l.Conn != l.socket }

// receive waits for bytes, which are valid until the next call. Without bytes there is an error.
func (l *leg) receive() (p []byte, err error) {
	if l.buf == nil {
		l.buf = make([]byte, front.SQLBuffer)
	}
	n, err := l.Read(l.buf)
	if n > 0 {
		err = nil // it comes again
	}
	return l.buf[:n], err
}

// send writes p. It is counted until the peer has taken it.
func (l *leg) send(p []byte) error {
	l.meter.Untaken(int64(len(p)))
	_, err := l.Write(p)
	l.meter.Untaken(-int64(len(p)))
	return err
}

// Pass sends p, and reports false when the peer has gone.
func (l *leg) Pass(p []byte) bool { return l.send(p) == nil }

// closeWrite ends our side of the stream.
func (l *leg) closeWrite() {
	if half, ok := l.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// wake has a read that waits return with a timeout, which reads after it do not have.
func (l *leg) wake() { _ = l.socket.SetReadDeadline(time.Unix(1, 0)) }

// endWithin bounds what is still read.
func (l *leg) endWithin(d time.Duration) { _ = l.socket.SetReadDeadline(time.Now().Add(d)) }

// unlimited takes the bounds of time away.
func (l *leg) unlimited() { _ = l.socket.SetDeadline(time.Time{}) }
