//go:build !arena_poison && !arena_protect

package tier_test

import (
	"fmt"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
)

// What a Memory takes for each byte of keys and bodies, wherever index and sketch stand between
// two sizes of theirs.
func TestMemory_TakesLittleMoreThanItHolds(t *testing.T) {
	for _, tt := range []struct {
		body int
		most float64
	}{{200, 1.35}, {1583, 1.10}, {10_000, 1.05}} {
		for _, n := range []int{100_000, 125_000, 132_000, 165_000} {
			if tt.body > 200 {
				n /= 10
			}
			m := tier.NewMemory(int64(n*tt.body*3/2) + 16<<20)
			bytes := 0
			for i := range n {
				ref := tier.Ref{Resource: 1, Key: row.Key(fmt.Sprintf("%08d", i))}
				d := tiertest.DocumentOf(ref, tt.body, 1)
				bytes += len(ref.Key) + len(d.Body())
				m.Put(ref, d)
			}
			st := m.Stats()
			if got := float64(st.HeldBytes) / float64(bytes); got > tt.most || st.Evictions > 0 {
				t.Errorf("%d documents of %d bytes: %.3f bytes for each byte, at most %v; %+v",
					n, tt.body, got, tt.most, st)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
