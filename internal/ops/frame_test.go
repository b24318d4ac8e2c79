package ops

import (
	"math"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	bounds := []float64{1, 2, 4}
	for _, tt := range []struct {
		counts []uint64
		q      float64
		want   float64
	}{
		{[]uint64{10, 0, 0, 0}, 0.5, 0.5},
		{[]uint64{0, 10, 0, 0}, 0.5, 1.5},
		{[]uint64{5, 0, 5, 0}, 0.99, 2 + 2*(9.9-5)/5},
		{[]uint64{0, 0, 0, 3}, 0.5, 4}, // above all bounds
	} {
		total := uint64(0)
		for _, n := range tt.counts {
			total += n
		}
		if got := quantile(bounds, tt.counts, total, tt.q); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v of %v = %v, want %v", tt.q, tt.counts, got, tt.want)
		}
	}
}

// A resource that is reloaded, or a feed that is another now, may count anew.
func TestRate_OfACounterThatBeganAnew(t *testing.T) {
	if got := rate(1000, 3, time.Second); got != 0 {
		t.Errorf("rate %v", got)
	}
	if got := rate(1000, 1500, 500*time.Millisecond); got != 1000 {
		t.Errorf("rate %v", got)
	}
	before := Histogram{Bounds: []float64{1}, Counts: []uint64{100, 0}}
	now := Histogram{Bounds: []float64{1}, Counts: []uint64{2, 0}}
	if got := durations(before, now, time.Second); got != (Durations{}) {
		t.Errorf("durations %+v", got)
	}
}

func TestVerdict_IsOfEveryState(t *testing.T) {
	seen := map[string]bool{}
	for _, state := range FeedStates() {
		for _, up := range []bool{true, false} {
			v := verdict(&Feed{State: state, Up: up, Lag: Seconds(3200 * time.Millisecond)})
			seen[v] = true
			if (state == "fresh") != (v[:5] == "FRESH") {
				t.Errorf("%s, up %t: %s", state, up, v)
			}
		}
	}
	if len(seen) != 5 {
		t.Errorf("the verdicts are %v", seen)
	}
}
