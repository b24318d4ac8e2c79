package arena

import (
	"encoding/binary"
	"errors"
	"flag"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
)

var tortureTime = flag.Duration("torture.duration", 0, "how long TestTorture takes; 0: a number of puts")

// What an entry of the torture looks like, behind the head.
const (
	atSeen = 8  // how many readers have seen it: the only part that is written to
	atKey  = 16 // its place in the table
	atSum  = 24 // of the key and of what follows
	atText = 32
)

// A torture is readers who check all that they find while writers replace, drop and evict
// it. Its table is what an index would be: each place has the Ref of the entry that is
// published, and who takes it out owns it.
type torture struct {
	t     *testing.T
	a     *Arena
	table [1 << 14]atomic.Uint32
	stop  sync.RWMutex // readers who hold still within a Section wait for it
	done  atomic.Bool

	reads, found, puts, full, late, evacuated atomic.Int64
}

// TestTorture lets readers verify the sums of all entries that they find while writers put,
// drop, drop everything, and evacuate pages, in an arena that is far too small; and readers
// hold still in the middle of their Sections.
//
//	go test ./internal/arena -run '^TestTorture$' -torture.duration=1h -timeout 0 -v
func TestTorture(t *testing.T) {
	const readers, writers = 16, 4
	a, err := New(16 << 20)
	if err != nil {
		t.Fatal(err)
	}
	x := &torture{t: t, a: a}
	var reading, writing sync.WaitGroup
	for i := range readers {
		reading.Go(func() { x.read(uint64(i)) })
	}
	begun := time.Now()
	for i := range writers {
		writing.Go(func() { x.write(uint64(i), begun) })
	}
	if *tortureTime > 0 {
		x.holdStill(begun)
	}
	writing.Wait()
	x.done.Store(true)
	reading.Wait()
	x.dropAll()
	wantEmpty(t, a)
	t.Logf("%d reads found %d entries; %d puts, %d into a full arena, %d held up by readers; %d evacuated",
		x.reads.Load(), x.found.Load(), x.puts.Load(), x.full.Load(), x.late.Load(), x.evacuated.Load())
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// holdStill stops readers in their Sections for a fifth of a second now and then.
func (x *torture) holdStill(begun time.Time) {
	for time.Since(begun) < *tortureTime {
		time.Sleep(200 * time.Millisecond)
		x.stop.Lock()
		time.Sleep(200 * time.Millisecond)
		x.stop.Unlock()
	}
}

func (x *torture) read(number uint64) {
	r := rand.New(rand.NewPCG(number, 1))
	var buf []byte
	for !x.done.Load() && !x.t.Failed() {
		s := x.a.EnterAt(uint32(number))
		if number%4 == 0 { // not a loop
			s.Leave()
			s = x.a.Enter()
		}
		for range r.IntN(20) {
			key := x.key(r)
			x.reads.Add(1)
			if ref := Ref(x.table[key].Load()); ref != 0 {
				x.found.Add(1)
				buf = x.verify(s, ref, key, r, buf)
			}
		}
		s.Leave()
	}
}

// key returns one that is asked for the more often the smaller it is.
func (x *torture) key(r *rand.Rand) uint64 {
	n := uint64(len(x.table))
	return r.Uint64N(1 + r.Uint64N(1+r.Uint64N(n)))
}

// verify checks an entry, after a while in which it may have been freed.
func (x *torture) verify(s Section, ref Ref, key uint64, r *rand.Rand, buf []byte) []byte {
	v := s.View(ref)
	for seen := v.Load(atSeen); !v.CompareAndSwap(atSeen, seen, seen+1); seen = v.Load(atSeen) {
	}
	switch r.IntN(50) {
	case 0:
		runtime.Gosched()
	case 1:
		x.stop.RLock()
		// To have had it is what counts.
		x.stop.RUnlock()
	}
	buf = v.AppendTo(buf[:0], atKey, v.Len())
	got := binary.NativeEndian.Uint64(buf)
	if got != key || v.Uint64(atSum) != xxhash.Sum64(buf[atText-atKey:])^key {
		x.t.Errorf("entry %d of key %d is of key %d, and its sum is wrong or another's", ref, key, got)
	}
	return buf
}

func (x *torture) write(number uint64, begun time.Time) {
	const puts = 5_000
	r := rand.New(rand.NewPCG(number, 2))
	text := content(int(number), 4*x.a.pageBytes)
	for n := 0; !x.t.Failed(); n++ {
		if n >= puts && x.everything() && time.Since(begun) >= *tortureTime {
			return
		}
		switch op := r.IntN(100_000); {
		case op < 1:
			x.dropAll()
		case op < 10_000:
			x.drop(x.key(r))
		default:
			x.put(r.Uint64N(uint64(len(x.table))), text[:x.size(r)], r)
		}
	}
}

// everything reports whether all that is to be tried has happened.
func (x *torture) everything() bool {
	return x.found.Load() > 0 && x.full.Load() > 0 && x.evacuated.Load() > 0
}

func (x *torture) size(r *rand.Rand) int {
	if r.IntN(100) == 0 {
		return r.IntN(4 * x.a.pageBytes)
	}
	return r.IntN(1 + r.IntN(4000))
}

func (x *torture) put(key uint64, text []byte, r *rand.Rand) {
	var head [atText - HeadBytes]byte
	binary.NativeEndian.PutUint64(head[atKey-HeadBytes:], key)
	binary.NativeEndian.PutUint64(head[atSum-HeadBytes:], xxhash.Sum64(text)^key)
	for range 10 {
		ref, err := x.a.Add(head[:], text)
		if err == nil {
			x.puts.Add(1)
			x.free(Ref(x.table[key].Swap(uint32(ref))))
			return
		}
		if errors.Is(err, ErrLimbo) {
			x.late.Add(1)
			runtime.Gosched()
			continue
		}
		x.full.Add(1)
		x.evict(len(head)+len(text), r)
	}
}

// evict drops some entries at random, or those that are in the way.
func (x *torture) evict(size int, r *rand.Rand) {
	if r.IntN(20) > 0 {
		for range 8 {
			x.drop(r.Uint64N(uint64(len(x.table))))
		}
		return
	}
	near := Ref(x.table[x.key(r)].Load())
	s := x.a.Enter()
	out := s.Evacuate(nil, near, size)
	for _, ref := range out {
		key := s.View(ref).Uint64(atKey)
		if x.table[key].CompareAndSwap(uint32(ref), 0) { // else it is another's by now
			x.a.Free(ref)
			x.evacuated.Add(1)
		}
	}
	s.Leave()
}

func (x *torture) drop(key uint64) { x.free(Ref(x.table[key].Swap(0))) }

func (x *torture) free(ref Ref) {
	if ref != 0 {
		x.a.Free(ref)
	}
}

func (x *torture) dropAll() {
	for key := range x.table {
		x.drop(uint64(key))
	}
}
