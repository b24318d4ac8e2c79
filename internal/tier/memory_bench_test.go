//go:build unix

package tier_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
)

// benchBody is the size of a department with ten employees as JSON.
const benchBody = 1600

// A keyer makes keys of entries 0 to n-1 in a buffer of its own, as a front
// makes them alias the bytes it has read.
type keyer struct {
	buf  []byte
	next func() uint64
}

func newKeyer(keys string, n uint64, seed uint64) *keyer {
	r := rand.New(rand.NewPCG(seed, 1))
	if keys == "zipf" {
		return &keyer{next: rand.NewZipf(r, 1.01, 1, n-1).Uint64}
	}
	return &keyer{next: func() uint64 { return r.Uint64N(n) }}
}

func (k *keyer) ref() tier.Ref {
	k.buf = strconv.AppendUint(k.buf[:0], k.next(), 10)
	return tier.Ref{Resource: 1, Key: alias(k.buf)}
}

// owned is ref with a key that Put may keep.
func (k *keyer) owned() tier.Ref {
	return tier.Ref{Resource: 1, Key: row.Key(strconv.FormatUint(k.next(), 10))}
}

// million returns a Memory that a million documents fill to nine tenths at most.
func million(b *testing.B, body int) *tier.Memory {
	m := openMemory(b, 1_000_000*int64(body+400)*11/10)
	for i := range 1_000_000 {
		put(m, strconv.Itoa(i), body, uint64(i))
	}
	if s := m.Stats(); s.Entries != 1_000_000 {
		b.Fatalf("%d documents are held, want 1,000,000: %+v", s.Entries, s)
	}
	runtime.GC() // so that no collection of the garbage of filling is measured
	return m
}

// inParallel runs step on procs processors. It reports the time of one processor
// for one operation, by the clock and as the system charged it (cpu-ns/op),
// which is the figure to compare on a machine that does other things too.
func inParallel(b *testing.B, procs int, step func(seed uint64) func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	var seed atomic.Uint64
	b.ReportAllocs()
	cpu := processorTime(b)
	b.RunParallel(func(pb *testing.PB) {
		do := step(seed.Add(1))
		for pb.Next() {
			do()
		}
	})
	b.ReportMetric(float64(processorTime(b)-cpu)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())*float64(procs)/float64(b.N), "ns/op/proc")
}

// processorTime returns what the process has used of all processors.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkMemory_Get reads present keys and touches the body's ends. The rows
// store=none are the loop alone.
func BenchmarkMemory_Get(b *testing.B) {
	large, small := million(b, benchBody), million(b, 192)
	for _, keys := range []string{"uniform", "zipf"} {
		benchGet(b, large, "none", keys, "entries=1M")
		benchGet(b, large, "memory", keys, "entries=1M")
		benchGet(b, large, "lent", keys, "entries=1M")
		benchGet(b, small, "lent", keys, "entries=1M/body=192")
	}
}

func benchGet(b *testing.B, m *tier.Memory, store, keys, name string) {
	for _, procs := range []int{1, 2} {
		b.Run(fmt.Sprintf("%s/store=%s/keys=%s/procs=%d", name, store, keys, procs),
			func(b *testing.B) {
				inParallel(b, procs, func(seed uint64) func() {
					k := newKeyer(keys, 1_000_000, seed)
					switch store {
					case "none":
						return func() { k.ref() }
					case "lent":
						r := new(tier.Reader)
						return func() { lent(b, m, r, k.ref()) }
					}
					return func() { touch(b, m, k.ref()) }
				})
			})
	}
}

func touch(b *testing.B, m *tier.Memory, ref tier.Ref) {
	d, ok := m.Get(ref)
	if !ok {
		b.Errorf("Get(%q) misses", ref.Key)
		return
	}
	body := d.Body()
	if body[0] == 0 || body[len(body)-1] == 0 {
		b.Errorf("Get(%q): the body was not written", ref.Key)
	}
}

// lent is touch of what is lent, a turn for each.
func lent(b *testing.B, m *tier.Memory, r *tier.Reader, ref tier.Ref) {
	r.Begin()
	d := r.Get(m, &ref)
	if d == nil {
		b.Errorf("Get(%q) misses", ref.Key)
		return
	}
	if body := d.Body(); body[0] == 0 || body[len(body)-1] == 0 {
		b.Errorf("Get(%q): the body was not written", ref.Key)
	}
}

// BenchmarkMemory_Mixed reads 19 times and puts once.
func BenchmarkMemory_Mixed(b *testing.B) {
	m := million(b, benchBody)
	for _, procs := range []int{1, 2} {
		b.Run(fmt.Sprintf("entries=1M/puts=5%%/procs=%d", procs), func(b *testing.B) {
			inParallel(b, procs, func(seed uint64) func() {
				k := newKeyer("uniform", 1_000_000, seed)
				i := 0
				return func() {
					if i++; i%20 == 0 {
						m.Put(k.owned(), tiertest.Document(benchBody, 1))
						return
					}
					m.Get(k.ref())
				}
			})
		})
	}
}

// BenchmarkMemory_PutDrop puts a document under a new key and drops it: what an
// invalidated key costs.
func BenchmarkMemory_PutDrop(b *testing.B) {
	m := million(b, benchBody)
	d := tiertest.Document(benchBody, 1)
	for _, procs := range []int{1, 2} {
		b.Run(fmt.Sprintf("entries=1M/procs=%d", procs), func(b *testing.B) {
			inParallel(b, procs, func(seed uint64) func() {
				n := seed << 40
				return func() {
					n++
					r := ref(strconv.FormatUint(n, 36))
					m.Put(r, d)
					m.Drop(r)
				}
			})
		})
	}
}

// BenchmarkMemory_PutEvict puts documents under new keys into a full Memory, so
// that each put evicts.
func BenchmarkMemory_PutEvict(b *testing.B) {
	m := million(b, benchBody)
	d := tiertest.Document(benchBody, 1)
	for _, procs := range []int{1, 2} {
		b.Run(fmt.Sprintf("entries=1M/procs=%d", procs), func(b *testing.B) {
			inParallel(b, procs, func(seed uint64) func() {
				n := rand.Uint64()
				return func() {
					n++
					m.Put(ref(strconv.FormatUint(n, 36)), d)
				}
			})
		})
	}
}
