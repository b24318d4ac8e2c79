package fresh

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// BenchmarkValid is what a hit pays for its stamp.
func BenchmarkValid(b *testing.B) {
	_, s := newAttached(nil)
	st := row.Stamp{Epoch: 1}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if !s.Valid(st) {
				b.Error("not valid")
			}
		}
	})
}

// BenchmarkGate is what a hit pays for the bound of its age.
func BenchmarkGate(b *testing.B) {
	d, _ := newAttached(nil)
	d.Fenced(1000)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if state, _ := d.Gate(1001); state != Fresh {
				b.Error("not fresh")
			}
		}
	})
}

// BenchmarkBeginFinish is what a load pays besides its read.
func BenchmarkBeginFinish(b *testing.B) {
	d := NewDomain(100)
	s := d.NewSpace(func(row.Key) {}, noCopies)
	d.Reset("a", 1, nil, 0)
	doc := row.NewDocument("k", row.FormatJSON, []byte("x"), 0, row.Stamp{})
	b.ReportAllocs()
	for b.Loop() {
		l, _ := s.Begin("k", row.FormatJSON, Any)
		s.Send(l)
		s.Finish(l, doc, nil, func() {})
	}
}

// BenchmarkApplySettle is what one changed key costs.
func BenchmarkApplySettle(b *testing.B) {
	d, s := newAttached(nil)
	b.ReportAllocs()
	pos := Position(1)
	for b.Loop() {
		pos++
		d.Apply(pos, []Invalidation{{Space: s, Keys: []row.Key{"k"}}}, s, 0)
		for _, p := range d.Unsettled() {
			d.Settle(p)
		}
	}
}

// TestHit_AllocatesNothing: what is on the way of every hit.
func TestHit_AllocatesNothing(t *testing.T) {
	d, s := newAttached(nil)
	d.Fenced(1000)
	n := testing.AllocsPerRun(100, func() {
		p := d.Applied()
		state, _ := d.Gate(1001)
		if state != Fresh || !s.Valid(row.Stamp{Epoch: p.Epoch}) {
			t.Error("no hit")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkWorded_Keep is what a load of a document pays for ten rows of which the feed may
// not know the old parent, and what memory each row takes while it is kept.
func BenchmarkWorded_Keep(b *testing.B) {
	d := NewDomain(1e9)
	w := newSimWorded(d, 1<<16)
	s := d.NewSpace(func(row.Key) {}, noCopies)
	d.Reset("a", 1, nil, 0)
	const each = 10
	found := make([]Tag, 0, b.N*each)
	for i := range b.N * each {
		found = append(found, Tag{w.tables[1], w.child, strconv.Itoa(i)})
	}
	kept := make([]*ReadSet, b.N)
	doc := row.NoRow(row.Stamp{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	for i := range kept {
		k := row.Key(strconv.Itoa(i))
		l, _ := s.BeginList(k, row.FormatJSON, Any, w.question(0, k))
		s.FinishList(l, doc, nil, found[i*each:(i+1)*each], func(c *ReadSet) { kept[i] = c })
	}
	b.StopTimer()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(b.N*each), "B/row")
	runtime.KeepAlive(s)
	runtime.KeepAlive(kept)
	runtime.KeepAlive(found)
}
