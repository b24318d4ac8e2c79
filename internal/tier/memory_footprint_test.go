//go:build unix

package tier_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
)

// BenchmarkMemory_Footprint reports, for a million documents of 1.6 KB:
//
//   - rss/byte: resident memory for each byte of the bodies, once garbage has
//     been given back, and counted/byte, what Stats says;
//   - gc-ms: the wall time of a forced collection, and gc-cpu-ms the processor
//     time;
//   - gc-ns/put and peak-rss/byte: processor time of the collector for each put,
//     and the most that was resident, while new documents replace held ones
//     until two collections have run of their own accord.
//
// The limit is the runtime's memory limit, as a multiple of the bytes counted.
// Run each row alone, with -benchtime=1x: a row measures the process, and
// replaced documents leave the heap fragmented.
func BenchmarkMemory_Footprint(b *testing.B) {
	for _, limit := range []float64{0, 1.3, 1.6} {
		b.Run(fmt.Sprintf("limit=%v", limit), func(b *testing.B) {
			for b.Loop() {
				footprint(b, limit)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func footprint(b *testing.B, limit float64) {
	debug.FreeOSMemory()
	base := resident(b)
	m := million(b, benchBody)
	stored := float64(1_000_000 * benchBody)
	counted := float64(m.Stats().Bytes)
	perByte := func(rss int64) float64 { return float64(rss-base) / stored }

	debug.FreeOSMemory()
	if perByte(resident(b)) < 1 {
		b.Fatal("less is resident than is stored: bodies not written")
	}
	b.ReportMetric(perByte(resident(b)), "rss/byte")
	b.ReportMetric(counted/stored, "counted/byte")

	cpu, begin := gcSeconds(), time.Now()
	const cycles = 5
	for range cycles {
		runtime.GC()
	}
	b.ReportMetric(float64(time.Since(begin).Milliseconds())/cycles, "gc-ms")
	b.ReportMetric((gcSeconds()-cpu)*1e3/cycles, "gc-cpu-ms")

	if limit > 0 {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(limit * counted)))
	}
	nanos, peak := churn(b, m)
	b.ReportMetric(nanos, "gc-ns/put")
	b.ReportMetric(perByte(peak), "peak-rss/byte")
	runtime.KeepAlive(m)
}

// churn puts new documents over held ones until the collector has run twice of
// its own accord. It returns what the collector took for each put, and the most
// memory that was resident.
func churn(b *testing.B, m *tier.Memory) (gcNanos float64, peak int64) {
	k := newKeyer("uniform", 1_000_000, 3)
	runtime.GC()
	cpu, begin, puts := gcSeconds(), gcCycles(), 0
	for ; gcCycles() < begin+2; puts += 1000 {
		for range 1000 {
			ref := k.owned()
			m.Put(ref, tiertest.DocumentOf(ref, benchBody, 1))
		}
		peak = max(peak, resident(b))
	}
	return (gcSeconds() - cpu) * 1e9 / float64(puts), peak
}

func gcCycles() uint64 {
	s := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// gcSeconds returns the processor time that the collector has taken, not
// counting what it took of processors that were idle.
func gcSeconds() float64 {
	s := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
	}
	metrics.Read(s)
	return s[0].Value.Float64() - s[1].Value.Float64()
}

// resident returns the bytes of the process that are in memory.
func resident(b testing.TB) int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("needs /proc: ", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
