// Package arena keeps byte strings outside Go's heap, where the collector neither scans
// them nor rounds them up, and where what is freed is used again at once.
//
//	memory, mapped once:    page 0    page 1    page 2    ...    page n
//	                       ┌─────────┬─────────┬─────────┬─────┬──────────────┐
//	a Ref is the number ──▶│ runs of │ free    │ free    │     │ slots of one │
//	of a granule of 8 B    │ 1/64 pg │         │         │     │ size class   │
//	                       └─────────┴─────────┴─────────┴─────┴──────────────┘
//	writer:  Add ─▶ publish the Ref ... unpublish it ─▶ Free ─▶ limbo ─▶ a free slot again
//	reader:  Enter ─▶ look a Ref up ─▶ View ─▶ copy ─▶ Leave
//
// It knows no keys and evicts nothing: that is its caller's. No Go pointer is ever stored in
// it. Readers take no lock and count no references: a freed entry stays until every reader
// that may have found it has left its Section.
package arena

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// What Add says when it keeps nothing.
var (
	// ErrFull: there is no room for this size. Free something, or see Evacuate.
	ErrFull = errors.New("arena: full")
	// ErrLimbo: a reader is late, and what was freed cannot be used yet. To free more would
	// not help: do without.
	ErrLimbo = errors.New("arena: readers hold up what was freed")
)

const (
	// A Ref counts granules, and has 32 bits: an arena of more bytes than those of 8 has
	// larger ones.
	granule    = 8
	mostShifts = 1 // of granule

	// MaxBytes is the size of the largest arena.
	MaxBytes = granule << mostShifts << 32

	// limboShare is the part (1/n) of an arena that may wait for readers before Add
	// refuses: beyond it a late reader would push out the cache.
	limboShare = 32
)

// A Ref names an entry. 0 is none. It is good until Free, and for a reader until it leaves
// the Section in which it has found it.
type Ref uint32

// An Arena is memory of a fixed size, and the entries in it. Its methods may be called by
// many goroutines at once.
//
// Who owns an entry: Add makes it, and whoever has the Ref that it returned owns the entry
// and calls Free, once. Nobody writes to an entry after Add but through
// View.CompareAndSwap.
type Arena struct {
	mem       []byte // whole pages; it never moves, and is unmapped by Close
	pageBytes int
	unit      int // bytes: a run is so many of them; 64 are a page
	granule   int // bytes: what a Ref counts, and slots are multiples of

	classes []class // classes[0] stands for runs
	classOf []uint8 // of an entry, by its granules

	readers [readerStripes]readerStripe
	side    atomic.Uint32 // 0 or 1, the present one: see Section

	mu       sync.Mutex // guards the fields below; readers do not take it
	pages    []page
	open     []uint64 // a bit for each page that is not of slots and has a free unit
	used     int      // pages that are not free
	most     int      // pages that may be: see SetLimit
	limbo    [2]limbo // what was freed, by side
	unlooked int      // entries freed since the readers were last looked at
	guard    guard
	count    Stats // without what is derived: see Stats
}

// New returns an empty arena of max bytes, less what is not a whole page. Its memory is
// mapped at once and becomes resident as it is used. Close gives it back.
func New(max int64) (*Arena, error) {
	if max < 0 || max > MaxBytes {
		return nil, fmt.Errorf("arena: %d bytes: want 0 to %d", max, int64(MaxBytes))
	}
	a := &Arena{pageBytes: pageSize(max), granule: granule}
	for max > int64(a.granule)<<32 {
		a.granule *= 2
	}
	a.unit = a.pageBytes / unitsInPage
	n := int(max) / a.pageBytes
	mem, err := mapMemory(n * a.pageBytes)
	if err != nil {
		return nil, fmt.Errorf("arena: map %d bytes: %w", n*a.pageBytes, err)
	}
	a.mem, a.pages = mem, make([]page, n)
	a.classes, a.classOf = classesOf(a.pageBytes, a.granule)
	a.open = make([]uint64, (n+63)/64)
	for p := range n {
		a.open[p/64] |= 1 << (p % 64)
	}
	if a.most = n; n > 0 {
		a.pages[0].taken, a.used = 1, 1 // its Ref would be 0
	}
	return a, nil
}

// SetLimit lets entries take so many bytes of whole pages at most, for as long as nobody
// sets another limit. Where they take more already, Over says so until enough are freed.
func (a *Arena) SetLimit(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.most = int(max(0, min(bytes/int64(a.pageBytes), int64(len(a.pages)))))
}

// Over reports whether entries take more than the limit: see SetLimit and Section.Evacuate.
func (a *Arena) Over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used > a.most
}

// SameClass reports whether the room of an entry of one number of bytes serves one of
// another: runs of units do not.
func (a *Arena) SameClass(n, other int) bool {
	c := a.class(n)
	return c != runs && c == a.class(other)
}

// Close gives the memory back. Nobody may be in a Section, or enter one later.
func (a *Arena) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	mem := a.mem
	a.mem, a.pages, a.open, a.limbo = nil, nil, nil, [2]limbo{}
	return unmapMemory(mem)
}

// Add copies parts, one after the other, into a new entry. The entry begins with HeadBytes
// of the arena's own: a View of it has the parts from there on. The caller owns the
// entry from now on; nobody finds it until the caller publishes its Ref by an atomic store.
// The error is ErrFull or ErrLimbo.
func (a *Arena) Add(parts ...[]byte) (Ref, error) {
	n := HeadBytes
	for _, part := range parts {
		n += len(part)
	}
	if n > len(a.mem) || n > maxEntry {
		return 0, ErrFull
	}
	ref, err := a.reserve(n)
	if err != nil {
		return 0, err
	}
	slot := a.mem[a.at(ref):]
	at := HeadBytes
	for _, part := range parts {
		at += copy(slot[at:], part)
	}
	head(slot).Store(uint32(n)) // last: from here on the entry is one to Evacuate
	return ref, nil
}

// reserve takes room for an entry of n bytes.
func (a *Arena) reserve(n int) (Ref, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ref, ok := a.take(n)
	for try := 0; !ok && try < 2 && a.count.LimboBytes > 0 && a.reclaim(); try++ {
		ref, ok = a.take(n)
	}
	switch {
	case ok:
	case a.count.LimboBytes > uint64(len(a.mem)/limboShare):
		return 0, ErrLimbo
	default:
		return 0, ErrFull
	}
	slot := a.mem[a.at(ref):]
	a.guard.taken(slot[:a.SlotBytes(n)])
	head(slot).Store(0) // not an entry yet
	a.count.Entries++
	a.count.EntryBytes += uint64(n)
	a.count.SlotBytes += uint64(a.SlotBytes(n))
	return ref, nil
}

// take finds a slot, or a run of units, for n bytes.
func (a *Arena) take(n int) (Ref, bool) {
	if c := a.class(n); c != runs {
		return a.takeSlot(c)
	}
	return a.takeRun((n + a.unit - 1) / a.unit)
}

// release makes what an entry of n bytes has taken free.
func (a *Arena) release(ref Ref, n int) {
	if c := a.class(n); c != runs {
		a.releaseSlot(c, ref)
	} else {
		a.releaseRun(ref, (n+a.unit-1)/a.unit)
	}
}

// Free ends an entry. Its owner has unpublished it before by an atomic store: no reader that
// enters a Section from now on can find it. Those that have found it read it until they
// leave; then its room is free.
func (a *Arena) Free(ref Ref) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := head(a.mem[a.at(ref):])
	n := h.Load()
	if n == 0 || n&dying != 0 {
		panic(fmt.Sprintf("BUG: arena: entry %d is freed and is none", ref))
	}
	h.Store(n | dying)
	a.count.Entries--
	a.count.EntryBytes -= uint64(n)
	a.count.SlotBytes -= uint64(a.SlotBytes(int(n)))
	a.bury(ref, int(n))
}

// at returns where an entry begins.
func (a *Arena) at(ref Ref) int { return int(ref) * a.granule }

// refAt is the other way round.
func (a *Arena) refAt(at int) Ref { return Ref(at / a.granule) }
