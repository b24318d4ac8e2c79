package resource

import (
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/tier"
)

// TestStats_LagBeforeTheFirstFence: a feed that was never complete lags since it was asked for.
func TestStats_LagBeforeTheFirstFence(t *testing.T) {
	begun := time.Now()
	h := newHouse(t, nil)
	s := &failing{Source: h.source}
	s.lags.Store(true)
	memory := tier.NewMemory(1 << 20)
	t.Cleanup(func() { _ = memory.Close() })
	set, err := Open(t.Context(), SetOptions{Memory: memory, Resources: houseSpecs(),
		Sources: []SourceOptions{{Name: "main", Source: s}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	last := time.Duration(-1)
	for range 3 {
		lag := set.Stats().Sources[0].Lag
		if most := time.Since(begun); lag <= last || lag > most {
			t.Errorf("lag %v after %v, before that %v", lag, most, last)
		}
		last = lag
	}
}
