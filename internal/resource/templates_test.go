package resource

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// manyWords is a budget with as many versions as there can be.
const manyWords = 512 << 20

// valid reports whether memory has a list and nothing has touched it, however far behind a
// busy machine leaves the feed.
func (h *house) valid(name string, ask *ListAsk) bool {
	f := h.resource(name).revision.Load()
	as := f.listing(ask, Options{}.Format)
	doc := f.held(&as.ref)
	return doc != nil && ListOf(doc).copy.Valid()
}

// finds is valid of what a query finds.
func (h *house) finds(name, raw string) bool {
	h.t.Helper()
	q, err := h.resource(name).Query(raw, query.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	return h.valid(name, &ListAsk{Query: q})
}

// keepPrecise asks until memory has the answer and depends on tags alone.
func (h *house) keepPrecise(name, raw string) {
	h.t.Helper()
	h.until(func() bool {
		a, err := h.ask(name, raw, Options{}, query.Options{})
		if err != nil {
			h.t.Fatal(err)
		}
		if a.Origin != HitMemory || a.copy.Precise() {
			return a.Origin == HitMemory
		}
		// It was read before the template counted.
		if _, err := h.ask(name, raw, Options{NoCache: true}, query.Options{}); err != nil {
			h.t.Fatal(err)
		}
		return false
	})
}

// applied waits until the feed has told of a write: what is loaded before that is told to
// have changed.
func (h *house) applied(w Result) {
	h.t.Helper()
	d := h.resource("emp").revision.Load().src.domain
	h.until(func() bool { return d.Applied().Pos >= fresh.Position(w.Token.Pos) })
}

// A write to rows that a filter does not find keeps what it found; one that brings a row
// in, takes it out, or changes it there is seen.
func TestTemplates_WritesElsewhereKeepLists(t *testing.T) {
	h := newListHouse(t, manyWords)
	const ten = "deptno=eq.10&order=sal"
	for i, c := range []struct {
		key  row.Key
		body string
		kept bool
	}{
		{"7369", `{"sal":2}`, true},
		{"7369", `{"deptno":null}`, true},
		{"7369", `{"deptno":10}`, false},
		{"7369", `{"deptno":20}`, false},
		{"7782", `{"sal":3}`, false},
		{"7782", `{"deptno":null}`, false},
		{"7782", `{"sal":4}`, true},
		{"7782", `{"deptno":10}`, false},
	} {
		h.keepPrecise("emp", ten)
		w := h.mustWrite("emp", Write{Op: source.OpMerge, Key: c.key}, c.body)
		h.applied(w)
		if kept := h.finds("emp", ten); kept != c.kept {
			t.Errorf("%d: %s of %s: kept %v", i, c.body, c.key, kept)
		}
	}
	h.keepPrecise("emp", ten)
	h.applied(h.mustWrite("emp", Write{Op: source.OpDelete, Key: "7369"}, ""))
	if !h.finds("emp", ten) {
		t.Error("not kept when a row elsewhere is gone")
	}
	h.applied(h.mustWrite("emp", Write{Op: source.OpReplace, Key: "1"},
		`{"ename":"NEW","deptno":10}`))
	if h.finds("emp", ten) {
		t.Error("kept when a row has come")
	}
	h.keepPrecise("emp", ten)
	h.exec("UPDATE emp SET deptno = 20 WHERE empno = 1") // by another program
	h.until(func() bool {
		a, err := h.ask("emp", ten, Options{}, query.Options{})
		return err == nil && !strings.Contains(string(a.Doc.Body()), "NEW")
	})
}

// Rows within documents count for the lists that have them, and for no others: of whole
// documents found by equality, and of pages.
func TestTemplates_RowsWithinDocuments(t *testing.T) {
	h := newListHouse(t, manyWords)
	const ten, twenty = "deptno=eq.10", "deptno=in.(20,30)&order=dname"
	page := &ListAsk{Limit: 1} // of dept 10
	for _, c := range []struct {
		body            string // of an emp of dept 20
		ten, twenty, in bool   // are kept
	}{
		{`{"sal":1}`, true, false, true},
		{`{"deptno":null}`, true, false, true},
		{`{"sal":2}`, true, true, true},
		{`{"deptno":10}`, false, true, false},
		{`{"sal":3}`, false, true, false},
		{`{"deptno":20}`, false, false, false},
	} {
		h.keepPrecise("dept", ten)
		h.keepPrecise("dept", twenty)
		h.keepList("dept", 1)
		h.list("dept", 1, Options{NoCache: true}) // after its template counts
		h.keepList("dept", 1)
		h.applied(h.mustWrite("emp", Write{Op: source.OpMerge, Key: "7369"}, c.body))
		got := []bool{h.finds("dept", ten), h.finds("dept", twenty), h.valid("dept", page)}
		if !slices.Equal(got, []bool{c.ten, c.twenty, c.in}) {
			t.Errorf("after %s kept are %v, want %v %v %v", c.body, got, c.ten, c.twenty, c.in)
		}
	}
}

// wide serves a table with more columns than lists are told apart by.
func (h *house) wide() {
	h.t.Helper()
	var columns []string
	for i := range maxTemplates + 2 {
		columns = append(columns, fmt.Sprintf("c%d INTEGER", i))
	}
	h.exec("CREATE TABLE wide (id INTEGER PRIMARY KEY, " + strings.Join(columns, ", ") + ")")
	h.exec("INSERT INTO wide (id, c0) VALUES (1, 1), (2, 2)")
	specs := append(houseSpecs(), Spec{Source: "main", Writable: true,
		Access: Access{Read: "public", Write: "public"},
		Table:  &source.Spec{Name: "wide", Table: "wide"}})
	if err := h.set.Reload(h.t.Context(), specs); err != nil {
		h.t.Fatal(err)
	}
	h.ready()
}

// Lists of a table are told apart by so many sets of columns; a further one by a part of
// its columns, or not at all. When its definition changes they begin anew.
func TestTemplates_AreBounded(t *testing.T) {
	h := newListHouse(t, manyWords)
	h.wide()
	for i := range maxTemplates {
		h.keepPrecise("wide", fmt.Sprintf("c%d=eq.1", i))
	}
	last := fmt.Sprintf("c%d=eq.1", maxTemplates)
	h.keepAsked("wide", last)
	h.keepPrecise("wide", "c0=eq.1&"+last) // by c0
	h.mustWrite("wide", Write{Op: source.OpMerge, Key: "2"}, `{"c1":5}`)
	if !h.finds("wide", "c0=eq.1&"+last) {
		t.Error("not kept by a part of its columns")
	}
	if h.finds("wide", last) {
		t.Error("a list by columns that are not told apart is kept after a write")
	}
}

// A set of columns by which nobody asks for lists any more makes room for another, and no
// other does; what is told apart by the others stays precise.
func TestTemplates_IdleOnesMakeRoom(t *testing.T) {
	h := newListHouse(t, manyWords)
	of := func(i int) string { return fmt.Sprintf("c%d=eq.1", i) }
	h.wide()
	for i := range maxTemplates {
		h.keepPrecise("wide", of(i))
	}
	f := h.resource("wide").revision.Load()
	table := f.root.table
	for _, tm := range *table.tagColumns.Load() { // a minute passes
		tm.Used.Store(seconds() - idleTemplate)
	}
	for i := range maxTemplates {
		q, err := h.resource("wide").Query(of(i), query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		as := f.listing(&ListAsk{Query: q}, Options{}.Format)
		ListOf(f.held(&as.ref)).used.Store(seconds() - idleTemplate)
	}
	for i := range maxTemplates { // hits count as use
		if i != 3 && i != 7 {
			h.keepAsked("wide", of(i))
		}
	}
	h.keepPrecise("wide", of(maxTemplates))
	if _, ok := table.find(&fresh.TagColumns{Columns: []string{"c3"}}); ok {
		t.Error("the set that nobody uses is told apart still")
	}
	h.keepPrecise("wide", of(0))
	h.keepAsked("wide", of(3)) // within templatePause of the last that made room
	h.applied(h.mustWrite("wide", Write{Op: source.OpMerge, Key: "2"}, `{"c1":5}`))
	if !h.finds("wide", of(0)) || !h.finds("wide", of(maxTemplates)) {
		t.Error("not kept when another row changes")
	}
	if h.finds("wide", of(3)) {
		t.Error("a list whose rows are not told apart any more is kept after a write")
	}
	h.applied(h.mustWrite("wide", Write{Op: source.OpMerge, Key: "2"}, `{"c0":1}`))
	if h.finds("wide", of(0)) {
		t.Error("kept when a row has come")
	}
	f.src.apply.Lock()
	table.replaced -= templatePause
	f.src.apply.Unlock()
	h.keepPrecise("wide", of(3))
	h.keepAsked("wide", of(7))
	if tm, _ := table.find(&fresh.TagColumns{Columns: []string{"c7"}}); tm != nil {
		t.Error("a set came back while all others are in use")
	}
}
