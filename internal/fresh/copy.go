package fresh

import (
	"slices"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/row"
)

// A Class is what a list depends on: the rows of a table with these values in the
// columns of a template, or, without a template, all rows of the table.
type Class struct {
	Table    *Table
	Template *Template
	Key      string // its columns' texts, joined as a key is
}

// A Question is what is known of a list before it is read.
type Question struct {
	// Classes are those that the question itself names: whatever is not in one of them
	// does not change the answer, nor which classes are found by reading.
	Classes []Class

	// Read are the tables of which the rows that are read tell more classes.
	Read []*Table
}

// deps are the words that must not have moved since a clock.
type deps struct {
	slots  []uint32
	tables []tableDep
}

// A tableDep is the whole of a table, and its word if any row of it matters.
type tableDep struct {
	table *Table
	any   bool
}

// add adds a class as a load with clock c0 may name it.
func (d *deps) add(c *Class, c0 uint64) {
	named := c.Template != nil && c.Template.counts(c0)
	d.addTable(c.Table, !named)
	if !named {
		return
	}
	d.slots = append(d.slots, c.Template.slot(c.Key))
}

// once leaves each slot once.
func (d *deps) once() {
	slices.Sort(d.slots)
	d.slots = slices.Clip(slices.Compact(d.slots))
}

// equal reports whether two are the same words.
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

// State of words that a copy or a load depends on.
type condition uint8

const (
	still condition = iota // none has moved, none is dirty
	dirty                  // one is kept by a change that is not settled
	moved                  // one has moved
)

// look returns what has become of the words of d since the clock was c0.
func (w *Words) look(d *deps, c0 uint64) condition {
	return max(since(w.load(&w.all.v), c0), w.named(d, c0))
}

// named is look without the word of all.
func (w *Words) named(d *deps, c0 uint64) (c condition) {
	for i := range d.tables {
		t := &d.tables[i]
		c = max(c, since(w.load(&t.table.whole.v), c0))
		if t.any {
			c = max(c, since(w.load(&t.table.word.v), c0))
		}
	}
	for _, s := range d.slots {
		c = max(c, since(w.load(&w.slots[s]), c0))
	}
	return c
}

// since returns what has become of a word since the clock was c0.
func since(v, c0 uint64) condition {
	switch {
	case v>>dirtyBits > c0:
		return moved
	case v&dirtyMask > 0:
		return dirty
	}
	return still
}

// A Copy is what is known of a list that is kept, or of a document: the words that it
// depends on. It is never changed, but for seen and shown.
type Copy struct {
	space      *Space
	generation uint64
	c0         uint64
	epoch      uint64
	deps       deps
	seen       atomic.Uint64 // the sum of all and of the tables' words when it was last good
	shown      atomic.Uint64 // the period in which Space.shown has noted it; 0: none

	// Row is the caller's, set before others see c: the key of the row that was found, where
	// that is another text than the key of the document; "": it is not.
	Row row.Key
}

// Valid reports whether nothing has touched c that is applied, the gate being open. Who
// says as of when the answer is has loaded Applied before. It takes no lock and
// allocates nothing.
func (c *Copy) Valid() bool {
	if c.generation != c.space.generation.Load() {
		return false
	}
	w := c.space.domain.words
	sum := w.load(&w.all.v)
	for i := range c.deps.tables {
		sum += w.load(&c.deps.tables[i].table.word.v)
	}

	// Fast path: nothing has changed in its tables since it was last good.
	if sum == w.load(&c.seen) {
		return true
	}

	// Slow path: something has, perhaps not in its classes.
	return c.walk(sum)
}

// Fetch reads what Valid reads first, so that it is in the processor's cache. The sum means
// nothing.
func (c *Copy) Fetch() (sum uint64) {
	sum = c.seen.Load()
	for i := range c.deps.tables {
		sum += c.deps.tables[i].table.word.v.Load()
	}
	return sum
}

// walk looks at each word. sum is from before, so that whatever moves meanwhile makes
// it differ.
func (c *Copy) walk(sum uint64) bool {
	if c.Check() != Unmoved {
		return false
	}
	c.space.domain.words.store(&c.seen, sum)
	return true
}

// A Cause says why a copy is not valid.
type Cause uint8

// The causes.
const (
	Unmoved Cause = iota // it is
	Dirty                // a change that is not settled keeps one of its words
	Changed              // one of its words has moved
)

// Check returns what Valid finds without its fast path.
func (c *Copy) Check() Cause {
	d := c.space.domain
	if c.epoch != d.words.load(&d.epoch) || c.generation != c.space.generation.Load() {
		return Changed
	}
	return Cause(d.words.look(&c.deps, c.c0))
}

// Suspect reports whether nothing but a new epoch, or what makes everything of its space
// invalid, has touched c: then it may be given as an answer that is flagged as stale. A copy
// whose words have moved may be older than an answer that was given before.
func (c *Copy) Suspect() bool {
	w := c.space.domain.words
	return w.named(&c.deps, c.c0) == still && since(w.load(&w.shared), c.c0) == still
}

// Deps returns how many words c depends on, apart from all.
func (c *Copy) Deps() int {
	n := len(c.deps.slots)
	for _, t := range c.deps.tables {
		if n++; t.any {
			n++
		}
	}
	return n
}

// Precise reports whether c depends on classes of rows only: a change of other rows leaves
// it valid.
func (c *Copy) Precise() bool {
	return !slices.ContainsFunc(c.deps.tables, func(t tableDep) bool { return t.any })
}

// Size returns how many bytes of memory c takes, without its document.
func (c *Copy) Size() int {
	return 128 + len(c.Row) + 4*len(c.deps.slots) + 16*len(c.deps.tables)
}
