//go:build unix

package tier_test

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/tier/tiertest"
)

// BenchmarkMemory_Footprint reports, for a million documents of 1.6 KB:
//
//   - rss/byte: resident memory for each byte of the bodies, once garbage has
//     been given back;
//   - gc-ms: the wall time of a forced collection, and gc-cpu-ms the processor
//     time;
//   - churn-rss/byte and churn-gc%: resident memory and the share of processor
//     time that collection takes, after and while 5% of operations put new
//     documents; limit-* the same under a memory limit of 1.2 times the heap.
//
// Run it alone with -benchtime=1x: it measures the process.
func BenchmarkMemory_Footprint(b *testing.B) {
	for b.Loop() {
		footprint(b)
	}
	b.ReportMetric(0, "ns/op")
}

func footprint(b *testing.B) {
	debug.FreeOSMemory()
	base := resident(b)
	m := million(b)
	stored := float64(1_000_000 * benchBody)
	perByte := func() float64 { return float64(resident(b)-base) / stored }

	debug.FreeOSMemory()
	b.ReportMetric(perByte(), "rss/byte")
	b.ReportMetric(float64(m.Stats().Bytes)/stored, "counted/byte")

	cpu, begin := gcSeconds(), time.Now()
	const cycles = 5
	for range cycles {
		runtime.GC()
	}
	b.ReportMetric(float64(time.Since(begin).Milliseconds())/cycles, "gc-ms")
	b.ReportMetric((gcSeconds()-cpu)*1e3/cycles, "gc-cpu-ms")

	churn := func() (share float64) {
		k := newKeyer("uniform", 1_000_000, 3)
		cpu, begin := gcSeconds(), time.Now()
		for i := 0; time.Since(begin) < 4*time.Second; i++ {
			if i%20 == 0 {
				m.Put(k.owned(), tiertest.Document(benchBody, 1))
			} else {
				m.Get(k.ref())
			}
		}
		runtime.GC() // brings the figures of the collector up to date
		return 100 * (gcSeconds() - cpu) / time.Since(begin).Seconds()
	}
	b.ReportMetric(churn(), "churn-gc%")
	b.ReportMetric(perByte(), "churn-rss/byte")

	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(heap.HeapAlloc) * 12 / 10))
	debug.FreeOSMemory()
	b.ReportMetric(churn(), "limit-gc%")
	b.ReportMetric(perByte(), "limit-rss/byte")
	runtime.KeepAlive(m)
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
func resident(b *testing.B) int64 {
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
