package fresh

import (
	"slices"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/row"
)

// A Tag is what a list depends on: the rows of a table with these values in the
// tag columns, or, without them, all rows of the table.
type Tag struct {
	Table      *Table
	TagColumns *TagColumns
	Key        string // its columns' texts, joined as a key is
}

// A Question is what is known of a list before it is read.
type Question struct {
	// Tags are those that the question itself names: whatever is not in one of them
	// does not change the answer, nor which tags are found by reading.
	Tags []Tag

	// Read are the tables of which the rows that are read tell more tags.
	Read []*Table
}

// deps are the versions that must not have moved since a clock.
type deps struct {
	slots  []uint32
	tables []tableDep
}

// A tableDep is the whole of a table, and its version if any row of it matters.
type tableDep struct {
	table *Table
	any   bool
}

// add adds a tag as a load with clock c0 may name it.
func (d *deps) add(c *Tag, c0 uint64) {
	named := c.TagColumns != nil && c.TagColumns.counts(c0)
	d.addTable(c.Table, !named)
	if !named {
		return
	}
	d.slots = append(d.slots, c.TagColumns.slot(c.Key))
}

// once leaves each slot once.
func (d *deps) once() {
	slices.Sort(d.slots)
	d.slots = slices.Clip(slices.Compact(d.slots))
}

// equal reports whether two are the same versions.
func (d *deps) equal(o *deps) bool {
	return slices.Equal(d.slots, o.slots) && slices.Equal(d.tables, o.tables)
}

func (d *deps) addTable(t *Table, any bool) {
	for i := range d.tables {
		if d.tables[i].table == t {
			d.tables[i].any = d.tables[i].any || any
			return
		}
	}
	d.tables = append(d.tables, tableDep{t, any})
}

// State of versions that a copy or a load depends on.
type condition uint8

const (
	still condition = iota // none has moved, none is dirty
	dirty                  // one is kept by a change that is not settled
	moved                  // one has moved
)

// look returns what has become of the versions of d since the clock was c0.
func (w *Versions) look(d *deps, c0 uint64) condition {
	return max(since(w.load(&w.all.v), c0), w.named(d, c0))
}

// named is look without the version of all.
func (w *Versions) named(d *deps, c0 uint64) (c condition) {
	for i := range d.tables {
		t := &d.tables[i]
		c = max(c, since(w.load(&t.table.whole.v), c0))
		if t.any {
			c = max(c, since(w.load(&t.table.version.v), c0))
		}
	}
	for _, s := range d.slots {
		c = max(c, since(w.load(&w.slots[s]), c0))
	}
	return c
}

// since returns what has become of a version since the clock was c0.
func since(v, c0 uint64) condition {
	switch {
	case v>>dirtyBits > c0:
		return moved
	case v&dirtyMask > 0:
		return dirty
	}
	return still
}

// A ReadSet is what is known of a list that is kept, or of a document: the versions that it
// depends on. It is never changed, but for seen and shown.
type ReadSet struct {
	space      *Space
	generation uint64
	c0         uint64
	epoch      uint64
	deps       deps
	seen       atomic.Uint64 // the sum of all and of the tables' versions when it was last good
	shown      atomic.Uint64 // the period in which Space.watchedReads has noted it; 0: none

	// Row is the caller's, set before others see c: the key of the row that was found, where
	// that is another text than the key of the document; "": it is not.
	Row row.Key
}

// Valid reports whether nothing has touched c that is applied, the gate being open. Who
// says as of when the answer is has loaded Applied before. It takes no lock and
// allocates nothing.
func (c *ReadSet) Valid() bool {
	if c.generation != c.space.generation.Load() {
		return false
	}
	w := c.space.domain.versions
	sum := w.load(&w.all.v)
	for i := range c.deps.tables {
		sum += w.load(&c.deps.tables[i].table.version.v)
	}

	// Fast path: nothing has changed in its tables since it was last good.
	if sum == w.load(&c.seen) {
		return true
	}

	// Slow path: something has, perhaps not in its tags.
	return c.walk(sum)
}

// Fetch reads what Valid reads first, so that it is in the processor's cache. The sum means
// nothing.
func (c *ReadSet) Fetch() (sum uint64) {
	sum = c.seen.Load()
	for i := range c.deps.tables {
		sum += c.deps.tables[i].table.version.v.Load()
	}
	return sum
}

// walk looks at each version. sum is from before, so that whatever moves meanwhile makes
// it differ.
func (c *ReadSet) walk(sum uint64) bool {
	if c.Check() != Unmoved {
		return false
	}
	c.space.domain.versions.store(&c.seen, sum)
	return true
}

// A Cause says why a copy is not valid.
type Cause uint8

// The causes.
const (
	Unmoved Cause = iota // it is
	Dirty                // a change that is not settled keeps one of its versions
	Changed              // one of its versions has moved
)

// Check returns what Valid finds without its fast path.
func (c *ReadSet) Check() Cause {
	d := c.space.domain
	if c.epoch != d.versions.load(&d.epoch) || c.generation != c.space.generation.Load() {
		return Changed
	}
	return Cause(d.versions.look(&c.deps, c.c0))
}

// Suspect reports whether nothing but a new epoch, or what makes everything of its space
// invalid, has touched c: then it may be given as an answer that is flagged as stale. A copy
// whose versions have moved may be older than an answer that was given before.
func (c *ReadSet) Suspect() bool {
	w := c.space.domain.versions
	return w.named(&c.deps, c.c0) == still && since(w.load(&w.shared), c.c0) == still
}

// Deps returns how many versions c depends on, apart from all.
func (c *ReadSet) Deps() int {
	n := len(c.deps.slots)
	for _, t := range c.deps.tables {
		if n++; t.any {
			n++
		}
	}
	return n
}

// Precise reports whether c depends on tags of rows only: a change of other rows leaves
// it valid.
func (c *ReadSet) Precise() bool {
	return !slices.ContainsFunc(c.deps.tables, func(t tableDep) bool { return t.any })
}

// Size returns how many bytes of memory c takes, without its document.
func (c *ReadSet) Size() int {
	return 128 + len(c.Row) + 4*len(c.deps.slots) + 16*len(c.deps.tables)
}
