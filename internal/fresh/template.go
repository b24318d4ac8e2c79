package fresh

import (
	"hash/maphash"
	"math"
	"sync/atomic"
)

// A Template is a set of columns of a table by whose values lists are told apart: each
// change of a row moves the classes of its values in them, old and new. It counts for a
// load only once no change is unsettled whose classes were found without it: till then
// such a change keeps, and settles, words that are not those of the load's class. So a
// load names the class if its clock is at or after since, and the table's word else.
type Template struct {
	Columns []string

	// Folded are those of Columns whose texts are equal to others: whoever gives Values makes
	// one of those that are.
	Folded []string

	// Identity says that the columns name a row of the table.
	Identity bool

	// Forgets says that the feed may not know the old values of the columns. Then a
	// list names the class and, by the template of the table's Identity, each row that
	// it has read, the one past its limit included if it tells of that.
	Forgets bool

	// OldUnknown says that the feed may not know the old values of the columns, and that who
	// depends on classes cannot name the rows that it has read. Such a change moves the
	// class Unseen, which they name besides.
	OldUnknown bool

	// Used is the caller's: when it was of use last.
	Used atomic.Int64

	table *Table
	id    uint64
	since atomic.Uint64 // the first clock of loads for which it counts
}

const never = math.MaxUint64

// Unseen is the class, of a template that is OldUnknown, of the rows of which nobody knows what
// they were. A row whose values have this text shares it, which costs a load.
const Unseen = "\x02"

// A cohort is what was marked between two registrations. The templates that wait for it
// count when it, and each cohort before it, is empty.
type cohort struct {
	marks int
	waits []*Template
}

// Register has changes of t's rows move the classes of a template from the next
// transaction on. The caller holds the lock under which it makes what it gives to Apply
// and Hold.
func (t *Table) Register(tm *Template) *Template {
	w := t.words
	tm.table = t
	tm.since.Store(never)
	w.lock()
	defer w.unlock()
	w.templates++
	tm.id = w.templates
	t.templates = append(t.templates[:len(t.templates):len(t.templates)], tm)
	last := &w.cohorts[len(w.cohorts)-1]
	last.waits = append(last.waits, tm)
	w.cohorts = append(w.cohorts, cohort{})
	w.retire()
	return tm
}

// Remove ends a template: no copy that names one of its classes is valid afterwards.
// The lock of Register is held.
func (t *Table) Remove(tm *Template) {
	w := t.words
	w.lock()
	defer w.unlock()
	for i, c := range w.cohorts {
		for j, o := range c.waits {
			if o == tm {
				w.cohorts[i].waits = append(c.waits[:j:j], c.waits[j+1:]...)
			}
		}
	}
	tm.since.Store(never)
	w.move(&Moved{words: w, wholes: []*Table{t}, tables: []*Table{t}}, 0)
	var left []*Template
	for _, o := range t.templates {
		if o != tm {
			left = append(left, o)
		}
	}
	t.templates = left
}

// enter counts a mark and returns its cohort. w.mu is held.
func (w *Words) enter() uint64 {
	last := len(w.cohorts) - 1
	w.cohorts[last].marks++
	return w.first + uint64(last)
}

// leave takes a mark out of its cohort. w.mu is held.
func (w *Words) leave(cohort uint64) {
	w.cohorts[cohort-w.first].marks--
	w.retire()
}

// retire lets templates count that have waited long enough. w.mu is held.
//
// The clock moves so that a load whose clock is since or later has taken it after this:
// its snapshot has all that did not know the template.
func (w *Words) retire() {
	for len(w.cohorts) > 1 && w.cohorts[0].marks == 0 {
		for _, tm := range w.cohorts[0].waits {
			k := w.clock.v.Load() + 1
			tm.since.Store(k)
			w.store(&w.clock.v, k)
		}
		w.cohorts = w.cohorts[1:]
		w.first++
	}
}

// counts reports whether a load whose clock is c0 may name classes of tm.
func (tm *Template) counts(c0 uint64) bool {
	since := tm.table.words.load(&tm.since)
	return c0 >= since
}

// slot returns the slot of the class with these values.
func (tm *Template) slot(key string) uint32 {
	w := tm.table.words
	h := maphash.String(w.seed, key) ^ tm.id*0x9e3779b97f4a7c15
	h *= 0xd6e8feb86659fd93
	h ^= h >> 32
	return uint32(h & uint64(len(w.slots)-1))
}
