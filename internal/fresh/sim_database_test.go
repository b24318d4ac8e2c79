package fresh

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/hotrow/hotrow/internal/row"
)

// The database of the simulation has two tables, parents and children, and two
// resources: 0 has a document for each parent with its children inside, 1 has
// one for each child.
const (
	parents  = 3
	childs   = 4
	nobody   = -1 // the parent of a child that is not there
	simForms = 2
)

var simKeys = [...]row.Key{"0", "1", "2", "3"}

// A simDoc names a document of the database.
type simDoc struct{ resource, key int }

// sim is one seed being played.
type sim struct {
	rng     *rand.Rand
	seed    uint64
	sab     sabotage
	failure string
	steps   int
	now     int64

	// What the seed decides once.
	notify     bool // the feed delivers what is visible, with nothing to settle
	writes     int  // how often somebody writes
	hot        int  // the key that most readers want
	staleAfter int64

	// The database. since says when each change of a document became visible.
	primary        simServer
	initial        simServer   // the primary as it began
	standby        *simStandby // nil: the primary is followed and read
	since          [simForms][childs][]int64
	rowLocks       [2][childs]bool
	tableTxs       [2]int  // transactions that hold rows of a table
	locked         [2]bool // as a whole
	open           []*simTx
	log            []*simTx
	logEnd         Position
	writing        int    // writes through hotrow that are not released
	serial         bool   // one transaction commits at a time, and knows where
	locker         *simTx // is the one, nil: nobody
	writtenThrough []*simWriteThrough

	d        *Domain
	worded   *simWorded // nil: the feed knows the old parent of a child
	forms    [simForms]*simForm
	removed  []*simForm
	applying Position // of Apply, while it runs
	applyRef any

	applyKnown int // pending ones of applyRef before

	// The feed.
	origin   string
	attached bool
	stalled  int // until this step
	cursor   int // in log
	place    int // cursor + 1 when the feed was lost; 0: it cannot go on
	resumed  int
	barrier  *barrier // to be applied next
	probe    simProbe
	fences   []simFence

	// The readers, and what they have been promised.
	loads   []*simLoad                 // in the order of their begin
	waiting []*simRead                 // for the position of their token
	known   [simForms][childs]simState // what hotrow knows to be visible
	nows    [simForms][childs]simState // what was read from the source itself
	tokens  []simToken

	watchers simWatchers

	reads, hits, stored, kept, fallen int
}

func newSim(seed uint64, sab sabotage) *sim {
	s := &sim{rng: rand.New(rand.NewPCG(seed, 0)), seed: seed, sab: sab, now: 1000, origin: "o"}
	s.notify = s.rng.IntN(3) == 0
	s.serial = s.rng.IntN(3) == 0
	unknown := s.rng.IntN(2) == 0
	s.writes = 1 + s.rng.IntN(8)
	if sab.inexact { // which is about writes that are kept, alone
		s.notify, s.serial, unknown, s.writes = true, true, false, 12
	}
	s.hot = s.rng.IntN(parents)
	s.staleAfter = int64(30 + s.rng.IntN(100))
	s.watchers.here = s.rng.IntN(4) > 0
	for c := range s.primary.parent {
		s.primary.parent[c] = s.rng.IntN(parents)
	}
	for r := range s.since {
		for k := range s.since[r] {
			s.since[r][k] = make([]int64, 0, 16)
		}
	}
	s.initial = s.primary
	s.d = NewDomain(0)
	s.d.staleAfter = durationOf(s.staleAfter)
	if unknown {
		slots := simSlots
		if s.rng.IntN(8) == 0 {
			slots = 1
		}
		s.worded = newSimWorded(s.d, slots)
		if s.rng.IntN(4) == 0 {
			s.d.versions.limit = 1
		}
	}
	for r := range s.forms {
		s.forms[r] = s.newForm(r)
	}
	return s
}

// A simState is the state of a document: a bit for each change that it has.
type simState uint64

// has reports whether s is not older than o.
func (s simState) has(o simState) bool { return o&^s == 0 }

// simNever is when a change became visible that did not yet.
const simNever = math.MaxInt64

// A simServer is what reads of one server see.
type simServer struct {
	parent [childs]int
	state  [simForms][childs]simState
}

// show makes tx visible: every read that is made from now on sees it.
func (v *simServer) show(tx *simTx) {
	for _, op := range tx.ops {
		if op.table == 1 {
			v.parent[op.row] = op.to
		}
	}
	for i, d := range tx.docs {
		v.state[d.resource][d.key] |= tx.changes[i]
	}
}

// A simTx is one transaction.
type simTx struct {
	pos     Position
	ops     []simOp
	whole   [2]bool // tables that it changes as a whole
	bulk    bool    // the feed says of its tables, not of its rows
	docs    []simDoc
	changes []simState // of docs, one bit each
	logged  bool
	visible bool

	// A write through hotrow.
	own           bool
	unknown       bool // its writer will not hear what came of it
	hold          []Invalidation
	held          [simForms]*simForm
	writeThroughs []*simWriteThrough // by its own writer
}

// A simOp changes one row. from and to are the parents of a child.
type simOp struct{ table, row, from, to int }

// write opens a transaction on rows that nobody else has locked.
func (s *sim) write() bool {
	if len(s.open) >= 4 {
		return false
	}
	tx := &simTx{own: s.rng.IntN(4) == 0 || s.serial && s.rng.IntN(2) == 0}
	switch {
	case s.rng.IntN(12) == 0:
		t := s.rng.IntN(2)
		if s.tableTxs[t] > 0 || s.locked[t] {
			return false
		}
		tx.whole[t], s.locked[t] = true, true
	default:
		for range 1 + s.rng.IntN(3) {
			s.operate(tx)
		}
		tx.bulk = s.rng.IntN(12) == 0
	}
	if tx.docs = tx.touched(); len(tx.docs) == 0 {
		return false
	}
	s.number(tx)
	s.open = append(s.open, tx)
	if tx.own {
		tx.unknown = s.rng.IntN(4) == 0
		tx.hold = s.touches(tx, true)
		tx.held = s.forms
		s.writing++
		s.disturb()
		s.d.Hold(tx.hold)
	}
	return true
}

// number gives each document that tx changes a bit for that.
func (s *sim) number(tx *simTx) {
	for _, d := range tx.docs {
		since := &s.since[d.resource][d.key]
		if len(*since) == 64 {
			s.failf("a simState is too small")
		}
		tx.changes = append(tx.changes, 1<<len(*since))
		*since = append(*since, simNever)
	}
}

// operate adds a change of one row to tx.
func (s *sim) operate(tx *simTx) {
	op := simOp{table: s.rng.IntN(3) / 2, from: nobody, to: nobody} // mostly children
	op.table = 1 - op.table
	n := parents
	if op.table == 1 {
		n = childs
	}
	op.row = s.rng.IntN(n)
	if s.locked[op.table] || s.rowLocks[op.table][op.row] {
		return
	}
	if op.table == 1 {
		op.from = s.primary.parent[op.row]
		if op.to = op.from; op.from == nobody || s.rng.IntN(2) == 0 {
			op.to = s.rng.IntN(parents+1) - 1
		}
	}
	if op.table == 1 && op.from == nobody && op.to == nobody {
		return
	}
	s.rowLocks[op.table][op.row] = true
	s.tableTxs[op.table]++
	tx.ops = append(tx.ops, op)
}

// touched returns the documents that tx changes, each once.
func (tx *simTx) touched() []simDoc {
	docs := make([]simDoc, 0, 8)
	add := func(r, k int) {
		if d := (simDoc{r, k}); k != nobody && !slices.Contains(docs, d) {
			docs = append(docs, d)
		}
	}
	for k := range parents {
		if tx.whole[0] || tx.whole[1] {
			add(0, k)
		}
	}
	for k := range childs {
		if tx.whole[1] {
			add(1, k)
		}
	}
	for _, op := range tx.ops {
		if op.table == 0 {
			add(0, op.row)
			continue
		}
		add(0, op.from)
		add(0, op.to)
		add(1, op.row)
	}
	return docs
}

// commit moves a transaction on: logged, visible, released; or rolls it back.
func (s *sim) commit() bool {
	if len(s.open) == 0 {
		return false
	}
	i := s.rng.IntN(len(s.open))
	tx := s.open[i]
	switch {
	case tx.unknown && tx.hold != nil && s.rng.IntN(6) == 0:
		s.release(tx)
	case !tx.logged && s.rng.IntN(10) == 0:
		s.undo(tx)
		s.open = slices.Delete(s.open, i, i+1)
	case !tx.logged && s.serial:
		return s.commitAlone(tx)
	case !tx.logged:
		s.logEnd += Position(1 + s.rng.IntN(3))
		tx.pos, tx.logged = s.logEnd, true
		s.log = append(s.log, tx)
	case !tx.visible && s.waits(tx):
		return false
	case !tx.visible:
		s.show(tx)
	default:
		s.open = slices.Delete(s.open, i, i+1)
		if tx.hold != nil && !tx.unknown {
			if s.standby != nil && !s.sab.unwritten {
				s.standby.raise(tx.pos)
			}
			s.acknowledge(tx)
		}
		s.release(tx)
		s.keepSoon(tx)
	}
	return true
}

// undo rolls tx back.
func (s *sim) undo(tx *simTx) {
	s.unlock(tx)
	s.release(tx)
	s.keepNone(tx)
}

// show makes tx visible.
func (s *sim) show(tx *simTx) {
	tx.visible = true
	s.primary.show(tx)
	for i, d := range tx.docs {
		s.since[d.resource][d.key][bits.TrailingZeros64(uint64(tx.changes[i]))] = s.now
	}
	s.unlock(tx)
}

func (s *sim) unlock(tx *simTx) {
	for _, op := range tx.ops {
		s.rowLocks[op.table][op.row] = false
		s.tableTxs[op.table]--
	}
	for t := range tx.whole {
		s.locked[t] = s.locked[t] && !tx.whole[t]
	}
}

// acknowledge is the end of a write whose writer hears that it is done: from
// now on this node answers with it, and its token names it everywhere. A form
// made since the write began is not held by it.
func (s *sim) acknowledge(tx *simTx) {
	s.d.Saw(s.d.Applied(), tx.pos)
	for i, d := range tx.docs {
		if s.forms[d.resource] == tx.held[d.resource] {
			s.know(d, tx.changes[i])
		}
		s.token(simToken{d, s.origin, tx.pos, tx.changes[i]})
	}
}

func (s *sim) release(tx *simTx) {
	if tx.hold == nil {
		return
	}
	s.disturb()
	pos := Position(0)
	if len(tx.writeThroughs) > 0 {
		pos = tx.writeThroughs[0].lease.at
	}
	s.d.Release(tx.hold, pos)
	tx.hold = nil
	s.writing--
}

// know notes that hotrow knows changes to be visible.
func (s *sim) know(d simDoc, changes simState) { s.known[d.resource][d.key] |= changes }

// knowTx is know for all that a transaction has changed.
func (s *sim) knowTx(tx *simTx) {
	for i, d := range tx.docs {
		s.know(d, tx.changes[i])
	}
}
