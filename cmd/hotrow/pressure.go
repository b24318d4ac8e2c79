package main

import (
	"context"
	"time"
)

// pressureEvery is how often is looked for what only counters show.
const pressureEvery = 10 * time.Second

// pressure is what is not said where it happens, because it happens on the way of an
// answer or many times a second.
type pressure struct {
	evictions, entries uint64
	cut                uint64 // watchers
}

// watchPressure logs what s.pressure shows to have become worse, until ctx ends.
func (s *server) watchPressure(ctx context.Context) {
	tick := time.NewTicker(pressureEvery)
	defer tick.Stop()
	for before := s.pressure(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := s.pressure()
		s.sayPressure(before, now)
		before = now
	}
}

func (s *server) pressure() pressure {
	t := s.memory.Stats()
	p := pressure{evictions: t.Evictions, entries: t.Entries}
	for _, r := range s.set.Stats().Resources {
		p.cut += r.WatchDropped
	}
	return p
}

// sayPressure logs what has become worse. A hundredth of what memory holds, evicted within
// ten seconds, is gone before it was of much use.
func (s *server) sayPressure(before, now pressure) {
	if n := now.evictions - before.evictions; n > 0 && n >= now.entries/100 {
		s.log.Warn("documents are evicted to stay within cache.memory", "event", "evictions",
			"evicted", n, "kept", now.entries, "within", pressureEvery.String())
	}
	if now.cut > before.cut { // a resource that a reload took away counts no more
		s.log.Warn("watchers did not keep up: each was told to read again", "event", "watcher",
			"dropped", now.cut-before.cut, "within", pressureEvery.String())
	}
}
