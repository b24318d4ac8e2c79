package wire

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
)

// A call is a request that waits for its answer.
type call struct {
	answer   []byte // what the answer is appended to, then the answer
	err      error
	settled  bool          // guarded by Conn.mu: the answer is there, or on its way to done
	done     chan struct{} // holds one
	deadline time.Time     // guarded by Conn.mu: when expire ends it; zero: it does not
	at       uint64        // where in the output the request begins
	message  gofast.Message
}

// settle takes the answer, or an error. Conn.mu is held. Who calls it sends to
// done afterwards.
func (k *call) settle(data []byte, err error) {
	if err == nil {
		k.answer = append(k.answer, data...)
	}
	k.err, k.settled = err, true
}

// Post sends a message that wants no answer. It returns when the message is
// queued, not when it is written: that the connection breaks later, another
// call tells. It waits while the queue is full.
func (c *Conn) Post(ctx context.Context, id uint64, data []byte) error {
	if err := c.lockWithRoom(ctx); err != nil {
		return err
	}
	m := gofast.Message{ID: id, Data: data}
	if !c.fits(data) {
		m.Data = slices.Clone(data)
	}
	for {
		var err error
		c.out, err = c.session.AppendPost(c.out, &m)
		if !errors.Is(err, gofast.ErrNoOpaque) {
			c.unlockAndWake()
			return err
		}
		if err := c.awaitFreed(ctx); err != nil {
			return err
		}
	}
}

// awaitFreed waits until an exchange of ours has ended. c.mu is held before and
// after, but not on an error.
func (c *Conn) awaitFreed(ctx context.Context) error {
	if c.freed == nil {
		c.freed = make(chan struct{})
	}
	freed := c.freed
	if err := c.await(ctx, freed); err != nil {
		return err
	}
	if c.err != nil {
		err := c.ended()
		c.mu.Unlock()
		return err
	}
	return nil
}

// Request sends a message and returns its answer, appended to dst. The context's
// deadline goes along; when the context ends, the peer is told to stop. An error
// of the peer's handler is an *Error, that of a broken connection a *LostError.
func (c *Conn) Request(ctx context.Context, id uint64, data, dst []byte) ([]byte, error) {
	return c.call(ctx, id, data, dst, (*Conn).appendRequest)
}

// Ping asks the peer for an echo of data, which is at most 64 KiB.
func (c *Conn) Ping(ctx context.Context, data []byte) ([]byte, error) {
	return c.call(ctx, gofast.IDPing, data, nil, (*Conn).appendPing)
}

// Barrier returns when the peer has handled everything that this end had sent
// before.
func (c *Conn) Barrier(ctx context.Context) error {
	_, err := c.call(ctx, gofast.IDWhoami, nil, nil, (*Conn).appendWhoami)
	return err
}

// appendRequest appends a request. c.mu is held.
func (c *Conn) appendRequest(k *call) (opaque uint64, err error) {
	c.out, opaque, err = c.session.AppendRequest(c.out, &k.message, k)
	return opaque, err
}

func (c *Conn) appendPing(k *call) (opaque uint64, err error) {
	c.out, opaque, err = c.session.AppendPing(c.out, k.message.Data, k)
	return opaque, err
}

func (c *Conn) appendWhoami(k *call) (opaque uint64, err error) {
	c.out, opaque, err = c.session.AppendWhoami(c.out, k)
	return opaque, err
}

// call makes a request by what appends it.
func (c *Conn) call(
	ctx context.Context, id uint64, data, dst []byte, begin func(*Conn, *call) (uint64, error),
) ([]byte, error) {
	remaining, err := timeLeft(ctx)
	if err != nil {
		return dst, err
	}
	if err := c.lockWithRoom(ctx); err != nil {
		return dst, err
	}
	if c.lookAround(); c.err != nil {
		err := c.ended()
		c.mu.Unlock()
		return dst, err
	}
	k := c.calls.Get().(*call)
	k.answer, k.err, k.settled, k.deadline = dst, nil, false, time.Time{}
	k.at = c.taken + uint64(len(c.out))
	k.message = gofast.Message{ID: id, Data: data, Deadline: remaining}
	opaque, err := begin(c, k)
	for errors.Is(err, gofast.ErrNoOpaque) {
		if err = c.awaitFreed(ctx); err != nil {
			c.calls.Put(k)
			return dst, err
		}
		k.at = c.taken + uint64(len(c.out))
		opaque, err = begin(c, k)
	}
	if err == nil && endsOnlyByTime(ctx) {
		if deadline, timed := ctx.Deadline(); timed {
			c.endAt(k, deadline)
		}
	}
	if err == nil && c.takesTurn() {
		c.ask(ctx, k)
		return c.answerOf(ctx, k, opaque, dst)
	}
	c.unlockAndWake()
	if err != nil {
		c.calls.Put(k)
		return dst, err
	}
	return c.answerOf(ctx, k, opaque, dst)
}

// answerOf waits for the answer of a call, and gives the call back.
func (c *Conn) answerOf(
	ctx context.Context, k *call, opaque uint64, dst []byte,
) ([]byte, error) {
	if over := k.await(ctx); over != nil {
		if c.giveUp(k, opaque, over) {
			c.calls.Put(k)
			return dst, over
		}
		<-k.done
	}
	answer, err := k.answer, k.err
	k.answer, k.err, k.message = nil, nil, gofast.Message{}
	c.calls.Put(k)
	if err != nil {
		return dst, err
	}
	return answer, nil
}

// await waits for the answer. It returns why ctx has ended before, if it has.
func (k *call) await(ctx context.Context) error {
	if endsOnlyByTime(ctx) || len(k.done) > 0 {
		<-k.done // Fast path: nothing else can happen, see expire.
		return nil
	}
	select {
	case <-k.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// giveUp cancels a call, whose context has ended. It reports false when its answer has come.
func (c *Conn) giveUp(k *call, opaque uint64, over error) bool {
	c.mu.Lock()
	if k.settled {
		c.mu.Unlock()
		return false
	}
	k.settled = true
	k.answer, k.message = nil, gofast.Message{}
	why := gofast.Canceled
	if errors.Is(over, context.DeadlineExceeded) {
		why = gofast.DeadlineExceeded
	}
	c.cancelCall(opaque, why)
	c.unlockAndWake()
	return true
}

// cancelCall tells the peer that nobody waits for an answer any more. c.mu is held.
func (c *Conn) cancelCall(opaque uint64, why gofast.Code) {
	// The exchange is there: it ends only with an answer, or with all others.
	c.out, _ = c.session.AppendCancel(c.out, opaque, why)
}

// timeLeft returns how long an answer is of use to ctx, 0: for ever.
func timeLeft(ctx context.Context) (time.Duration, error) {
	if !endsOnlyByTime(ctx) { // else its deadline says all
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0, nil
	}
	left := time.Until(deadline)
	if left <= 0 {
		return 0, context.DeadlineExceeded
	}
	return left, nil
}
