package sqlcache

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A closed counts the writes of clients of which the feed has not told yet. A write counts from
// before its commit is sent to the server until its answer has come and the feed has reached a
// fence that began after that. While it counts no copy is good that it may change. This is looked
// at before the versions of a copy: once a write counts no more, those have moved.
type closed struct {
	all    atomic.Int64
	tables sync.Map // of *closedTable by source.Table.ID
}

// A closedTable counts the writes of one table.
type closedTable struct {
	all  atomic.Int64 // of which nobody knows more
	some atomic.Int64 // others: they may change what is found by other columns than the key
	adds atomic.Int64 // of those, what adds rows, whose keys nobody knows

	mu   sync.RWMutex // guards keys
	keys map[string]int
}

// of returns the counts of a table.
func (c *closed) of(table string) *closedTable {
	if n, ok := c.tables.Load(table); ok {
		return n.(*closedTable)
	}
	n, _ := c.tables.LoadOrStore(table, new(closedTable))
	return n.(*closedTable)
}

// A found says which rows of a table an answer is about.
type found struct {
	table string   // by source.Table.ID
	keys  []string // nil: they are found by other columns than the key
	whole bool     // there is a row of each key
}

// is reports whether a write may change the answer.
func (c *closed) is(f *found) bool {
	if c.all.Load() > 0 {
		return true
	}
	t := c.of(f.table)
	switch {
	case t.all.Load() > 0:
		return true
	case t.some.Load() == 0:
		return false
	case f.keys == nil, !f.whole && t.adds.Load() > 0:
		return true
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.ContainsFunc(f.keys, func(k string) bool { return t.keys[k] > 0 })
}

// count counts a change of the table in or out.
func (t *closedTable) count(c *change, by int64) {
	switch {
	case c.adds:
		t.adds.Add(by)
		t.some.Add(by)
	case c.keys == nil:
		t.all.Add(by)
	default:
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.keys == nil {
			t.keys = make(map[string]int)
		}
		for _, k := range c.keys {
			if t.keys[k] += int(by); t.keys[k] == 0 {
				delete(t.keys, k)
			}
		}
		t.some.Add(by)
	}
}

// A change is what a write does to one table.
type change struct {
	table string   // by source.Table.ID
	adds  bool     // it adds rows, and changes none
	keys  []string // of all rows that it may change, and keeps; nil: nobody knows
}

func (c change) equal(o change) bool {
	return c.table == o.table && c.adds == o.adds && slices.Equal(c.keys, o.keys) &&
		(c.keys == nil) == (o.keys == nil)
}

// A write is what a client's statements may change, from when they are sent.
type write struct {
	seq     uint64   // of the group
	changes []change // nil: all tables
	halts   bool     // what names mean may change, too

	since int64  // when it was sent
	ended int64  // when its answer came; 0: it has not
	pid   uint32 // of a session that was lost: it may go on at the server; 0: it was not
}

// count counts a write in or out.
func (c *Cache) count(w *write, by int64) {
	if w.halts {
		c.halts.Add(1)
		c.halted.Add(by)
	}
	if c.broken == noHold {
		return
	}
	if w.changes == nil {
		c.closed.all.Add(by)
	}
	for i := range w.changes {
		c.closed.of(w.changes[i].table).count(&w.changes[i], by)
	}
}

// covers reports whether w closes what another does.
func (w *write) covers(o *write) bool {
	return w.seq == o.seq && (w.halts || !o.halts) &&
		(w.changes == nil ||
			o.changes != nil && slices.EqualFunc(w.changes, o.changes, change.equal))
}
