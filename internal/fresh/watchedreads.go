package fresh

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/row"
)

// Watchers are told of the documents that a change touches. What depends on versions no change
// names: a hit looks at them, and a watcher does not ask. So while somebody watches, it is
// kept which versions each answer depends on that a watcher may have been given, in memory
// still or not, and a change is told of the documents whose versions it has moved.
//
// It is complete because each answer is noted before it is known to be good: see Show and
// FinishList.

// maxWatchedReads is how many versions of documents are remembered for watchers. Of what goes for
// others they are told as if it had changed.
const maxWatchedReads = 1 << 19

// maxCopies is how many copies of a document are noted: reads of the database itself make one
// each, which nobody is given again. One that is left out is noted anew when it is shown.
const maxCopies = 8

// watchedReads are the documents of a space that watchers may have.
type watchedReads struct {
	watched func() bool   // whether there are watchers; nil: there never are
	notify  func(row.Key) // tells them that a document may have changed
	tables  []*Table      // that documents depend on

	// period is of what Show has noted: what was noted before a clear is not any more. It is
	// never 0.
	period atomic.Uint64

	mu   sync.Mutex // guards what follows; innermost, but for Versions.mu
	docs map[row.Key]*watchedDoc
	by   map[dep]*watchedLink // the first of those that depend on a version
	n    int                  // links of all documents
	due  []row.Key            // of which watchers are told when mu is free
}

// A dep is a version: of a tag, or, with a table, of all its rows.
type dep struct {
	table *Table
	slot  uint32
}

// A watchedDoc is a document that watchers may have, as each of the copies had it.
type watchedDoc struct {
	key    row.Key
	copies []*ReadSet
	links  [][]watchedLink
}

// A watchedLink leads from a version to a document that depends on it, and to the next one.
type watchedLink struct {
	of         *watchedDoc
	dep        dep
	prev, next *watchedLink
}

// Watch says who is to be told of changes of documents that depend on versions of tables:
// watched reports whether anybody is, and notify tells them that a document may have
// changed, that a read made now sees. It is called before the space is used. notify is
// called with locks held, and must not call back.
func (s *Space) Watch(watched func() bool, notify func(row.Key), tables []*Table) {
	s.watchedReads.watched, s.watchedReads.notify, s.watchedReads.tables = watched, notify, tables
	s.watchedReads.period.Store(1)
}

// NoteWatched notes that a watcher may be given c, the copy of k, if anybody watches. Who answers
// with it looks after that whether it is valid: a change that was told before Show has
// moved its versions before that. k may alias a buffer.
func (s *Space) NoteWatched(k row.Key, c *ReadSet) {
	w := &s.watchedReads
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
// told of it at once if something has moved its versions since the load began: that was told,
// perhaps, when nothing named the document. What keeps a version is still to be told.
func (s *Space) answered(k row.Key, c *ReadSet) {
	w := &s.watchedReads
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

// WatchedIn returns the documents that watchers may have and that a transaction touches, which
// reads see by now: they are told of those, or that every document may have changed.
func (s *Space) WatchedIn(m *InvalidationSet) (keys []row.Key, all bool) {
	w := &s.watchedReads
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
func (w *watchedReads) watches() bool { return w.watched != nil && w.watched() }

// reset forgets everything: all copies have become invalid, and watchers will be told that
// every document may have changed.
func (w *watchedReads) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clear()
}

// clear is reset with w.mu held.
func (w *watchedReads) clear() {
	if w.n > 0 || len(w.docs) > 0 {
		w.docs, w.by, w.n = nil, nil, 0
		w.period.Add(1)
	}
}

// take takes out the documents that depend on a version, and adds them to keys. w.mu is held.
func (w *watchedReads) take(keys []row.Key, d dep) []row.Key {
	for l := w.by[d]; l != nil; l = w.by[d] {
		keys = append(keys, l.of.key)
		w.forget(l.of)
	}
	return keys
}

// add notes a copy. w.mu is held.
func (w *watchedReads) add(k row.Key, c *ReadSet) {
	period := w.period.Load()
	if c.shown.Load() == period {
		return
	}
	c.shown.Store(period)
	if w.docs == nil {
		w.docs, w.by = make(map[row.Key]*watchedDoc), make(map[dep]*watchedLink)
	}
	doc := w.docs[k]
	if doc == nil {
		doc = &watchedDoc{key: k}
		w.docs[k] = doc
	}
	known := slices.ContainsFunc(doc.copies, func(o *ReadSet) bool { return o.deps.equal(&c.deps) })
	if len(doc.copies) == maxCopies {
		doc.copies[0].shown.Store(0)
		doc.copies = slices.Delete(doc.copies, 0, 1)
	}
	if doc.copies = append(doc.copies, c); !known {
		w.link(doc, c)
	}
	for _, other := range w.docs {
		if w.n <= maxWatchedReads {
			return
		}
		w.due = append(w.due, other.key)
		w.forget(other)
	}
}

// link has the versions of c lead to doc. w.mu is held.
func (w *watchedReads) link(doc *watchedDoc, c *ReadSet) {
	links := make([]watchedLink, 0, len(c.deps.slots)+len(c.deps.tables))
	for _, slot := range c.deps.slots {
		links = append(links, watchedLink{of: doc, dep: dep{slot: slot}})
	}
	for _, t := range c.deps.tables {
		if t.any {
			links = append(links, watchedLink{of: doc, dep: dep{table: t.table}})
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
func (w *watchedReads) forget(doc *watchedDoc) {
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
func (w *watchedReads) unlink(l *watchedLink) {
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
func (w *watchedReads) unlock() {
	due := w.due
	w.due = nil
	w.mu.Unlock()
	for _, k := range due {
		w.notify(k)
	}
}
