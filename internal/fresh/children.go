package fresh

import (
	"container/list"
	"hash/maphash"
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
//
// Rows are known by their hashes: there is an entry for each row of each document in
// memory. Two rows of one hash are taken for one, which costs a load.
type children struct {
	on   bool // some dependency of the resource needs it; set before use
	seed maphash.Seed

	// mu guards what follows. It is the innermost lock of the package.
	mu    sync.Mutex
	clock uint64 // counts touches and settlings
	marks map[rowHash]*mark
	index map[rowHash]*link // to the first document that holds the row
	held  map[flight]*held
	open  list.List // leases in flight, oldest first
	old   []rowHash // whose marks may go when the leases of before are gone

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

// A rowHash stands for a Child.
type rowHash uint64

// hashes returns what stands for rows.
func (c *children) hashes(rows []Child) []rowHash {
	list := make([]rowHash, len(rows))
	for i, r := range rows {
		list[i] = c.hash(r)
	}
	return list
}

func (c *children) hash(r Child) rowHash { return rowHash(maphash.Comparable(c.seed, r)) }

// held is a kept document, with a link for each row that it was made of.
type held struct {
	flight
	doc  *row.Document
	rows []link
}

// A link leads from a row to a document that holds it, and to the next one.
type link struct {
	row  rowHash
	of   *held
	next *link
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
func (c *children) admit(l *Lease, doc *row.Document, rows []rowHash) bool {
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
		c.held = make(map[flight]*held)
		c.index = make(map[rowHash]*link)
	}
	h := &held{fl, doc, make([]link, len(rows))}
	c.held[fl] = h
	for i, r := range rows {
		h.rows[i] = link{r, h, c.index[r]}
		c.index[r] = &h.rows[i]
	}
	return true
}

// touch marks a row that changed, and returns the documents that hold it, and those that
// watchers have been shown with it, if they are told of what is touched.
func (c *children) touch(child Child, unsettled, notify bool) (keys, shown []row.Key) {
	r := c.hash(child)
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
	for l := c.index[r]; l != nil; l = l.next {
		keys = append(keys, l.of.key)
	}
	if notify {
		shown = c.shown.take(r)
	}
	return keys, shown
}

// settle says that a change of r is visible. It counts as a touch: a load that
// began before may have read the row as it was.
func (c *children) settle(child Child) {
	r := c.hash(child)
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
func (c *children) mark(r rowHash) *mark {
	if c.marks == nil {
		c.marks = make(map[rowHash]*mark)
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

// sweep removes settled marks that no load in flight can have missed.
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

// forget takes the documents of k out of the index. notify says that watchers are told of k.
func (c *children) forget(k row.Key, notify bool) {
	if !c.on {
		return
	}
	c.mu.Lock()
	defer c.unlock()
	for f := range row.Format(row.NumFormats) {
		c.remove(flight{k, f}, !notify)
	}
	if notify {
		c.shown.forget(k)
	}
}

// evictOthers takes the documents of k out that are of another state than doc.
func (c *children) evictOthers(k row.Key, doc *row.Document) {
	if !c.on {
		return
	}
	c.mu.Lock()
	defer c.unlock()
	for f := range row.Format(row.NumFormats) {
		if h, ok := c.held[flight{k, f}]; ok && !SameVersion(h.doc, doc) {
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
	fl := flight{k, doc.Format()}
	if h := c.held[fl]; h != nil && h.doc == doc {
		c.remove(fl, true)
	}
}

// clear empties the index. It is called before a stamp changes: what a load
// adds after that and before the stamp is of a document that is not valid. notify says that
// watchers are told that every document may have changed.
func (c *children) clear(notify bool) {
	if !c.on {
		return
	}
	c.mu.Lock()
	defer c.unlock()
	if notify {
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
	h := c.held[fl]
	if h == nil {
		return
	}
	delete(c.held, fl)
	for i := range h.rows {
		c.unlink(&h.rows[i])
	}
	if shown && c.watchers.any() {
		rows := make([]rowHash, len(h.rows))
		for i := range h.rows {
			rows[i] = h.rows[i].row
		}
		c.show(fl.key, rows)
	}
}

// unlink takes one link out of the index.
func (c *children) unlink(l *link) {
	first := c.index[l.row]
	switch {
	case first != l:
		for first.next != l {
			first = first.next
		}
		first.next = l.next
	case l.next != nil:
		c.index[l.row] = l.next
	default:
		delete(c.index, l.row)
	}
}
