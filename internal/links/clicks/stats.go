package clicks

import "time"

// Stats is a snapshot of a Drainer.
type Stats struct {
	Drained   uint64        // clicks that were taken to the database
	Batches   uint64        // transactions of them
	Tail      int64         // clicks that are in the log and not in the database
	Lag       time.Duration // since the database was last known to have everything or to take some
	Bad       uint64        // records of the log that could not be read
	Poison    uint64        // clicks that the database refused
	Twice     uint64        // clicks that the database had already
	Conflicts uint64        // among them those that were different there
	Replays   uint64        // transactions that looked for them
	Failures  uint64        // tries that failed
	Away      bool          // the database does not take clicks at present
	Busy      time.Duration // spent on batches
	Parsed    uint64        // user agents and referrers that were not remembered
}

// Stats returns a snapshot.
func (d *Drainer) Stats() Stats {
	d.meaning.Lock()
	parsed := d.meanings.words.parsings
	d.meaning.Unlock()
	d.tail.mu.Lock()
	left := d.tail.total
	d.tail.mu.Unlock()
	c := &d.counts
	lag := max(0, time.Duration(d.opts.Now().UnixNano()-c.lastNanos.Load()))
	if d.resting.Load() {
		lag = 0 // the database has everything
	}
	return Stats{
		Drained: c.drained.Load(), Batches: c.batches.Load(), Tail: left, Bad: c.bad.Load(),
		Poison: c.poison.Load(), Twice: c.twice.Load(), Conflicts: c.conflicts.Load(),
		Replays: c.replays.Load(), Failures: c.failures.Load(), Away: c.away.Load(),
		Busy: time.Duration(c.busyNanos.Load()), Parsed: parsed,
		Lag: lag,
	}
}
