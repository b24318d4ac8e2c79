package resource

import (
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// crowded is a list of 25 documents with a row in each: it depends on all rows of dept and
// on 25 tags of emp.
const crowded = "deptno=gt.0&order=dname&limit=25"

// newCrowd returns a house that keeps the list, and what changes a row of emp that it does
// not have.
func newCrowd(t testing.TB) (h *house, change func()) {
	h = newListHouse(t, manyWords)
	h.exec(`INSERT INTO dept WITH RECURSIVE s(i) AS (SELECT 100 UNION ALL SELECT i+1 FROM s
		WHERE i < 140) SELECT i, 'D' || i, 'X' FROM s`)
	h.exec("INSERT INTO emp SELECT deptno, 'E', 1, deptno FROM dept WHERE deptno >= 100")
	u := h.resource("dept").revision.Load().src
	h.until(func() bool { // what another program has written is told
		_, err := u.follower.feed().Fence(t.Context())
		return err == nil
	})
	change = func() {
		u.apply.Lock()
		defer u.apply.Unlock()
		row := source.Tuple{{Column: "empno", Text: "1"}, {Column: "deptno", Null: true}}
		tx := &source.Tx{Changes: []source.Change{{Table: "emp", Op: source.Update,
			Old: row, New: row}}}
		m := u.invalidationSet(tx)
		u.domain.Apply(u.domain.Applied().Pos, []fresh.Invalidation{m.Invalidation()}, nil, 0)
	}
	h.until(func() bool { // it is read once more when its templates count
		h.keepAsked("dept", crowded)
		if _, err := h.ask("dept", crowded, Options{NoCache: true}, query.Options{}); err != nil {
			t.Fatal(err)
		}
		h.keepAsked("dept", crowded)
		change()
		return h.finds("dept", crowded)
	})
	return h, change
}

// crowd is what a loop finds by the bytes of the crowded query.
func (h *house) crowd(s *Snapshot) *row.Document {
	s.Begin(time.Now())
	l, _ := h.resource("dept").LookupList(crowded, row.FormatJSON, s)
	return l
}

// TestTemplates_HitsAllocateNothing: a hit of a list with 26 dependencies, beside changes
// of other rows of its tables.
func TestTemplates_HitsAllocateNothing(t *testing.T) {
	h, change := newCrowd(t)
	var s Snapshot
	h.until(func() bool { return h.crowd(&s) != nil })
	changes := testing.AllocsPerRun(2000, change)
	both := testing.AllocsPerRun(2000, func() {
		change()
		h.crowd(&s)
	})
	if both > changes {
		t.Errorf("a change allocates %v times, with a hit %v", changes, both)
	}
	h.until(func() bool { return h.crowd(&s) != nil }) // nobody has loaded it meanwhile
}

// BenchmarkTemplates is what a loop pays for a list of 25 rows with 26 dependencies, when
// nothing has changed and when something else in its tables has, beside a document.
func BenchmarkTemplates(b *testing.B) {
	h, change := newCrowd(b)
	h.hit("dept", "100")
	var s Snapshot
	b.Run("document", func(b *testing.B) {
		b.ReportAllocs()
		s.Begin(time.Now())
		r := h.resource("dept")
		for b.Loop() {
			s.Reuse()
			if d, _, _ := r.Lookup("100", row.FormatJSON, &s); d == nil {
				s.Begin(time.Now())
			}
		}
	})
	b.Run("list/quiet", func(b *testing.B) {
		b.ReportAllocs()
		s.Begin(time.Now())
		r := h.resource("dept")
		for b.Loop() {
			s.Reuse()
			if l, _ := r.LookupList(crowded, row.FormatJSON, &s); l == nil {
				s.Begin(time.Now())
			}
		}
	})
	b.Run("change", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			change()
		}
	})
	b.Run("list/changed", func(b *testing.B) {
		b.ReportAllocs()
		s.Begin(time.Now())
		r := h.resource("dept")
		for b.Loop() {
			change()
			s.Reuse()
			if l, _ := r.LookupList(crowded, row.FormatJSON, &s); l == nil {
				s.Begin(time.Now())
			}
		}
	})
}
