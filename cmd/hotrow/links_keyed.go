package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// keysLook is how often a shortener without a key looks whether another program has made
// one. It is as long as the API may take to know of such a key.
const keysLook = 5 * time.Second

// countKeys returns how many keys a shortener has; 0 before its first start.
func countKeys(ctx context.Context, store source.Store) (n int64, err error) {
	err = store.Query(ctx, "SELECT count(*) FROM link_keys", nil,
		func(r source.StoreRow) error { n = r.Int(0); return nil })
	if err != nil && source.ClassOf(err) != source.Missing {
		return 0, fmt.Errorf("links: %w", err)
	}
	return n, nil
}

// watchKeys takes links from who has no key, on all fronts, as soon as there is one. It
// looks no more once there is, or where nobody may read them without.
func (s *server) watchKeys(ctx context.Context) {
	if !s.links.on() {
		return
	}
	tick := time.NewTicker(keysLook)
	defer tick.Stop()
	for was := s.linksOpened(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := s.linksOpened(); now != was { // the database has been reached
			s.changeLinksAccess(ctx)
			was = now
		}
		if !was {
			continue
		}
		if n, err := countKeys(ctx, s.links.store); err == nil && n > 0 {
			s.linksKeyed(ctx)
			was = false
		}
	}
}

// linksOpened reports whether links may be read over other fronts by who has no key, for
// want of one.
func (s *server) linksOpened() bool {
	return s.links.keyless.Load() && s.cfg().LinksAccess(false) == "public" &&
		s.cfg().Links.Access == ""
}

// linksKeyed is called when there is a key. It returns when nobody reads links without.
func (s *server) linksKeyed(ctx context.Context) {
	if opened := s.linksOpened(); s.links.keyless.Swap(false) && opened {
		s.log.Info("links: there is a key now: over other listeners links are for nobody " +
			"unless links.access says for whom")
		s.changeLinksAccess(ctx)
	}
}

// changeLinksAccess makes who may read links what it is to be now.
func (s *server) changeLinksAccess(ctx context.Context) {
	s.changing.Lock()
	defer s.changing.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if err := s.reloadSet(ctx, s.cfg()); err != nil {
		s.log.Error("links: who may read them over other listeners has not changed",
			"hint", "set links.access and reload", "err", err)
	}
}
