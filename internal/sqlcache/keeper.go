package sqlcache

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
)

// asks are what waits for a fence, or for the catalogue to be read, that begins after it.
type asks struct {
	mu     sync.Mutex // guards what follows; innermost
	writes []write
	judges []judge
	rests  bool // the source is not followed closely while nobody asks
	fence  bool // a session waits for any fence
}

// lower opens what a write has closed, once a fence that begins from now on has been reached.
func (c *Cache) lower(w write) {
	c.asks.mu.Lock()
	defer c.asks.mu.Unlock()
	c.asks.writes = append(c.asks.writes, w)
	c.wakeUp()
}

func (c *Cache) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run reads the catalogue and takes fences, until ctx ends.
func (c *Cache) run(ctx context.Context) {
	defer close(c.ended)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for due := true; ctx.Err() == nil; {
		c.serve(ctx, due)
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			due = c.reader.tick(look)
		case <-c.wake:
			if due = c.reader.woken(look); !due {
				time.Sleep(fencePause)
			}
		}
	}
}

// taken are asks that are being served.
type taken struct {
	writes []write
	judges []judge
	rests  bool
	fence  bool
}

func (c *Cache) take() (t taken) {
	c.asks.mu.Lock()
	defer c.asks.mu.Unlock()
	t = taken{c.asks.writes, c.asks.judges, c.asks.rests, c.asks.fence}
	c.asks.writes, c.asks.judges, c.asks.rests, c.asks.fence = nil, nil, false, false
	return t
}

// giveBack has asks wait for the next turn.
func (c *Cache) giveBack(t taken) {
	c.asks.mu.Lock()
	defer c.asks.mu.Unlock()
	c.asks.writes = append(t.writes, c.asks.writes...)
	c.asks.judges = append(t.judges, c.asks.judges...)
}

// serve serves what is asked by now. due says that the catalogue is to be read in any case.
func (c *Cache) serve(ctx context.Context, due bool) {
	t := c.take()
	begin := resource.Clock()
	of := c.fresh.Now()
	if of != nil && t.rests {
		of.Wake(ctx)
	}
	halts := slices.ContainsFunc(t.writes, func(w write) bool { return w.halts })
	looked := false
	if due || halts || len(t.judges) > 0 {
		looked = c.look(ctx)
		c.tellUnfollowed()
	}
	fenced := false
	if of != nil && (t.fence || len(t.writes)+len(t.judges) > 0) {
		of.Fence(ctx)
		fenced = of.FencedAt() >= begin && c.fresh.Now() == of
	}
	var left taken
	for _, w := range t.writes {
		if w.pid != 0 && c.goesOn(ctx, w.pid) || !fenced || w.halts && !looked {
			left.writes = append(left.writes, w)
			continue
		}
		if w.pid != 0 { // the session has ended by now: what it did is behind the next fence
			w.pid = 0
			c.counts.orphans.Add(-1)
			left.writes = append(left.writes, w)
			continue
		}
		c.open(&w)
	}
	for _, j := range t.judges {
		if fenced && looked {
			c.decide(&j)
		} else {
			left.judges = append(left.judges, j)
		}
	}
	c.giveBack(left)
}

// open ends what a write has closed.
func (c *Cache) open(w *write) {
	c.count(w, -1)
	c.counts.closedFor.Add(resource.Clock() - w.since)
}

// goesOn reports whether a process of the server may still be there.
func (c *Cache) goesOn(ctx context.Context, pid uint32) bool {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	there, err := c.names.Alive(ctx, pid)
	return there || err != nil
}

// look reads the catalogue, and reports whether it could.
func (c *Cache) look(ctx context.Context) bool {
	begin := resource.Clock()
	limit, cancel := context.WithTimeout(ctx, 10*lookLimit)
	defer cancel()
	st, err := c.names.Stamp(limit)
	if err != nil {
		c.sayUnread(ctx, err)
		return false
	}
	old := c.meaning.Load()
	if old != nil && old.Stamp == st && !old.again {
		c.readAt.Store(begin)
		return true
	}
	var d *source.Definitions
	if old != nil && old.Stamp == st {
		d = old.Definitions
	} else if d, err = c.names.Definitions(limit); err != nil {
		c.sayUnread(ctx, err)
		return false
	}
	m := newMeaning(d, 1)
	if old != nil {
		m.number = old.number + 1
		// Each session reads the configuration when it gets to it: what was read of one
		// right after the first counts once more.
		m.again = old.Loaded != m.Loaded
	}
	c.meaning.Store(m)
	c.readAt.Store(begin)
	c.forget()
	return true
}

// tellUnfollowed tells that there is a table which the feed could follow, and does not: once for
// each change of definitions.
func (c *Cache) tellUnfollowed() {
	m, of := c.meaning.Load(), c.fresh.Now()
	if c.tell == nil || m == nil || of == nil || m.number == c.told {
		return
	}
	if open, _ := of.Open(); !open {
		return // it may follow all of them soon
	}
	c.told = m.number
	for i := range m.Relations {
		r := &m.Relations[i]
		if r.Rows && r.Keyed && !of.Follows(r.Schema+"."+r.Name) {
			c.tell()
			return
		}
	}
}

// sayUnread tells the log, now and then, that the catalogue could not be read.
func (c *Cache) sayUnread(ctx context.Context, err error) {
	if ctx.Err() == nil && c.said.Allow(time.Now()) {
		c.log.Warn("the catalogue could not be read: memory would answer no SQL", "err", err)
	}
}

// Stats are counts since the start, but for Copies and Orphans.
type Stats struct {
	Copies  int           // answers that are known
	Closed  time.Duration // for which writes of clients have kept copies from being good, of all
	Orphans int           // writes whose session was lost, and may go on at the server
}

// Stats returns the counts up to now.
func (c *Cache) Stats() Stats {
	s := Stats{Closed: time.Duration(c.counts.closedFor.Load()),
		Orphans: int(c.counts.orphans.Load())}
	for _, share := range c.memory.Shares() {
		if share.Resource == c.number {
			s.Copies += int(share.Entries)
		}
	}
	return s
}

// counts are what a Cache counts.
type counts struct {
	closedFor atomic.Int64 // nanoseconds, of all writes
	orphans   atomic.Int64 // writes of sessions that were lost
}
