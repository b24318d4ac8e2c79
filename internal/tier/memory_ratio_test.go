package tier_test

import (
	"container/list"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/hotrow/hotrow/internal/tier"
)

const (
	traceKeys    = 500_000   // keys that are asked for by popularity
	traceWarm    = 1_000_000 // requests before counting begins
	traceCounted = 2_000_000
)

// A trace returns the key of each request in turn. All are made from a fixed
// seed, so that two policies see the same requests.
type trace func() uint64

func newTrace(name string) trace {
	r := rand.New(rand.NewPCG(7, 7))
	zipf := rand.NewZipf(r, 1.01, 1, traceKeys-1)
	n := uint64(0)
	switch name {
	case "zipf": // popularity that stays
		return zipf.Uint64
	case "shift": // popularity that moves on by a tenth of its head now and then
		return func() uint64 {
			n++
			return (zipf.Uint64() + n/250_000*1000) % traceKeys
		}
	case "scan": // every other request is of a walk through keys not asked for again
		return func() uint64 {
			if n++; n%2 == 0 {
				return traceKeys + n
			}
			return zipf.Uint64()
		}
	default: // "loop": every other request is of a walk round a fifth as many keys
		return func() uint64 {
			if n++; n%2 == 0 {
				return traceKeys + n/2%(traceKeys/5)
			}
			return zipf.Uint64()
		}
	}
}

// ratio reads through a store with a trace and returns its hit ratio in percent.
func ratio(next trace, get func(key uint64) bool, put func(key uint64)) float64 {
	hits := 0
	for i := range traceWarm + traceCounted {
		key := next()
		if get(key) {
			if i >= traceWarm {
				hits++
			}
			continue
		}
		put(key)
	}
	return 100 * float64(hits) / traceCounted
}

// BenchmarkMemory_HitRatio compares Memory with LRU, for as many documents as a
// part of the keys, and with the best fixed choice, which knows the popularity
// beforehand. Run it with -benchtime=1x.
func BenchmarkMemory_HitRatio(b *testing.B) {
	for _, name := range []string{"zipf", "shift", "scan", "loop"} {
		for _, percent := range []int{1, 10} {
			b.Run(fmt.Sprintf("trace=%s/cache=%d%%", name, percent), func(b *testing.B) {
				entries := traceKeys * percent / 100
				for b.Loop() {
					b.ReportMetric(memoryRatio(b, newTrace(name), entries), "hit%")
					b.ReportMetric(lruRatio(newTrace(name), entries), "lru-hit%")
				}
				if name == "zipf" {
					b.ReportMetric(bestRatio(entries), "best-hit%")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func memoryRatio(b *testing.B, next trace, entries int) float64 {
	const body = 64
	each := int64(128 + 16) // a slot, and a share of index and sketch
	m := openMemory(b, each*int64(entries))
	var buf []byte
	defer func() {
		b.ReportMetric(float64(m.Stats().Entries)/float64(entries), "of-entries")
	}()
	return ratio(next, func(key uint64) bool {
		buf = strconv.AppendUint(buf[:0], key, 10)
		_, ok := m.Get(tier.Ref{Resource: 1, Key: alias(buf)})
		return ok
	}, func(key uint64) {
		put(m, strconv.FormatUint(key, 10), body, key)
	})
}

func lruRatio(next trace, entries int) float64 {
	order := list.New() // of keys, the one used last in front
	held := make(map[uint64]*list.Element, entries)
	return ratio(next, func(key uint64) bool {
		e, ok := held[key]
		if ok {
			order.MoveToFront(e)
		}
		return ok
	}, func(key uint64) {
		if len(held) == entries {
			delete(held, order.Remove(order.Back()).(uint64))
		}
		held[key] = order.PushFront(key)
	})
}

// bestRatio is the share of requests for the most popular keys of Zipf's law.
func bestRatio(entries int) float64 {
	held, all := 0.0, 0.0
	for i := range traceKeys {
		p := math.Pow(float64(i+1), -1.01)
		all += p
		if i < entries {
			held += p
		}
	}
	return 100 * held / all
}
