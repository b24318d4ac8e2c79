package fresh

import (
	"hash/maphash"
	"math"
	"sync/atomic"
)

// A TagColumns is a set of columns of a table by whose values lists are told apart: each
// change of a row moves the tags of its values in them, old and new. It counts for a
// load only once no change is unsettled whose tags were found without it: till then
// such a change keeps, and settles, versions that are not those of the load's tag. So a
// load names the tag if its clock is at or after since, and the table's version else.
type TagColumns struct {
	Columns []string

	// Folded are those of Columns whose texts are equal to others: whoever gives Values makes
	// one of those that are.
	Folded []string

	// Identity says that the columns name a row of the table.
	Identity bool

	// Forgets says that the feed may not know the old values of the columns. Then a
	// list names the tag and, by the tag columns of the table's Identity, each row that
	// it has read, the one past its limit included if it tells of that.
	Forgets bool

	// OldUnknown says that the feed may not know the old values of the columns, and that who
	// depends on tags cannot name the rows that it has read. Such a change moves the
	// tag Unseen, which they name besides.
	OldUnknown bool

	// Used is the caller's: when it was of use last.
	Used atomic.Int64

	table *Table
	id    uint64
	since atomic.Uint64 // the first clock of loads for which it counts
}

const never = math.MaxUint64

// Unseen is the tag, of tag columns that are OldUnknown, of the rows of which nobody knows what
// they were. A row whose values have this text shares it, which costs a load.
const Unseen = "\x02"

// A gracePeriod is what was marked between two registrations. The templates that wait for it
// count when it, and each grace period before it, is empty.
type gracePeriod struct {
	marks int
	waits []*TagColumns
}

// Register has changes of t's rows move the tags of tm from the next
// transaction on. The caller holds the lock under which it makes what it gives to Apply
// and Hold.
func (t *Table) Register(tm *TagColumns) *TagColumns {
	w := t.versions
	tm.table = t
	tm.since.Store(never)
	w.lock()
	defer w.unlock()
	w.registered++
	tm.id = w.registered
	t.tagColumns = append(t.tagColumns[:len(t.tagColumns):len(t.tagColumns)], tm)
	last := &w.gracePeriods[len(w.gracePeriods)-1]
	last.waits = append(last.waits, tm)
	w.gracePeriods = append(w.gracePeriods, gracePeriod{})
	w.retire()
	return tm
}

// Remove ends tag columns: no copy that names one of its tags is valid afterwards.
// The lock of Register is held.
func (t *Table) Remove(tm *TagColumns) {
	w := t.versions
	w.lock()
	defer w.unlock()
	for i, c := range w.gracePeriods {
		for j, o := range c.waits {
			if o == tm {
				w.gracePeriods[i].waits = append(c.waits[:j:j], c.waits[j+1:]...)
			}
		}
	}
	tm.since.Store(never)
	w.move(&InvalidationSet{versions: w, wholes: []*Table{t}, tables: []*Table{t}}, 0)
	var left []*TagColumns
	for _, o := range t.tagColumns {
		if o != tm {
			left = append(left, o)
		}
	}
	t.tagColumns = left
}

// enter counts a mark and returns its grace period. w.mu is held.
func (w *Versions) enter() uint64 {
	last := len(w.gracePeriods) - 1
	w.gracePeriods[last].marks++
	return w.first + uint64(last)
}

// leave takes a mark out of its grace period. w.mu is held.
func (w *Versions) leave(grace uint64) {
	w.gracePeriods[grace-w.first].marks--
	w.retire()
}

// retire lets templates count that have waited long enough. w.mu is held.
//
// The clock moves so that a load whose clock is since or later has taken it after this:
// its snapshot has all that did not know the tag columns.
func (w *Versions) retire() {
	for len(w.gracePeriods) > 1 && w.gracePeriods[0].marks == 0 {
		for _, tm := range w.gracePeriods[0].waits {
			k := w.clock.v.Load() + 1
			tm.since.Store(k)
			w.store(&w.clock.v, k)
		}
		w.gracePeriods = w.gracePeriods[1:]
		w.first++
	}
}

// counts reports whether a load whose clock is c0 may name tags of tm.
func (tm *TagColumns) counts(c0 uint64) bool {
	since := tm.table.versions.load(&tm.since)
	return c0 >= since
}

// slot returns the slot of the tag with these values.
func (tm *TagColumns) slot(key string) uint32 {
	w := tm.table.versions
	h := maphash.String(w.seed, key) ^ tm.id*0x9e3779b97f4a7c15
	h *= 0xd6e8feb86659fd93
	h ^= h >> 32
	return uint32(h & uint64(len(w.slots)-1))
}
