package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// repeatable says whether a call may reach the server twice.
type repeatable bool

const (
	safe           repeatable = true  // it changes nothing
	unsafeToRepeat repeatable = false // it may change something twice
)

// The pauses before a call is tried again: doubled each time, of random length
// so that many clients do not come back together.
const (
	firstPause = 5 * time.Millisecond
	maxPause   = time.Second
)

// A named knows how errors call it. Only a failed call needs its name.
type named interface{ name() string }

// opName is the name of a call that has no more to it.
type opName string

func (n opName) name() string { return string(n) }

// retried makes a call, again if that is worth it and cannot do harm. The error
// is the last one.
func retried[T any](
	ctx context.Context, c *Client, what named, again repeatable, call func() (T, error),
) (T, error) {
	for attempt := 0; ; attempt++ {
		if c.closed.Load() {
			var none T
			return none, &Error{Op: what.name(), Kind: ErrClosed}
		}
		value, err := call()
		if err == nil {
			return value, nil
		}
		var e *Error
		if !errors.As(err, &e) {
			e = &Error{Kind: ErrInternal, Err: err}
		}
		e.Op = what.name()
		settle(e, again)
		last := attempt >= c.opts.retries && !waits(ctx, e)
		if last || !worthIt(e, again) || !pause(ctx, attempt, e.RetryAfter) {
			return value, e
		}
	}
}

// waits reports whether a call that has a deadline is tried again until then: a
// server that has just started answers soon.
func waits(ctx context.Context, e *Error) bool {
	_, limited := ctx.Deadline()
	return limited && e.starting
}

// settle says of a write that nobody answered what can be said.
func settle(e *Error, again repeatable) {
	if again == unsafeToRepeat && e.sent && !e.refused && e.Kind == ErrUnavailable {
		e.Kind = ErrUnknownOutcome
		e.Hint = "read the document before you write again"
	}
}

// worthIt reports whether another attempt may succeed and cannot do harm: what
// was not available may be, and a write must not have begun.
func worthIt(e *Error, again repeatable) bool {
	if e.Kind != ErrUnavailable || errors.Is(e, context.Canceled) ||
		errors.Is(e, context.DeadlineExceeded) {
		return false
	}
	return again == safe || !e.sent || e.refused
}

// pause waits before the next attempt. It reports false when there is no time
// for one.
func pause(ctx context.Context, attempt int, after time.Duration) bool {
	d := min(firstPause<<min(attempt, 16), maxPause)
	d = max(d/2+rand.N(d), min(after, maxPause))
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
