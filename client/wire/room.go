package wire

import (
	"context"
	"slices"
)

// A line is the callers that wait for room in the output, in the order in which
// they came. The writer calls one each time that it takes the output, and more if
// those whom it has called last did not fill it: were all woken at once, the
// first would fill it again, the others would have been woken for nothing, and
// those who send at the same time get in each other's way. Conn.mu guards it.
//
// Nobody is forgotten: there is output to be taken, or somebody is called who
// leaves some or calls the next (see unlockAndWake).
type line struct {
	waiting []chan struct{} // each holds one
	spare   []chan struct{} // for those who come
	called  int             // that have not looked yet
	calls   int             // that the writer makes at a time
}

// spareTurns is how many channels a line keeps.
const spareTurns = 128

// lockWithRoom takes c.mu when there is room for something to write. On an error
// it does not hold it. It is given back with unlockAndWake.
func (c *Conn) lockWithRoom(ctx context.Context) error {
	c.mu.Lock()
	if len(c.out) < c.queue && c.err == nil {
		return nil // Fast path.
	}
	return c.awaitRoom(ctx)
}

// awaitRoom is the slow path of lockWithRoom. c.mu is held before.
func (c *Conn) awaitRoom(ctx context.Context) error {
	turn := c.line.turn()
	for at := len(c.line.waiting); c.err == nil; at = 0 { // again before all others
		if len(c.out) < c.queue {
			c.line.keep(turn)
			return nil
		}
		c.line.waiting = slices.Insert(c.line.waiting, at, turn)
		if err := c.awaitTurn(ctx, turn); err != nil {
			return err
		}
	}
	err := c.ended()
	c.mu.Unlock()
	return err
}

// awaitTurn gives c.mu back, waits for the turn and takes c.mu again. On the
// context's error it does not hold it, and has left the line.
func (c *Conn) awaitTurn(ctx context.Context, turn chan struct{}) error {
	c.unlockAndWake()
	if done := ctx.Done(); done == nil {
		<-turn
	} else {
		select {
		case <-turn:
		case <-done:
			c.mu.Lock()
			if i := slices.Index(c.line.waiting, turn); i >= 0 {
				c.line.waiting = slices.Delete(c.line.waiting, i, i+1)
			} else {
				c.line.called-- // it was this one
			}
			c.unlockAndWake()
			return ctx.Err()
		}
	}
	c.mu.Lock()
	c.line.called--
	return nil
}

// hold waits, before all others, until the writer has taken what there is. c.mu
// is held before and after.
func (c *Conn) hold() {
	turn := c.line.turn()
	c.line.waiting = slices.Insert(c.line.waiting, 0, turn)
	_ = c.awaitTurn(context.Background(), turn) // which never ends
	c.line.keep(turn)
	c.line.keepMoving(len(c.out)) // the reader may be busy for a while
}

// turn returns a channel for somebody who waits.
func (l *line) turn() chan struct{} {
	n := len(l.spare)
	if n == 0 {
		return make(chan struct{}, 1)
	}
	turn := l.spare[n-1]
	l.spare = l.spare[:n-1]
	return turn
}

// keep takes back a channel that is empty and not in the line.
func (l *line) keep(turn chan struct{}) {
	if len(l.spare) < spareTurns {
		l.spare = append(l.spare, turn)
	}
}

// call calls the first.
func (l *line) call() {
	l.waiting[0] <- struct{}{}
	l.waiting = slices.Delete(l.waiting, 0, 1)
	l.called++
}

// move is for the writer, which has taken so many bytes of a full queue or of one
// that was not.
func (l *line) move(taken, queue int) {
	if len(l.waiting) == 0 {
		return
	}
	if l.calls *= 2; taken >= queue/2 {
		l.calls = 1
	}
	l.calls = min(max(l.calls, 1), len(l.waiting))
	for l.called < l.calls && len(l.waiting) > 0 {
		l.call()
	}
}

// keepMoving calls the next when nothing is there for the writer to take, and
// nobody on the way who would leave something.
func (l *line) keepMoving(output int) {
	if output == 0 && l.called == 0 && len(l.waiting) > 0 {
		l.call()
	}
}

// disperse calls everybody: the connection has ended. c.mu is held.
func (l *line) disperse() {
	for len(l.waiting) > 0 {
		l.call()
	}
}
