package api

import (
	"net/http"

	"github.com/hotrow/hotrow/internal/links/clicks"
)

// health answers how the shortener is: 200 when links can be read and clicks are
// recorded, else 503. It needs no key and names nobody.
func (c *call) health() error {
	ctx := c.r.Context()
	state, status := "ok", http.StatusOK
	count, err := c.o.Links.Count(ctx)
	var humans, bots int64
	if err == nil {
		humans, bots, err = c.o.Stats.Totals(ctx, clicks.All)
	}
	if err != nil {
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
	return c.answer(status, member{"status", state}, member{"links", count},
		member{"clicks", humans}, member{"bots", bots}, member{"lag_seconds", s.Lag.Seconds()},
		member{"pending", s.Pending}, member{"lost", s.Lost})
}
