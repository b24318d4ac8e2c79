//go:build !arena_poison && !arena_protect

package tier_test

import (
	"strconv"
	"testing"

	"github.com/hotrow/hotrow/internal/tier"
)

// TestMemory_ValuesThatGrow has values that grow from 200 bytes to 2,000 while they are asked for
// and replaced, so that one size class after the other gives its pages to the next. Half as long
// after that, memory answers as many requests as one whose values have always been large, to two
// points, and it has never taken more than its bound.
func TestMemory_ValuesThatGrow(t *testing.T) {
	const growing, bound = 300_000, 18 << 20
	run := func(size func(i int) int) (ratio float64) {
		m, next, hits := openMemory(t, bound), newTrace("zipf"), 0
		var buf []byte
		for i := range growing * 3 / 2 {
			key := next()
			buf = strconv.AppendUint(buf[:0], key, 10)
			_, ok := m.Get(tier.Ref{Resource: 1, Key: alias(buf)})
			if ok && i >= growing*5/4 {
				hits++
			}
			if !ok || i%10 == 0 {
				put(m, string(buf), size(i), key)
			}
			if i%10_000 == 0 && m.Stats().HeldBytes > bound {
				t.Fatalf("behind %d requests: %+v", i, m.Stats())
			}
		}
		return float64(hits) / (growing / 4)
	}
	large := run(func(int) int { return 2000 })
	grown := run(func(i int) int { return 200 + 1800*min(i, growing)/growing })
	t.Logf("hits: %.3f, grown %.3f", large, grown)
	if grown < large-.02 {
		t.Errorf("%.3f of the requests are answered where values have grown, %.3f where they have not", grown, large)
	}
}
