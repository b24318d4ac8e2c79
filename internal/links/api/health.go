package api

import (
	"net/http"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/links/clicks"
)

// totals are the counts that the database told last.
type totals struct{ links, humans, bots atomic.Int64 }

// health answers how the shortener is: 200 when links can be read and clicks are
// recorded, else 503, with the counts of before while the database does not tell
// others. It needs no key and names nobody, and it answers within a second: who
// asks wants to know just when something hangs.
func (c *call) health() error {
	state, status, last := "ok", http.StatusOK, &c.h.last
	if err := c.withProbe(c.count); err != nil {
		c.o.Log.Warn("health: the database cannot be read", "err", err)
		state, status = "database", http.StatusServiceUnavailable
	}
	var s State
	if c.o.State != nil {
		s = c.o.State()
	}
	switch {
	case s.Full:
		state, status = kindLogFull.slug, http.StatusServiceUnavailable
	case s.Err != nil && status == http.StatusOK:
		state = "behind" // redirects and their recording go on
	}
	return c.answer(status, member{"status", state}, member{"links", last.links.Load()},
		member{"clicks", last.humans.Load()}, member{"bots", last.bots.Load()},
		member{"lag_seconds", s.Lag.Seconds()}, member{"pending", s.Pending},
		member{"lost", s.Lost})
}

// count reads the counts.
func (c *call) count() error {
	ctx, last := c.r.Context(), &c.h.last
	n, err := c.o.Links.Count(ctx)
	if err != nil {
		return err
	}
	humans, bots, err := c.o.Stats.Totals(ctx, clicks.All)
	if err != nil {
		return err
	}
	last.links.Store(n)
	last.humans.Store(humans)
	last.bots.Store(bots)
	return nil
}
