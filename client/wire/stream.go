package wire

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/hotrow/hotrow/client/wire/gofast"
)

// A Stream is messages both ways, in order, until each side has finished. One
// goroutine may send while another receives.
type Stream struct {
	c      *Conn
	opaque uint64
	id     uint64
	at     uint64 // where in the output the stream begins
	theirs bool   // the peer has opened it
	cancel context.CancelFunc

	arrived chan struct{} // something has come, or the end; holds one

	// What follows is guarded by c.mu. unread holds messages one after the other,
	// from byte begin on; sizes, from element next on, how long they are.
	credit chan struct{} // the peer takes more, or the end; holds one; nil: nobody has waited
	unread []byte
	large  *[]byte // what unread is in, if it is one of largeUnread
	late   bool    // it has been
	sizes  []int
	begin  int
	next   int
	over   bool // the peer has finished
	free   bool // the next message has cost no credit: it is the one that opened the stream
	err    error
	closed bool // this side has finished
}

// errSlow ends a stream of a peer that cannot be told to wait.
var errSlow = &Error{Code: ResourceExhausted, Text: "the receiver is too slow"}

// maxUnread bounds what waits to be received when the peer knows no credits.
const maxUnread = 4 << 20

// largeUnread are buffers for what waits to be received when that is more than
// writeBytes: it comes and goes with every moment in which the receiver is late, and
// would be garbage faster than it can be collected. One holds what the usual credit
// lets a peer send, and a message.
var largeUnread = sync.Pool{New: func() any {
	b := make([]byte, 0, largeSize)
	return &b
}}

const largeSize = 512 << 10

// newStream returns a stream that is not open yet.
func newStream(c *Conn, opaque, id uint64) *Stream {
	return &Stream{
		c: c, opaque: opaque, id: id, cancel: func() {},
		arrived: make(chan struct{}, 1),
	}
}

// signal puts something into a channel that holds one, if there is room, and one
// at all.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Stream opens a stream with its first message. End it with Close, or with
// Finish and by receiving until io.EOF.
func (c *Conn) Stream(ctx context.Context, id uint64, first []byte) (*Stream, error) {
	remaining, err := timeLeft(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.lockWithRoom(ctx); err != nil {
		return nil, err
	}
	st := newStream(c, 0, id)
	m := gofast.Message{ID: id, Data: first, Deadline: remaining}
	if !c.fits(first) {
		m.Data = slices.Clone(first)
	}
	for {
		st.at = c.taken + uint64(len(c.out))
		c.out, st.opaque, err = c.session.AppendStart(c.out, &m, st)
		if !errors.Is(err, gofast.ErrNoOpaque) {
			break
		}
		if err := c.awaitFreed(ctx); err != nil {
			return nil, err
		}
	}
	c.unlockAndWake()
	if err != nil {
		return nil, err
	}
	return st, nil
}

// ID returns the message id that the stream was opened with.
func (s *Stream) ID() uint64 { return s.id }

// Send sends a message. It waits while the peer takes no more, and returns when
// the message is queued. After the peer has ended the stream with an error it
// returns that error.
func (s *Stream) Send(ctx context.Context, data []byte) error {
	c := s.c
	m := gofast.Message{ID: s.id, Data: data}
	for {
		if err := c.lockWithRoom(ctx); err != nil {
			return err
		}
		if s.closed || s.err != nil {
			err := s.err
			c.unlockAndWake()
			if err == nil {
				err = ErrFinished
			}
			return err
		}
		if !c.fits(data) || c.session.Pending() {
			m.Data = slices.Clone(data)
		}
		var err error
		c.out, err = c.session.AppendMessage(c.out, s.opaque, &m)
		if err == nil { // Fast path.
			c.unlockAndWake()
			return nil
		}
		if !errors.Is(err, gofast.ErrNoCredit) {
			c.unlockAndWake()
			if errors.Is(err, gofast.ErrNoExchange) {
				err = ErrFinished
			}
			return err
		}
		if err := s.awaitCredit(ctx); err != nil {
			return err
		}
	}
}

// awaitCredit waits until the peer may take more. c.mu is held before, not after.
func (s *Stream) awaitCredit(ctx context.Context) error {
	c := s.c
	if c.granted == nil {
		c.granted = make(chan struct{})
	}
	if s.credit == nil {
		s.credit = make(chan struct{}, 1)
	}
	credit, granted := s.credit, c.granted
	c.unlockAndWake()
	select {
	case <-credit:
	case <-granted:
	case <-c.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Recv returns the peer's next message, appended to dst. The error is io.EOF
// when the peer has finished, and an *Error when it has said why.
func (s *Stream) Recv(ctx context.Context, dst []byte) ([]byte, error) {
	c := s.c
	for {
		c.mu.Lock()
		if s.next < len(s.sizes) {
			dst = s.pop(dst)
			c.unlockAndWake()
			return dst, nil
		}
		over, err := s.over, s.err
		c.mu.Unlock()
		if over {
			if err == nil {
				err = io.EOF
			}
			return dst, err
		}
		if ctx.Done() == nil {
			<-s.arrived // Fast path: nothing else can happen.
			continue
		}
		select {
		case <-s.arrived:
		case <-ctx.Done():
			return dst, ctx.Err()
		}
	}
}

// pop takes a message that has come. c.mu is held.
func (s *Stream) pop(dst []byte) []byte {
	n := s.sizes[s.next]
	dst = append(dst, s.unread[s.begin:s.begin+n]...)
	s.begin += n
	if s.next++; s.next == len(s.sizes) {
		s.unread, s.sizes, s.begin, s.next = s.unread[:0], s.sizes[:0], 0, 0
		if cap(s.unread) > writeBytes {
			s.forget()
		}
	}
	if s.c.err == nil && !s.free {
		s.c.out = s.c.session.AppendConsumed(s.c.out, s.opaque, n)
	}
	s.free = false
	return dst
}

// forget lets go of the buffer of what waits. c.mu is held.
func (s *Stream) forget() {
	s.unread = nil
	if s.large != nil {
		largeUnread.Put(s.large)
		s.large = nil
	}
}

// grow sees to it that there is room for n bytes more. c.mu is held.
func (s *Stream) grow(n int) {
	all := len(s.unread) + n
	if all <= cap(s.unread) || all > largeSize || s.large != nil || all <= writeBytes && !s.late {
		return // append does it
	}
	s.large, s.late = largeUnread.Get().(*[]byte), true
	s.unread = append((*s.large)[:0], s.unread...)
}

// push keeps a message that has come until somebody receives it. c.mu is held.
func (s *Stream) push(data []byte) {
	if s.over {
		return
	}
	if s.begin > 0 && len(s.unread)+len(data) > cap(s.unread) { // reuse what was received
		s.unread = slices.Delete(s.unread, 0, s.begin)
		s.sizes = slices.Delete(s.sizes, 0, s.next)
		s.begin, s.next = 0, 0
	}
	if len(s.unread)-s.begin > maxUnread {
		s.giveUp(errSlow)
		return
	}
	s.grow(len(data))
	s.unread = append(s.unread, data...)
	s.sizes = append(s.sizes, len(data))
	signal(s.arrived)
}

// finished takes the peer's end. c.mu is held.
func (s *Stream) finished(err *Error) {
	if err != nil && s.err == nil {
		s.err = err
	}
	s.over = true
	signal(s.arrived)
	signal(s.credit)
}

// broken takes the end of the connection. c.mu is held.
func (s *Stream) broken(err error) {
	if !s.over && s.err == nil {
		s.err = err
	}
	s.over = true
	signal(s.arrived)
	signal(s.credit)
	s.cancel()
}

// giveUp ends the stream, whatever is still to come. c.mu is held.
func (s *Stream) giveUp(why *Error) {
	c := s.c
	if s.err == nil {
		s.err = why
	}
	if c.err == nil && !(s.over && s.closed) {
		// Neither fails: the exchange is there until both ends have ended it.
		if s.theirs {
			c.out, _ = c.session.AppendError(c.out, s.opaque, why)
		} else {
			c.out, _ = c.session.AppendCancel(c.out, s.opaque, why.Code)
		}
	}
	s.over, s.closed = true, true
	signal(s.arrived)
	signal(s.credit)
	c.signalFreed()
}

// Finish says that this side sends no more. What the peer sends can still be
// received.
func (s *Stream) Finish() error {
	c := s.c
	c.mu.Lock()
	if c.err != nil || s.closed {
		err := s.err
		c.mu.Unlock()
		return err
	}
	s.closed = true
	var err error
	c.out, err = c.session.AppendFinish(c.out, s.opaque)
	c.unlockAndWake()
	if errors.Is(err, gofast.ErrNoExchange) {
		return nil // the peer was first
	}
	return err
}

// Close ends the stream: nothing more is sent or received, and the peer is told.
func (s *Stream) Close() error {
	c := s.c
	c.mu.Lock()
	if !(s.over && s.closed) {
		s.giveUp(&Error{Code: Canceled, Text: "the stream was closed"})
	}
	c.unlockAndWake()
	s.cancel()
	return nil
}

// leave ends a stream of the peer whose handler has returned.
func (s *Stream) leave(err error) {
	c := s.c
	c.mu.Lock()
	if c.err == nil && !s.closed {
		s.closed = true
		if err == nil {
			c.out, _ = c.session.AppendFinish(c.out, s.opaque)
		} else {
			c.out, _ = c.session.AppendError(c.out, s.opaque, asError(err))
		}
	}
	s.over = true // what comes until the peer has seen our end is for nobody
	s.forget()
	s.sizes, s.begin, s.next = nil, 0, 0
	c.unlockAndWake()
}
