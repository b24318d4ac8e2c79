package tier

import (
	"math"
	"sync/atomic"

	"github.com/maypok86/otter/v2"

	"github.com/hotrow/hotrow/internal/row"
)

const (
	// negativeShare is the part of the budget (1/n) that absences may take. They
	// have a segment of their own, so that somebody who asks for keys that do not
	// exist cannot push out rows.
	negativeShare = 20

	// largestShare is the part of a segment (1/n) that one document may take. A
	// larger one is not kept: it would push out too much for one key.
	largestShare = 8

	// refreshEvery is of how many reads of rows the eviction policy is told of one,
	// while nothing has had to be evicted; refreshEvicting from then on
	// (BenchmarkMemory_HitRatio).
	refreshEvery    = 32
	refreshEvicting = 2
)

// Memory is the Tier that keeps documents in memory, up to a number of bytes.
// It is two caches of the otter library (W-TinyLFU: a document stays for being
// asked for often and lately), one for rows and one for absences.
//
// The bound counts bytes as the allocator gives them out (see sizer), and holds
// whenever no Put is under way; each Put under way may exceed it by its own
// document. Some reads tell the eviction policy of themselves, through buffers that
// the reader that fills one empties, some microseconds in many reads; while another does it
// some reads go untold. A Put empties the buffers and evicts before it returns.
type Memory struct {
	index    *index // what readers look at first: a part of rows
	rows     segment
	absences segment
	sizes    *sizer
	lookups  *lookups
	maxBytes uint64
	evicted  atomic.Uint64
	// copyBytes is what the compressed copies take: see KeepCopy.
	copyBytes atomic.Int64
	shares    shares
	closed    atomic.Bool
}

// A segment is one cache with a bound of its own.
type segment struct {
	cache   *otter.Cache[Ref, *row.Document]
	largest uint64 // bytes of the largest entry that it takes
}

var _ Tier = (*Memory)(nil)

// NewMemory returns an empty Memory that takes up to maxBytes, keys and
// bookkeeping included. With a bound too small for a document it keeps nothing.
func NewMemory(maxBytes int64) *Memory {
	budget := uint64(max(maxBytes, 0))
	m := &Memory{
		index: newIndex(), sizes: newSizer(), lookups: newLookups(), maxBytes: budget,
	}
	m.rows = m.newSegment(budget - budget/negativeShare)
	m.absences = m.newSegment(budget / negativeShare)
	return m
}

func (m *Memory) newSegment(budget uint64) segment {
	return segment{
		// New fails for contradictory options only, and these are constant.
		cache: otter.Must(&otter.Options[Ref, *row.Document]{
			MaximumWeight: max(budget, 1),
			Weigher: func(ref Ref, d *row.Document) uint32 {
				return uint32(min(m.sizes.entry(ref, d), math.MaxUint32))
			},
			// In place, and not on a goroutine for each Put and Drop, which costs more
			// than what there is to do (BenchmarkMemory_PutDrop: 2.9 -> 1.6 us).
			Executor: func(maintain func()) { maintain() },
			OnAtomicDeletion: func(e otter.DeletionEvent[Ref, *row.Document]) {
				m.left(e.Value)
				m.shares.of(e.Key).add(-1, -int64(m.sizes.plain(e.Key, e.Value)))
				if e.WasEvicted() { // else Put, Drop or Close sees to the index
					m.index.drop(&e.Key, e.Value)
					m.evicted.Add(1)
				}
			},
		}),
		largest: min(budget/largestShare, math.MaxUint32),
	}
}

// Get returns what the tier holds for ref. It takes no lock of ours and
// allocates nothing (TestMemory_GetAllocatesNothing); ref.Key may alias a
// buffer.
func (m *Memory) Get(ref Ref) (*row.Document, bool) {
	// Fast path: a row. Of these reads the eviction policy is told of a part:
	// what is asked for often is still told of often.
	if d := m.index.get(m.index.hash(&ref), &ref); d != nil {
		if refreshes(m.lookups.hit(), m.evicted.Load() > 0) {
			m.rows.cache.GetIfPresent(ref)
		}
		return d, true
	}

	// Slow path: an absence, or a row that the index has left out.
	return m.ask(ref)
}

// refreshes reports whether the eviction policy gets to know of the nth read: at distances
// that no pattern of requests keeps step with.
func refreshes(n uint64, evicting bool) bool {
	every := uint64(refreshEvery)
	if evicting {
		every = refreshEvicting
	}
	return n*0x9e3779b97f4a7c15 < math.MaxUint64/every
}

func (m *Memory) ask(ref Ref) (*row.Document, bool) {
	d, ok := m.rows.cache.GetIfPresent(ref)
	if !ok {
		d, ok = m.absences.cache.GetIfPresent(ref)
	}
	m.lookups.count(ok)
	return d, ok
}

// Put keeps d for ref, or forgets whatever it held when d is too large to be
// kept. ref.Key is kept: it must not alias a buffer, nor be a small part of a
// large string, which would stay in memory with it.
func (m *Memory) Put(ref Ref, d *row.Document) {
	if own := d.Key(); own == ref.Key {
		ref.Key = own // one piece of memory less to keep, and to wait for in Get
	}
	to, other := &m.rows, &m.absences
	if d.Absent() {
		to, other = other, to
	}
	// First the index forgets: a reader who did not find the row there before it
	// was indexed, and is asking the cache by now, would get d from it, and what
	// d replaces from the index the next time.
	m.index.drop(&ref, nil)
	// Then the other segment forgets, then this one learns: there are never two
	// copies, of which eviction could take the newer and leave the older.
	other.drop(ref)
	if m.closed.Load() || m.sizes.entry(ref, d) > to.largest {
		to.drop(ref)
		return
	}
	m.shares.of(ref).add(1, int64(m.sizes.plain(ref, d)))
	to.put(ref, d)
	if !indexed(&ref, d) {
		return
	}
	m.index.put(&ref, d)
	// From here on the cache takes d out of the index when it forgets it. It may
	// have done so already.
	if e, ok := to.cache.GetEntryQuietly(ref); !ok || e.Value != d {
		m.index.drop(&ref, d)
	}
}

// Drop forgets ref: when it has returned, the old copy is gone.
func (m *Memory) Drop(ref Ref) {
	m.index.drop(&ref, nil)
	m.rows.drop(ref)
	m.absences.drop(ref)
}

// Stats returns a snapshot of the counters. It waits for maintenance, some
// microseconds: it is for scrapes, not for requests.
func (m *Memory) Stats() Stats {
	// A Drop has forgotten its document at once, but its bytes are counted until
	// maintenance has run.
	m.rows.cache.CleanUp()
	m.absences.cache.CleanUp()
	negative := uint64(max(m.absences.cache.EstimatedSize(), 0))
	hits, misses := m.lookups.sum()
	return Stats{
		Entries:   uint64(max(m.rows.cache.EstimatedSize(), 0)) + negative,
		Bytes:     m.rows.cache.WeightedSize() + m.absences.cache.WeightedSize(),
		CopyBytes: uint64(max(m.copyBytes.Load(), 0)),
		MaxBytes:  m.maxBytes,
		Negative:  negative,
		Hits:      hits,
		Misses:    misses,
		Evictions: m.evicted.Load(),
	}
}

// Close forgets everything; a Put that begins later keeps nothing.
func (m *Memory) Close() error {
	m.closed.Store(true)
	for _, s := range []*segment{&m.rows, &m.absences} {
		s.cache.InvalidateAll()
		s.cache.CleanUp()
	}
	m.index.clear()
	return nil
}

func (s *segment) put(ref Ref, d *row.Document) {
	s.cache.Set(ref, d)
	// Set leaves eviction to who is at it already, and may have passed ref by, or be
	// without a processor for long. CleanUp evicts now, so that the bound holds.
	s.cache.CleanUp()
}

func (s *segment) drop(ref Ref) {
	// Fast path: most drops are of keys that are not held, and looking is
	// cheaper than locking. The caller orders Put and Drop of one key, so that
	// nothing can appear in between.
	if _, ok := s.cache.GetEntryQuietly(ref); ok {
		s.cache.Invalidate(ref)
	}
}
