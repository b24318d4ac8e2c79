package hotkeys

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

var start = time.Now()

// looked returns Keys at which somebody looks, and a Sampler that has told of one read.
func looked() (*Keys, *Sampler) {
	k, s := new(Keys), new(Sampler)
	k.Look(10, start)
	s.Due()
	s.Sample(k, "r", "first", start)
	return k, s
}

func rates(list []Key) map[string]float64 {
	m := make(map[string]float64)
	for _, k := range list {
		m[k.Resource+"/"+k.Key] = k.Reads
	}
	return m
}

// TestKeys_FindWhatIsReadMost reads by Zipf's law, a million keys, for ten seconds of 50,000
// reads each, and compares with exact counts.
func TestKeys_FindWhatIsReadMost(t *testing.T) {
	k, s := looked()
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 1, 1_000_000)
	const perSecond = 50_000
	exact := make(map[string]float64)
	var got Report
	now := start
	for second := range 10 {
		for range perSecond {
			key := fmt.Sprint(zipf.Uint64())
			exact["r/"+key]++
			if s.Due() {
				s.Sample(k, "r", key, now)
			}
		}
		now = start.Add(time.Duration(second+1) * time.Second)
		got = k.Look(10, now)
	}
	if len(got.Read) != 10 {
		t.Fatalf("%d keys", len(got.Read))
	}
	for i, key := range got.Read[:5] {
		if want := fmt.Sprint(i); key.Key != want {
			t.Errorf("place %d: %+v", i, key)
		}
		if want := exact["r/"+key.Key] / 10; math.Abs(key.Reads-want) > want/5 {
			t.Errorf("%s is read %.0f times a second, not %.0f", key.Key, want, key.Reads)
		}
	}
}

// TestSampler_DoesNotKeepStepWithPatterns reads 64 keys in turn: each is as hot as the others.
func TestSampler_DoesNotKeepStepWithPatterns(t *testing.T) {
	k, s := looked()
	for i := range 64 * 2000 {
		if s.Due() {
			s.Sample(k, "r", fmt.Sprint(i%64), start)
		}
	}
	got := rates(k.Look(100, start.Add(time.Second)).Read)
	if len(got) < 64 {
		t.Errorf("%d of 64 keys were seen", len(got))
	}
	total := 0.0
	for key, n := range got {
		if total += n; n > 2000*3 {
			t.Errorf("%s counts %.0f times, not 2,000", key, n)
		}
	}
	if math.Abs(total-64*2000) > 64*2000*0.1 {
		t.Errorf("all together %.0f, not %d", total, 64*2000)
	}
}

// TestSampler_TellsOfEachWhereThereAreFew wakes up for each of five reads.
func TestSampler_TellsOfEachWhereThereAreFew(t *testing.T) {
	k, s := looked()
	now := start
	for i := range 5 {
		now = now.Add(50 * time.Millisecond)
		s.Wake(now)
		if s.Due() {
			s.Sample(k, "r", fmt.Sprint(i%2), now)
		}
	}
	got := rates(k.Look(10, start.Add(time.Second)).Read)
	if got["r/0"] != 3 || got["r/1"] != 2 {
		t.Errorf("%v, want 3 and 2", got)
	}
}

func TestKeys_CountNothingUnlooked(t *testing.T) {
	k, s := new(Keys), new(Sampler)
	for range 1000 {
		if s.Due() {
			s.Sample(k, "r", "k", start)
		}
	}
	if got := k.Look(10, start); got.Read != nil {
		t.Errorf("before anybody looked: %v", got)
	}
	k.Read("r", "a")
	k.Rest()
	k.Read("r", "b")
	k.Look(10, start)
	if got := k.Look(10, start.Add(time.Second)); got.Read != nil {
		t.Errorf("after a rest: %v", got)
	}
}

func TestKeys_TellWhatChangesMoreThanItIsRead(t *testing.T) {
	k, _ := looked()
	for i := range 10 {
		k.Changed("r", "busy")
		k.Changed("r", "even")
		k.Read("r", "even")
		if i == 0 {
			k.Read("r", "busy")
		}
	}
	got := k.Look(10, start.Add(time.Second)).Changed
	if len(got) != 1 || got[0].Key != "busy" || got[0].Changes != 10 || got[0].Reads != 1 {
		t.Errorf("%+v", got)
	}
}

// TestKeys_ForgetWithTime halves a rate in the time that it says.
func TestKeys_ForgetWithTime(t *testing.T) {
	k, _ := looked()
	for i := range 100 {
		k.Read("r", fmt.Sprint("old", i%2))
	}
	at := func(s int) map[string]float64 {
		return rates(k.Look(600, start.Add(time.Duration(s)*time.Second)).Read)
	}
	one := at(1)
	if one["r/old0"] != 50 {
		t.Errorf("after a second: %v", one)
	}
	for s := 2; s <= 60; s++ {
		k.Read("r", "new")
		at(s)
	}
	if now := at(61); now["r/new"] < 0.8 || now["r/new"] > 1.1 || now["r/old0"] > 0.1 {
		t.Errorf("after a minute: %v", now)
	}
}

// TestKeys_AreBounded reads more keys than are followed, keys that are too long among them,
// and more than a ring holds.
func TestKeys_AreBounded(t *testing.T) {
	k, _ := looked()
	k.Read("r", strings.Repeat("x", maxKey+1))
	for i := range 10 * slots {
		k.Read("r", fmt.Sprint(i))
		if i%2 == 0 {
			k.Read("r", "hot")
		}
	}
	got := k.Look(10*slots, start.Add(time.Second))
	if len(got.Read) > counted || len(k.counts.byID) != len(k.counts.order) {
		t.Errorf("%d keys are followed", len(got.Read))
	}
	if n := got.Read[0]; n.Key != "hot" || n.Reads < 4*slots || n.Reads > 6*slots {
		t.Errorf("the first is %+v, of %d", n, 5*slots)
	}
}

// TestKeys_FromManyGoroutines loses nothing that there was room for.
func TestKeys_FromManyGoroutines(t *testing.T) {
	k, _ := looked()
	var wg sync.WaitGroup
	done := make(chan struct{})
	for g := range 4 {
		wg.Go(func() {
			for i := range 400 {
				k.Read("r", fmt.Sprint(g, i%3))
				k.Changed("r", fmt.Sprint(g))
			}
		})
	}
	go func() { wg.Wait(); close(done) }()
	now, total := start, 0.0
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		default:
		}
		now = now.Add(time.Microsecond)
		k.Look(10, now)
	}
	for _, e := range k.counts.order {
		total += e.reads + e.changes
	}
	if want := 4*400*2 + 1.0; math.Abs(total-want) > want/100 {
		t.Errorf("%.1f reads and changes, of %.0f", total, want)
	}
}

func TestSampler_AllocatesNothing(t *testing.T) {
	k, s := looked()
	key := "0198f3a2-5b7c-7d1e-8f90-a1b2c3d4e5f6"
	if n := testing.AllocsPerRun(100_000, func() {
		if s.Due() {
			s.Sample(k, "r", key, start)
		}
	}); n != 0 {
		t.Errorf("%v allocations a read", n)
	}
}

// BenchmarkSampler is the cost of one read: nobody looks, somebody does.
func BenchmarkSampler(b *testing.B) {
	for _, looks := range []bool{false, true} {
		b.Run(fmt.Sprint("looked=", looks), func(b *testing.B) {
			k, s := new(Keys), new(Sampler)
			if looks {
				k, s = looked()
			}
			n := 0
			for b.Loop() {
				if s.Due() {
					s.Sample(k, "r", "0198f3a2-5b7c-7d1e-8f90-a1b2c3d4e5f6", start)
					if n++; n%slots == 0 && looks {
						k.ring.Load().take(func(*sample, float64) {})
					}
				}
			}
		})
	}
}
