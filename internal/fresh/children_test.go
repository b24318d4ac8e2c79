package fresh

import (
	"slices"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// keep stores a document that holds rows.
func keep(t *testing.T, s *Space, k row.Key, f row.Format, rows ...Child) *row.Document {
	t.Helper()
	l, _ := s.Begin(k, f, Any)
	if !finish(s, l, rows...) {
		t.Fatalf("%v was not stored", k)
	}
	doc, _ := l.Result()
	return doc
}

// holders returns how many documents hold a row.
func holders(s *Space, r Child) (n int) {
	for l := s.children.index[s.children.hash(r)]; l != nil; l = l.next {
		n++
	}
	return n
}

func TestChildren_ARowDropsTheDocumentsThatHoldIt(t *testing.T) {
	var dropped []row.Key
	d, s := newAttached(func(k row.Key) { dropped = append(dropped, k) })
	a, b := Child{"t", "a"}, Child{"t", "b"}
	keep(t, s, "1", row.FormatJSON, a)
	keep(t, s, "2", row.FormatJSON, b)
	keep(t, s, "3", row.FormatMsgPack, a, b)
	keep(t, s, "4", row.FormatJSON)
	d.Apply(2, []Touch{{Space: s, Children: []Child{a}}}, nil, 0)
	slices.Sort(dropped)
	if want := []row.Key{"1", "3"}; !slices.Equal(dropped, want) {
		t.Errorf("dropped %v, want %v", dropped, want)
	}
	if n := len(s.children.index); n != 1 {
		t.Errorf("%d rows in the index, want b alone", n)
	}
}

// TestChildren_TheOthersThatHoldARowStay: documents leave the index in any order.
func TestChildren_TheOthersThatHoldARowStay(t *testing.T) {
	a := Child{"t", "a"}
	for _, gone := range [][]int{{0}, {1}, {2}, {0, 1}, {2, 1}, {1, 2}, {1, 0, 2}} {
		var dropped []row.Key
		d, s := newAttached(func(k row.Key) { dropped = append(dropped, k) })
		want := []row.Key{"0", "1", "2"}
		docs := make([]*row.Document, len(want))
		for i, k := range want {
			docs[i] = keep(t, s, k, row.FormatJSON, a, Child{"t", "of " + k})
		}
		for _, i := range gone {
			k := row.Key(rune('0' + i))
			s.Evicted(k, docs[i])
			want = slices.DeleteFunc(want, func(o row.Key) bool { return o == k })
		}
		if n := holders(s, a); n != len(want) || len(s.children.held) != n {
			t.Errorf("without %v: %d documents hold the row, want %v", gone, n, want)
		}
		d.Apply(2, []Touch{{Space: s, Children: []Child{a}}}, nil, 0)
		slices.Sort(dropped)
		if !slices.Equal(dropped, want) {
			t.Errorf("without %v: dropped %v, want %v", gone, dropped, want)
		}
		if len(s.children.index)+len(s.children.held) != 0 {
			t.Errorf("without %v: the index is not empty", gone)
		}
	}
}

// TestChildren_OldEvictionLeavesTheNewDocument: the tier may say late what it
// has forgotten.
func TestChildren_OldEvictionLeavesTheNewDocument(t *testing.T) {
	_, s := newAttached(nil)
	a := Child{"t", "a"}
	old := keep(t, s, "k", row.FormatJSON, a)
	young := keep(t, s, "k", row.FormatJSON, a)
	other := keep(t, s, "k", row.FormatMsgPack, a)
	s.Evicted("k", old)
	if n := holders(s, a); n != 2 {
		t.Errorf("%d documents hold the row, want 2", n)
	}
	s.Evicted("k", young)
	s.Evicted("k", other)
	if len(s.children.index)+len(s.children.held) != 0 {
		t.Error("the index holds what was evicted")
	}
	untracked := NewDomain(100).NewSpace(func(row.Key) {}, noCopies, false)
	untracked.Evicted("k", old)
}

// TestChildren_IndexFollowsTheDocument: a document may be loaded again, with
// other rows, before the feed tells of the change between.
func TestChildren_IndexFollowsTheDocument(t *testing.T) {
	_, s := newAttached(nil)
	a, b := Child{"t", "a"}, Child{"t", "b"}
	keep(t, s, "k", row.FormatJSON, a)
	keep(t, s, "k", row.FormatJSON, b)
	if holders(s, a) != 0 || holders(s, b) != 1 {
		t.Error("the index has the rows of the document before")
	}
	keep(t, s, "k", row.FormatJSON)
	if len(s.children.index)+len(s.children.held) != 0 {
		t.Error("the index has rows of a document that holds none")
	}
}

// TestChildren_MarksOfSettledChangesGo: rows change whether or not anybody
// reads; what is remembered of them must not grow.
func TestChildren_MarksOfSettledChangesGo(t *testing.T) {
	d, s := newAttached(nil)
	for i := range 100 {
		c := Child{"t", row.Key(rune('a' + i))}
		d.Apply(Position(2+i), []Touch{{Space: s, Children: []Child{c}}}, nil, 0)
	}
	if n := len(s.children.marks) + len(s.children.old); n != 0 {
		t.Errorf("%d marks with no load in flight", n)
	}
	l, _ := s.Begin("k", row.FormatJSON, Any)
	d.Apply(200, []Touch{{Space: s, Children: []Child{{"t", "a"}}}}, nil, 0)
	if len(s.children.marks) != 1 {
		t.Error("the mark is gone while a load may have read the row before it moved")
	}
	if finish(s, l, Child{"t", "a"}) {
		t.Error("stored with a row that has moved since")
	}
	if left := leftover(s); left != "" {
		t.Error(left)
	}
}

// TestChildren_MarksStayForTheOldestLoad: loads of after do not need the mark,
// one of before does.
func TestChildren_MarksStayForTheOldestLoad(t *testing.T) {
	d, s := newAttached(nil)
	a := Child{"t", "a"}
	before, _ := s.Begin("1", row.FormatJSON, Any)
	d.Apply(2, []Touch{{Space: s, Children: []Child{a}}}, nil, 0)
	after, _ := s.Begin("2", row.FormatJSON, Any)
	last, _ := s.Begin("3", row.FormatJSON, Any)
	if !finish(s, last, a) || finish(s, before, a) || !finish(s, after, a) {
		t.Error("want the loads of after stored, and the one of before not")
	}
	if left := leftover(s); left != "" {
		t.Error(left)
	}
}

// TestChildren_OtherRowsKeepNothingBack: only the rows that a load has read
// decide.
func TestChildren_OtherRowsKeepNothingBack(t *testing.T) {
	d, s := newAttached(nil)
	l, _ := s.Begin("k", row.FormatJSON, Any)
	p := d.Apply(2, []Touch{{Space: s, Children: []Child{{"t", "a"}}}}, "x", 0)
	if !finish(s, l, Child{"t", "b"}) {
		t.Error("not stored because of a row that it does not hold")
	}
	l, _ = s.Begin("k", row.FormatJSON, Any)
	if finish(s, l, Child{"t", "a"}) {
		t.Error("stored with a row that is not settled")
	}
	d.Settle(p)
	first, _ := s.Begin("other", row.FormatJSON, Any) // keeps the mark alive
	d.Apply(3, []Touch{{Space: s, Children: []Child{{"t", "a"}}}}, nil, 0)
	l, _ = s.Begin("k", row.FormatJSON, Any)
	if !finish(s, l, Child{"t", "a"}) {
		t.Error("not stored, though the row has moved before the load began")
	}
	finish(s, first)
}

// TestChildren_ClearedIndexHoldsNothing: what is not valid any more need not be
// found.
func TestChildren_ClearedIndexHoldsNothing(t *testing.T) {
	d, s := newAttached(nil)
	for name, do := range map[string]func(){
		"DropAll": s.DropAll,
		"Reset":   func() { d.Reset("a", 2, nil, 0) },
		"whole":   func() { d.Apply(3, []Touch{{Space: s, Whole: true}}, nil, 0) },
	} {
		doc := keep(t, s, "k", row.FormatJSON, Child{"t", "a"})
		do()
		if len(s.children.index)+len(s.children.held) != 0 {
			t.Errorf("%s leaves documents in the index", name)
		}
		s.Evicted("k", doc)
	}
}
