package ops

import (
	"math"
	"slices"
	"strings"
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

// TestFrame_SaysWhereAnswersCameFrom takes a second in which each kind had another number.
func TestFrame_SaysWhereAnswersCameFrom(t *testing.T) {
	before := Snapshot{Resources: []Resource{{Name: "r", Bypass: 1, Lookups: []Lookups{
		{Tier: "memory", Hit: 10, Negative: 1, Miss: 20, Stale: 1}, {Tier: "disk", Hit: 5}}}}}
	now := Snapshot{Resources: []Resource{{Name: "r", Bypass: 4, Watchers: 7, Lookups: []Lookups{
		{Tier: "memory", Hit: 110, Negative: 3, Miss: 70, Stale: 6}, {Tier: "disk", Hit: 15}}}}}
	f := newFrame(&before, &now, time.Second)
	want := Answers{Memory: 102, Disk: 10, Miss: 50 - 10 - 3, Bypass: 3, Stale: 5}
	if f.Answers != want || f.Answers.All() != 102+50+5 || f.Answers.Database() != 40 {
		t.Errorf("answers %+v, want %+v", f.Answers, want)
	}
	if r := f.Resources[0]; r.Watchers != 7 || r.Rate != f.Answers.All() {
		t.Errorf("resource %+v", r)
	}
}

func TestFrame_HasTheDurations(t *testing.T) {
	h := func(counts ...uint64) Histogram { return Histogram{Bounds: []float64{1, 2}, Counts: counts} }
	load := func(source string, counts ...uint64) Queries {
		return Queries{Source: source, Op: "load", Duration: h(counts...)}
	}
	before := Snapshot{Hits: h(1, 0, 0), Queries: []Queries{load("a", 1, 1, 1)}}
	now := Snapshot{Hits: h(5, 2, 0), Queries: []Queries{load("a", 3, 1, 1), load("b", 0, 0, 4),
		{Source: "a", Op: "fence", Duration: h(9, 9, 9)}}}
	f := newFrame(&before, &now, 2*time.Second)
	if got := f.Latency.Hits.Rates; !slices.Equal(got, []float64{2, 1, 0}) {
		t.Errorf("hits %v", got)
	}
	if got := f.Latency.Loads.Rates; !slices.Equal(got, []float64{1, 0, 2}) {
		t.Errorf("loads %v", got)
	}
	if f := newFrame(&before, &now, 0); f.Latency != nil {
		t.Errorf("without an interval: %v", f.Latency)
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

// TestVerdict_OfAnIdleSource: with nobody reading there are two looks a second, and that
// the last one was a while ago is no lag.
func TestVerdict_OfAnIdleSource(t *testing.T) {
	f := Feed{State: "fresh", Up: true, Rests: true, Lag: Seconds(430 * time.Millisecond)}
	if v := verdict(&f); !strings.Contains(v, "idle: looked 0.4 s ago") {
		t.Errorf("the verdict is %q", v)
	}
	f.State = "lagging"
	if v := verdict(&f); strings.Contains(v, "idle") {
		t.Errorf("of one that lags it is %q", v)
	}
}
