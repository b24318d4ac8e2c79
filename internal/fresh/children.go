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
	on    bool // some dependency of the resource needs it; set before use
	mu    sync.Mutex
	clock uint64 // counts touches and settlings
	marks map[Child]*mark
	index map[Child]map[row.Key]struct{}
	held  map[row.Key]held
	open  list.List // leases in flight, oldest first
	old   []Child   // rows whose marks may go when the leases of before are gone
}

// A mark is the last change of one row.
type mark struct {
	unsettled int
	at        uint64 // of children.clock
}

// held is what a kept document was made of.
type held struct {
	doc  *row.Document
	rows []Child
}

// begin notes a load that begins, and the clock at that time.
func (c *children) begin(l *Lease) {
	if !c.on {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l.clock = c.clock
	l.open = c.open.PushBack(l)
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
}

// admit reports whether a document that holds rows may be kept, and if so notes
// it in the index.
func (c *children) admit(l *Lease, doc *row.Document, rows []Child) bool {
	if !c.on {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range rows {
		if m := c.marks[r]; m != nil && (m.unsettled > 0 || m.at > l.clock) {
			return false
		}
	}
	c.remove(l.Key)
	if len(rows) == 0 {
		return true
	}
	if c.held == nil {
		c.held = make(map[row.Key]held)
		c.index = make(map[Child]map[row.Key]struct{})
	}
	c.held[l.Key] = held{doc, rows}
	for _, r := range rows {
		if c.index[r] == nil {
			c.index[r] = make(map[row.Key]struct{}, 1)
		}
		c.index[r][l.Key] = struct{}{}
	}
	return true
}

// touch marks a row that changed, and returns the documents that hold it.
func (c *children) touch(r Child, unsettled bool) []row.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.mark(r)
	if unsettled {
		m.unsettled++
	} else {
		c.old = append(c.old, r)
	}
	keys := make([]row.Key, 0, len(c.index[r]))
	for k := range c.index[r] {
		keys = append(keys, k)
	}
	return keys
}

// settle says that a change of r is visible. It counts as a touch: a load that
// began before may have read the row as it was.
func (c *children) settle(r Child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.mark(r)
	if m.unsettled--; m.unsettled <= 0 {
		m.unsettled = 0
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

// forget takes the document of k out of the index.
func (c *children) forget(k row.Key) {
	if !c.on {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(k)
}

// evicted takes doc out, unless a newer document has taken its place.
func (c *children) evicted(k row.Key, doc *row.Document) {
	if !c.on {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[k].doc == doc {
		c.remove(k)
	}
}

// clear empties the index. It is called before a stamp changes: what a load
// adds after that and before the stamp is of a document that is not valid.
func (c *children) clear() {
	if !c.on {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index, c.held = nil, nil
}

func (c *children) remove(k row.Key) {
	h, ok := c.held[k]
	if !ok {
		return
	}
	delete(c.held, k)
	for _, r := range h.rows {
		if delete(c.index[r], k); len(c.index[r]) == 0 {
			delete(c.index, r)
		}
	}
}
