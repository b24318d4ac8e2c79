package h2

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/wire/http2"
)

// A pipe is the connection of HTTP/1.1 over which net/http answers one stream: an
// eventloop.Borrowed whose other end is the loop's. What it holds is bounded: of the
// request by the window that the peer was given, of the answer by front.HTTP2PipeBytes.
type pipe struct {
	s    *stream
	c    *conn
	text []byte // the head of the request

	mu       sync.Mutex // guards the rest
	in       []byte     // of the request, not read
	owed     int        // bytes of windows that in takes
	end      bool       // the request ends with in
	out      []byte     // of the answer, not taken by the loop
	notified bool       // the loop will look
	over     bool       // net/http has done with it
	whenGone func()     // see WhenGone; nil: nobody asked
	alone    bool       // the stream was reset, or the connection has ended

	gone    chan struct{} // closed with alone
	wakeR   chan struct{}
	wakeW   chan struct{}
	readBy  atomic.Pointer[time.Time]
	writeBy atomic.Pointer[time.Time]
}

func newPipe(s *stream, c *conn, text []byte) *pipe {
	return &pipe{
		s: s, c: c, text: text, end: s.ended,
		gone: make(chan struct{}), wakeR: make(chan struct{}, 1), wakeW: make(chan struct{}, 1),
	}
}

// feed gives the pipe a part of the request's body, which took flow bytes of windows.
// chunked says that HTTP/1.1 has no length for it.
func (p *pipe) feed(b []byte, flow int, chunked, end bool) {
	p.mu.Lock()
	if chunked && len(b) > 0 {
		p.in = append(strconv.AppendInt(p.in, int64(len(b)), 16), "\r\n"...)
		p.in = append(append(p.in, b...), "\r\n"...)
	} else {
		p.in = append(p.in, b...)
	}
	if chunked && end {
		p.in = append(p.in, "0\r\n\r\n"...)
	}
	p.owed += flow
	p.end = end
	if p.over { // nobody reads: the windows are to be given back
		p.notifyLocked()
	}
	p.mu.Unlock()
	poke(p.wakeR)
}

// heed notes that the loop looks: what is new from now on it has to be told of.
func (p *pipe) heed() {
	p.mu.Lock()
	p.notified = false
	p.mu.Unlock()
}

// take returns what is new of the answer, how many bytes of windows the request does not
// take any more, and whether the pipe is done with.
func (p *pipe) take() (b []byte, read int, over bool) {
	defer func() { p.c.conn.Keep(-len(b)) }() // behind the lock
	p.mu.Lock()
	defer p.mu.Unlock()
	b, p.out = p.out, nil
	if read = p.owed - len(p.in); read < 0 || p.over || p.alone {
		read = 0
	}
	if p.over || p.alone {
		read, p.in = p.owed, nil
	}
	p.owed -= read
	poke(p.wakeW)
	return b, read, p.over
}

// abort says that nobody waits for the answer.
func (p *pipe) abort() {
	p.mu.Lock()
	first, f, lost := !p.alone, p.whenGone, len(p.out)
	p.alone, p.in, p.out = true, nil, nil
	p.notifyLocked()
	p.mu.Unlock()
	p.c.conn.Keep(-lost)
	if first {
		close(p.gone)
	}
	if first && f != nil {
		f()
	}
	poke(p.wakeR)
	poke(p.wakeW)
}

// notifyLocked has the loop look at the pipe.
func (p *pipe) notifyLocked() {
	if !p.notified {
		p.notified = true
		p.c.notify(event{s: p.s, pipe: true})
	}
}

// Unread implements eventloop.Borrowed.
func (p *pipe) Unread() []byte { return p.text }

// Draining implements eventloop.Borrowed. The peer of the stream is told by other means.
func (p *pipe) Draining() bool { return false }

// Gone implements eventloop.Borrowed.
func (p *pipe) Gone() <-chan struct{} { return p.gone }

// WhenGone has f called when nobody waits for the answer any more, at once if that is so.
// net/http itself looks only behind a body that was read.
func (p *pipe) WhenGone(f func()) {
	p.mu.Lock()
	alone := p.alone
	p.whenGone = f
	p.mu.Unlock()
	if alone {
		f()
	}
}

// Read implements net.Conn.
func (p *pipe) Read(b []byte) (int, error) {
	for {
		p.mu.Lock()
		switch {
		case p.over:
			p.mu.Unlock()
			return 0, net.ErrClosed
		case p.alone:
			p.mu.Unlock()
			return 0, errReset
		case len(p.in) > 0:
			n := copy(b, p.in)
			p.in = p.in[n:]
			if p.owed-len(p.in) >= http2.MaxPayload || len(p.in) == 0 && p.owed > 0 {
				p.notifyLocked()
			}
			p.mu.Unlock()
			return n, nil
		}
		p.mu.Unlock()
		if !wait(p.wakeR, &p.readBy) {
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// errReset is what a peer that has reset its stream looks like.
var errReset = &net.OpError{Op: "read", Net: "h2", Err: io.ErrUnexpectedEOF}

// Write implements net.Conn.
func (p *pipe) Write(b []byte) (n int, err error) {
	for {
		p.mu.Lock()
		switch {
		case p.over:
			p.mu.Unlock()
			return n, net.ErrClosed
		case p.alone:
			p.mu.Unlock()
			return n, errReset
		}
		part := min(len(b)-n, front.HTTP2PipeBytes-len(p.out))
		if part > 0 {
			p.out = append(p.out, b[n:n+part]...)
			n += part
			p.notifyLocked()
		}
		p.mu.Unlock()
		p.c.conn.Keep(max(part, 0))
		if n == len(b) {
			return n, nil
		}
		if !wait(p.wakeW, &p.writeBy) {
			return n, os.ErrDeadlineExceeded
		}
	}
}

// wait returns when something may have changed. It reports false when the deadline has
// passed.
func wait(wake chan struct{}, by *atomic.Pointer[time.Time]) bool {
	at := by.Load()
	if at == nil || at.IsZero() {
		<-wake
		return true
	}
	left := time.Until(*at)
	if left <= 0 {
		return false
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-wake:
	case <-timer.C:
	}
	return true
}

// poke wakes who waits, now or next.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// SetDeadline implements net.Conn.
func (p *pipe) SetDeadline(t time.Time) error {
	_ = p.SetReadDeadline(t) // neither fails
	return p.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (p *pipe) SetReadDeadline(t time.Time) error {
	p.readBy.Store(&t)
	poke(p.wakeR)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (p *pipe) SetWriteDeadline(t time.Time) error {
	p.writeBy.Store(&t)
	poke(p.wakeW)
	return nil
}

// LocalAddr implements net.Conn.
func (p *pipe) LocalAddr() net.Addr { return p.c.local }

// RemoteAddr implements net.Conn.
func (p *pipe) RemoteAddr() net.Addr { return p.c.remote }

// Return implements eventloop.Borrowed. Nothing comes behind the request of a stream.
func (p *pipe) Return([]byte) { _ = p.Close() }

// Meter returns what the streams of the connection have in common: see eventloop.MeterOf.
func (p *pipe) Meter() eventloop.Meter { return p.c.conn.Meter() }

// CloseWrite implements eventloop.Borrowed.
func (p *pipe) CloseWrite() error { return nil }

// Close implements net.Conn.
func (p *pipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return net.ErrClosed
	}
	p.over = true
	p.notifyLocked()
	poke(p.wakeR)
	poke(p.wakeW)
	return nil
}

// A securePipe is that of a connection under TLS. Only it has ConnectionState: net/http
// takes a connection with that method for an encrypted one.
type securePipe struct {
	*pipe
	state tls.ConnectionState
}

// ConnectionState returns what the handshake has agreed on, but for the protocol: the
// pipe's is HTTP/1.1.
func (p *securePipe) ConnectionState() tls.ConnectionState {
	state := p.state
	state.NegotiatedProtocol = ""
	return state
}
