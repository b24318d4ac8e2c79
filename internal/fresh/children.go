package fresh

import (
	"container/list"
	"sync"

	"github.com/hotrow/hotrow/internal/row"
)

// A Child names a row of another table that a document holds.
type Child struct {
	Table string
	ID    row.Key
}

// children finds the documents that hold a row when a feed names only the row:
// PostgreSQL does not send the old parent of a child that moves, unless the
// table's replica identity has it.
//
// An index from rows to kept documents is not enough: while a document is not
// kept nothing knows that it holds the row, and a load that read the row before
// it moved would be stored after. So rows carry marks of their own, and a load
// is stored only if no row that it read has been touched or settled since its
// lease was taken, and none is unsettled.
type children struct {
	on bool // some dependency of the resource needs it; set before use

	// mu guards what follows. It is the innermost lock of the package.
	mu    sync.Mutex
	clock uint64 // counts touches and settlings
	marks map[Child]*mark
	index map[Child]map[flight]struct{}
	held  map[flight]held
	open  list.List // leases in flight, oldest first
	old   []Child   // rows whose marks may go when the leases of before are gone

	unsettled int // changes of rows that are not settled, of all marks

	watchers watchers // set before use
	shown    shown
	due      []row.Key // documents whose watchers are told when mu is free
}

// A mark is the last change of one row.
type mark struct {
	unsettled int
	at        uint64    // of children.clock
	late      []row.Key // documents that watchers were shown with the row as it may have been
}

// held is what a kept document was made of.
type held struct {
	doc  *row.Document
	rows []Child
}

// begin notes a load that begins, and the clock at that time. It reports
// whether no change of a row is unsettled: nobody knows yet which rows the load
// will read.
func (c *children) begin(l *Lease) bool {
	if !c.on {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l.clock = c.clock
	l.open = c.open.PushBack(l)
	return c.unsettled == 0
}

// moved reports whether any row has been touched or settled since l began.
func (c *children) moved(l *Lease) bool {
	if !c.on {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock != l.clock
}

// end forgets a load.
func (c *children) end(l *Lease) {
	if !c.on {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open.Remove(l.open)
	c.sweep()
	if !c.watchers.any() {
		c.shown = shown{}
	}
}

// admit reports whether a document that holds rows may be kept, and if so notes
// it in the index: each format by itself, since two may hold different rows
// until the change between them is delivered.
func (c *children) admit(l *Lease, doc *row.Document, rows []Child) bool {
	if !c.on {
		return true
	}
	c.mu.Lock()
	defer c.unlock()
	for _, r := range rows {
		if m := c.marks[r]; m != nil && (m.unsettled > 0 || m.at > l.clock) {
			return false
		}
	}
	fl := flight{l.Key, l.Format}
	c.remove(fl, true)
	if len(rows) == 0 {
		return true
	}
	if c.held == nil {
		c.held = make(map[flight]held)
		c.index = make(map[Child]map[flight]struct{})
	}
	c.held[fl] = held{doc, rows}
	for _, r := range rows {
		if c.index[r] == nil {
			c.index[r] = make(map[flight]struct{}, 1)
		}
		c.index[r][fl] = struct{}{}
	}
	return true
}

// touch marks a row that changed, and returns the documents that hold it, and those that
// watchers have been shown with it, if they are told of what is touched.
func (c *children) touch(r Child, unsettled, told bool) (keys, shown []row.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.mark(r)
	if unsettled {
		m.unsettled++
		c.unsettled++
	} else {
		c.old = append(c.old, r)
		c.sweep()
	}
	keys = make([]row.Key, 0, len(c.index[r]))
	for fl := range c.index[r] {
		keys = append(keys, fl.key)
	}
	if told {
		shown = c.shown.take(r)
	}
	return keys, shown
}

// settle says that a change of r is visible. It counts as a touch: a load that
// began before may have read the row as it was.
func (c *children) settle(r Child) {
	c.mu.Lock()
	defer c.unlock()
	m := c.mark(r)
	c.unsettled--
	if m.unsettled--; m.unsettled == 0 {
		c.due, m.late = append(c.due, m.late...), nil
		c.old = append(c.old, r)
		c.sweep()
	}
}

// mark moves the clock on and returns the mark of r, set to it.
func (c *children) mark(r Child) *mark {
	if c.marks == nil {
		c.marks = make(map[Child]*mark)
	}
	m := c.marks[r]
	if m == nil {
		m = new(mark)
		c.marks[r] = m
	}
	c.clock++
	m.at = c.clock
	return m
}

// sweep removes settled marks that no load in flight can have overtaken.
func (c *children) sweep() {
	oldest := c.clock
	if e := c.open.Front(); e != nil {
		oldest = e.Value.(*Lease).clock
	}
	n := 0
	for _, r := range c.old {
		m := c.marks[r]
		if m != nil && m.at > oldest {
			break
		}
		if m != nil && m.unsettled == 0 {
			delete(c.marks, r)
		}
		n++
	}
	if c.old = c.old[n:]; len(c.old) == 0 {
		c.old = nil
	}
}

// forget takes the documents of k out of the index. told says that watchers are told of k.
func (c *children) forget(k row.Key, told bool) {
	if !c.on {
		return
	}
	c.mu.Lock()
	defer c.unlock()
	for f := range row.Format(row.NumFormats) {
		c.remove(flight{k, f}, !told)
	}
	if told {
		c.shown.forget(k)
	}
}

// agree takes the documents of k out that are of another state than doc.
func (c *children) agree(k row.Key, doc *row.Document) {
	if !c.on {
		return
	}
	c.mu.Lock()
	defer c.unlock()
	for f := range row.Format(row.NumFormats) {
		if h, ok := c.held[flight{k, f}]; ok && !Alike(h.doc, doc) {
			c.remove(flight{k, f}, true)
		}
	}
}

// evicted takes doc out, unless a newer document has taken its place.
func (c *children) evicted(k row.Key, doc *row.Document) {
	if !c.on {
		return
	}
	c.mu.Lock()
	defer c.unlock()
	if fl := (flight{k, doc.Format()}); c.held[fl].doc == doc {
		c.remove(fl, true)
	}
}

// clear empties the index. It is called before a stamp changes: what a load
// adds after that and before the stamp is of a document that is not valid. told says that
// watchers are told that every document may have changed.
func (c *children) clear(told bool) {
	if !c.on {
		return
	}
	c.mu.Lock()
	defer c.unlock()
	if told {
		c.index, c.held, c.shown = nil, nil, shown{}
		return
	}
	for fl := range c.held {
		c.remove(fl, true)
	}
}

// remove takes one document out of the index. shown says that watchers may have it still,
// and are not told that it has changed.
func (c *children) remove(fl flight, shown bool) {
	h, ok := c.held[fl]
	if !ok {
		return
	}
	delete(c.held, fl)
	for _, r := range h.rows {
		if delete(c.index[r], fl); len(c.index[r]) == 0 {
			delete(c.index, r)
		}
	}
	if shown {
		c.show(fl.key, h.rows)
	}
}
