package fresh

import (
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/row"
)

// The exhaustive check of lists. As in model_test.go a database, a feed, a settler,
// writers and readers take turns in every order; here a turn is one atomic step of the
// real code. Each call is a coroutine that stops before every access to a version which
// others write or read too (Versions.turn), and goes on when it is chosen.

// A wordTx is a transaction: what it changes, and what the feed says of it.
type wordTx struct {
	rows  []wordRow
	whole []int // tables of which the feed does not name rows
	lost  bool  // delivered as the beginning of a feed, which may have missed it
	own   bool  // hotrow writes it: it holds and releases
	fails bool  // it is rolled back
}

// A wordRow is a change of a row of a table: what its columns were and are; nil: there
// is no row. A column that is not there is not known to the feed.
type wordRow struct {
	table    int
	old, new cells
}

type cells map[string]string

// A wordQuery is a list. read returns its value, which grows with the transactions that
// change it, and the tags that the rows tell.
type wordQuery struct {
	tags  []wordClass
	reads []int // the tables whose rows tell tags
	read  func(visible txs) (string, []wordClass)
}

// A wordClass is a tag of the template with a column; "": the table.
type wordClass struct {
	table       int
	column, key string
}

type wordReader struct {
	need   Need
	min    int // the transaction of its token
	format row.Format
	last   bool // it begins when all others have ended
}

type wordScenario struct {
	name    string
	txs     []wordTx
	query   wordQuery
	readers []wordReader

	templates []wordTemplate
	slots     int          // 0: enough to keep tags apart
	seed      maphash.Seed // set by prepare
	every     []wordClass  // that the list may depend on; set by prepare
	limit     int          // of marks; 0: maxMarks
	notify    bool
	evicts    bool
	long      bool // it has so many states that only the long tests visit them
}

// A wordTemplate is one column of a table.
type wordTemplate struct {
	table             int
	column            string
	identity, forgets bool
	blind             bool
	later, removed    bool // registered, or removed, while others go on
}

// A wordWorld is one scenario at one moment.
type wordWorld struct {
	sc     *wordScenario
	d      *Domain
	s      *Space
	tables []*Table
	known  []*TagColumns // as in the scenario; nil: not registered
	store  [row.NumFormats]*wordCopy
	quiet  map[*atomic.Uint64]bool // versions whose accesses are no turns

	cur             *actor
	versions, shard *actor // who holds the locks
	apply           *actor // of resource.sourceState
	actors          []*actor
	feed, settler   *actor
	registrar       *actor

	logged, visible, held, released, settled, failed txs
	delivered                                        int
	proof                                            []*Pending
	evicted                                          bool
	registered, removed                              []bool
	leases                                           []*Lease
	invalidations                                    [8][]Invalidation // of holds
	failure                                          string
}

// A wordCopy is a list that is kept.
type wordCopy struct {
	*ReadSet
	doc *row.Document
}

// An actor is a process: one call at a time.
type actor struct {
	w       *wordWorld
	next    func() (stop, bool)
	end     func()
	yield   func(stop) bool
	at      stop
	seen    maphash.Hash // of all that the call has read
	turns   int          // that it has taken
	running bool

	reader *wordReader // and what follows, of a reader
	begun  bool
	floor  txs
	told   string
	answer string
	ended  bool
}

// A stop is what a call waits for.
type stop struct {
	at access
	x  *atomic.Uint64
	on *Lease // to be done
	sh bool   // the shard's lock
}

type unwound struct{}

var wordSeed = maphash.MakeSeed()

// call begins a call of a, about a transaction, and goes on to its first stop.
func (a *actor) call(about int, f func()) {
	a.seen.SetSeed(wordSeed)
	a.note(uint64(about))
	a.turns = 0
	a.running = true
	a.next, a.end = iter.Pull(func(yield func(stop) bool) {
		defer func() {
			if r := recover(); r != nil && r != (unwound{}) {
				panic(r)
			}
		}()
		a.yield = yield
		f()
	})
	a.resume()
}

// resume lets a take one turn.
func (a *actor) resume() {
	a.w.cur = a
	at, ok := a.next()
	a.w.cur = nil
	a.at, a.running = at, ok
	if !ok && a.w.apply == a {
		a.w.apply = nil
	}
}

// pause lets others take turns.
func (a *actor) pause(at stop) {
	a.turns++
	if !a.yield(at) {
		panic(unwound{})
	}
}

// note adds to what decides how the call goes on.
func (a *actor) note(v uint64) { maphash.WriteComparable(&a.seen, v) }

func (a *actor) ready() bool {
	switch {
	case !a.running:
		return false
	case a.at.on != nil:
		select {
		case <-a.at.on.done:
			return true
		default:
			return false
		}
	case a.at.sh:
		return a.w.shard == nil
	}
	return a.at.at != locks || a.w.versions == nil
}

// turn is Versions.turn.
func (w *wordWorld) turn(at access, x *atomic.Uint64) {
	a := w.cur
	switch {
	case a == nil:
		return
	case at == unlocked:
		w.versions = nil
		return
	case x != nil && (w.quiet[x] || w.own(x)):
		return
	}
	a.pause(stop{at: at, x: x})
	switch at {
	case locks:
		w.versions = a
	case loads:
		a.note(x.Load())
	}
}

// own reports whether x is of a copy that nobody else has seen.
func (w *wordWorld) own(x *atomic.Uint64) bool {
	_, known := w.quiet[x]
	for _, c := range w.store {
		known = known || c != nil && x == &c.seen
	}
	for _, tm := range w.known {
		known = known || tm != nil && x == &tm.since
	}
	return !known
}

func newWordWorld(sc *wordScenario) *wordWorld {
	w := &wordWorld{sc: sc, d: NewDomain(0), known: make([]*TagColumns, len(sc.templates)),
		registered: make([]bool, len(sc.templates)), removed: make([]bool, len(sc.templates))}
	w.d.versions.seed = sc.seed
	w.d.Slots(sc.slots)
	if sc.limit > 0 {
		w.d.versions.limit = sc.limit
	}
	w.s = w.d.NewSpace(func(row.Key) {}, w.agree)
	w.tables = []*Table{w.d.NewTable(), w.d.NewTable()}
	w.d.Reset("o", 0, nil, 0)
	for i, t := range sc.templates {
		if !t.later {
			w.register(i)
		}
	}
	for range 3 + len(sc.txs) {
		w.actors = append(w.actors, &actor{w: w})
	}
	w.feed, w.settler, w.registrar = w.actors[0], w.actors[1], w.actors[2]
	for i := range sc.readers {
		w.actors = append(w.actors, &actor{w: w, reader: &sc.readers[i]})
	}
	w.quieten()
	w.d.versions.turn = w.turn
	return w
}

func (w *wordWorld) register(i int) {
	t := &w.sc.templates[i]
	w.registered[i] = true
	w.known[i] = w.tables[t.table].Register(&TagColumns{Columns: []string{t.column},
		Identity: t.identity, Forgets: t.forgets, OldUnknown: t.blind})
}

// quieten finds the versions that are not both moved and looked at: what is done to them
// commutes with everything.
func (w *wordWorld) quieten() {
	moves, later := map[*atomic.Uint64]bool{&w.d.versions.all.v: w.sc.limit > 0}, false
	for i := range w.sc.txs {
		m := w.moved(&w.sc.txs[i])
		for _, s := range m.slots {
			moves[&w.d.versions.slots[s]] = true
		}
		for _, t := range m.wholes {
			moves[&t.whole.v] = true
		}
		for _, t := range m.tables {
			moves[&t.version.v] = true
		}
		moves[&w.d.versions.all.v] = moves[&w.d.versions.all.v] || w.sc.txs[i].lost
	}
	for _, t := range w.sc.templates {
		if later = later || t.later || t.removed; t.removed {
			moves[&w.tables[t.table].whole.v], moves[&w.tables[t.table].version.v] = true, true
		}
	}
	looks := map[*atomic.Uint64]bool{&w.d.versions.all.v: true}
	w.looks(looks)
	w.quiet = map[*atomic.Uint64]bool{}
	add := func(x *atomic.Uint64) { w.quiet[x] = !(moves[x] && looks[x]) }
	add(&w.d.versions.all.v)
	w.quiet[&w.d.versions.clock.v] = false
	w.quiet[&w.d.epoch] = !moves[&w.d.versions.all.v]
	for i := range w.d.versions.slots {
		if x := &w.d.versions.slots[i]; !later || !looks[x] {
			add(x)
		}
	}
	for _, t := range w.tables {
		add(&t.whole.v)
		add(&t.version.v)
	}
	for _, tm := range w.known {
		if tm != nil {
			w.quiet[&tm.since] = !later
		}
	}
}

// prepare finds a seed by which the tags of a scenario have slots of their own.
func (sc *wordScenario) prepare() {
	sc.every = sc.everyClass()
	apart := sc.slots == 0
	if apart {
		sc.slots = 16
	}
	for sc.seed = maphash.MakeSeed(); apart; sc.seed = maphash.MakeSeed() {
		w := newWordWorld(sc)
		for i := range w.known {
			if w.known[i] == nil {
				w.register(i)
			}
		}
		slots, names := map[uint32]bool{}, map[string]bool{}
		for _, tx := range sc.txs {
			for _, r := range tx.rows {
				for _, c := range []cells{r.old, r.new} {
					w.place(slots, names, r.table, c)
				}
			}
		}
		for _, c := range w.sc.every {
			w.place(slots, names, c.table, cells{c.column: c.key})
		}
		if len(slots) == len(names) {
			return
		}
	}
}

// place notes the slots of the tags of a row.
func (w *wordWorld) place(slots map[uint32]bool, names map[string]bool, table int, c cells) {
	for column, key := range c {
		if tm := w.template(wordClass{table, column, key}); tm != nil {
			slots[tm.slot(key)] = true
			names[fmt.Sprint(table, column, key)] = true
		}
	}
}

// everyClass returns the tags that the list may depend on, each once.
func (sc *wordScenario) everyClass() []wordClass {
	tags := slices.Clone(sc.query.tags)
	for v := range txs(1) << len(sc.txs) {
		_, more := sc.query.read(v)
		for _, c := range more {
			if !slices.Contains(tags, c) {
				tags = append(tags, c)
			}
		}
	}
	return tags
}

// looks notes the versions that the list may depend on.
func (w *wordWorld) looks(x map[*atomic.Uint64]bool) {
	for _, t := range w.sc.query.reads {
		x[&w.tables[t].version.v], x[&w.tables[t].whole.v] = true, true
	}
	for _, c := range w.sc.every {
		x[&w.tables[c.table].version.v], x[&w.tables[c.table].whole.v] = true, true
		if tm := w.template(c); tm != nil {
			x[&w.d.versions.slots[tm.slot(c.key)]] = true
		}
	}
}

// template returns the template of a tag; nil: there is none. One that was removed is
// named by those who have not heard of that.
func (w *wordWorld) template(c wordClass) *TagColumns {
	for i, t := range w.sc.templates {
		if t.table == c.table && t.column == c.column {
			return w.known[i]
		}
	}
	return nil
}

// moved is what the feed makes of a transaction now.
func (w *wordWorld) moved(tx *wordTx) *InvalidationSet {
	m := w.d.NewSet()
	for _, r := range tx.rows {
		m.Row(w.tables[r.table], r.old.values(), r.new.values())
	}
	for _, t := range tx.whole {
		m.Whole(w.tables[t])
	}
	return m
}

func (c cells) values() Values {
	if c == nil {
		return nil
	}
	return func(tm *TagColumns) (string, bool) {
		v, ok := c[tm.Columns[0]]
		return v, ok
	}
}

// agree is what the resource's does: see fresh.Domain.NewSpace.
func (w *wordWorld) agree(l *Lease, doc *row.Document, stored bool) {
	for f, c := range w.store {
		if c != nil && !(stored && row.Format(f) == l.Format) && !SameVersion(c.doc, doc) {
			w.store[f] = nil
		}
	}
}

func (w *wordWorld) failf(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
	}
}

// stop ends the calls that have not ended.
func (w *wordWorld) stop() {
	w.cur = nil
	for _, a := range w.actors {
		if a.running {
			a.end()
		}
	}
}
