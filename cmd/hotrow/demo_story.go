package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/hotrow/hotrow/internal/demo"
	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
)

// The pace of the demo's story.
const (
	storyEvery = 700 * time.Millisecond // a change of few rows
	storyLooks = 15 * time.Second       // it goes on so long after the last request
	storyEnds  = 10 * time.Minute       // of changes: then one's own are to be seen alone
)

// demoLinks puts links into the demo's table unless there are some, and reports whether it has.
func (s *server) demoLinks(ctx context.Context) (bool, error) {
	n := int64(0)
	err := s.links.store.Query(ctx, "SELECT count(*) FROM links", nil,
		func(r source.StoreRow) error { n = r.Int(0); return nil })
	if err != nil || n > 0 {
		return false, err
	}
	return true, s.change(ctx, s.links.store, demo.Links())
}

// demoClicks records the clicks of the month before now, as if they had just been made: what
// is drawn of them comes the way of every click.
func (s *server) demoClicks(ctx context.Context) error {
	if s.links.log == nil { // they are not recorded
		return nil
	}
	ids := make(map[string]int64)
	err := s.links.store.Query(ctx, "SELECT code, id FROM links", nil,
		func(r source.StoreRow) error { ids[r.Text(0)] = r.Int(1); return nil })
	if err != nil {
		return err
	}
	for _, c := range demo.Clicks(time.Now()) {
		r := clicklog.Record{At: c.At.UnixMilli(), Link: ids[c.Code],
			IP: netip.AddrFrom4(c.IP).As16(), Agent: []byte(c.Agent), Referrer: []byte(c.Referrer)}
		if seq, _ := s.links.log.Shared().Append(&r); seq == 0 {
			return fmt.Errorf("the demo's clicks do not fit into the log of clicks (links.log.max)")
		}
	}
	return nil
}

// change runs statements in one transaction.
func (s *server) change(ctx context.Context, db source.Store, statements []string) error {
	_, err := db.Tx(ctx, func(tx source.StoreTx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// tellStory changes rows of the demo's shop while somebody looks, for ten minutes in all.
func (s *server) tellStory(ctx context.Context) {
	db, ok := s.sources["main"].(source.Store)
	if !ok {
		return
	}
	tick := time.NewTicker(storyEvery)
	defer tick.Stop()
	asked, last, step := s.asked(), time.Time{}, 0
	for step < int(storyEnds/storyEvery) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := s.asked(); now != asked {
			asked, last = now, time.Now()
		}
		if time.Since(last) > storyLooks && !s.watched() {
			continue
		}
		if err := s.change(ctx, db, demo.Story(step, time.Now())); err != nil && ctx.Err() == nil {
			s.log.Debug("a change of the demo's story was not made", "err", err)
		}
		step++
	}
	s.log.Info("the demo has stopped changing its rows: change some yourself")
}

// asked returns how many requests HTTP has answered.
func (s *server) asked() (n uint64) {
	for _, r := range s.front.Stats() {
		for _, count := range r.Codes {
			n += count
		}
	}
	return n
}

// watched reports whether somebody follows a row or a list.
func (s *server) watched() bool {
	return slices.ContainsFunc(s.set.Stats().Resources,
		func(r resource.ResourceStats) bool { return r.Watchers > 0 })
}
