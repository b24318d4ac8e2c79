package sqlcache

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A closed counts, for each table, the writes of clients of which the feed has not told yet: from
// before a write's commit is sent to the server until its answer has come and the feed has reached
// a fence that began after that. While it is not zero no copy is good. It is looked at before the
// versions of a copy: once a table is open again, those have moved.
type closed struct {
	all    atomic.Int64
	tables sync.Map // of *atomic.Int64 by source.Table.ID
}

// of returns the count of a table.
func (c *closed) of(table string) *atomic.Int64 {
	if n, ok := c.tables.Load(table); ok {
		return n.(*atomic.Int64)
	}
	n, _ := c.tables.LoadOrStore(table, new(atomic.Int64))
	return n.(*atomic.Int64)
}

// is reports whether a table is closed.
func (c *closed) is(table string) bool { return c.all.Load() > 0 || c.of(table).Load() > 0 }

// A write is what a client's statements may change, from when they are sent.
type write struct {
	seq    uint64   // of the group
	tables []string // by source.Table.ID; nil: all of them
	halts  bool     // what names mean may change, too

	since int64  // when it was sent
	ended int64  // when its answer came; 0: it has not
	pid   uint32 // of a session that was lost: it may go on at the server; 0: it was not
}

// add counts a write in or out.
func (c *Cache) count(w *write, by int64) {
	if w.halts {
		c.halts.Add(1)
		c.halted.Add(by)
	}
	if c.broken == noHold {
		return
	}
	if w.tables == nil {
		c.closed.all.Add(by)
	}
	for _, t := range w.tables {
		c.closed.of(t).Add(by)
	}
}

// covers reports whether w closes what another does.
func (w *write) covers(o *write) bool {
	return w.seq == o.seq && (w.halts || !o.halts) &&
		(w.tables == nil || o.tables != nil && slices.Equal(w.tables, o.tables))
}
