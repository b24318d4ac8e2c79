package fresh

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/row"
)

// Watchers are told of the documents that a change touches. What depends on words no change
// names: a hit looks at them, and a watcher does not ask. So while somebody watches, it is
// kept which words each answer depends on that a watcher may have been given, in memory
// still or not, and a change is told of the documents whose words it has moved.
//
// It is complete because each answer is noted before it is known to be good: see Show and
// FinishList.

// maxShown is how many words of documents are remembered for watchers. Of what goes for
// others they are told as if it had changed.
const maxShown = 1 << 19

// maxCopies is how many copies of a document are noted: reads of the database itself make one
// each, which nobody is given again. One that is left out is noted anew when it is shown.
const maxCopies = 8

// shown are the documents of a space that watchers may have.
type shown struct {
	watched func() bool   // whether there are watchers; nil: there never are
	notify  func(row.Key) // tells them that a document may have changed
	tables  []*Table      // that documents depend on

	// period is of what Show has noted: what was noted before a clear is not any more. It is
	// never 0.
	period atomic.Uint64

	mu   sync.Mutex // guards what follows; innermost, but for Words.mu
	docs map[row.Key]*shownDoc
	by   map[dep]*shownLink // the first of those that depend on a word
	n    int                // links of all documents
	due  []row.Key          // of which watchers are told when mu is free
}

// A dep is a word: of a class, or, with a table, of all its rows.
type dep struct {
	table *Table
	slot  uint32
}

// A shownDoc is a document that watchers may have, as each of the copies had it.
type shownDoc struct {
	key    row.Key
	copies []*Copy
	links  [][]shownLink
}

// A shownLink leads from a word to a document that depends on it, and to the next one.
type shownLink struct {
	of         *shownDoc
	dep        dep
	prev, next *shownLink
}

// Watched says who is to be told of changes of documents that depend on words of tables:
// watched reports whether anybody is, and notify tells them that a document may have
// changed, that a read made now sees. It is called before the space is used. notify is
// called with locks held, and must not call back.
func (s *Space) Watched(watched func() bool, notify func(row.Key), tables []*Table) {
	s.shown.watched, s.shown.notify, s.shown.tables = watched, notify, tables
	s.shown.period.Store(1)
}

// Show notes that a watcher may be given c, the copy of k, if anybody watches. Who answers
// with it looks after that whether it is valid: a change that was told before Show has
// moved its words before that. k may alias a buffer.
func (s *Space) Show(k row.Key, c *Copy) {
	w := &s.shown
	if !w.watches() || c.shown.Load() == w.period.Load() {
		return
	}
	if !c.Suspect() {
		return // nobody is given it any more
	}
	w.mu.Lock()
	defer w.unlock()
	w.add(row.Key([]byte(k)), c)
}

// answered notes an answer that a load has made, whether it is kept or not. Watchers are
// told of it at once if something has moved its words since the load began: that was told,
// perhaps, when nothing named the document. What keeps a word is still to be told.
func (s *Space) answered(k row.Key, c *Copy) {
	w := &s.shown
	if !w.watches() {
		return
	}
	w.mu.Lock()
	defer w.unlock()
	w.add(k, c)
	if c.Check() == Changed {
		w.due = append(w.due, k)
	}
}

// Shown returns the documents that watchers may have and that a transaction touches, which
// reads see by now: they are told of those, or that every document may have changed.
func (s *Space) Shown(m *Moved) (keys []row.Key, all bool) {
	w := &s.shown
	w.mu.Lock()
	defer w.mu.Unlock()
	all = m.all || slices.ContainsFunc(m.wholes, func(t *Table) bool {
		return slices.Contains(w.tables, t)
	})
	if all || !w.watches() {
		w.clear()
		return nil, all
	}
	for _, slot := range m.slots {
		keys = w.take(keys, dep{slot: slot})
	}
	for _, t := range m.tables {
		keys = w.take(keys, dep{table: t})
	}
	return keys, false
}

// watches reports whether anybody watches.
func (w *shown) watches() bool { return w.watched != nil && w.watched() }

// reset forgets everything: all copies have become invalid, and watchers will be told that
// every document may have changed.
func (w *shown) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clear()
}

// clear is reset with w.mu held.
func (w *shown) clear() {
	if w.n > 0 || len(w.docs) > 0 {
		w.docs, w.by, w.n = nil, nil, 0
		w.period.Add(1)
	}
}

// take takes out the documents that depend on a word, and adds them to keys. w.mu is held.
func (w *shown) take(keys []row.Key, d dep) []row.Key {
	for l := w.by[d]; l != nil; l = w.by[d] {
		keys = append(keys, l.of.key)
		w.forget(l.of)
	}
	return keys
}

// add notes a copy. w.mu is held.
func (w *shown) add(k row.Key, c *Copy) {
	period := w.period.Load()
	if c.shown.Load() == period {
		return
	}
	c.shown.Store(period)
	if w.docs == nil {
		w.docs, w.by = make(map[row.Key]*shownDoc), make(map[dep]*shownLink)
	}
	doc := w.docs[k]
	if doc == nil {
		doc = &shownDoc{key: k}
		w.docs[k] = doc
	}
	known := slices.ContainsFunc(doc.copies, func(o *Copy) bool { return o.deps.equal(&c.deps) })
	if len(doc.copies) == maxCopies {
		doc.copies[0].shown.Store(0)
		doc.copies = slices.Delete(doc.copies, 0, 1)
	}
	if doc.copies = append(doc.copies, c); !known {
		w.link(doc, c)
	}
	for _, other := range w.docs {
		if w.n <= maxShown {
			return
		}
		w.due = append(w.due, other.key)
		w.forget(other)
	}
}

// link has the words of c lead to doc. w.mu is held.
func (w *shown) link(doc *shownDoc, c *Copy) {
	links := make([]shownLink, 0, len(c.deps.slots)+len(c.deps.tables))
	for _, slot := range c.deps.slots {
		links = append(links, shownLink{of: doc, dep: dep{slot: slot}})
	}
	for _, t := range c.deps.tables {
		if t.any {
			links = append(links, shownLink{of: doc, dep: dep{table: t.table}})
		}
	}
	for i := range links {
		l := &links[i]
		if l.next = w.by[l.dep]; l.next != nil {
			l.next.prev = l
		}
		w.by[l.dep] = l
	}
	doc.links = append(doc.links, links)
	w.n += len(links)
}

// forget takes a document out: watchers are told of it. w.mu is held.
func (w *shown) forget(doc *shownDoc) {
	delete(w.docs, doc.key)
	for _, c := range doc.copies {
		c.shown.Store(0)
	}
	for _, links := range doc.links {
		w.n -= len(links)
		for i := range links {
			w.unlink(&links[i])
		}
	}
}

// unlink takes one link out. w.mu is held.
func (w *shown) unlink(l *shownLink) {
	switch {
	case l.prev != nil:
		l.prev.next = l.next
	case l.next != nil:
		w.by[l.dep] = l.next
	default:
		delete(w.by, l.dep)
	}
	if l.next != nil {
		l.next.prev = l.prev
	}
}

// unlock unlocks w.mu, and tells watchers what is due.
func (w *shown) unlock() {
	due := w.due
	w.due = nil
	w.mu.Unlock()
	for _, k := range due {
		w.notify(k)
	}
}
