package fresh

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// A wordBench is a domain with one table, templates of it and a list.
type wordBench struct {
	d *Domain
	s *Space
	t *Table
	q Question
}

func newWordBench(templates, tags int) *wordBench {
	b := &wordBench{d: NewDomain(100)}
	b.d.Slots(1 << 16)
	b.s = b.d.NewSpace(func(row.Key) {}, noCopies)
	b.t = b.d.NewTable()
	for i := range templates {
		b.t.Register(&TagColumns{Columns: []string{fmt.Sprint("c", i)}})
	}
	for i := range tags {
		b.q.Tags = append(b.q.Tags, Tag{b.t, b.t.tagColumns[0], fmt.Sprint(i)})
	}
	b.d.Reset("a", 1, nil, 0)
	return b
}

// list loads the list as it is now.
func (b *wordBench) list() *ReadSet {
	l, _ := b.s.BeginList("q", 0, Any, &b.q)
	b.s.Send(l)
	var kept *ReadSet
	doc := row.NewDocument("", 0, []byte("x"), 1, l.Stamp)
	b.s.FinishList(l, doc, nil, nil, func(c *ReadSet) { kept = c })
	return kept
}

// values are a row in which each column has one value.
func values(v string) Values {
	return func(*TagColumns) (string, bool) { return v, true }
}

// change applies a change of a row from one value to another, and settles it.
func (b *wordBench) change(pos Position, old, new string) {
	m := b.d.NewSet()
	m.Row(b.t, values(old), values(new))
	p := b.d.Apply(pos, []Invalidation{m.Invalidation()}, b, 0)
	b.d.Settle(p)
}

func TestWords_AnotherClassKeepsTheList(t *testing.T) {
	b := newWordBench(1, 1)
	c := b.list()
	if c == nil || !c.Valid() {
		t.Fatal("not kept")
	}
	b.change(2, "7", "8")
	if !c.Valid() || c.Check() != Unmoved {
		t.Error("a change of another class is a miss")
	}
	m := b.d.NewSet()
	m.Row(b.t, values("0"), values("1"))
	p := b.d.Apply(3, []Invalidation{m.Invalidation()}, b, 0)
	if c.Valid() || c.Check() != Changed {
		t.Error("a change of its class is none")
	}
	if b.list() != nil {
		t.Error("kept while its class is dirty")
	}
	b.d.Settle(p)
	if c.Valid() {
		t.Error("valid again")
	}
	if b.list() == nil {
		t.Error("not kept after the change is settled")
	}
}

func TestWords_RowsThatAreNotNamed(t *testing.T) {
	b := newWordBench(1, 1)
	c := b.list()
	m := b.d.NewSet()
	m.Whole(b.t)
	b.d.Settle(b.d.Apply(2, []Invalidation{m.Invalidation()}, b, 0))
	if c.Valid() {
		t.Error("a change of unknown rows is no miss")
	}
	c = b.list()
	m = b.d.NewSet()
	unknown := func(*TagColumns) (string, bool) { return "", false }
	m.Row(b.t, unknown, values("7"))
	b.d.Settle(b.d.Apply(3, []Invalidation{m.Invalidation()}, b, 0))
	if c.Valid() {
		t.Error("a row whose old values are not known is no miss")
	}
}

func TestWords_ManyRowsMoveTheWhole(t *testing.T) {
	b := newWordBench(1, 1)
	m := b.d.NewSet()
	for i := range mostRows + 1 {
		m.Row(b.t, nil, values(fmt.Sprint("v", i)))
	}
	if len(m.wholes) != 1 {
		t.Error("a large change moves each class")
	}
}

func TestWords_TheLastStamp(t *testing.T) {
	b := newWordBench(1, 1)
	c := b.list()
	b.d.versions.clock.v.Store(maxStamp - 1)
	b.change(2, "7", "8")
	if c.Valid() || b.list() != nil {
		t.Error("a list is good after the last stamp")
	}
}

func TestWords_HitAllocatesNothing(t *testing.T) {
	b := newWordBench(1, 26)
	c := b.list()
	pos := Position(1)
	if n := testing.AllocsPerRun(100, func() {
		if !c.Valid() {
			t.Error("no hit")
		}
		c.seen.Store(1)
		if !c.Valid() {
			t.Error("no hit after a walk")
		}
	}); n != 0 {
		t.Errorf("%v allocations, at %d", n, pos)
	}
}

// BenchmarkWordsHit is a hit whose tables are quiet.
func BenchmarkWordsHit(b *testing.B) {
	c := newWordBench(1, 1).list()
	b.ReportAllocs()
	for b.Loop() {
		if !c.Valid() {
			b.Fatal("no hit")
		}
	}
}

// BenchmarkWordsWalk is a hit after something else in its tables has changed.
func BenchmarkWordsWalk(b *testing.B) {
	for _, n := range []int{1, 3, 26} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := newWordBench(1, n).list()
			b.ReportAllocs()
			for b.Loop() {
				c.seen.Store(1)
				if !c.Valid() {
					b.Fatal("no hit")
				}
			}
		})
	}
}

// BenchmarkWordsApplySettle is a change of a row with four templates, its versions found.
func BenchmarkWordsApplySettle(b *testing.B) {
	w := newWordBench(4, 1)
	m := w.d.NewSet()
	m.Row(w.t, values("7"), values("8"))
	m.Invalidation()
	b.ReportAllocs()
	for b.Loop() {
		w.d.versions.touch(m, true)
		w.d.versions.settle(m)
	}
}

// BenchmarkWordsChange is the same with all that it takes, while no list is kept and while a
// million are, of other tags: a change does not look for them.
func BenchmarkWordsChange(b *testing.B) {
	for _, lists := range []int{0, 1_000_000} {
		b.Run(fmt.Sprint("lists=", lists), func(b *testing.B) {
			w := newWordBench(4, 1)
			alive := make([]*ReadSet, lists)
			for i := range alive {
				w.q.Tags[0].Key = fmt.Sprint("k", i)
				if alive[i] = w.list(); alive[i] == nil {
					b.Fatal("not kept")
				}
			}
			var rows [1000]Values
			for i := range rows {
				rows[i] = values(fmt.Sprint("r", i))
			}
			b.ReportAllocs()
			pos := Position(1)
			for i := 0; b.Loop(); i++ {
				pos++
				m := w.d.NewSet()
				m.Row(w.t, rows[i%1000], rows[(i+1)%1000])
				w.d.Settle(w.d.Apply(pos, []Invalidation{m.Invalidation()}, w, 0))
			}
			runtime.KeepAlive(alive)
		})
	}
}

// The count of what keeps a version does not run over, however many changes are pending.
func TestWords_ManyChangesArePending(t *testing.T) {
	b := newWordBench(1, 1)
	var pending []*Pending
	apply := func(rows int) {
		m := b.d.NewSet()
		for range rows {
			m.Row(b.t, values("0"), values("0"))
		}
		pending = append(pending, b.d.Apply(Position(len(pending)+2), []Invalidation{m.Invalidation()}, b, 0))
	}
	for range 4 { // 65,536 times the same tag
		apply(8192)
	}
	if b.list() != nil {
		t.Error("kept while four changes of many rows are pending")
	}
	for len(pending) < 1<<dirtyBits {
		apply(1)
	}
	if b.list() != nil {
		t.Error("kept while 65,536 changes are pending")
	}
	m := b.d.NewSet() // of another table: the clock goes on
	m.Row(b.d.NewTable(), nil, nil)
	b.d.Settle(b.d.Apply(Position(len(pending)+2), []Invalidation{m.Invalidation()}, b, 0))
	if b.list() != nil {
		t.Error("kept while 65,536 changes are pending, after another one")
	}
	for _, p := range slices.Backward(pending) {
		b.d.versions.settle(p.invalidations[0].InvalidationSet)
	}
	if b.list() == nil {
		t.Error("not kept after all of them are settled")
	}
}

// What has been settled makes room for others.
func TestWords_MarksAreGivenBack(t *testing.T) {
	b := newWordBench(1, 1)
	b.d.versions.limit = 1
	c := b.list()
	for i := range 3 {
		b.change(Position(2+i), "7", "8")
	}
	if !c.Valid() {
		t.Error("changes one after the other count as too many at one time")
	}
}

// TestWords_UnsettledLoadIsJoinedUntilTheNextFence is that of documents for lists.
func TestWords_UnsettledLoadIsJoinedUntilTheNextFence(t *testing.T) {
	for name, unsettled := range map[string]bool{"settled": false, "unsettled": true} {
		t.Run(name, func(t *testing.T) {
			b := newWordBench(1, 1)
			if unsettled {
				m := b.d.NewSet()
				m.Row(b.t, values("0"), values("1"))
				b.d.Apply(2, []Invalidation{m.Invalidation()}, "x", 0)
			}
			b.d.Fenced(10)
			first, _ := b.s.BeginList("q", 0, Any, &b.q)
			b.s.Send(first)
			for _, tt := range []struct {
				fence int64
				joins bool
			}{{10, true}, {11, !unsettled}} {
				b.d.Fenced(tt.fence)
				l, leader := b.s.BeginList("q", 0, Any, &b.q)
				if leader == tt.joins {
					t.Errorf("fenced at %d: leads %v, want %v", tt.fence, leader, !tt.joins)
				}
				if leader {
					b.s.FinishList(l, nil, errSource, nil, nil)
				}
			}
			b.s.FinishList(first, nil, errSource, nil, nil)
		})
	}
}

// TestWords_SupersededLoadIsNotJoined: what it has read may be older than an answer in
// another format.
func TestWords_SupersededLoadIsNotJoined(t *testing.T) {
	b := newWordBench(1, 1)
	slow, _ := b.s.BeginList("q", row.FormatJSON, Any, &b.q)
	b.s.Send(slow)
	if _, leader := b.s.BeginList("q", row.FormatJSON, Any, &b.q); leader {
		t.Error("a load that nothing has superseded is not joined")
	}
	other, _ := b.s.BeginList("q", row.FormatMsgPack, Any, &b.q)
	b.s.Send(other)
	doc := row.NewDocument("", row.FormatMsgPack, []byte("x"), 1, other.Stamp)
	b.s.FinishList(other, doc, nil, nil, nil)
	if _, leader := b.s.BeginList("q", row.FormatJSON, Any, &b.q); !leader {
		t.Error("a load that an answer has superseded is joined")
	}
}

// TestWords_Suspect: what a new epoch has made invalid may be flagged as stale as long as
// nothing has moved its versions, and nothing has changed whose versions nobody knows.
func TestWords_Suspect(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(b *wordBench)
		want bool
	}{
		"nothing":                {func(*wordBench) {}, true},
		"another class":          {func(b *wordBench) { b.change(2, "7", "8") }, true},
		"its class":              {func(b *wordBench) { b.change(2, "0", "8") }, false},
		"an epoch":               {func(b *wordBench) { b.d.Reset("a", 2, nil, 0) }, true},
		"an epoch, not settled":  {func(b *wordBench) { b.d.Reset("a", 2, b, 0) }, true},
		"its class and an epoch": {func(b *wordBench) { b.change(2, "0", "8"); b.d.Reset("a", 2, nil, 0) }, false},
		"too much at once": {func(b *wordBench) {
			b.d.versions.limit = 0
			b.change(2, "7", "8")
		}, false},
	} {
		b := newWordBench(1, 1)
		c := b.list()
		if tt.do(b); c.Suspect() != tt.want {
			t.Errorf("%s: a suspect: %v, want %v", name, !tt.want, tt.want)
		}
	}
}
