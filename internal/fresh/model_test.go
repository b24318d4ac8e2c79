package fresh

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// The exhaustive check: a database, a feed, a settler and readers, as
// processes that take turns, in every order there is. Between two turns
// anything may happen; a turn is what the protocol does under one lock, or one
// thing that the database does.
//
// A transaction has two events in the database that matter: log, after which
// the feed may deliver it, and visible, after which a read that begins sees it.
// A feed that reads a log may deliver between the two.

// A protocol is what the processes of a world drive: package fresh (real), or
// one of the wrong variants that the check must catch.
type protocol interface {
	// begin takes or joins a lease; it returns the load that the reader waits
	// for, and whether it leads.
	begin(doc int, need Need) (load int, leader bool)
	// send says that the source is read now.
	send(load int)
	// finish ends a load with what was read: the value, the rows in it, and how
	// many transactions the log had then.
	finish(load int, value string, children []int, logged int)
	// deliver applies a transaction.
	deliver(tx *modelTx)
	// unsettled takes the batch for a probe.
	unsettled() []int
	// settle says that a transaction is visible.
	settle(tx int)
	// cached returns the copy that a hit would answer with.
	cached(doc int) (string, bool)
	// hold and release are the two ends of a write of a document.
	hold(doc int)
	release(doc int)
	// state describes everything that the protocol remembers.
	state() string
}

// A modelTx is one transaction: what it does to the database, and what the
// feed says of it.
type modelTx struct {
	id       int // 1, 2, ...
	docs     []int
	children []int // rows that changed, old parents unknown
	whole    bool
	own      int  // the document that hotrow writes it through; -1: a foreign program
	lost     bool // the feed misses it, and says so by a new epoch
	barrier  bool // delivered as "anything", because the feed began after its log
}

// A scenario is what the processes of a world do.
type scenario struct {
	name    string
	txs     []modelTx
	readers []modelReader
	notify  bool // the feed delivers only what is visible
	// value computes a document and the rows in it from the set of visible
	// transactions.
	value func(doc int, visible map[int]bool) (string, []int)
	docs  int
}

// A modelReader is one read.
type modelReader struct {
	doc  int
	need Need
	min  int // the transaction that its token names; 0: none
}

// A world is one scenario run by one protocol, at one moment.
type world struct {
	sc *scenario
	p  protocol

	held      []bool
	logged    []bool
	visible   []bool
	delivered int // transactions are delivered in order
	released  []bool
	settled   []bool

	readers []readerState
	loads   map[int]*loadState // by the protocol's number
	probe   probeState
	failure string
}

type readerState struct {
	step   int // 0 not begun, 1 waits, 2 done
	load   int
	floor  map[int]bool // transactions that the answer must include
	answer string
}

type loadState struct {
	doc      int
	leader   int
	step     int // 0 leased, 1 sent and read, 2 finished
	value    string
	children []int
	logged   int
}

type probeState struct {
	step  int // 0 idle, 1 batch taken, 2 proof taken
	batch []int
	proof map[int]bool
}

func newWorld(sc *scenario, p protocol) *world {
	n := len(sc.txs)
	return &world{
		sc: sc, p: p, held: make([]bool, n), logged: make([]bool, n), visible: make([]bool, n),
		released: make([]bool, n), settled: make([]bool, n), readers: make([]readerState, len(sc.readers)),
		loads: make(map[int]*loadState),
	}
}

// A move is one turn of one process: transaction, reader or the settler.
type move struct {
	what string
	i    int
}

// moves returns the turns that can be taken now.
func (w *world) moves() []move {
	var m []move
	for i := range w.sc.txs {
		tx := &w.sc.txs[i]
		before := i == 0 || w.visible[i-1] // the row lock of the transaction before
		switch {
		case tx.own >= 0 && !w.held[i]:
			if before {
				m = append(m, move{"hold", i})
			}
		case !w.logged[i]:
			if before {
				m = append(m, move{"log", i})
			}
		case !w.visible[i]:
			m = append(m, move{"visible", i})
		case tx.own >= 0 && !w.released[i]:
			m = append(m, move{"release", i})
		}
	}
	if i := w.delivered; i < len(w.sc.txs) && w.logged[i] && (!w.sc.notify || w.visible[i]) {
		m = append(m, move{"feed", i})
	}
	for i := range w.readers {
		r, spec := &w.readers[i], &w.sc.readers[i]
		switch {
		case r.step == 0 && (spec.min == 0 || w.visible[spec.min-1] && w.delivered >= spec.min):
			m = append(m, move{"begin", i})
		case r.step == 1 && w.loads[r.load].leader == i:
			m = append(m, move{"load", i})
		}
	}
	switch {
	case w.probe.step > 0, len(w.p.unsettled()) > 0:
		m = append(m, move{"probe", 0})
	}
	return m
}

// take makes one move.
func (w *world) take(m move) {
	i := m.i
	switch m.what {
	case "hold":
		w.held[i] = true
		w.p.hold(w.sc.txs[i].own)
	case "log":
		w.logged[i] = true
	case "visible":
		w.visible[i] = true
	case "release":
		w.released[i] = true
		w.p.release(w.sc.txs[i].own)
	case "feed":
		w.delivered = i + 1
		w.p.deliver(&w.sc.txs[i])
	case "begin":
		w.begin(i)
	case "load":
		w.advance(i)
	case "probe":
		w.settle()
	}
	w.watch(m)
}

// begin lets reader i ask. What it must see at least: its token, what is
// visible now when it asks for the source itself, and otherwise every change
// that hotrow knows of and knows to be visible.
func (w *world) begin(i int) {
	r, spec := &w.readers[i], &w.sc.readers[i]
	r.step, r.floor = 1, make(map[int]bool)
	for t := range w.sc.txs {
		known := w.settled[t] || w.released[t] || w.sc.notify && t < w.delivered
		if known || spec.min > t || spec.need == Now && w.visible[t] {
			r.floor[t] = true
		}
	}
	if v, ok := w.p.cached(spec.doc); ok && spec.need != Now {
		r.step, r.answer = 2, v
		w.judge(i)
		return
	}
	load, leader := w.p.begin(spec.doc, spec.need)
	r.load = load
	if leader {
		w.loads[load] = &loadState{doc: spec.doc, leader: i}
	} else if w.loads[load].step == 2 {
		w.answered(load)
	}
}

// advance moves the load that reader i leads.
func (w *world) advance(i int) {
	l := w.loads[w.readers[i].load]
	switch l.step {
	case 0:
		w.p.send(w.readers[i].load)
		l.value, l.children = w.sc.value(l.doc, w.seen())
		for _, v := range w.logged {
			if v {
				l.logged++
			}
		}
		l.step = 1
	case 1:
		l.step = 2
		w.p.finish(w.readers[i].load, l.value, l.children, l.logged)
		w.answered(w.readers[i].load)
	}
}

// answered gives every reader of a load its answer.
func (w *world) answered(load int) {
	for i := range w.readers {
		if r := &w.readers[i]; r.step == 1 && r.load == load {
			r.step, r.answer = 2, w.loads[load].value
			w.judge(i)
		}
	}
}

// judge compares an answer with the oldest one that is allowed. Values of the
// scenarios grow with the set of transactions: see includes.
func (w *world) judge(i int) {
	r := &w.readers[i]
	want, _ := w.sc.value(w.sc.readers[i].doc, r.floor)
	if !includes(r.answer, want) {
		w.failure = fmt.Sprintf("reader %d got %q, must include %q", i, r.answer, want)
	}
}

// watch checks what must hold at every moment: no copy is older than an answer
// that was read from the source itself and has been given.
func (w *world) watch(m move) {
	for i := range w.readers {
		r := &w.readers[i]
		if r.step != 2 || w.sc.readers[i].need != Now {
			continue
		}
		if v, ok := w.p.cached(w.sc.readers[i].doc); ok && !includes(v, r.answer) {
			w.failure = fmt.Sprintf("%v: the copy %q is older than the answer %q", m, v, r.answer)
		}
	}
}

func (w *world) seen() map[int]bool {
	m := make(map[int]bool)
	for i, v := range w.visible {
		if v {
			m[i] = true
		}
	}
	return m
}

// settle moves the settler: take the batch, prove, settle.
func (w *world) settle() {
	switch w.probe.step {
	case 0:
		w.probe = probeState{step: 1, batch: w.p.unsettled()}
	case 1:
		w.probe.step, w.probe.proof = 2, w.seen()
	case 2:
		for _, tx := range w.probe.batch {
			if w.probe.proof[tx-1] {
				w.p.settle(tx)
				w.settled[tx-1] = true
			}
		}
		w.probe = probeState{}
	}
}

// final checks the end: no copy may differ from the database.
func (w *world) final() string {
	for d := range w.sc.docs {
		want, _ := w.sc.value(d, w.seen())
		if got, ok := w.p.cached(d); ok && got != want {
			return fmt.Sprintf("document %d is %q for ever, the database has %q", d, got, want)
		}
	}
	return ""
}

func (w *world) fingerprint() string {
	var b strings.Builder
	fmt.Fprint(&b, w.held, w.logged, w.visible, w.released, w.settled, w.delivered, w.readers, w.probe, "|")
	for i := range w.readers {
		if l := w.loads[w.readers[i].load]; l != nil && w.readers[i].step > 0 {
			fmt.Fprint(&b, *l, ";")
		}
	}
	b.WriteString(w.p.state())
	return b.String()
}

// includes reports whether the value a has every transaction that b has. Values
// are lists of letters; the mark of a row that is there does not count.
func includes(a, b string) bool {
	for _, c := range b {
		if c != '!' && !strings.ContainsRune(a, c) {
			return false
		}
	}
	return true
}

// explore tries every order of moves. It returns how many states there are,
// and the first failures, each with the shortest way to it.
func explore(sc *scenario, make func() protocol) (states int, failures []string) {
	type node struct {
		path  []move
		moves []move
	}
	first := newWorld(sc, make())
	queue := []node{{moves: first.moves()}}
	seen := map[string]bool{}
	for len(queue) > 0 && len(failures) < 3 {
		n := queue[0]
		queue = queue[1:]
		states++
		for _, m := range n.moves {
			w := newWorld(sc, make())
			for _, p := range n.path {
				w.take(p)
			}
			w.take(m)
			f := w.fingerprint()
			if seen[f] {
				continue
			}
			seen[f] = true
			next := node{append(n.path[:len(n.path):len(n.path)], m), w.moves()}
			if w.failure == "" && len(next.moves) == 0 {
				w.failure = w.final()
			}
			if w.failure != "" {
				failures = append(failures, fmt.Sprint(w.failure, ": ", next.path))
				continue
			}
			queue = append(queue, next)
		}
	}
	return states, failures
}

// real drives package fresh itself.
type real struct {
	d       *Domain
	s       *Space
	store   map[row.Key]*row.Document
	loads   []*Lease
	numbers map[*Lease]int
	tx      map[int]*Pending
	notify  bool
	holds   map[int][]Touch
}

func newReal(notify bool) *real {
	r := &real{
		d: NewDomain(0), store: make(map[row.Key]*row.Document), numbers: make(map[*Lease]int),
		tx: make(map[int]*Pending), notify: notify, holds: make(map[int][]Touch),
	}
	r.s = r.d.NewSpace(func(k row.Key) { delete(r.store, k) }, true)
	r.d.Reset("o", 0)
	return r
}

func docKey(doc int) row.Key  { return row.Key(fmt.Sprint("d", doc)) }
func childOf(c int) Child     { return Child{Table: "t", ID: row.Key(fmt.Sprint("c", c))} }
func (r *real) send(load int) { r.s.Send(r.loads[load]) }

func (r *real) begin(doc int, need Need) (int, bool) {
	l, leader := r.s.Begin(docKey(doc), row.FormatJSON, need)
	if leader {
		r.numbers[l] = len(r.loads)
		r.loads = append(r.loads, l)
	}
	return r.numbers[l], leader
}

func (r *real) finish(load int, value string, children []int, _ int) {
	l := r.loads[load]
	doc := row.NewDocument(row.FormatJSON, []byte(value), 0, l.Stamp)
	var read []Child
	for _, c := range children {
		read = append(read, childOf(c))
	}
	r.s.Finish(l, doc, nil, read, func() { r.store[l.Key] = doc })
}

func (r *real) deliver(tx *modelTx) {
	t := Touch{Space: r.s, Whole: tx.whole || tx.barrier}
	for _, d := range tx.docs {
		t.Keys = append(t.Keys, docKey(d))
	}
	for _, c := range tx.children {
		t.Children = append(t.Children, childOf(c))
	}
	if tx.lost || tx.barrier {
		r.d.Reset("o", Position(tx.id))
		if tx.lost {
			return
		}
	}
	var ref any
	if !r.notify {
		ref = tx.id
	}
	if p := r.d.Apply(Position(tx.id), []Touch{t}, ref, 0); ref != nil {
		r.tx[tx.id] = p
	}
}

func (r *real) unsettled() []int {
	var ids []int
	for _, p := range r.d.Unsettled() {
		ids = append(ids, p.Ref.(int))
	}
	return ids
}

func (r *real) settle(tx int) { r.d.Settle(r.tx[tx]) }

func (r *real) cached(doc int) (string, bool) {
	d, ok := r.store[docKey(doc)]
	if !ok || !r.s.Valid(d.Stamp()) {
		return "", false
	}
	return string(d.Body()), true
}

func (r *real) hold(doc int) {
	t := []Touch{{Space: r.s, Keys: []row.Key{docKey(doc)}}}
	r.holds[doc] = t
	r.d.Hold(t)
}

func (r *real) release(doc int) { r.d.Release(r.holds[doc]) }

func (r *real) state() string {
	var b strings.Builder
	fmt.Fprint(&b, r.d.epoch.Load(), r.s.generation.Load(), r.s.wholes.Load(), r.unsettled())
	for i := range r.s.shards {
		if d := r.s.shards[i].dirty; len(d) > 0 {
			fmt.Fprint(&b, d)
		}
	}
	for _, l := range r.loads {
		cur := r.s.shard(l.Key).inflight[flight{l.Key, l.Format}] == l
		fmt.Fprint(&b, l.Key, l.storable, l.doomed, l.sent, cur, l.clock, l.Stamp, ";")
	}
	fmt.Fprint(&b, r.s.children.clock, len(r.s.children.old))
	for c, m := range sorted(r.s.children.marks) {
		fmt.Fprint(&b, c, *m)
	}
	for d := range 3 {
		v, ok := r.cached(d)
		fmt.Fprint(&b, v, ok, r.s.children.held[docKey(d)].rows)
	}
	return b.String()
}

func TestModel(t *testing.T) {
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			states, failures := explore(&sc, func() protocol { return newReal(sc.notify) })
			t.Logf("%d states", states)
			if states < 50 {
				t.Errorf("only %d states: the scenario does not run", states)
			}
			for _, f := range failures {
				t.Error(f)
			}
		})
	}
}
