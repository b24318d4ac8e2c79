package resource

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// explain says what memory has of what a query finds.
func (h *house) explain(name, raw string, count query.Count) *ListExplanation {
	h.t.Helper()
	q, err := h.resource(name).Query(raw, query.Options{Count: count})
	if err != nil {
		h.t.Fatal(err)
	}
	e, err := h.resource(name).ExplainList(h.t.Context(),
		&ListAsk{Query: q, Alone: true, Raw: raw}, row.FormatJSON)
	if err != nil {
		h.t.Fatal(err)
	}
	return e
}

// explains fails unless memory would do this with a list.
func (h *house) explains(name, raw string, want ListState) *ListExplanation {
	h.t.Helper()
	e := h.explain(name, raw, query.CountNone)
	if e.State != want {
		h.t.Errorf("%s?%s is explained as %s, want %s", name, raw, e.State, want)
	}
	return e
}

// Each cause of a miss is named, and a hit: as the counters count them.
func TestExplain_NamesTheCause(t *testing.T) {
	h := newListHouse(t, 1<<20)
	const ten, all = "deptno=eq.10&order=sal", "sal=gt.0"
	h.explains("emp", ten, ListAbsent)
	if _, err := h.ask("emp", ten, Options{}, query.Options{}); err != nil {
		t.Fatal(err)
	}
	h.explains("emp", ten, ListOnce)
	h.keepAsked("emp", ten)
	if e := h.explains("emp", ten, ListHit); e.Doc == nil || !e.Spelled || e.Rows == 0 {
		t.Errorf("of a hit: %+v", e)
	}
	h.mustWrite("emp", Write{Op: source.OpMerge, Key: "7782"}, `{"sal":1}`)
	h.until(func() bool { return h.explain("emp", ten, query.CountNone).State == ListMoved })

	for _, c := range []query.Count{query.CountPlanned, query.CountEstimated} {
		if e := h.explain("emp", ten, c); e.State != ListUnkept || e.Unkept == "" {
			t.Errorf("with %v: %+v", c, e)
		}
	}
	h.keepAsked("emp", all)
	if err := h.resource("emp").Invalidate(nil); err != nil {
		t.Fatal(err)
	}
	h.explains("emp", all, ListForgotten)
	h.keepAsked("emp", all)
	u := h.resource("emp").revision.Load().src
	u.apply.Lock()
	p := u.domain.Applied()
	u.domain.Reset(p.Origin, p.Pos, nil, monotonic())
	u.apply.Unlock()
	h.explains("emp", all, ListEpoch)
}

// A list whose room others need was evicted, and a request for it is counted so.
func TestExplain_TellsEvictedFromNeverAsked(t *testing.T) {
	h := newListHouse(t, 1<<20)
	asked := func(i int) string { return fmt.Sprintf("sal=gt.-%d", i) }
	n := 0
	for ; h.memory.Stats().Evictions < 100; n++ {
		if n > 2000 {
			t.Fatal("little was evicted")
		}
		h.keepOnce("emp", asked(n))
	}
	first := ""
	for i := 0; first == "" && i < n; i++ {
		if !h.has("emp", asked(i)) {
			first = asked(i)
		}
	}
	h.explains("emp", first, ListEvicted)
	h.explains("emp", "deptno=eq.30", ListAbsent)
	if _, err := h.ask("emp", first, Options{}, query.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, r := range h.set.Stats().Resources {
		if r.Name == "emp" && r.Lists.Evicted != 1 {
			t.Errorf("%d misses of evicted lists, want 1", r.Lists.Evicted)
		}
	}
}

// has reports whether memory has a list, good or not.
func (h *house) has(name, raw string) bool {
	return h.explain(name, raw, query.CountNone).Doc != nil
}

// keepOnce asks for a list twice.
func (h *house) keepOnce(name, raw string) {
	h.t.Helper()
	for range 2 {
		if _, err := h.ask(name, raw, Options{}, query.Options{}); err != nil {
			h.t.Fatal(err)
		}
	}
}

// A list larger than the store takes, and one during whose read a change came.
func TestExplain_ListsThatAreNotKept(t *testing.T) {
	h := newListHouse(t, 1<<10)
	h.keepOnce("emp", "sal=gt.0")
	h.explains("emp", "sal=gt.0", ListTooLarge)

	h = newListHouse(t, 1<<20)
	const ten = "deptno=eq.10"
	h.keepOnce("emp", ten)
	f := h.resource("emp").revision.Load()
	q, err := h.resource("emp").Query(ten, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.ask("emp", ten, Options{NoCache: true}, query.Options{}); err != nil {
		t.Fatal(err)
	}
	ask := &ListAsk{Query: q, Raw: ten, Alone: true, Pack: packLines}
	as := f.listing(ask, row.FormatJSON)
	f.memory.Drop(as.ref)
	deps := f.depsOf(ask)
	l, leader := f.lists.BeginList(row.Key(ask.question()), listFormat, fresh.Any, &deps.Question)
	if !leader {
		t.Fatal("somebody reads it already")
	}
	found, _, err := f.readList(t.Context(), ask, func() bool { return f.lists.Send(l) })
	if err != nil {
		t.Fatal(err)
	}
	h.applied(h.mustWrite("emp", Write{Op: source.OpMerge, Key: "7782"}, `{"sal":1}`))
	read := &listRead{found: found, stamp: l.Stamp}
	read.as(f, &as)
	f.finishList(l, read, ask, deps.found(found), false)
	h.explains("emp", ten, ListDiscarded)
	for _, r := range h.set.Stats().Resources {
		if r.Name == "emp" && r.Lists.Discarded != 1 {
			t.Errorf("%d lists discarded, want 1", r.Lists.Discarded)
		}
	}
}

// What a list depends on is said before it is read, without a template for it, and why it
// is all rows of its table.
func TestExplain_Classes(t *testing.T) {
	h := newListHouse(t, manyWords)
	table := h.resource("emp").revision.Load().root.table
	e := h.explains("emp", "deptno=in.(10,20)", ListAbsent)
	if len(e.Classes) != 2 || e.Classes[0].By != nil || e.Coarse != "" {
		t.Errorf("before the first read: %+v", e)
	}
	if n := len(*table.tagColumns.Load()); n != 0 {
		t.Errorf("%d templates by explaining", n)
	}
	h.keepPrecise("emp", "deptno=in.(10,20)")
	e = h.explains("emp", "deptno=in.(10,20)", ListHit)
	named := 0
	for _, w := range e.Versions {
		if w.Class != nil && w.TableName == "emp" && w.Cause == fresh.Unmoved {
			named++
		}
	}
	if named != 2 || !e.Precise || !e.Classes[0].Counts {
		t.Errorf("of a kept list: %d words of classes in %+v", named, e)
	}
	h.explains("emp", "deptno=eq.10&sal=gt.5", ListAbsent)
	for raw, want := range map[string]string{
		"sal=gt.1": "no filter asks for equality", "order=sal": "no filter",
	} {
		if e := h.explain("emp", raw, query.CountNone); !strings.Contains(e.Coarse, want) {
			t.Errorf("%s depends on all rows because %q, want %q", raw, e.Coarse, want)
		}
	}
	if e := h.explain("dept", "deptno=eq.10&order=dname", query.CountNone); len(e.Within) != 1 ||
		e.Within[0].Table != "emp" {
		t.Errorf("rows within documents: %+v", e.Within)
	}
	many := make([]string, 0, maxTemplates)
	for i := range maxTemplates { // what the limit does is said
		many = append(many, fmt.Sprintf("c%d", i))
	}
	u := h.resource("emp").revision.Load().src
	for _, c := range many {
		u.tagColumns(table, &fresh.TagColumns{Columns: []string{c}})
	}
	e = h.explains("emp", "sal=eq.1", ListAbsent)
	if !strings.Contains(e.Coarse, "16 sets of columns") {
		t.Errorf("beyond the limit of templates: %+v", e)
	}
}
