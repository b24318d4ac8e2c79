package sqlcache

import (
	"sync/atomic"
	"time"
)

// A Tally counts what would have come of the answers of one shape.
type Tally struct {
	Looks      atomic.Uint64 // in memory
	Hits       atomic.Uint64 // memory would have answered
	Same       atomic.Uint64 // of the hits: the server has answered the same
	Uncompared atomic.Uint64 // of the hits: the server may give one of several answers
	Older      atomic.Uint64 // of the hits: the rows had changed, and the feed had not told yet
	Wrong      atomic.Uint64 // of the hits: the answer would have been wrong
	Saved      atomic.Int64  // nanoseconds that the hits took at the server
	Refused    atomic.Uint32 // the last Why that memory was not looked into; 0: there was none
}

// Counts are those of a Tally.
type Counts struct {
	Looks, Hits, Same, Uncompared, Older, Wrong uint64

	Saved   time.Duration
	Refused string // why memory was not looked into, the last time that it was not
}

// Counts returns the counts up to now.
func (t *Tally) Counts() Counts {
	c := Counts{Looks: t.Looks.Load(), Hits: t.Hits.Load(), Same: t.Same.Load(),
		Uncompared: t.Uncompared.Load(), Older: t.Older.Load(), Wrong: t.Wrong.Load(),
		Saved: time.Duration(t.Saved.Load())}
	c.Refused = Why(t.Refused.Load()).String()
	return c
}

// A judge is a hit that the server has answered otherwise.
type judge struct {
	one   *Copy
	tally *Tally
	shape string
}

// Compare compares a hit with what the server has answered; failed says that this is an error.
func (l *Look) Compare(answer [16]byte, failed bool, t *Tally, shape string) {
	switch {
	case !l.copy.compared:
		t.Uncompared.Add(1)
	case !failed && answer == l.copy.digest:
		t.Same.Add(1)
	default:
		// Others may have changed what it depends on while the statement was under way. The copy
		// is wrong if it is still good when everything up to now is known.
		l.c.asks.mu.Lock()
		defer l.c.asks.mu.Unlock()
		l.c.asks.judges = append(l.c.asks.judges, judge{l.copy, t, shape})
		l.c.wakeUp()
	}
}

// decide counts a hit that the server has answered otherwise.
func (c *Cache) decide(j *judge) {
	if !c.isValid(j.one) {
		j.tally.Older.Add(1)
		return
	}
	j.tally.Wrong.Add(1)
	c.log.Error("memory would have answered a statement wrongly: please report it",
		"shape", j.shape)
}
