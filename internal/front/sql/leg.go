package sqlfront

import (
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// A leg is one of the two connections of a session. One goroutine reads, one writes, and any
// may close it.
type leg struct {
	net.Conn          // what is spoken over
	socket   net.Conn // below TLS, or the same
	share    *front.ClientShare
	plain    plain  // reads and writes the socket without memory of its own; may be nothing
	buf      []byte // to read into, where plain is nothing
}

// A chunk is the memory of bytes on their way. A session has one for a direction, and only
// while there are bytes.
type chunk [front.SQLChunk]byte

var chunks = sync.Pool{New: func() any { return new(chunk) }}

// newLeg returns the leg over a connection, which may speak TLS.
func newLeg(nc net.Conn, share *front.ClientShare) *leg {
	l := &leg{Conn: nc, socket: nc, share: share}
	if secured, ok := nc.(*tls.Conn); ok {
		l.socket = secured.NetConn()
		return l
	}
	l.plain.begin(l.socket, share)
	return l
}

// secured reports whether the leg has TLS.
func (l *leg) secured() bool { return l.Conn != l.socket }

// receive waits for bytes. They are in the chunk, which the caller gives back, or in memory of
// the leg's own if that is nil; then they are valid until the next call. Without bytes there is
// an error.
func (l *leg) receive() (p []byte, c *chunk, err error) {
	if l.plain.ready() {
		return l.plain.receive()
	}
	if l.buf == nil {
		l.buf = make([]byte, front.SQLSecured)
	}
	n, err := l.Read(l.buf)
	if n > 0 {
		err = nil // it comes again
	}
	return l.buf[:n], nil, err
}

// release gives back what receive has returned; nil is nothing.
func release(c *chunk) {
	if c != nil {
		chunks.Put(c)
	}
}

// send writes p. What the peer does not take is counted as long as it does not.
func (l *leg) send(p []byte) error {
	if l.plain.ready() {
		return l.plain.send(p)
	}
	l.share.Add(int64(len(p)))
	_, err := l.Write(p)
	l.share.Add(-int64(len(p)))
	return err
}

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
