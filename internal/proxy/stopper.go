package proxy

import (
	"os"
	"sync"
	"time"
)

// A stopper is the deadline of a connection that is none of the kernel's: a
// context that ends when a deadline in the past is set, and begins anew with
// none. Deadlines to come are the sweeper's (see client.sweep).
type stopper struct {
	mu    sync.Mutex // guards what follows
	done  chan struct{}
	over  bool
	until time.Time // of use to the peer only
}

// init makes s ready.
func (s *stopper) init() { s.done = make(chan struct{}) }

// limit notes for how long an answer is of use, 0: for ever.
func (s *stopper) limit(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
	if d > 0 {
		s.until = time.Now().Add(d)
	}
}

// set is net.Conn's SetDeadline.
func (s *stopper) set(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case t.IsZero() && s.over:
		s.done, s.over = make(chan struct{}), false
	case !t.IsZero() && !s.over && t.Before(time.Now()):
		s.over = true
		close(s.done)
	}
}

// stop ends what waits.
func (s *stopper) stop() { s.set(past) }

// Deadline implements context.Context.
func (s *stopper) Deadline() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.until, !s.until.IsZero()
}

// Done implements context.Context.
func (s *stopper) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done
}

// Err implements context.Context. Its error is that of a socket's deadline.
func (s *stopper) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Value implements context.Context.
func (s *stopper) Value(any) any { return nil }
