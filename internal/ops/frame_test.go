package ops

import (
	"math"
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
	before := Snapshot{Queries: []Queries{load("a", 1, 1, 1)}}
	now := Snapshot{Queries: []Queries{load("a", 3, 1, 1), load("b", 0, 2, 2),
		{Source: "a", Op: "fence", Duration: h(9, 9, 9)}}, Feeds: []Feed{{Source: "a"}, {Source: "b"}},
		Requests: []Requests{{Duration: h(1, 99, 0)}}}
	f := newFrame(&before, &now, 2*time.Second)
	if p := f.point(); p[atReads] != 1+2 || p[atReadP50] != 2 || p[atP99] != 1.99 {
		t.Errorf("point %v", p)
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
			f := Feed{State: state, Up: up, Lag: Seconds(3200 * time.Millisecond), Epoch: 2,
				EpochWhy: "the feed was lost: dial tcp 10.1.2.3:5432: refused"}
			v := verdict(&f)
			seen[v] = true
			if (state == "fresh") != strings.HasPrefix(v, "Fresh: 3.2 s behind the database") {
				t.Errorf("%s, up %t: %s", state, up, v)
			}
			if c := cause(&f); !strings.HasSuffix(c, ".") || strings.Contains(c, "10.1.2.3") ||
				(state == "fresh") != strings.HasSuffix(c, " ago all that was kept was forgotten: the feed was lost.") {
				t.Errorf("%s, up %t: %s", state, up, c)
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
	if v := verdict(&f); v != "Fresh: looked at the database 430 ms ago" {
		t.Errorf("the verdict is %q", v)
	}
	frame := Frame{Sources: []SourceFrame{{Feed: f}}}
	if p := frame.point(); p[atLag] != 0 {
		t.Errorf("its lag is %v", p[atLag])
	}
	f.State = "lagging"
	if v := verdict(&f); !strings.HasPrefix(v, "Behind the database") {
		t.Errorf("of one that lags it is %q", v)
	}
}
