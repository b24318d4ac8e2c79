package fallback

import (
	"context"
	"errors"
	"sync/atomic"
)

// Stats are what a Server counts.
type Stats struct {
	Answered, Away, Busy, Failed, TimedOut uint64 // requests by what came of them
	UnderWay                               int
	Open                                   bool // it is left alone
}

type counts struct{ answered, away, busy, failed, timedOut atomic.Uint64 }

// note counts what came of a request. One whose client has gone is none.
func (c *counts) note(err error) {
	switch {
	case err == nil:
		c.answered.Add(1)
	case errors.Is(err, ErrAway):
		c.away.Add(1)
	case errors.Is(err, ErrBusy):
		c.busy.Add(1)
	case errors.Is(err, ErrTimeout):
		c.timedOut.Add(1)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	default:
		c.failed.Add(1)
	}
}

// Stats returns a snapshot.
func (s *Server) Stats() Stats {
	return Stats{Answered: s.counts.answered.Load(), Away: s.counts.away.Load(),
		Busy: s.counts.busy.Load(), Failed: s.counts.failed.Load(),
		TimedOut: s.counts.timedOut.Load(), UnderWay: len(s.turns),
		Open: s.circuit.until.Load() != 0}
}
