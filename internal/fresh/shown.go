package fresh

import (
	"slices"

	"github.com/hotrow/hotrow/internal/row"
)

// A watcher is told of the documents that a change touches. Where a feed names only the
// row that a document holds, the index of children names the document as long as memory
// has it. A watcher may have it for longer: memory has evicted it, a write has dropped it
// before the feed told of the change, or it was never kept. What watchers may have and the
// index does not is kept here, while somebody watches.

// watchers are those of a resource.
type watchers struct {
	watched func() bool   // whether there are any; nil: there never are
	notify  func(row.Key) // tells them that a document may have changed
}

func (w *watchers) any() bool { return w.watched != nil && w.watched() }

// Watched says who is to be told of changes: watched reports whether anybody is, and notify
// tells them that a document may have changed, that a read made now sees. It is called
// before the space is used. notify is called with locks held, and must not call back.
func (s *Space) Watched(watched func() bool, notify func(row.Key)) {
	s.children.watchers = watchers{watched, notify}
}

// maxShown is how many rows of documents are remembered for watchers. Of what goes for
// others they are told as if it had changed.
const maxShown = 1 << 17

// shown are the documents that watchers may have and the index does not name: with the
// rows of each answer since they were told of the document.
type shown struct {
	docs map[row.Key]map[rowHash]struct{}
	rows map[rowHash]map[row.Key]struct{}
	n    int // rows of all documents
}

// add notes that a document was shown with rows.
func (s *shown) add(k row.Key, rows []rowHash) {
	if s.docs == nil {
		s.docs = make(map[row.Key]map[rowHash]struct{})
		s.rows = make(map[rowHash]map[row.Key]struct{})
	}
	if s.docs[k] == nil {
		s.docs[k] = make(map[rowHash]struct{}, len(rows))
	}
	s.n -= len(s.docs[k])
	for _, r := range rows {
		if s.rows[r] == nil {
			s.rows[r] = make(map[row.Key]struct{}, 1)
		}
		s.rows[r][k] = struct{}{}
		s.docs[k][r] = struct{}{}
	}
	s.n += len(s.docs[k])
}

// forget takes a document out: watchers are told of it.
func (s *shown) forget(k row.Key) {
	s.n -= len(s.docs[k])
	for r := range s.docs[k] {
		if delete(s.rows[r], k); len(s.rows[r]) == 0 {
			delete(s.rows, r)
		}
	}
	delete(s.docs, k)
}

// take takes out the documents that were shown with a row, and returns them.
func (s *shown) take(r rowHash) []row.Key {
	keys := make([]row.Key, 0, len(s.rows[r]))
	for k := range s.rows[r] {
		keys = append(keys, k)
	}
	for _, k := range keys {
		s.forget(k)
	}
	return keys
}

// show notes that watchers, of which there are some, may have been shown a document with
// rows. c.mu is held.
func (c *children) show(k row.Key, rows []rowHash) {
	if len(rows) == 0 {
		return
	}
	c.shown.add(k, rows)
	for other := range c.shown.docs {
		if c.shown.n <= maxShown {
			return
		}
		c.shown.forget(other)
		c.due = append(c.due, other)
	}
}

// answered notes an answer that is not kept. Watchers are told of it, as soon as a read
// sees what it may have missed: the change of a row of it that was touched since the load
// began, or is not settled. When that was delivered nothing named the document.
func (c *children) answered(l *Lease, rows []rowHash) {
	if !c.on {
		return
	}
	c.mu.Lock()
	defer c.unlock()
	if !c.watchers.any() {
		return
	}
	passed := false
	for _, r := range rows {
		switch m := c.marks[r]; {
		case m == nil:
		case m.unsettled == 0:
			passed = passed || m.at > l.clock
		case !slices.Contains(m.late, l.Key):
			m.late = append(m.late, l.Key)
		}
	}
	if passed {
		c.due = append(c.due, l.Key)
	}
	c.show(l.Key, rows)
}

// unlock unlocks c.mu, and tells watchers what is due.
func (c *children) unlock() {
	due := c.due
	c.due = nil
	c.mu.Unlock()
	for _, k := range due {
		c.watchers.notify(k)
	}
}
