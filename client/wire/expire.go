package wire

import (
	"context"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
)

// expireEvery is the least time between two looks for calls whose time has come: each goes
// through all that are open.
const expireEvery = 2 * time.Millisecond

// An expiry ends the calls whose contexts are OnlyTimed at their deadlines: one timer for all
// of them, so that who calls waits for the answer and for nothing else. A timer of each call
// would be set and stopped with each answer. Conn.mu guards it.
type expiry struct {
	timer *time.Timer // nil: no call has needed it yet
	at    time.Time   // when it looks next; zero: never
}

// endAt sees to it that k ends at its deadline. c.mu is held.
func (c *Conn) endAt(k *call, deadline time.Time) {
	k.deadline = deadline
	if x := &c.expiry; x.at.IsZero() || deadline.Before(x.at) {
		c.lookAt(deadline)
	}
}

// lookAt has expire look at a time. c.mu is held.
func (c *Conn) lookAt(at time.Time) {
	x := &c.expiry
	x.at = at
	if x.timer == nil {
		x.timer = time.AfterFunc(time.Until(at), c.expire)
		return
	}
	x.timer.Reset(time.Until(at))
}

// expire ends the calls whose time has come.
func (c *Conn) expire() {
	var over []*call
	var next time.Time
	now := time.Now()
	c.mu.Lock()
	c.expiry.at = time.Time{}
	c.session.Each(func(opaque uint64, user any) {
		k, ok := user.(*call)
		switch {
		case !ok || k.deadline.IsZero():
		case !now.Before(k.deadline):
			c.cancelCall(opaque, gofast.DeadlineExceeded)
			k.settle(nil, context.DeadlineExceeded)
			over = append(over, k)
		case next.IsZero() || k.deadline.Before(next):
			next = k.deadline
		}
	})
	if soonest := now.Add(expireEvery); next.Before(soonest) && !next.IsZero() {
		next = soonest
	}
	if !next.IsZero() {
		c.lookAt(next)
	}
	c.unlockAndWake()
	for _, k := range over {
		k.done <- struct{}{}
	}
}
