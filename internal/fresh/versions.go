package fresh

import (
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/arena"
)

// Lists are not dropped when a row changes: nothing knows which lists a row is in.
// Instead a list names the versions that whatever could change it moves, and a hit looks
// whether one of them has moved. A version is
//
//	stamp<<16 | dirty
//
// stamp is the clock of the last touch, and dirty counts the changes that are not
// settled and the writes under way that keep it. A version only grows: every touch stamps
// it, that of a settling too. So a copy that was found invalid stays invalid, and a sum
// of versions is what it was only if none of them has moved.
//
// There are four kinds. A tag (rows with these values in these columns) has a slot of
// one array, which it may share: sharing costs a load now and then, never a stale
// answer. The other three are exact: a table's version, moved by every change of its rows;
// a table's whole, moved when nobody can say which tags have changed; and all.
//
// Order of a touch: the slots, the wholes, the tables' versions, all, and then the clock.
// A hit sums all and the tables' versions before it looks at the rest, and notes the sum
// when the rest is good (ReadSet.Valid): had a version moved after it was looked at, the sum
// would differ.

const (
	dirtyBits = 16
	dirtyMask = 1<<dirtyBits - 1

	// maxStamp is the last stamp. It is reached in 44 years of 200,000 touches a second.
	maxStamp = 1<<48 - 1

	// maxMarks is how many changes and writes may keep versions at one time; further ones
	// keep all, together. It bounds the count in a version.
	maxMarks = 1 << 15
)

// A line is a version that shares its cache line with no other.
type line struct {
	v atomic.Uint64
	_ [56]byte
}

// Versions are the versions of one domain.
type Versions struct {
	clock line // the last touch that is complete
	all   line
	slots []atomic.Uint64
	seed  maphash.Seed

	// shared is when changes were last touched that keep all, and so no versions of theirs. It
	// is moved before all.
	shared atomic.Uint64

	// turn is told of each access before it is made, so that a test may let another
	// come between (model_words_test.go); nil elsewhere.
	turn func(at access, x *atomic.Uint64)

	mu           sync.Mutex    // held by a touch, from the first version to the clock; innermost
	marks        int           // that keep versions of their own
	rest         int           // that keep all together
	limit        int           // of marks
	gracePeriods []gracePeriod // see TagColumns
	first        uint64        // the number of the first grace period

	registered uint64 // ever registered
}

// An access is what is about to be done, for a test.
type access uint8

const (
	loads    access = iota // a version or the clock is read
	stores                 // a version or the clock is written
	locks                  // Versions.mu is locked
	unlocked               // it was
	steps                  // anything else that others can see
)

// newVersions returns versions without slots: see Domain.Slots.
func newVersions() *Versions {
	return &Versions{
		seed: maphash.MakeSeed(), limit: maxMarks, gracePeriods: make([]gracePeriod, 1),
		slots: make([]atomic.Uint64, 1),
	}
}

// fewSlots are not worth a mapping of their own.
const fewSlots = 1 << 12

// Slots sets how many slots the tags of lists share, at least n. It is called before
// the domain has any table. Many are outside Go's heap, if the system has room there: on it,
// slots that nobody has used would let the collector wait for as much garbage.
func (d *Domain) Slots(n int) {
	k := 1
	for k < n {
		k *= 2
	}
	if k <= fewSlots {
		d.versions.slots = make([]atomic.Uint64, k)
		return
	}
	words, err := arena.NewWords(k)
	if err != nil {
		d.versions.slots = make([]atomic.Uint64, k)
		return
	}
	d.versions.slots = words.All()
	runtime.AddCleanup(d.versions, func(w *arena.Words) { _ = w.Close() }, words)
}

// A Table is what lists know of one table.
type Table struct {
	version, whole line
	versions       *Versions
	tagColumns     []*TagColumns // see Register
}

// NewTable returns the versions of a table. The caller has one Table for each table, moves
// it with every change of the table's rows, and knows it by a name of its own.
func (d *Domain) NewTable() *Table { return &Table{versions: d.versions} }

// load reads a version, the clock, or what else others change.
func (w *Versions) load(x *atomic.Uint64) uint64 {
	if w.turn != nil {
		w.turn(loads, x)
	}
	v := x.Load()
	runtime.KeepAlive(w) // it has the slots' memory
	return v
}

// store writes a version or the clock. w.mu is held.
func (w *Versions) store(x *atomic.Uint64, v uint64) {
	if w.turn != nil {
		w.turn(stores, x)
	}
	x.Store(v)
}

func (w *Versions) lock() {
	if w.turn != nil {
		w.turn(locks, nil)
	}
	w.mu.Lock()
}

func (w *Versions) unlock() {
	w.mu.Unlock()
	if w.turn != nil {
		w.turn(unlocked, nil)
	}
}

// step is a place where a test may let others go on, between two steps whose order matters.
func (w *Versions) step() {
	if w.turn != nil {
		w.turn(steps, nil)
	}
}

// An InvalidationSet is the versions that one transaction, or one write, moves: each once, or the
// count of what keeps it would be wrong, and a table's version would not come last. It is
// made once and kept until it is settled: the slots of a change are never computed
// again, when there may be other templates.
type InvalidationSet struct {
	versions *Versions
	slots    []uint32
	wholes   []*Table
	tables   []*Table
	all      bool
	rows     int

	shared bool   // it keeps all, with others
	grace  uint64 // see TagColumns
}

// touch moves the versions of m, and keeps them if the change is not settled.
func (w *Versions) touch(m *InvalidationSet, unsettled bool) {
	w.lock()
	defer w.unlock()
	delta := 0
	if unsettled {
		delta = w.keep(m)
	}
	w.move(m, delta)
}

// settle ends a touch that keeps its versions.
func (w *Versions) settle(m *InvalidationSet) {
	w.lock()
	defer w.unlock()
	delta := -1
	if m.shared {
		if w.rest--; w.rest > 0 {
			delta = 0
		}
	} else {
		w.marks--
	}
	w.move(m, delta)
	w.leave(m.grace)
}

// keep counts m among what is not settled and returns what its versions count more. When
// too many are, it shares one mark of all with the others. w.mu is held.
func (w *Versions) keep(m *InvalidationSet) int {
	m.grace = w.enter()
	if w.marks < w.limit {
		w.marks++
		return 1
	}
	m.shared = true
	if w.rest++; w.rest > 1 {
		return 0
	}
	return 1
}

// move stamps the versions of m and adds delta to what is dirty. w.mu is held.
func (w *Versions) move(m *InvalidationSet, delta int) {
	k := w.clock.v.Load() + 1
	if k >= maxStamp { // nothing is good any more: the process must be started again
		w.store(&w.all.v, maxStamp<<dirtyBits|dirtyMask)
		return
	}
	if m.shared {
		w.store(&w.shared, k<<dirtyBits)
		w.stamp(&w.all.v, k, delta)
	} else {
		for _, s := range m.slots {
			w.stamp(&w.slots[s], k, delta)
		}
		for _, t := range m.wholes {
			w.stamp(&t.whole.v, k, delta)
		}
		for _, t := range m.tables {
			w.stamp(&t.version.v, k, delta)
		}
		if m.all {
			w.stamp(&w.all.v, k, delta)
		}
	}
	w.store(&w.clock.v, k)
}

// stamp moves one version.
func (w *Versions) stamp(x *atomic.Uint64, k uint64, delta int) {
	dirty := (x.Load() + uint64(delta)) & dirtyMask
	w.store(x, k<<dirtyBits|dirty)
}
