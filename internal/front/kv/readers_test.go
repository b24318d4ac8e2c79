package kv

import (
	"math/rand/v2"
	"testing"
)

// TestReaders_AreASet: few or many, beside some that have left.
func TestReaders_AreASet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, clients := range []int{3, fewReaders + 1, 200} {
		all := make([]*Tracked, clients)
		for i := range all {
			all[i] = new(Tracked)
		}
		var r readers
		want := make(map[*Tracked]bool)
		for range 5000 {
			c := all[rnd.IntN(clients)]
			switch {
			case c.left.Load(): // as a new one
				c.left.Store(false)
				r.remove(c)
				delete(want, c)
			case rnd.IntN(10) == 0:
				c.left.Store(true)
			case r.has(c) != want[c]:
				t.Fatalf("of %d: has says %t", clients, r.has(c))
			case rnd.IntN(3) > 0 && !want[c]:
				r.add(c)
				want[c] = true
			case r.remove(c) != want[c]:
				t.Fatalf("of %d: remove says %t", clients, !want[c])
			default:
				delete(want, c)
			}
			compareReaders(t, &r, want)
		}
	}
}

// compareReaders fails if one is missing or told twice. Those that have left may be there.
func compareReaders(t *testing.T, r *readers, want map[*Tracked]bool) {
	t.Helper()
	seen := make(map[*Tracked]bool)
	for c := range r.all() {
		if seen[c] || !want[c] {
			t.Fatalf("of %d, one is there twice or not one of them", r.len())
		}
		seen[c] = true
	}
	for c := range want {
		if !seen[c] && !c.left.Load() {
			t.Fatalf("one of %d is not there", len(want))
		}
	}
	if len(seen) != r.len() {
		t.Fatalf("%d, and len says %d", len(seen), r.len())
	}
}

// BenchmarkReaders_Add is what one more client that reads a key costs.
func BenchmarkReaders_Add(b *testing.B) {
	all := make([]*Tracked, 10_000)
	for i := range all {
		all[i] = new(Tracked)
	}
	for b.Loop() {
		var r readers
		for _, c := range all {
			if !r.has(c) {
				r.add(c)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(all)), "ns/client")
}
