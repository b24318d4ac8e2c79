package h2

import "sync/atomic"

// Stats are counts since the start, except Open.
type Stats struct {
	Open     int64  // connections now
	Streams  uint64 // that were begun: requests
	Refused  uint64 // of those, because there were too many
	Canceled uint64 // reset by their clients before the answer was sent
	Broken   uint64 // connections ended because of what their peer sent
}

// counters are what Stats has. A connection adds what one of its turns has brought.
type counters struct {
	open                               atomic.Int64
	streams, refused, canceled, broken atomic.Uint64
}

// Stats returns the counts up to now.
func (p *Protocol) Stats() Stats {
	c := &p.count
	return Stats{
		Open: c.open.Load(), Streams: c.streams.Load(), Refused: c.refused.Load(),
		Canceled: c.canceled.Load(), Broken: c.broken.Load(),
	}
}

// count adds what this turn has brought.
func (c *conn) count() {
	if c.asked > 0 {
		c.of.count.streams.Add(c.asked)
		c.asked = 0
	}
}
