package fresh

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// TestDomain_SettlingIsLinear counts how many of the pending are looked at when all of them
// are settled, as one probe proves them: each once. Where the position is complete that a
// load may claim meanwhile costs no look.
func TestDomain_SettlingIsLinear(t *testing.T) {
	const many = 40_000
	d, s := newAttached(nil)
	for i := range many {
		d.Apply(Position(i+2), []Invalidation{{Space: s, Keys: []row.Key{"k"}}}, s, 0)
		if got := d.Settled().Pos; got != 1 {
			t.Fatalf("with %d pending all is settled up to %d", i+1, got)
		}
	}
	d.Settle(d.Unsettled()...)
	if d.looked != many {
		t.Errorf("%d of %d were looked at", d.looked, many)
	}
	if got := d.Settled().Pos; got != many+1 || len(d.Unsettled()) != 0 {
		t.Errorf("settled up to %d, %d pending", got, len(d.Unsettled()))
	}
	if l, _ := s.Begin("k", row.FormatJSON, Any); !l.storable {
		t.Error("the key is still dirty")
	}
}

// TestDomain_SettledToIsTheLeast compares it with a look at each, in any order of positions:
// a feed that has resumed delivers some for the second time.
func TestDomain_SettledToIsTheLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	d, s := newAttached(nil)
	for range 2000 {
		switch n := rng.IntN(8); {
		case n < 4:
			d.Apply(Position(rng.IntN(50)), []Invalidation{{Space: s, Keys: []row.Key{"k"}}}, s, 0)
		case n == 4 && rng.IntN(20) == 0:
			d.Reset("a", Position(rng.IntN(50)), s, 0)
		case n == 5 && rng.IntN(20) == 0:
			d.Include([]Invalidation{{Space: s, Whole: true}}, s, 0)
		default:
			list := d.Unsettled()
			rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			some := list[:rng.IntN(len(list)+1)]
			d.Settle(slices.Concat(some, some)...) // the second time does nothing
		}
		want := d.Applied().Pos
		for _, p := range d.pending {
			if p.begins {
				want = 0
			} else if p.Pos > 0 {
				want = min(want, p.Pos-1)
			}
		}
		if got := d.Settled().Pos; got != want {
			t.Fatalf("settled up to %d, want %d", got, want)
		}
	}
	d.Settle(d.Unsettled()...)
	for i := range s.shards.Load() {
		if n := len(s.shards.Load()[i].dirty); n != 0 || s.wholes.Load() != 0 {
			t.Fatalf("%d keys are dirty, and %d times all", n, s.wholes.Load())
		}
	}
}

// TestDomain_Include: what the feed begins to tell of is not stored by who has read it before, nor
// until the rest is proven to be visible; no load claims a position until then, and the epoch and
// what is applied stay what they are.
func TestDomain_Include(t *testing.T) {
	for _, ref := range []any{nil, "before"} {
		d, s := newAttached(nil)
		d.Advance(20)
		before := *d.Applied()
		early, _ := s.Begin("k", row.FormatJSON, Any)
		kept := early.Stamp
		d.Include([]Invalidation{{Space: s, Whole: true}}, ref, 0)
		if *d.Applied() != before {
			t.Errorf("applied is %+v after %+v", *d.Applied(), before)
		}
		if s.Finish(early, nil, nil, func() { t.Error("what was read before is stored") }); s.Valid(kept) {
			t.Error("what was kept before is good")
		}
		l, _ := s.Begin("k", row.FormatJSON, Any)
		if settled := ref == nil; l.storable != settled || l.AsOf.Pos != 0 != settled {
			t.Errorf("with %v a load is storable: %v, and claims %d", ref, l.storable, l.AsOf.Pos)
		}
		s.Finish(l, nil, nil, nil)
		d.Settle(d.Unsettled()...)
		if l, _ := s.Begin("k", row.FormatJSON, Any); !l.storable || l.AsOf.Pos != 20 {
			t.Errorf("when it is settled a load is storable: %v, and claims %d", l.storable, l.AsOf.Pos)
		}
	}
}

// BenchmarkSettle is what one of many transactions costs that are proved at once.
func BenchmarkSettle(b *testing.B) {
	for _, many := range []int{1_000, 10_000, 40_000} {
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			d, s := newAttached(nil)
			pos := Position(1)
			for b.Loop() {
				b.StopTimer()
				for range many {
					pos++
					d.Apply(pos, []Invalidation{{Space: s, Keys: []row.Key{"k"}}}, s, 0)
				}
				b.StartTimer()
				d.Settle(d.Unsettled()...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*many), "ns/tx")
		})
	}
}
