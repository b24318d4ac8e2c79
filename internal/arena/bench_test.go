//go:build linux && !race

package arena

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// What entries of the benchmarks have besides a body: the header that the cache's entries
// will have, and a key.
const (
	benchHeader = 40
	benchKey    = 12
)

// resident returns the bytes of the process that are in memory, without Go's garbage.
func resident(b *testing.B) int {
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		b.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// bodies are the sizes of bodies that BenchmarkArena_Waste keeps.
var bodies = map[string]func(r *rand.Rand) int{
	"100B":      func(*rand.Rand) int { return 100 },
	"200B":      func(*rand.Rand) int { return 200 },
	"1600B":     func(*rand.Rand) int { return 1600 },
	"10KB":      func(*rand.Rand) int { return 10_000 },
	"near1600B": func(r *rand.Rand) int { return 1400 + r.IntN(400) },
	"mixed": func(r *rand.Rand) int { // as many bytes of each order of magnitude
		return []int{100, 1000, 10_000, 100_000}[mixed(r)] * (50 + r.IntN(100)) / 100
	},
}

func mixed(r *rand.Rand) int {
	switch n := r.IntN(1111); {
	case n < 1000:
		return 0
	case n < 1100:
		return 1
	case n < 1110:
		return 2
	}
	return 3
}

// BenchmarkArena_Waste reports resident bytes for each byte of keys and bodies: once they are
// held, and the most while each is replaced, one after the other at random, by another, which
// is added before the old one is freed. "counted" is what Stats says. Run it with
// -benchtime=1x.
func BenchmarkArena_Waste(b *testing.B) {
	for _, name := range []string{"100B", "200B", "1600B", "near1600B", "10KB", "mixed"} {
		b.Run("body="+name, func(b *testing.B) {
			for b.Loop() {
				waste(b, bodies[name])
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func waste(b *testing.B, size func(*rand.Rand) int) {
	const total = 256 << 20
	a := newArena(b, 2*total)
	r := rand.New(rand.NewPCG(1, 2))
	entry := make([]byte, 1<<20)
	var refs []Ref
	idle, useful := resident(b), 0
	add := func() Ref {
		n := size(r)
		useful += benchKey + n
		ref, err := a.Add(entry[:benchHeader+benchKey+n-HeadBytes])
		if err != nil {
			b.Fatal(err)
		}
		return ref
	}
	for useful < total {
		refs = append(refs, add())
	}
	index := 4 * cap(refs)
	s := a.Stats()
	b.ReportMetric(float64(resident(b)-idle-index)/float64(useful), "resident/byte")
	b.ReportMetric(float64(s.HeldBytes)/float64(useful), "counted/byte")
	b.ReportMetric(float64(useful)/float64(len(refs)), "bytes/entry")
	most := 0.0
	for n := range 2 * len(refs) {
		i := r.IntN(len(refs))
		old := refs[i]
		refs[i] = add()
		sec := a.EnterAt(0)
		useful -= sec.View(old).Len() - benchHeader
		sec.Leave()
		a.Free(old)
		if n%(len(refs)/20) == 0 {
			most = max(most, float64(resident(b)-idle-index)/float64(useful))
		}
	}
	b.ReportMetric(most, "written-resident/byte")
}

// BenchmarkArena_Read reads random keys of a million and touches the ends of their bodies of
// 1,500 bytes: in an arena beside a plain map of its Refs, and in a plain map.
func BenchmarkArena_Read(b *testing.B) {
	const entries, body = 1_000_000, 1500
	stores := map[string]func(b *testing.B) func(key uint64) int{
		"none": func(*testing.B) func(uint64) int { return func(key uint64) int { return int(key) } },
		"arena": func(b *testing.B) func(uint64) int {
			a := newArena(b, 2<<30)
			refs := make(map[uint64]Ref, entries)
			text := make([]byte, body)
			for key := range uint64(entries) {
				refs[key], _ = a.Add(text)
			}
			var number atomic.Uint32
			return func(key uint64) int {
				s := a.EnterAt(number.Load())
				v := s.View(refs[key])
				sum := int(v.b[HeadBytes]) + int(v.b[len(v.b)-1])
				s.Leave()
				return sum
			}
		},
		"map": func(*testing.B) func(uint64) int {
			bodies := make(map[uint64][]byte, entries)
			for key := range uint64(entries) {
				bodies[key] = make([]byte, body)
			}
			return func(key uint64) int { return int(bodies[key][0]) + int(bodies[key][body-1]) }
		},
	}
	for _, name := range []string{"none", "arena", "map"} {
		b.Run("store="+name, func(b *testing.B) {
			read := stores[name](b)
			runtime.GC()
			b.ResetTimer()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				r := rand.New(rand.NewPCG(rand.Uint64(), 1))
				sum := 0
				for pb.Next() {
					sum += read(r.Uint64N(entries))
				}
				sink.Add(int64(sum))
			})
			b.StopTimer()
			begin := time.Now()
			runtime.GC()
			b.ReportMetric(float64(time.Since(begin).Microseconds())/1e3, "gc-ms")
			runtime.KeepAlive(read)
		})
	}
}

var sink atomic.Int64

// BenchmarkArena_Put adds an entry of 1,500 bytes and frees the one that it replaces.
func BenchmarkArena_Put(b *testing.B) {
	const entries, body = 100_000, 1500
	text := make([]byte, body)
	for _, procs := range []int{1, 2} {
		b.Run(fmt.Sprintf("store=arena/procs=%d", procs), func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			a := newArena(b, 1<<30)
			refs := make([]atomic.Uint32, entries)
			for i := range refs {
				ref, err := a.Add(text)
				if err != nil {
					b.Fatal(err)
				}
				refs[i].Store(uint32(ref))
			}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					ref, err := a.Add(text)
					if err != nil {
						b.Error(err)
						return
					}
					a.Free(Ref(refs[rand.IntN(entries)].Swap(uint32(ref))))
				}
			})
		})
	}
}

// BenchmarkArena_Section is what a Section costs: a loop has one for each of its turns.
func BenchmarkArena_Section(b *testing.B) {
	a := newArena(b, 1<<20)
	b.Run("loop", func(b *testing.B) {
		for b.Loop() {
			a.EnterAt(1).Leave()
		}
	})
	b.Run("goroutine", func(b *testing.B) {
		for b.Loop() {
			a.Enter().Leave()
		}
	})
}
