package resource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// newListHouse returns a house with so many bytes of memory, and as many versions as there can
// be: that two tags of a test share one, which would be a miss, is next to impossible.
func newListHouse(t testing.TB, budget int64) *house {
	return newHouse(t, func(o *SetOptions) {
		o.Memory, o.Lists = tier.NewMemory(budget), min(budget, 32<<20)
	})
}

// packLines makes a body of a line for each document.
func packLines(p *Page, _ row.Format) (Packed, error) {
	var b bytes.Buffer
	for _, d := range p.Docs {
		b.Write(d.Body())
		b.WriteByte('\n')
	}
	return Packed{b.Bytes(), fmt.Sprint("More: ", p.More, "\r\n"), len(p.Docs)}, nil
}

// list reads a list by SelectList.
func (h *house) list(name string, limit int, o Options) ListAnswer {
	h.t.Helper()
	a, err := h.resource(name).SelectList(h.t.Context(), &ListAsk{Limit: limit, Alone: true,
		Raw: fmt.Sprint("limit=", limit), Pack: packLines}, o)
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

// keep reads a list until memory has it.
func (h *house) keepList(name string, limit int) (a ListAnswer) {
	h.until(func() bool { a = h.list(name, limit, Options{}); return a.Origin == HitMemory })
	return a
}

// found is what an event loop finds by the bytes of a query.
func (h *house) spelled(name string, limit int) *row.Document {
	var s Snapshot
	defer s.End()
	s.Begin(time.Now())
	doc, _ := h.resource(name).LookupList(fmt.Sprint("limit=", limit), row.FormatJSON, &s)
	if doc != nil {
		doc = doc.Keep()
	}
	return doc
}

// A list follows each kind of change: of a row, of an embedded row, by another program,
// through hotrow; and is forgotten by an operator.
func TestLists_FollowChanges(t *testing.T) {
	h := newListHouse(t, 1<<20)
	if h.list("dept", 5, Options{}).Origin == HitMemory || h.spelled("dept", 5) != nil {
		t.Fatal("kept before anybody has asked")
	}
	for _, change := range []func(){
		func() { h.mustWrite("dept", Write{Op: source.OpMerge, Key: "20"}, `{"loc":"A"}`) },
		func() { h.mustWrite("emp", Write{Op: source.OpMerge, Key: "7369"}, `{"sal":1}`) },
		func() { h.mustWrite("dept", Write{Op: source.OpReplace, Key: "30"}, `{"dname":"B"}`) },
		func() { h.mustWrite("dept", Write{Op: source.OpDelete, Key: "30"}, "") },
	} {
		var kept ListAnswer
		h.until(func() bool { // the feed may tell of the change before once more
			kept = h.keepList("dept", 5)
			return h.spelled("dept", 5) != nil
		})
		change()
		if h.spelled("dept", 5) != nil {
			t.Error("found right after a write")
		}
		if now := h.list("dept", 5, Options{}); now.Doc.ETag() == kept.Doc.ETag() {
			t.Errorf("right after a write the list is what it was: %s", now.Doc.Body())
		}
	}
	h.keepList("dept", 5)
	h.exec("UPDATE emp SET ename = 'JONES' WHERE empno = 7782")
	h.until(func() bool {
		return strings.Contains(string(h.list("dept", 5, Options{}).Doc.Body()), "JONES")
	})
	h.keepList("dept", 5)
	if err := h.resource("dept").Invalidate(nil); err != nil {
		t.Fatal(err)
	}
	if h.spelled("dept", 5) != nil || h.list("dept", 5, Options{}).Origin == HitMemory {
		t.Error("kept after it was invalidated")
	}
}

// What does not concern its tables keeps a list, and its entity tag is that of all formats.
func TestLists_StayWhenOtherTablesChange(t *testing.T) {
	h := newListHouse(t, 1<<20)
	kept := h.keepList("dept", 5)
	h.mustWrite("city", Write{Op: source.OpMerge, Key: "Tulsa,OK"}, `{"pop":1}`)
	if a := h.list("dept", 5, Options{}); a.Origin != HitMemory ||
		a.Doc.Stamp() != kept.Doc.Stamp() {
		t.Errorf("%v after a write to another table", a.Origin)
	}
	packed := h.list("dept", 5, Options{Format: row.FormatMsgPack})
	if !row.SameETag(packed.Doc.ETag(), kept.Doc.ETag()) || packed.Doc.ETag() == kept.Doc.ETag() {
		t.Errorf("entity tags %s and %s", packed.Doc.ETag(), kept.Doc.ETag())
	}
	if a := h.list("dept", 5, Options{NoCache: true}); a.Origin != Bypassed && a.Origin != Requested {
		t.Errorf("no-cache is %v", a.Origin)
	}
}

// Whoever asks for a great many lists pushes out neither a document nor a list that others
// use: what is asked for once is not kept, and what is in use stays in the one budget.
func TestLists_RandomQueriesPushNothingOut(t *testing.T) {
	h := newListHouse(t, 1<<20)
	uses, misses := 0, 0
	use := func() {
		h.hit("dept", "10")
		if uses++; h.list("dept", 3, Options{}).Origin != HitMemory {
			misses++
		}
	}
	h.keepList("dept", 3)
	use()
	before := h.memory.Stats()
	for i := range 1000 {
		h.list("emp", 10+i, Options{})
	}
	if after := h.memory.Stats(); after.Entries > before.Entries+10 || after.Evictions > 0 {
		t.Errorf("with lists that were asked for once: %+v, before %+v", after, before)
	}
	for i := range 2000 {
		h.list("emp", 10+i, Options{})
		h.list("emp", 10+i, Options{})
		if i%10 == 0 {
			use()
		}
	}
	if misses > uses/10 {
		t.Errorf("a list that is used was not in memory %d times of %d", misses, uses)
	}
	if after := h.memory.Stats(); after.HeldBytes > after.MaxBytes || after.Evictions == 0 {
		t.Errorf("with lists that were asked for twice: %+v", after)
	}
}

// A herd on one list is one read.
func TestLists_HerdIsOneRead(t *testing.T) {
	h := newListHouse(t, 1<<20)
	h.keepList("dept", 4)
	reads := func() uint64 { return h.set.Stats().Sources[0].Timings["list"].Count }
	h.mustWrite("dept", Write{Op: source.OpMerge, Key: "20"}, `{"loc":"HERD"}`)
	h.until(func() bool { return h.set.Stats().Sources[0].Unsettled == 0 })
	before := reads()
	var wg sync.WaitGroup
	for range 500 {
		wg.Go(func() {
			if a := h.list("dept", 4, Options{}); !bytes.Contains(a.Doc.Body(), []byte("HERD")) {
				t.Errorf("%s", a.Doc.Body())
			}
		})
	}
	wg.Wait()
	if n := reads() - before; n > 4 { // the feed delivers the write meanwhile, and settles it
		t.Errorf("%d reads for 500 who ask", n)
	}
}

// Who leaves takes the answer from nobody who waits for the same load, and nothing of those
// who wait is left behind.
func TestLists_WhoLeavesStopsNoOthers(t *testing.T) {
	h := newListHouse(t, 1<<20)
	var wg sync.WaitGroup
	for i := range 60 {
		raw := fmt.Sprint("sal=gt.", i/20, "&order=sal")
		q, err := h.resource("emp").Query(raw, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ask := &ListAsk{Query: q, Alone: true, Raw: raw, Pack: packLines}
		wg.Go(func() {
			for n := range 30 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 1 {
					time.AfterFunc(time.Duration(n*7%100)*time.Microsecond, cancel)
				}
				a, err := h.resource("emp").SelectList(ctx, ask, Options{NoCache: n%2 == 0})
				if i%2 == 0 && (err != nil || a.Rows != 3) || err != nil && ctx.Err() == nil {
					t.Errorf("%s: %v", raw, err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	h.resource("emp").revision.Load().waiting.Range(func(l, _ any) bool {
		t.Errorf("somebody waits for %s", l.(*fresh.Lease).Key)
		return true
	})
}

// A list that is too large, or of a Set that keeps none, is read each time.
func TestLists_NotKept(t *testing.T) {
	for _, budget := range []int64{0, 1 << 10} {
		h := newListHouse(t, budget)
		for range 4 {
			if a := h.list("dept", 5, Options{}); a.Origin == HitMemory || a.Origin == Stored {
				t.Errorf("with %d bytes: %v", budget, a.Origin)
			}
		}
	}
}

// ask reads what a query finds by SelectList. Its text is the spelling.
func (h *house) ask(name, raw string, o Options, qo query.Options) (ListAnswer, error) {
	h.t.Helper()
	q, err := h.resource(name).Query(raw, qo)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.resource(name).SelectList(h.t.Context(), &ListAsk{Query: q, Alone: true, Raw: raw,
		Pack: packLines}, o)
}

// keepAsked asks until memory has the answer.
func (h *house) keepAsked(name, raw string) (a ListAnswer) {
	h.t.Helper()
	h.until(func() bool {
		var err error
		if a, err = h.ask(name, raw, Options{}, query.Options{}); err != nil {
			h.t.Fatal(err)
		}
		return a.Origin == HitMemory
	})
	return a
}

// What a query finds is kept like a page, in one place for all of its spellings.
func TestLists_OfQueriesAreKept(t *testing.T) {
	h := newListHouse(t, 1<<20)
	h.keepAsked("emp", "deptno=eq.10&order=sal")
	a, err := h.ask("emp", "order=sal.asc&deptno=eq.010", Options{}, query.Options{})
	if err != nil || a.Origin != HitMemory {
		t.Errorf("another spelling: %v, %v", a.Origin, err)
	}
	if a, _ := h.ask("emp", "deptno=eq.20&order=sal", Options{}, query.Options{}); a.Origin == HitMemory {
		t.Error("another question has the answer to the first")
	}
	h.mustWrite("emp", Write{Op: source.OpMerge, Key: "7782"}, `{"deptno":20}`)
	a, err = h.ask("emp", "deptno=eq.10&order=sal", Options{}, query.Options{})
	if err != nil || bytes.Contains(a.Doc.Body(), []byte("7782")) || a.Origin == HitMemory {
		t.Errorf("after a write: %v, %s, %v", a.Origin, a.Doc.Body(), err)
	}
	h.keepAsked("emp", "deptno=eq.10&order=sal")
	h.exec("UPDATE emp SET deptno = 10 WHERE empno = 7782")
	h.until(func() bool {
		a, err := h.ask("emp", "deptno=eq.10&order=sal", Options{}, query.Options{})
		return err == nil && bytes.Contains(a.Doc.Body(), []byte("7782"))
	})
}

// Columns do not depend on the rows that whole documents have in them.
func TestLists_OfColumnsDependOnTheirTable(t *testing.T) {
	h := newListHouse(t, 1<<20)
	h.keepAsked("dept", "deptno=gt.0&select=dname")
	h.keepAsked("dept", "deptno=gt.0")
	h.mustWrite("emp", Write{Op: source.OpMerge, Key: "7369"}, `{"sal":1}`)
	ask := func(raw string) Origin {
		a, err := h.ask("dept", raw, Options{}, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return a.Origin
	}
	if o := ask("deptno=gt.0&select=dname"); o != HitMemory {
		t.Errorf("columns after a write to rows within: %v", o)
	}
	if o := ask("deptno=gt.0"); o == HitMemory {
		t.Error("whole documents are what they were before the write")
	}
	h.mustWrite("dept", Write{Op: source.OpMerge, Key: "20"}, `{"loc":"A"}`)
	if o := ask("deptno=gt.0&select=dname"); o == HitMemory {
		t.Error("columns are what they were before a write to their table")
	}
}

// What a planner expects is asked for each time; what was counted is kept.
func TestLists_OfEstimatesAreNotKept(t *testing.T) {
	h := newListHouse(t, 1<<20)
	for count, kept := range map[query.Count]bool{query.CountExact: true,
		query.CountPlanned: false, query.CountEstimated: false} {
		var a ListAnswer
		for range 4 {
			var err error
			a, err = h.ask("emp", "limit=1", Options{}, query.Options{Count: count})
			if err != nil || !a.Partial {
				t.Fatalf("%v: partial %v, %v", count, a.Partial, err)
			}
		}
		if got := a.Origin == HitMemory; got != kept {
			t.Errorf("%v: %v", count, a.Origin)
		}
	}
	h.list("emp", 2, Options{NoCache: true})
	for _, r := range h.set.Stats().Resources {
		if n := r.Lists.Bypassed; r.Name == "emp" && n != 9 {
			t.Errorf("%d lists that memory was not to answer, want 9", n)
		}
	}
}

var errRefused = errors.New("refused")

// An answer that cannot be made of what was found is an error for all who wait, is not
// kept, and nothing older is given after it.
func TestLists_RefusedAnswers(t *testing.T) {
	h := newListHouse(t, 1<<20)
	refuse := true
	ask := &ListAsk{Limit: 3, Variant: "v", Raw: "v", Alone: true}
	ask.Pack = func(p *Page, of row.Format) (Packed, error) {
		if refuse {
			return Packed{}, errRefused
		}
		return packLines(p, of)
	}
	get := func(o Options) (ListAnswer, error) {
		return h.resource("dept").SelectList(t.Context(), ask, o)
	}
	for range 3 {
		if _, err := get(Options{}); err != errRefused {
			t.Fatalf("error %v", err)
		}
	}
	if n := h.memory.Stats().Entries; n != 0 {
		t.Errorf("%d entries", n)
	}
	refuse = false
	h.until(func() bool {
		a, err := get(Options{})
		return err == nil && a.Origin == HitMemory
	})
	refuse = true
	if _, err := get(Options{NoCache: true}); err != errRefused {
		t.Errorf("no-cache: %v", err)
	}
	if _, err := get(Options{OnlyIfCached: true}); err != ErrNotCached {
		t.Errorf("an older answer is kept: %v", err)
	}
}

// A spelling that is long is not remembered.
func TestLists_LongSpellings(t *testing.T) {
	h := newListHouse(t, 1<<20)
	long := "deptno=eq.10" + strings.Repeat("&", maxSpelling)
	h.keepAsked("emp", long)
	h.keepAsked("emp", "deptno=eq.10")
	var s Snapshot
	s.Begin(time.Now())
	if l, _ := h.resource("emp").LookupList(long, row.FormatJSON, &s); l != nil {
		t.Error("a long spelling is remembered")
	}
	h.until(func() bool {
		s.Begin(time.Now())
		l, _ := h.resource("emp").LookupList("deptno=eq.10", row.FormatJSON, &s)
		return l != nil
	})
}

// A list that is found by what was sent is one hit of the memory, and allocates nothing.
func TestLists_AHitCountsOnce(t *testing.T) {
	h := newListHouse(t, 1<<20)
	const n = 100
	var s Snapshot
	h.until(func() bool { // a busy machine may be behind with the feed
		h.keepList("dept", 3)
		found, before := 0, h.memory.Stats()
		allocated := testing.AllocsPerRun(n, func() {
			s.Begin(time.Now())
			if doc, _ := h.resource("dept").LookupList("limit=3", row.FormatJSON, &s); doc != nil {
				found++
			}
			s.End()
		})
		if found != n+1 { // and once to warm up
			return false
		}
		if got := h.memory.Stats().Hits - before.Hits; got != n+1 || allocated != 0 {
			t.Errorf("%d hits are counted for %d answers, %v allocations each", got, n+1, allocated)
		}
		return true
	})
}

// What fetches lists ahead changes nothing and allocates nothing: of lists that are kept, of
// one that nobody has asked for, and of one that was evicted.
func TestListFetches_AreHints(t *testing.T) {
	h := newListHouse(t, 1<<20)
	r := h.resource("dept")
	h.keepList("dept", 3)
	h.keepAsked("dept", "deptno=gt.0")
	ask := &ListAsk{Limit: 2, Alone: true, Pack: packLines} // its spelling is empty
	h.until(func() bool {
		a, err := r.SelectList(t.Context(), ask, Options{})
		return err == nil && a.Origin == HitMemory
	})
	before := h.set.Stats().Resources
	var l ListFetches
	var s Snapshot
	fetch := func() {
		s.Begin(time.Now())
		defer s.End()
		for range MaxLookups {
			for _, raw := range []string{"limit=3", "deptno=gt.0", "", "limit=99"} {
				l.Add(r, raw, row.FormatJSON)
			}
		}
		l.Fetch(&s)
	}
	fetch() // what is lent is made
	if n := testing.AllocsPerRun(100, fetch); n != 0 {
		t.Errorf("%v allocations", n)
	}
	h.memory.DropAll(r.revision.Load().listed)
	fetch()
	for i, s := range h.set.Stats().Resources {
		if s.Lists != before[i].Lists {
			t.Errorf("%s: %+v, before %+v", s.Name, s.Lists, before[i].Lists)
		}
	}
}
