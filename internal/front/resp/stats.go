package respfront

import (
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/front/kv"
)

// stats counts what no loop counts for itself.
type stats struct {
	opened, broken, denied, owed atomic.Uint64
}

// Stats are the counters of a Front.
type Stats struct {
	kv.Stats
	Open     int    // connections now
	Opened   uint64 // since the start
	Broken   uint64 // connections that ended because of what their peer sent
	Commands uint64
	Denied   uint64 // wrong passwords
	Tracking kv.TrackStats
	Owed     uint64 // messages that waited because the client took nothing
}

// Stats returns a snapshot of the counters.
func (f *Front) Stats() Stats {
	f.mu.Lock()
	open, commands := len(f.conns), uint64(0)
	for _, s := range f.scopes {
		commands += s.commands.Load()
	}
	f.mu.Unlock()
	return Stats{
		Stats: f.store.Stats(), Open: open, Opened: f.stats.opened.Load(),
		Broken:   f.stats.broken.Load(),
		Commands: commands, Denied: f.stats.denied.Load(),
		Tracking: f.store.Tracker().Stats(), Owed: f.stats.owed.Load(),
	}
}
