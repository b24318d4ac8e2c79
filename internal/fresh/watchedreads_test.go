package fresh

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// A watched is a space of documents that depend on versions, whose watchers note what they are
// told of.
type watched struct {
	t    *testing.T
	d    *Domain
	w    *simWorded
	s    *Space
	here bool
	told []row.Key
	pos  Position
}

func newWatched(t *testing.T) *watched {
	x := &watched{t: t, d: NewDomain(100), here: true, pos: 1}
	x.w = newSimWorded(x.d, 1<<20)
	x.s = x.d.NewSpace(func(row.Key) {}, noCopies)
	x.s.Watch(func() bool { return x.here }, func(k row.Key) { x.told = append(x.told, k) },
		x.w.tables[:])
	x.d.Reset("a", x.pos, nil, 0)
	return x
}

// begin begins to load a document.
func (x *watched) begin(k row.Key, of row.Format) *Lease {
	l, _ := x.s.BeginList(k, of, Any, x.w.question(0, k))
	x.s.Send(l)
	return l
}

// end ends a load that has read children, and returns its copy; nil: it was not kept.
func (x *watched) end(l *Lease, children ...int) (kept *ReadSet) {
	doc := row.NewDocument("", l.Format, []byte("x"), 0, l.Stamp)
	x.s.FinishList(l, doc, nil, x.w.found(children), func(c *ReadSet) { kept = c })
	return kept
}

// keep loads a document that is kept.
func (x *watched) keep(k row.Key, of row.Format, children ...int) *ReadSet {
	x.t.Helper()
	c := x.end(x.begin(k, of), children...)
	if c == nil {
		x.t.Fatalf("%v is not kept", k)
	}
	return c
}

// change applies a change of a child, whose old parent the feed does not know.
func (x *watched) change(child int, ref any) (*Pending, *InvalidationSet) {
	m := x.d.NewSet()
	id := cells{"id": string(simKeys[child])}
	m.Row(x.w.tables[1], id.values(), nil)
	x.pos++
	return x.d.Apply(x.pos, []Invalidation{m.Invalidation()}, ref, 0), m
}

// tells demands that the watchers are told of these documents, once a read sees m.
func (x *watched) tells(m *InvalidationSet, want ...row.Key) {
	x.t.Helper()
	got := x.told
	if x.told = nil; m != nil {
		keys, all := x.s.WatchedIn(m)
		if got = append(got, keys...); all {
			x.t.Error("told that every document may have changed")
		}
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		x.t.Errorf("told of %v, want %v", got, want)
	}
}

// TestShown_WatchersAreToldOfWhatTheyMayHave: the versions that a change moves name no
// document, and what a watcher has may not be in memory any more.
func TestShown_WatchersAreToldOfWhatTheyMayHave(t *testing.T) {
	x := newWatched(t)
	x.keep("0", row.FormatJSON, 0, 1)
	x.keep("0", row.FormatMsgPack, 0, 1)
	x.keep("1", row.FormatJSON, 2)
	_, m := x.change(3, nil)
	x.tells(m)
	_, m = x.change(1, nil)
	x.tells(m, "0")
	_, m = x.change(0, nil)
	x.tells(m) // told already, and not shown since
	_, m = x.change(2, nil)
	x.tells(m, "1")
	if x.s.watchedReads.n != 0 || len(x.s.watchedReads.docs)+len(x.s.watchedReads.by) != 0 {
		t.Errorf("%d words are remembered", x.s.watchedReads.n)
	}
}

// TestShown_OfAllRows: a document that depends on all rows of a table.
func TestShown_OfAllRows(t *testing.T) {
	x := newWatched(t)
	l, _ := x.s.BeginList("0", 0, Any, &Question{Tags: []Tag{{Table: x.w.tables[1]}}})
	x.s.Send(l)
	x.end(l)
	_, m := x.change(3, nil)
	x.tells(m, "0")
}

// TestShown_TellsOfEverything: when nobody can say what has changed.
func TestShown_TellsOfEverything(t *testing.T) {
	x := newWatched(t)
	other := x.d.NewTable()
	for name, tt := range map[string]struct {
		moves func(m *InvalidationSet)
		all   bool
	}{
		"anything":        {func(m *InvalidationSet) { m.Any() }, true},
		"a table":         {func(m *InvalidationSet) { m.Whole(x.w.tables[1]) }, true},
		"of another one":  {func(m *InvalidationSet) { m.Whole(other) }, false},
		"nothing at all":  {func(*InvalidationSet) {}, false},
		"before a feed":   {func(m *InvalidationSet) { m.Any() }, true},
		"nobody watches":  {func(m *InvalidationSet) { m.Any() }, true},
		"one of no words": {func(m *InvalidationSet) { m.table(other) }, false},
	} {
		x.keep("0", row.FormatJSON, 0)
		m := x.d.NewSet()
		tt.moves(m)
		keys, all := x.s.WatchedIn(m)
		if len(keys) > 0 || all != tt.all {
			t.Errorf("%s: told of %v, of everything: %v", name, keys, all)
		}
		if n := x.s.watchedReads.n; all == (n > 0) {
			t.Errorf("%s: %d words are remembered", name, n)
		}
	}
	x.keep("0", row.FormatJSON, 0)
	x.d.Reset("a", 9, nil, 0)
	if x.s.watchedReads.n != 0 {
		t.Error("an epoch has begun, of which watchers are told, and words are remembered")
	}
}

// TestShown_Hits: a copy that was there before anybody watched, and one that was told of.
func TestShown_Hits(t *testing.T) {
	x := newWatched(t)
	x.here = false
	c := x.keep("0", row.FormatJSON, 0)
	x.s.NoteWatched("0", c)
	if x.s.watchedReads.n != 0 {
		t.Error("remembered for nobody")
	}
	x.here = true
	key := []byte("0")
	for range 3 {
		x.s.NoteWatched(row.Key(row.Alias(key)), c)
	}
	key[0] = '7' // the caller's buffer
	if n := len(x.s.watchedReads.docs["0"].copies); n != 1 {
		t.Errorf("a copy is noted %d times", n)
	}
	_, m := x.change(0, nil)
	x.tells(m, "0")
	if c.Valid() {
		t.Error("a copy is good of which watchers are told")
	}
	if x.s.NoteWatched("0", c); x.s.watchedReads.n != 0 {
		t.Error("a copy is noted that nobody is given")
	}

	// Watchers go, and others come.
	c = x.keep("0", row.FormatJSON, 0)
	x.here = false
	x.s.WatchedIn(x.d.NewSet())
	if x.s.watchedReads.n != 0 {
		t.Error("remembered though they have gone")
	}
	x.here = true
	x.s.NoteWatched("0", c)
	_, m = x.change(0, nil)
	x.tells(m, "0")
	c = x.keep("0", row.FormatJSON, 0)
	if n := testing.AllocsPerRun(100, func() { x.s.NoteWatched("0", c) }); n > 0 {
		t.Errorf("%v allocations to show what was shown", n)
	}
}

// TestShown_AnswersThatAreNotKept: one of their versions has moved since the load began, and
// that was told when nothing named the document; or is about to be seen to have.
func TestShown_AnswersThatAreNotKept(t *testing.T) {
	x := newWatched(t)
	l := x.begin("0", row.FormatJSON)
	_, m := x.change(1, nil)
	x.tells(m)
	if x.end(l, 0, 1) != nil {
		t.Fatal("kept with a row that has moved since")
	}
	x.tells(nil, "0")

	p, m := x.change(2, "x")
	for _, of := range []row.Format{row.FormatJSON, row.FormatMsgPack, row.FormatJSON} {
		if x.end(x.begin("0", of), 2) != nil {
			t.Fatal("kept with a row that is not settled")
		}
	}
	x.tells(nil)
	x.d.Settle(p)
	x.tells(m, "0")

	// Of another row there is nothing to tell.
	l = x.begin("0", row.FormatJSON)
	x.change(3, nil)
	x.end(l, 0)
	x.tells(nil)
}

// TestShown_AnswersAreNotedFirst: whether an answer is good is looked at when it has been
// noted. Between the two a change could move its versions, and be told of.
func TestShown_AnswersAreNotedFirst(t *testing.T) {
	x := newWatched(t)
	l := x.begin("0", row.FormatJSON)
	looks, all := 0, &x.d.versions.all.v
	x.d.versions.turn = func(at access, version *atomic.Uint64) {
		if at == loads && version == all {
			looks++
			if x.s.watchedReads.docs["0"] == nil {
				t.Error("the answer is looked at before it is noted")
			}
		}
	}
	if x.end(l, 0) == nil || looks == 0 {
		t.Errorf("not kept, or not looked at (%d)", looks)
	}
	x.d.versions.turn = nil
}

// TestShown_CopiesAreBounded: who reads the database itself, again and again, makes a copy
// each time. One that is left out is noted when it is shown, and all lead to the document.
func TestShown_CopiesAreBounded(t *testing.T) {
	x := newWatched(t)
	first := x.keep("0", row.FormatJSON, 0, 1)
	for range 100 {
		x.end(x.begin("0", row.FormatJSON), 0, 1)
	}
	doc := x.s.watchedReads.docs["0"]
	if len(doc.copies) > maxCopies || len(doc.links) != 1 {
		t.Errorf("%d copies are noted, and %d sets of words", len(doc.copies), len(doc.links))
	}
	x.s.NoteWatched("0", first)
	if !slices.Contains(doc.copies, first) {
		t.Error("a copy that was left out is not noted when it is shown")
	}
	_, m := x.change(1, nil)
	x.tells(m, "0")
}

// TestShown_IsBounded: of what there is no room for watchers are told at once, and it is
// noted again when it is shown again.
func TestShown_IsBounded(t *testing.T) {
	x := newWatched(t)
	const each = maxWatchedReads / 16
	found := make([]Tag, each)
	copies := make(map[row.Key]*ReadSet)
	for i := range 20 {
		for j := range found {
			found[j] = Tag{x.w.tables[1], x.w.child, fmt.Sprint(i, ".", j)}
		}
		k := row.Key(fmt.Sprint(i))
		l := x.begin(k, 0)
		x.s.FinishList(l, row.NoRow(l.Stamp), nil, found, func(c *ReadSet) { copies[k] = c })
	}
	w := &x.s.watchedReads
	if w.n > maxWatchedReads || len(w.docs)+len(x.told) != 20 || len(x.told) < 4 {
		t.Errorf("%d words of %d documents are remembered, told of %d", w.n, len(w.docs),
			len(x.told))
	}
	gone := x.told[0]
	x.s.NoteWatched(gone, copies[gone])
	if w.docs[gone] == nil && !slices.Contains(x.told[1:], gone) {
		t.Error("what is shown again is not noted")
	}
}

// TestShown_TheOthersOfAWordStay: documents of one version leave in any order.
func TestShown_TheOthersOfAWordStay(t *testing.T) {
	for _, gone := range [][]int{{0}, {1}, {2}, {0, 1}, {2, 1}, {1, 2}, {1, 0, 2}} {
		x := newWatched(t)
		want := []row.Key{"0", "1", "2"}
		for i, k := range want {
			x.keep(k, 0, 3, i) // of all of them child 3 is one: two of them know it no more
		}
		for _, i := range gone {
			_, m := x.change(i, nil)
			x.tells(m, simKeys[i])
			want = slices.DeleteFunc(want, func(o row.Key) bool { return o == simKeys[i] })
		}
		_, m := x.change(3, nil)
		x.tells(m, want...)
		if x.s.watchedReads.n+len(x.s.watchedReads.by)+len(x.s.watchedReads.docs) > 0 {
			t.Errorf("without %v: something is left", gone)
		}
	}
}
