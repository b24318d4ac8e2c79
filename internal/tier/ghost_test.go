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

// TestMemory_EstimatesOtherSizes compares what a Memory says of half and of twice its size with
// Memories of these sizes, by traces.
func TestMemory_EstimatesOtherSizes(t *testing.T) {
	const requests, body = 400_000, 800
	bytes := int64(900 * 20_000)
	run := func(name string, bytes int64) (m *tier.Memory, ratio float64) {
		m = openMemory(t, bytes)
		next, hits := newTrace(name), 0
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
	for _, name := range []string{"zipf", "scan"} {
		m, now := run(name, bytes)
		_, half := run(name, bytes/2)
		_, twice := run(name, bytes*2)
		e, ok := m.Estimate()
		t.Logf("%s: half %.3f now %.3f twice %.3f, estimated %+v", name, half, now, twice, e)
		if !ok || math.Abs(e.Half-half) > .03 || math.Abs(e.Twice-twice) > .03 {
			t.Errorf("%s: %+v, and it is %.3f, %.3f and %.3f", name, e, half, now, twice)
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
