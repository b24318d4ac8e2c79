package wire

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
)

// The buffer of the reader: it begins small, since most connections of a busy
// server say little, and grows while reads fill it.
const (
	readBytes    = 4 << 10
	maxReadBytes = 128 << 10
)

// read takes in what the peer sends, until the connection ends.
func (c *Conn) read() {
	clock := time.NewTimer(time.Hour)
	defer clock.Stop()
	for c.rest(clock) {
		err := c.receive()
		if errors.Is(err, os.ErrDeadlineExceeded) { // it was for a caller
			err = c.unbound()
		}
		if err != nil {
			c.end(err)
			return
		}
	}
}

// receive takes in what one read brings.
func (c *Conn) receive() error {
	if c.in == nil {
		c.in = make([]byte, readBytes)
	}
	n, err := c.nc.Read(c.in[c.have:])
	if n > 0 {
		if err := c.took(n); err != nil {
			return err
		}
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// took uses n bytes more that are in the buffer.
func (c *Conn) took(n int) error {
	filled := c.have+n == len(c.in)
	used, err := c.feed(c.in[:c.have+n], &c.event)
	if err != nil {
		return err
	}
	c.have = copy(c.in, c.in[used:c.have+n])
	// A frame may be as long as was announced: the session refuses longer ones.
	if filled && (len(c.in) < maxReadBytes || c.have == len(c.in)) {
		c.in = append(make([]byte, 0, 2*len(c.in)), c.in[:c.have]...)
		c.in = c.in[:cap(c.in)]
	}
	return nil
}

// feed gives bytes to the session and does what the events want. It returns how
// many bytes were used.
func (c *Conn) feed(in []byte, e *gofast.Event) (used int, err error) {
	c.mu.Lock()
	for c.err == nil {
		var n int
		n, c.out, err = c.session.Next(in[used:], c.out, e)
		used += n
		if err != nil || e.Type == gofast.EventNone {
			break
		}
		c.handle(e)
		if len(c.out) >= c.queue && c.err == nil {
			// The peer sends and does not read: it has to wait, as others do who
			// have something for it. One that never reads is cut off by look.
			c.hold()
		}
	}
	if used > 0 {
		// An exchange that was given up has ended without an event, maybe.
		c.signalFreed()
	}
	if _, theirs := c.session.GoingAway(); theirs {
		c.leaving.Store(true)
	}
	over := c.drained()
	woken := c.woken
	c.woken = c.woken[:0]
	c.unlockAndWake()
	for i, k := range woken {
		woken[i] = nil
		k.done <- struct{}{}
	}
	if over {
		return used, ErrClosed
	}
	return used, err
}

// handle does what an event wants. c.mu is held, and given back while an
// application's function runs.
func (c *Conn) handle(e *gofast.Event) {
	switch e.Type {
	case gofast.EventReady:
		c.direct = min(writeBytes/2, int(c.session.Peer().Buffer)-gofast.Overhead)
		close(c.ready)
	case gofast.EventResponse:
		k := e.User.(*call)
		if e.Err != nil {
			k.settle(nil, e.Err)
		} else {
			k.settle(e.Data, nil)
		}
		c.woken = append(c.woken, k)
		c.signalFreed()
	case gofast.EventPost:
		if h, ok := c.handlers[e.ID]; ok && h.post != nil {
			c.mu.Unlock()
			h.posted(e.Data)
			c.mu.Lock()
		}
	case gofast.EventRequest:
		c.handleRequest(e)
	case gofast.EventStart:
		c.handleStart(e)
	case gofast.EventMessage:
		e.User.(*Stream).push(e.Data)
	case gofast.EventFinish:
		e.User.(*Stream).finished(e.Err)
		c.signalFreed()
	case gofast.EventCancel:
		switch x := e.User.(type) {
		case *Stream:
			x.cancel()
		case context.CancelFunc:
			x()
		}
	case gofast.EventCredit:
		if st, ok := e.User.(*Stream); ok {
			signal(st.credit)
		} else if c.granted != nil {
			close(c.granted)
			c.granted = nil
		}
	}
}

// handleRequest answers a request, or has it answered.
func (c *Conn) handleRequest(e *gofast.Event) {
	h := c.handlers[e.ID]
	switch {
	case e.Refuse:
		c.answer(e.Opaque, e.ID, nil, &Error{Code: ResourceExhausted})
	case h.inline != nil:
		c.mu.Unlock()
		answer, err := h.inlined(e.Data, c.scratch[:0])
		c.mu.Lock()
		c.scratch = answer
		if cap(answer) > writeBytes || !c.fits(answer) {
			c.scratch = nil
		}
		c.answer(e.Opaque, e.ID, answer, err)
	case h.request != nil, h.reply != nil:
		c.serve(h, e)
	default:
		c.answer(e.Opaque, e.ID, nil, &Error{Code: Unimplemented, Text: "no such message"})
	}
}

// serve answers a request in a goroutine. c.mu is held.
func (c *Conn) serve(h handler, e *gofast.Event) {
	ctx, cancel := context.WithCancel(c.ctx)
	if e.Deadline > 0 {
		ctx, cancel = context.WithTimeout(c.ctx, e.Deadline)
	}
	opaque, id, data := e.Opaque, e.ID, slices.Clone(e.Data)
	// The exchange is there: the session has just told of it.
	_ = c.session.SetUser(opaque, cancel)
	c.running.Go(func() {
		if h.reply != nil {
			h.replied(ctx, data, &Reply{c: c, opaque: opaque, id: id})
			cancel()
			return
		}
		answer, err := h.requested(ctx, data)
		cancel()
		c.mu.Lock()
		c.answer(opaque, id, answer, err)
		c.unlockAndWake()
	})
}

// answer answers a request of the peer. c.mu is held.
func (c *Conn) answer(opaque, id uint64, data []byte, err error) {
	if c.err != nil {
		return
	}
	if err == nil {
		m := gofast.Message{ID: id, Data: data}
		if c.out, err = c.session.AppendResponse(c.out, opaque, &m); err == nil {
			return
		}
		err = &Error{Code: ResourceExhausted, Text: "the answer is larger than you accept"}
	}
	var told error
	c.out, told = c.session.AppendError(c.out, opaque, asError(err))
	if errors.Is(told, gofast.ErrNotAgreed) {
		// An old peer knows no errors, and without an answer it waits for ever.
		c.out, _ = c.session.AppendResponse(c.out, opaque, &gofast.Message{ID: id})
	}
}

// asError returns what the peer is told of a handler's error.
func asError(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: DeadlineExceeded}
	case errors.Is(err, context.Canceled):
		return &Error{Code: Canceled}
	}
	return &Error{Code: Unknown, Text: err.Error()}
}

// handleStart serves a stream of the peer in a goroutine. c.mu is held.
func (c *Conn) handleStart(e *gofast.Event) {
	h := c.handlers[e.ID]
	if h.stream == nil {
		refusal := &Error{Code: Unimplemented, Text: "no such stream"}
		c.out, _ = c.session.AppendError(c.out, e.Opaque, refusal)
		return
	}
	st := newStream(c, e.Opaque, e.ID)
	ctx, cancel := context.WithCancel(c.ctx)
	if e.Deadline > 0 {
		ctx, cancel = context.WithTimeout(c.ctx, e.Deadline)
	}
	st.cancel, st.theirs, st.free = cancel, true, true
	st.push(e.Data)
	_ = c.session.SetUser(e.Opaque, st)
	c.running.Go(func() {
		err := h.streamed(ctx, st)
		cancel()
		st.leave(err)
	})
}
