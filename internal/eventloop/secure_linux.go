package eventloop

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/eventloop/nonblock"
	"github.com/hotrow/hotrow/internal/workers"
)

// secureRead is what a loop reads at once under TLS. It mostly fits into the
// loop's buffer, decrypted, behind what is kept of an unfinished request.
const secureRead = 32 << 10

// A secure is the TLS of a loop's connection. crypto/tls reads from and writes
// to it, and on the loop that is memory: what was received, and what is to be
// sent. crypto/tls can be asked again after an error that is temporary, so that
// it needs no goroutine to wait in.
//
// During the handshake and while the connection is handed over, it reads and writes
// the socket for another goroutine, and waits. It belongs to one side at a time:
// it changes hands with the messages, as the connection does.
type secure struct {
	tls      *tls.Conn
	hijacker net.Conn // where to read and write while the loop is not the owner
	addrs    *endpoints
	fed      []byte // received, and not taken by crypto/tls; the loop's buffer within pull only
	sealed   []byte // written by crypto/tls, and not taken by the loop
	ended    bool   // the peer will send nothing more
	taken    records
	// empty: what crypto/tls holds is a part of one record at most, for it was asked
	// until it wanted more.
	empty bool
}

// recordHead is how long the head of a record of TLS is: type, version, length.
const recordHead = 5

// records follows the records in what crypto/tls has taken, so that one that was
// taken whole is not followed by a read that finds nothing.
type records struct {
	head [recordHead]byte
	have int // bytes of head
	left int // bytes of the record behind it
}

// take notes that b was taken.
func (r *records) take(b []byte) {
	for len(b) > 0 {
		if r.left > 0 {
			n := min(r.left, len(b))
			r.left, b = r.left-n, b[n:]
			continue
		}
		n := copy(r.head[r.have:], b)
		r.have, b = r.have+n, b[n:]
		if r.have == recordHead {
			r.have, r.left = 0, int(binary.BigEndian.Uint16(r.head[3:]))
		}
	}
}

// completes reports whether b is one whole record, behind whole ones.
func (r *records) completes(b []byte) bool {
	return r.have == 0 && r.left == 0 && len(b) > recordHead &&
		len(b) == recordHead+int(binary.BigEndian.Uint16(b[3:]))
}

// An again is the error of a read that would have to wait. It is temporary, as
// package net means it: crypto/tls goes on where it was.
type again struct{}

func (again) Error() string   { return "nothing to read yet" }
func (again) Timeout() bool   { return true }
func (again) Temporary() bool { return true }

// Read implements net.Conn.
func (s *secure) Read(p []byte) (int, error) {
	switch {
	case len(s.fed) > 0:
		n := copy(p, s.fed)
		s.taken.take(s.fed[:n])
		s.fed = s.fed[n:]
		return n, nil
	case s.hijacker != nil:
		s.empty = false // it may be asked for less than it takes now
		n, err := s.hijacker.Read(p)
		s.taken.take(p[:n])
		if x, ok := s.hijacker.(*borrowedConn); ok && err != nil && x.done.Load() {
			return n, again{} // it goes home: the next read is the loop's
		}
		return n, err
	case s.ended:
		return 0, io.EOF
	}
	return 0, again{}
}

// Write implements net.Conn.
func (s *secure) Write(p []byte) (int, error) {
	if s.hijacker != nil {
		return s.hijacker.Write(p)
	}
	s.sealed = append(s.sealed, p...)
	return len(p), nil
}

// Close implements net.Conn. The loop closes its connections itself.
func (s *secure) Close() error {
	if s.hijacker != nil {
		return s.hijacker.Close()
	}
	return nil
}

// CloseWrite ends the stream below TLS, for a peer that does not speak it.
func (s *secure) CloseWrite() error {
	if half, ok := s.hijacker.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return net.ErrClosed
}

// LocalAddr implements net.Conn.
func (s *secure) LocalAddr() net.Addr { return s.addrs.local }

// RemoteAddr implements net.Conn.
func (s *secure) RemoteAddr() net.Addr { return s.addrs.remote }

// SetDeadline implements net.Conn. A loop has deadlines of its own.
func (s *secure) SetDeadline(t time.Time) error {
	if s.hijacker == nil {
		return nil
	}
	return s.hijacker.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (s *secure) SetReadDeadline(t time.Time) error {
	if s.hijacker == nil {
		return nil
	}
	return s.hijacker.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (s *secure) SetWriteDeadline(t time.Time) error {
	if s.hijacker == nil {
		return nil
	}
	return s.hijacker.SetWriteDeadline(t)
}

// startHandshake has a goroutine do the handshake of a new connection.
func (l *loop) startHandshake(c *conn) {
	x := newBorrowedConn(c)
	l.become(c, handshaking)
	c.borrowed = x
	c.secure = &secure{hijacker: x, addrs: x.addrs}
	c.secure.tls = tls.Server(c.secure, l.srv.cfg.TLS)
	go c.secure.handshake(x)
}

// handshake ends with a message to the loop: the connection comes home, or ends.
func (s *secure) handshake(x *borrowedConn) {
	srv := x.c.srv
	ctx, cancel := context.WithTimeout(context.Background(), srv.cfg.Header)
	defer cancel()
	defer func() {
		if workers.Caught(srv.cfg.Log, "shake hands", recover()) != nil {
			_ = x.Close()
		}
	}()
	var err error
	if end, ok := srv.gate.BeginHandshake(ctx); ok {
		err = doHandshake(ctx, s.tls, end)
	} else {
		err = ctx.Err()
	}
	switch {
	case err != nil:
		srv.refuse(s, err)
		_ = x.Close()
	case srv.cfg.HTTP2 == nil && agreedOnHTTP2(s.tls):
		_ = x.Close()
	case x.end():
		x.c.loop.queue.post(message{kind: handshakeDone, c: x.c, borrowed: x})
	}
}

// endHandshake goes on with a connection whose handshake is done.
func (l *loop) endHandshake(c *conn) {
	c.borrowed, c.secure.hijacker = nil, nil
	if agreedOnHTTP2(c.secure.tls) {
		c.speakHTTP2()
	}
	c.ready, c.blocked = true, false // crypto/tls may hold a request already
	if l.begin(c) {
		l.turn(c)
	}
}

// receiveSecure is receive under TLS.
func (l *loop) receiveSecure(c *conn) {
	buf, kept := l.in[:0], len(c.in)
	if kept < largeInput {
		buf = append(buf, c.in...)
	} else {
		if cap(c.in)-kept < kept/4 { // as in receive
			c.in = slices.Grow(c.in, kept)
		}
		buf = c.in[:kept:min(cap(c.in), l.srv.cfg.MaxInput)]
	}
	buf, e := c.secure.pull(l, c, buf)
	if kept >= largeInput {
		c.in = buf
	}
	l.pulled(c, buf, kept, e)
	release(l.in)
}

// pulled goes on with what pull has brought, behind what was kept.
func (l *loop) pulled(c *conn, buf []byte, kept int, e unix.Errno) {
	if out := c.secure.take(); len(out) > 0 { // an alert, or the answer to a new key
		c.out = append(c.out, out...)
		release(out)
		if !l.flush(c, nil) {
			return
		}
	}
	switch {
	case e != 0:
		l.drop(c)
	case len(buf) > kept:
		l.step(c, buf, l.out[:0])
	case c.secure.ended && c.linked != nil:
		l.ended(c)
	case c.secure.ended: // it still gets its answers
		c.in, c.ready = nil, false
		l.end(c, Close)
	}
}

// pull reads what the peer has sent and decrypts it, as far as it fits behind
// buf. It is the only one to give crypto/tls the loop's buffer, and it takes that
// back: what crypto/tls has not taken is copied, for the buffer is the next
// connection's.
func (s *secure) pull(l *loop, c *conn, buf []byte) (_ []byte, e unix.Errno) {
	if len(s.fed) > 0 { // its own, from before
		return s.decrypt(c, buf, false)
	}
	n, e := nonblock.Recv(c.fd, l.sealedInput())
	if e != 0 && e != unix.EAGAIN && e != unix.EINTR {
		return buf, e
	}
	s.ended = s.ended || n == 0 && e == 0
	c.ready = n == len(l.sealedIn) || e == unix.EINTR || c.hup || s.ended
	s.fed = l.sealedIn[:n]
	buf, e = s.decrypt(c, buf, s.empty && s.taken.completes(s.fed))
	s.fed = append([]byte(nil), s.fed...)
	release(l.sealedIn)
	return buf, e
}

// sealedInput returns the buffer into which pull reads.
func (l *loop) sealedInput() []byte {
	if l.sealedIn == nil {
		l.sealedIn = make([]byte, secureRead)
	}
	return l.sealedIn
}

// decrypt appends to buf what crypto/tls makes of s.fed and of what it holds. single
// says that this is one record, and that no more is to be had of it at once.
func (s *secure) decrypt(c *conn, buf []byte, single bool) (_ []byte, e unix.Errno) {
	for {
		n, err := s.tls.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case err == nil && len(buf) == cap(buf): // there may be more
			s.empty, c.ready = false, true
			return buf, 0
		case err == nil && single && !s.ended:
			return buf, 0
		case err == nil:
		case errors.Is(err, again{}):
			s.empty = true
			return buf, 0
		case errors.Is(err, io.EOF): // of the stream, or the peer has said so
			s.fed, s.ended, c.ready = nil, true, true
			return buf, 0
		default:
			return buf, unix.EPROTO
		}
	}
}

// seal encrypts b for c. What it returns is valid until the next call.
func (l *loop) seal(c *conn, b []byte) ([]byte, bool) {
	s := c.secure
	s.sealed = append(l.sealedOut[:0], s.sealed...)
	_, err := s.tls.Write(b)
	out := s.take()
	if cap(out) <= keptOutput {
		l.sealedOut = out
	}
	return out, err == nil
}

// take returns what crypto/tls has written.
func (s *secure) take() []byte {
	out := s.sealed
	s.sealed = nil
	return out
}

// closeNotify says that nothing more will be sent, if the socket takes it.
func (c *conn) closeNotify() {
	if c.secure == nil {
		return
	}
	if c.secure.tls.CloseWrite() == nil {
		_, _ = nonblock.Send(c.fd, c.secure.take())
	}
}

// A secureBorrowed is a connection under TLS that is hijacked. Only it has
// ConnectionState: net/http takes a connection with that method for an encrypted
// one.
type secureBorrowed struct {
	*borrowedConn
	s       *secure
	reading sync.Mutex // held during Read: nobody is in crypto/tls when it goes home
	writing sync.Mutex // and during Write
}

// ConnectionState returns what the handshake has agreed on.
func (x *secureBorrowed) ConnectionState() tls.ConnectionState { return x.s.tls.ConnectionState() }

// Read implements net.Conn.
func (x *secureBorrowed) Read(p []byte) (int, error) {
	x.reading.Lock()
	defer x.reading.Unlock()
	if x.done.Load() {
		return 0, x.failed("read", net.ErrClosed)
	}
	n, err := x.s.tls.Read(p)
	if errors.Is(err, again{}) {
		err = x.failed("read", net.ErrClosed)
	}
	return n, err
}

// Write implements net.Conn.
func (x *secureBorrowed) Write(p []byte) (int, error) {
	x.writing.Lock()
	defer x.writing.Unlock()
	if x.done.Load() {
		return 0, x.failed("write", net.ErrClosed)
	}
	return x.s.tls.Write(p)
}

// CloseWrite implements Borrowed.
func (x *secureBorrowed) CloseWrite() error {
	x.writing.Lock()
	defer x.writing.Unlock()
	if x.done.Load() {
		return x.failed("close", net.ErrClosed)
	}
	return x.s.tls.CloseWrite()
}

// end is borrowedConn's, and waits until nobody is in crypto/tls.
func (x *secureBorrowed) end() bool {
	if !x.borrowedConn.end() {
		return false
	}
	x.reading.Lock()
	x.writing.Lock()
	//lint:ignore SA2001 to have had both is what counts
	x.writing.Unlock()
	x.reading.Unlock()
	return true
}

// Return implements Borrowed.
func (x *secureBorrowed) Return(unread []byte) {
	if x.end() {
		x.c.loop.queue.post(message{kind: giveBack, c: x.c, borrowed: x.borrowedConn, b: unread})
	}
}

// Close implements net.Conn.
func (x *secureBorrowed) Close() error {
	_ = x.CloseWrite() // waits for a peer that does not read, but not for ever
	return x.borrowedConn.Close()
}
