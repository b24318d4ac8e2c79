//go:build !arena_poison && !arena_protect

package tier_test

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// TestMemory_EstimatesOtherSizes compares what a Memory says that half and twice its size would
// change with Memories of these sizes, by traces: of one that is full, and of one that is not.
func TestMemory_EstimatesOtherSizes(t *testing.T) {
	const requests, body = 400_000, 800
	run := func(next trace, bytes int64) (m *tier.Memory, ratio float64) {
		m = openMemory(t, bytes)
		hits := 0
		var buf []byte
		for i := range requests {
			key := next()
			buf = strconv.AppendUint(buf[:0], key, 10)
			if _, ok := m.Get(tier.Ref{Resource: 1, Key: alias(buf)}); !ok {
				put(m, string(buf), body, key)
			} else if i >= requests/2 {
				hits++
			}
			if i%10_000 == 0 {
				m.Estimate() // as scrapes do
			}
		}
		return m, float64(hits) / (requests / 2)
	}
	for _, tt := range []struct {
		trace   string
		of      uint64 // so many keys of the trace are one
		entries int64
		most    float64 // by which an estimate differs
	}{{"zipf", 1, 20_000, .015}, {"scan", 1, 20_000, .015}, {"zipf", 8, 40_000, .03}} {
		next := func() trace {
			key := newTrace(tt.trace)
			return func() uint64 { return key() / tt.of }
		}
		m, now := run(next(), 900*tt.entries)
		_, half := run(next(), 900*tt.entries/2)
		_, twice := run(next(), 900*tt.entries*2)
		e, ok := m.Estimate()
		t.Logf("%s: half %.3f now %.3f twice %.3f, estimated %+v", tt.trace, half, now, twice, e)
		lose, gain := (e.Now-e.Half)-(now-half), (e.Twice-e.Now)-(twice-now)
		if !ok || math.Abs(lose) > tt.most || math.Abs(gain) > tt.most {
			t.Errorf("%s: %+v, and it is %.3f, %.3f and %.3f", tt.trace, e, half, now, twice)
		}
	}
}

// What is evicted says how long it was held.
func TestMemory_SaysHowLongDocumentsLive(t *testing.T) {
	m := openMemory(t, 1<<20)
	for i := range 20_000 {
		at := row.Stamp{At: int64(1+i) * int64(time.Second)}
		m.Put(answer(1, i), row.NewDocument("", 0, make([]byte, 900), 1, at))
	}
	held := time.Duration(m.Stats().Entries) * time.Second
	if age := m.Stats().Age; age < held/4 || age > 2*held {
		t.Errorf("documents live %v, and %v is held", age, held)
	}
}
