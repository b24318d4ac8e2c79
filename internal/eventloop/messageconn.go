package eventloop

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// watchSize is how much of the next message a messageConn may read while it looks
// out for the end of the connection.
const watchSize = 512

// A messageConn is the connection that net/http sees: it delivers exactly one
// message, and Close gives the socket back.
//
// net/http reads ahead: into a buffer, and one byte while the handler runs, to
// notice a client that leaves. Neither may get a byte of the next message, for
// what net/http has read cannot be had back. So the messageConn counts the
// bytes of its message; when they are delivered, a read while the handler runs
// waits, and one after the answer reports the end of the stream.
//
// A message whose end is not certain is delivered with all that follows, and
// the connection is never given back.
type messageConn struct {
	Borrowed
	head  []byte // read and not delivered
	left  int64  // bytes of the message that are not delivered
	plain bool   // its end is not known

	state   atomic.Int32 // an http.ConnState
	expired atomic.Bool  // the read deadline is in the past, or the messageConn over
	poked   chan struct{}
	over    atomic.Bool
	half    atomic.Bool // the peer has ended its side: see messageConn.detach

	amend   func([]byte) []byte // see MessageServer
	handled bool                // the handler was called; of net/http's goroutine
}

// tlsMessageConn is a messageConn under TLS. Only it has ConnectionState: http.Request.TLS
// must stay nil elsewhere.
type tlsMessageConn struct {
	*messageConn
	tls interface{ ConnectionState() tls.ConnectionState }
}

// ConnectionState returns what the handshake has agreed on.
func (m tlsMessageConn) ConnectionState() tls.ConnectionState { return m.tls.ConnectionState() }

// MeterOf returns the Meter of the connection over which net/http answers a request, which
// each of several conversations over one has in common; nil if there is none.
func MeterOf(c net.Conn) Meter {
	if m, ok := c.(interface{ Meter() Meter }); ok {
		return m.Meter()
	}
	return nil
}

// A conversation is a Borrowed that is one of several over a connection.
type conversation interface{ WhenGone(func()) }

// stream reports whether the message is of one of several conversations.
func (m *messageConn) stream() bool {
	_, ok := m.Borrowed.(conversation)
	return ok
}

// Meter returns that of the connection: see MeterOf.
func (m *messageConn) Meter() Meter { return MeterOf(m.Borrowed) }

// newMessageConn returns the messageConn of l's next message. frame is as in NewMessageServer.
func newMessageConn(l Borrowed, frame func([]byte) (int64, bool)) *messageConn {
	m := &messageConn{Borrowed: l, head: l.Unread(), poked: make(chan struct{}, 1)}
	n, certain := frame(m.head)
	m.left, m.plain = n, !certain
	return m
}

// setState is told what net/http thinks of the connection.
func (m *messageConn) setState(s http.ConnState) {
	if s == http.StateHijacked {
		// Nobody reads now: net/http has stopped its own read, and the handler
		// has not been given the connection yet.
		m.plain = true
	}
	m.state.Store(int32(s))
}

// Read implements net.Conn.
func (m *messageConn) Read(p []byte) (int, error) {
	switch http.ConnState(m.state.Load()) {
	case http.StateIdle:
		return 0, io.EOF // the answer is sent: net/http leaves without a word, and closes
	case http.StateActive:
		if !m.plain && m.left == 0 {
			return m.watch()
		}
	case http.StateNew:
		if m.left == 0 {
			m.plain = true // it sees a longer message than we do: never give that back
		}
	}
	if !m.plain {
		p = p[:min(int64(len(p)), m.left)]
	}
	var n int
	var err error
	if len(m.head) > 0 {
		n = copy(p, m.head)
		m.head = m.head[n:]
	} else {
		n, err = m.Borrowed.Read(p)
		m.noteEnd(err)
	}
	m.left -= int64(n)
	return n, err
}

// noteEnd notes that the peer has ended its side, before net/http is told.
func (m *messageConn) noteEnd(err error) {
	if err == io.EOF {
		m.half.Store(true)
	}
}

// watch delivers nothing. It returns when the peer has ended its side or has
// gone (see messageConn.detach for the difference), or when net/http wants its read back. Once
// something of the next message has come, it looks no further, as net/http
// does itself.
func (m *messageConn) watch() (int, error) {
	if len(m.head) == 0 {
		buf := make([]byte, watchSize)
		n, err := m.Borrowed.Read(buf)
		m.head = buf[:n]
		if n == 0 {
			m.noteEnd(err)
			return 0, err
		}
	}
	for !m.expired.Load() {
		<-m.poked
	}
	return 0, os.ErrDeadlineExceeded
}

// SetReadDeadline implements net.Conn.
func (m *messageConn) SetReadDeadline(t time.Time) error {
	m.expired.Store(m.over.Load() || !t.IsZero() && time.Until(t) <= 0)
	poke(m.poked)
	return m.Borrowed.SetReadDeadline(t)
}

// SetDeadline implements net.Conn.
func (m *messageConn) SetDeadline(t time.Time) error {
	if err := m.SetReadDeadline(t); err != nil {
		return err
	}
	return m.SetWriteDeadline(t)
}

// Close implements net.Conn. It gives the connection back after a message that
// was framed and answered.
func (m *messageConn) Close() error {
	if !m.over.CompareAndSwap(false, true) {
		return nil
	}
	m.expired.Store(true)
	poke(m.poked)
	// In StateIdle nobody reads: net/http has ended its own read.
	if http.ConnState(m.state.Load()) == http.StateIdle && !m.plain && m.left == 0 {
		m.Borrowed.Return(m.head)
		return nil
	}
	return m.Borrowed.Close()
}
