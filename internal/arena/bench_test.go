//go:build linux && !race

package arena

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

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
