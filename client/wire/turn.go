package wire

import (
	"context"
	"errors"
	"os"
	"time"
)

// A caller that is alone on its connection writes its request and reads its answer
// itself: nobody is woken on the way. With several callers the reader and the writer do
// it, who then take and bring much at a time.
//
// Who reads is said by Conn.turns. The reader rests when it has seen requests of callers
// that were alone, and nothing is open; then the next one reads. The reader goes on when
// there is another caller, a stream or a message, and when nobody has asked for restFor.
// What the peer sends unasked meanwhile waits: so a caller looks whether there is something,
// such as the end of the connection, before it sends a request after a pause.
const (
	restFor    = 100 * time.Millisecond
	pauseAfter = 100 * time.Microsecond
	aloneFrom  = 4       // requests in a row whose callers were alone
	maxAlone   = 4 << 10 // bytes that such a caller writes at once
)

// A role is who reads a connection.
type role uint8

const (
	theReader role = iota
	aCaller
	nobody
)

// turns is the part of a Conn that says who reads. Conn.mu guards it, but for take.
type turns struct {
	reads   role
	alone   int           // requests in a row whose callers were alone
	count   uint64        // of callers that have read
	last    time.Time     // when one began
	limited bool          // there is a deadline for reads
	take    chan struct{} // to the reader: read on; holds one. nil: it never rests
}

// An OnlyTimed context ends at its deadline, and not before: a wait for it needs no more
// than the deadline.
type OnlyTimed interface{ OnlyTimed() }

func endsOnlyByTime(ctx context.Context) bool {
	_, only := ctx.(OnlyTimed)
	return only
}

// takesTurn reports whether the caller of the request that was appended last writes it,
// and reads its answer: ask does that. c.mu is held.
func (c *Conn) takesTurn() bool {
	t := &c.turns
	if ours, theirs := c.session.Live(); ours != 1 || theirs != 0 {
		t.alone = 0
		return false
	}
	if t.alone < aloneFrom {
		t.alone++
	}
	if t.reads != nobody || !c.idle || c.err != nil || len(c.out) > maxAlone ||
		c.session.Pending() {
		return false
	}
	t.reads, c.idle = aCaller, false
	t.count++
	return true
}

// ask writes what there is, and reads until the answer of k is there, or ctx ends: then
// the reader reads on, and answerOf knows what to do. c.mu is held before.
func (c *Conn) ask(ctx context.Context, k *call) {
	batch := c.batch()
	c.mu.Unlock()
	stop := c.bound(ctx)
	_, err := c.send(batch, writeBytes)
	c.mu.Lock()
	c.spare = batch
	c.idle = true
	over := c.err != nil
	c.unlockAndWake()
	if over {
		c.awake() // whoever has ended the connection took it for awake
	}
	if err != nil {
		c.end(err)
	}
	for err == nil && len(k.done) == 0 {
		if err = c.receive(); errors.Is(err, os.ErrDeadlineExceeded) {
			break
		} else if err != nil {
			c.end(err)
		}
	}
	stop()
	c.mu.Lock()
	if ours, _ := c.session.Live(); ours == 0 && c.err == nil && !c.drain {
		c.turns.reads = nobody
	} else {
		c.readOn()
	}
	c.mu.Unlock()
}

// bound has reads end when ctx does, until stop is called. What a deadline leaves behind
// the next who reads takes away.
func (c *Conn) bound(ctx context.Context) (stop func()) {
	deadline, timed := ctx.Deadline()
	if timed || c.turns.limited {
		_ = c.nc.SetReadDeadline(deadline)
		c.turns.limited = timed
	}
	if endsOnlyByTime(ctx) || ctx.Done() == nil {
		return func() {}
	}
	ended := make(chan struct{})
	undo := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = c.nc.SetReadDeadline(time.Unix(1, 0))
	})
	return func() {
		c.turns.limited = true
		if !undo() {
			<-ended // it must not end the next read
		}
	}
}

// unbound takes the deadline for reads away.
func (c *Conn) unbound() error {
	c.turns.limited = false
	return c.nc.SetReadDeadline(time.Time{})
}

// awake wakes the writer, which sleeps.
func (c *Conn) awake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// readOn has the reader read. c.mu is held.
func (c *Conn) readOn() {
	c.turns.reads = theReader
	select {
	case c.turns.take <- struct{}{}:
	default:
	}
}

// rest lets callers read, if that is of use, and returns when the reader is to go on. It
// reports false when the connection has ended.
func (c *Conn) rest(clock *time.Timer) bool {
	t := &c.turns
	c.mu.Lock()
	defer c.mu.Unlock()
	ours, theirs := c.session.Live()
	if t.alone < aloneFrom || ours != 0 || theirs != 0 || c.err != nil || c.drain ||
		len(c.out) > 0 || t.take == nil {
		return true
	}
	t.reads = nobody
	for seen := t.count - 1; c.err == nil && t.reads != theReader; {
		if seen == t.count && t.reads == nobody {
			t.reads = theReader
			break
		}
		seen = t.count
		c.mu.Unlock()
		clock.Reset(restFor)
		select {
		case <-t.take:
		case <-clock.C:
		case <-c.done:
		}
		c.mu.Lock()
	}
	return c.err == nil
}

// lookAround takes in what has come while nobody read, if that was for long enough. c.mu
// is held before and after. The connection may have ended then.
func (c *Conn) lookAround() {
	t := &c.turns
	if t.reads != nobody {
		return
	}
	now := time.Now()
	pause := now.Sub(t.last)
	if t.last = now; pause < pauseAfter {
		return
	}
	t.reads = aCaller
	c.mu.Unlock()
	err := c.receiveNow()
	if err != nil {
		c.end(err)
	}
	c.mu.Lock()
	if c.err != nil || c.drain {
		c.readOn()
		return
	}
	t.reads = nobody
}
