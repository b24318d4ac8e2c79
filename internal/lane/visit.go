package lane

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// watchSize is how much of the next message a visit may read while it looks
// out for the end of the connection.
const watchSize = 512

// A visit is the connection that net/http sees: it delivers exactly one
// message, and Close gives the socket back.
//
// net/http reads ahead: into a buffer, and one byte while the handler runs, to
// notice a client that leaves. Neither may get a byte of the next message, for
// what net/http has read cannot be had back. So the visit counts the bytes of
// its message; when they are delivered, a read while the handler runs waits,
// and one after the answer is told that the stream has ended.
//
// A message whose end is not certain is delivered with all that follows, and
// the connection is never given back.
type visit struct {
	Lent
	head  []byte // read and not delivered
	left  int64  // bytes of the message that are not delivered
	plain bool   // its end is not known

	state   atomic.Int32 // an http.ConnState
	expired atomic.Bool  // the read deadline is in the past, or the visit over
	poked   chan struct{}
	over    atomic.Bool
	half    atomic.Bool // the peer has ended its side: see visit.present

	writing  sync.Mutex // guards answered, and orders a probe before the answer
	answered bool       // a byte of the answer was written
}

// tlsVisit is a visit under TLS. Only it has ConnectionState: http.Request.TLS
// must stay nil elsewhere.
type tlsVisit struct {
	*visit
	tls interface{ ConnectionState() tls.ConnectionState }
}

// ConnectionState returns what the handshake has agreed on.
func (v tlsVisit) ConnectionState() tls.ConnectionState { return v.tls.ConnectionState() }

// A sharer is a Lent that is one of several conversations over a connection.
type sharer interface {
	Shared(first func() any) any
}

// Shared returns a value that the requests of one connection have in common; first makes
// it. c is what net/http takes for the connection, which each of several conversations
// over one has for itself.
func Shared(c net.Conn, first func() any) any {
	if s, ok := c.(sharer); ok {
		return s.Shared(first)
	}
	return first()
}

// stream reports whether the message is of one of several conversations.
func (v *visit) stream() bool {
	_, ok := v.Lent.(sharer)
	return ok
}

// Shared implements sharer.
func (v *visit) Shared(first func() any) any {
	if s, ok := v.Lent.(sharer); ok {
		return s.Shared(first)
	}
	return first()
}

// newVisit returns the visit of l's next message. frame is as in NewVisits.
func newVisit(l Lent, frame func([]byte) (int64, bool)) *visit {
	v := &visit{Lent: l, head: l.Unread(), poked: make(chan struct{}, 1)}
	n, certain := frame(v.head)
	v.left, v.plain = n, !certain
	return v
}

// setState is told what net/http thinks of the connection.
func (v *visit) setState(s http.ConnState) {
	if s == http.StateHijacked {
		// Nobody reads now: net/http has stopped its own read, and the handler
		// has not been given the connection yet.
		v.plain = true
	}
	v.state.Store(int32(s))
}

// Read implements net.Conn.
func (v *visit) Read(p []byte) (int, error) {
	switch http.ConnState(v.state.Load()) {
	case http.StateIdle:
		return 0, io.EOF // the answer is sent: net/http leaves without a word, and closes
	case http.StateActive:
		if !v.plain && v.left == 0 {
			return v.watch()
		}
	case http.StateNew:
		if v.left == 0 {
			v.plain = true // it sees a longer message than we do: never give that back
		}
	}
	if !v.plain {
		p = p[:min(int64(len(p)), v.left)]
	}
	var n int
	var err error
	if len(v.head) > 0 {
		n = copy(p, v.head)
		v.head = v.head[n:]
	} else {
		n, err = v.Lent.Read(p)
		v.noteEnd(err)
	}
	v.left -= int64(n)
	return n, err
}

// noteEnd notes that the peer has ended its side, before net/http is told.
func (v *visit) noteEnd(err error) {
	if err == io.EOF {
		v.half.Store(true)
	}
}

// watch delivers nothing. It returns when the peer has ended its side or has
// gone (see visit.present for the difference), or when net/http wants its read back. Once
// something of the next message has come, it looks no further, as net/http
// does itself.
func (v *visit) watch() (int, error) {
	if len(v.head) == 0 {
		buf := make([]byte, watchSize)
		n, err := v.Lent.Read(buf)
		v.head = buf[:n]
		if n == 0 {
			v.noteEnd(err)
			return 0, err
		}
	}
	for !v.expired.Load() {
		<-v.poked
	}
	return 0, os.ErrDeadlineExceeded
}

// SetReadDeadline implements net.Conn.
func (v *visit) SetReadDeadline(t time.Time) error {
	v.expired.Store(v.over.Load() || !t.IsZero() && time.Until(t) <= 0)
	poke(v.poked)
	return v.Lent.SetReadDeadline(t)
}

// SetDeadline implements net.Conn.
func (v *visit) SetDeadline(t time.Time) error {
	if err := v.SetReadDeadline(t); err != nil {
		return err
	}
	return v.SetWriteDeadline(t)
}

// Close implements net.Conn. It gives the connection back after a message that
// was framed and answered.
func (v *visit) Close() error {
	if !v.over.CompareAndSwap(false, true) {
		return nil
	}
	v.expired.Store(true)
	poke(v.poked)
	// In StateIdle nobody reads: net/http has ended its own read.
	if http.ConnState(v.state.Load()) == http.StateIdle && !v.plain && v.left == 0 {
		v.Lent.Return(v.head)
		return nil
	}
	return v.Lent.Close()
}
