package client

import (
	"context"
	"sync"
	"time"
)

// A timeLimit is a context that ends at a time, of a parent that never ends. Most calls end
// long before and never wait for it: its timer is made when somebody does.
type timeLimit struct {
	context.Context // the parent
	at              time.Time

	mu     sync.Mutex // guards what follows
	timed  context.Context
	cancel context.CancelFunc
	over   bool
}

// within returns parent with a limit, unless it has one already, or d is not positive. The
// limit must be new, and be ended.
func (l *timeLimit) within(parent context.Context, d time.Duration) context.Context {
	if _, limited := parent.Deadline(); limited || d <= 0 {
		return parent
	}
	if parent.Done() != nil {
		l.timed, l.cancel = context.WithTimeout(parent, d)
		return l.timed
	}
	l.Context, l.at = parent, time.Now().Add(d)
	return l
}

// Deadline implements context.Context.
func (l *timeLimit) Deadline() (time.Time, bool) { return l.at, true }

// OnlyTimed implements wire.OnlyTimed, for as long as the call is under way.
func (l *timeLimit) OnlyTimed() {}

// Done implements context.Context.
func (l *timeLimit) Done() <-chan struct{} { return l.timer().Done() }

// Err implements context.Context.
func (l *timeLimit) Err() error {
	l.mu.Lock()
	timed, over := l.timed, l.over
	l.mu.Unlock()
	switch {
	case timed != nil:
		return timed.Err()
	case over:
		return context.Canceled
	case !time.Now().Before(l.at):
		return context.DeadlineExceeded
	}
	return nil
}

// timer returns the context with a timer.
func (l *timeLimit) timer() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timed == nil {
		l.timed, l.cancel = context.WithDeadline(l.Context, l.at)
		if l.over {
			l.cancel()
		}
	}
	return l.timed
}

// end ends the limit.
func (l *timeLimit) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.cancel != nil {
		l.cancel()
	}
}
