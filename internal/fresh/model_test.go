package fresh

import (
	"fmt"
	"math/bits"
	"strings"

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
	begin(doc int, f row.Format, need Need) (load int, leader bool)
	// send says that the source is read now.
	send(load int)
	// found ends a load that was not sent with the copy that there is now, unless
	// a reader of it wants the source.
	found(load int) bool
	// finish ends a load with what was read: the value, and how many transactions
	// the log had then.
	finish(load int, value string, logged int)
	// deliver makes one call of the feed for a transaction, and reports whether it was
	// the last: between two calls anything may happen.
	deliver(tx *modelTx, call int) (last bool)
	// unsettled takes the batch for a probe.
	unsettled() txs
	// settle says that a transaction is visible.
	settle(tx int)
	// cached returns the copy that a hit would answer with.
	cached(doc int, f row.Format) (string, bool)
	// claim returns up to which transaction the answer of a load (-1: of a hit on doc)
	// is said to be complete; 0: nothing is said.
	claim(load, doc int) int
	// shows returns behind which transaction the answer is said to show nothing: the token
	// that travels with it.
	shows(load, doc int, f row.Format) int
	// hold and release are the two ends of a write of a document.
	hold(tx *modelTx)
	release(tx *modelTx)
	// writeThrough is a write that has read its document back, and keep what comes of that.
	writeThrough(tx *modelTx, value string)
	keep(tx *modelTx)
	// state appends everything that the protocol remembers.
	state(b []byte) []byte
}

// A txs is a set of transactions, by their number from 0.
type txs uint8

func (s txs) has(i int) bool { return s&(1<<i) != 0 }
func (s *txs) add(i int)     { *s |= 1 << i }

// A modelTx is one transaction: what it does to the database, and what the
// feed says of it.
type modelTx struct {
	id           int // 1, 2, ...
	docs         []int
	whole        bool
	own          int  // the document that hotrow writes it through; -1: a foreign program
	lost         bool // the feed misses it, and says so by a new epoch
	barrier      bool // delivered as "anything", because the feed began after its log
	writeThrough bool // its writer keeps what it has read back, and waits for the one before it
}

// A scenario is what the processes of a world do.
type scenario struct {
	name    string
	txs     []modelTx
	readers []modelReader
	notify  bool // the feed delivers only what is visible
	// value computes a document from the set of visible transactions.
	value func(doc int, visible txs) string
	docs  int

	kill      bool // the process is killed once, and another goes on with its disk
	lost      bool // and the feed cannot go on where it was
	reconnect bool // the feed is lost once, and comes back at any place
	blind     bool // nobody compares what an answer shows with its token
	recalls   bool // copies on disk are recalled, in the process that put them too
	long      bool // it has so many states that only the long tests visit them
}

// A modelReader is one read.
type modelReader struct {
	doc    int
	need   Need
	min    int // the transaction that its token names; 0: none
	of     int // or the reader, from 1 on, whose answer's token it sends; 0: nobody's
	format row.Format
	after  bool // it asks the process that comes after the one that is killed, or comes last
}

// A world is one scenario run by one protocol, at one moment.
type world struct {
	sc *scenario
	p  protocol

	held, writtenThrough, logged, visible, released, kept, settled txs
	delivered                                                      int // transactions are delivered in order
	called                                                         int // calls made for the next of them
	restart                                                        restartState

	readers []readerState
	loads   []loadState // by the protocol's number
	probe   probeState
	failure string
}

type readerState struct {
	step   int // 0 not begun, 1 waits, 2 done
	load   int
	floor  txs // transactions that the answer must include
	need   Need
	shows  int    // what travels with the answer
	told   string // what others had been answered, who were done as it began
	fenced txs    // what a fence had been reached for: a copy must include it
	answer string
}

type loadState struct {
	doc    int
	leader int
	step   int // 0 leased, 1 sent and read, 2 finished
	value  string
	logged int
	peeked bool // a copy on disk was found
}

type probeState struct {
	step         int // 0 idle, 1 batch taken, 2 proof taken
	batch, proof txs
}

func newWorld(sc *scenario, p protocol) *world {
	return &world{sc: sc, p: p, readers: make([]readerState, len(sc.readers))}
}

// A move is one turn of one process: transaction, reader or the settler.
type move struct {
	what turn
	i    int8
}

type turn uint8

const (
	hold turn = iota
	logs
	visible
	release
	feed
	begin
	load
	find
	probe
	commits
	kill
	fence
	reach
	peek
	recall
	reconnect
	writeThrough
	keeps
)

var turns = [...]string{"hold", "log", "visible", "release", "feed", "begin", "load", "find", "probe",
	"commit", "kill", "fence", "reach", "peek", "recall", "reconnect", "write-through",
	"keep"}

// String makes the way to a failure readable.
func (m move) String() string { return fmt.Sprint("{", turns[m.what], " ", m.i, "}") }

// moves appends the turns that can be taken now.
func (w *world) moves(m []move) []move {
	for i := range w.sc.txs {
		tx := &w.sc.txs[i]
		before := i == 0 || w.visible.has(i-1) // the row lock of the transaction before
		switch {
		case tx.own >= 0 && !w.held.has(i):
			if before || tx.writeThrough {
				m = append(m, move{hold, int8(i)})
			}
		case tx.writeThrough && !w.writtenThrough.has(i):
			if before {
				m = append(m, move{writeThrough, int8(i)})
			}
		case !w.logged.has(i):
			if before {
				m = append(m, move{logs, int8(i)})
			}
		case !w.visible.has(i):
			m = append(m, move{visible, int8(i)})
		case tx.own >= 0 && !w.released.has(i):
			m = append(m, move{release, int8(i)})
		case tx.writeThrough && !w.kept.has(i):
			m = append(m, move{keeps, int8(i)})
		}
	}
	i := w.delivered
	if i < len(w.sc.txs) && w.logged.has(i) && (!w.sc.notify || w.visible.has(i)) {
		m = append(m, move{feed, int8(i)})
	}
	for i := range w.readers {
		r, spec := &w.readers[i], &w.sc.readers[i]
		switch {
		case r.step == 0 && spec.after && !w.afterwards(i):
		case r.step == 0 && spec.of > 0 && w.readers[spec.of-1].step != 2:
		case r.step == 0 && (spec.min == 0 || w.visible.has(spec.min-1) && w.delivered >= spec.min):
			m = append(m, move{begin, int8(i)})
		case r.step == 1 && w.loads[r.load].leader == i:
			m = append(m, move{load, int8(i)})
			if w.loads[r.load].step == 0 && r.need != Now {
				if _, ok := w.p.cached(spec.doc, spec.format); ok {
					m = append(m, move{find, int8(i)})
				}
			}
		}
	}
	if w.probe.step > 0 || w.p.unsettled() != 0 {
		m = append(m, move{probe, 0})
	}
	return w.restartMoves(m)
}

// take makes one move.
func (w *world) take(m move) {
	i := int(m.i)
	switch m.what {
	case hold:
		w.held.add(i)
		w.p.hold(&w.sc.txs[i])
	case logs:
		w.logged.add(i)
	case visible:
		w.visible.add(i)
	case release:
		w.released.add(i)
		w.p.release(&w.sc.txs[i])
	case writeThrough:
		w.writtenThrough.add(i)
		// Nobody else commits before it does.
		v := w.sc.value(w.sc.txs[i].own, w.visible|1<<i)
		w.p.writeThrough(&w.sc.txs[i], v)
	case keeps:
		w.kept.add(i)
		w.p.keep(&w.sc.txs[i])
	case feed:
		w.called++
		if w.p.deliver(&w.sc.txs[i], w.called-1) {
			w.delivered, w.called = i+1, 0
		}
	case begin:
		w.begin(i)
	case load:
		w.advance(i)
	case find:
		w.find(i)
	case probe:
		w.settle()
	default:
		w.takeRestart(m)
	}
	w.watch(m)
}

// begin lets reader i ask. What it must see at least: its token, what is
// visible now when it asks for the source itself, every change that hotrow knows
// of and knows to be visible, and what readers before it have been told.
func (w *world) begin(i int) {
	r, spec := &w.readers[i], &w.sc.readers[i]
	r.step, r.fenced, r.need = 1, w.restart.reached|w.restart.born, spec.need
	if spec.of > 0 { // it waits for the position, or gives up, and reads the source
		o := &w.readers[spec.of-1]
		if r.told, r.need = o.answer, Settled; w.p.claim(-1, spec.doc) < o.shows {
			r.need = Now
		}
	}
	for t := range w.sc.txs {
		known := w.settled.has(t) || w.released.has(t) && !w.restart.orphans.has(t) ||
			w.sc.notify && t < w.delivered
		if known || spec.min > t || r.need == Now && w.visible.has(t) {
			r.floor.add(t)
		}
	}
	for j := range w.readers {
		o := &w.sc.readers[j]
		if w.readers[j].step == 2 && o.doc == spec.doc {
			r.told += w.readers[j].answer
		}
	}
	if v, ok := w.p.cached(spec.doc, spec.format); ok && r.need != Now {
		r.step, r.answer = 2, v
		w.judge(i, -1)
		return
	}
	load, leader := w.p.begin(spec.doc, spec.format, r.need)
	r.load = load
	if leader {
		w.loads = append(w.loads, loadState{doc: spec.doc, leader: i})
	} else if w.loads[load].step == 2 {
		w.answered(load)
	}
}

// advance moves the load that reader i leads.
func (w *world) advance(i int) {
	l := &w.loads[w.readers[i].load]
	switch l.step {
	case 0:
		w.p.send(w.readers[i].load)
		l.value = w.sc.value(l.doc, w.visible)
		for i := range w.sc.txs {
			if w.logged.has(i) {
				l.logged++
			}
		}
		l.step = 1
	case 1:
		l.step = 2
		w.p.finish(w.readers[i].load, l.value, l.logged)
		w.answered(w.readers[i].load)
	}
}

// find lets the reader who leads a load look for a copy once more.
func (w *world) find(i int) {
	n := w.readers[i].load
	l := &w.loads[n]
	l.value, _ = w.p.cached(l.doc, w.sc.readers[i].format)
	if !w.p.found(n) {
		l.value = ""
		w.advance(i)
		return
	}
	l.step = 2
	w.answered(n)
}

// answered gives every reader of a load its answer.
func (w *world) answered(load int) {
	for i := range w.readers {
		if r := &w.readers[i]; r.step == 1 && r.load == load {
			r.step, r.answer = 2, w.loads[load].value
			w.judge(i, load)
		}
	}
}

// judge compares an answer with the oldest one that is allowed, and with what
// the position that travels with it says. Values of the scenarios grow with the
// set of transactions: see includes.
func (w *world) judge(i, load int) {
	r := &w.readers[i]
	want := w.sc.value(w.sc.readers[i].doc, r.floor)
	if !includes(r.answer, want) {
		w.failure = fmt.Sprintf("reader %d got %q, must include %q", i, r.answer, want)
	}
	if !includes(r.answer, r.told) {
		w.failure = fmt.Sprintf("reader %d got %q after others got %q", i, r.answer, r.told)
	}
	want = w.sc.value(w.sc.readers[i].doc, r.fenced)
	if (load < 0 || w.loads[load].peeked) && !includes(r.answer, want) {
		w.failure = fmt.Sprintf("reader %d got the copy %q, must include %q", i, r.answer, want)
	}
	claim := w.p.claim(load, w.sc.readers[i].doc)
	want = w.sc.value(w.sc.readers[i].doc, 1<<claim-1)
	if !includes(r.answer, want) {
		w.failure = fmt.Sprintf("reader %d got %q, which is not as of %d", i, r.answer, claim)
	}
	r.shows = w.p.shows(load, w.sc.readers[i].doc, w.sc.readers[i].format)
	all := w.sc.value(w.sc.readers[i].doc, 1<<r.shows-1)
	if !w.sc.blind && !includes(all, r.answer) {
		w.failure = fmt.Sprintf("reader %d got %q, and %d for its token", i, r.answer, r.shows)
	}
}

// watch checks what must hold at every moment: no copy, in any format, is older
// than an answer that has been given, in whatever format.
func (w *world) watch(m move) {
	for i := range w.readers {
		r := &w.readers[i]
		if r.step != 2 {
			continue
		}
		for f := range row.Format(row.NumFormats) {
			v, ok := w.p.cached(w.sc.readers[i].doc, f)
			if ok && !includes(v, r.answer) {
				w.failure = fmt.Sprintf("%v: the copy %q is older than the answer %q", m, v, r.answer)
			}
		}
	}
}

// settle moves the settler: take the batch, prove, settle one by one.
func (w *world) settle() {
	switch w.probe.step {
	case 0:
		w.probe = probeState{step: 1, batch: w.p.unsettled()}
	case 1:
		w.probe.step, w.probe.proof = 2, w.visible&w.probe.batch
	case 2:
		if tx := bits.TrailingZeros8(uint8(w.probe.proof)); tx < 8 {
			w.p.settle(tx + 1)
			w.settled.add(tx)
			w.probe.proof &^= 1 << tx
		}
	}
	if w.probe.step == 2 && w.probe.proof == 0 {
		w.probe = probeState{}
	}
}

// final checks the end: no copy may differ from the database.
func (w *world) final() string {
	for d := range w.sc.docs {
		want := w.sc.value(d, w.visible)
		for f := range row.Format(row.NumFormats) {
			if got, ok := w.p.cached(d, f); ok && got != want {
				return fmt.Sprintf("document %d is %q for ever, the database has %q", d, got, want)
			}
			if p, is := w.p.(restarter); is {
				if got, ok := p.onDisk(d, f); ok && got != want {
					return fmt.Sprintf("document %d is %q on disk for ever, the database has %q", d, got,
						want)
				}
			}
		}
	}
	return ""
}

// fingerprint appends all that decides what can still happen.
func (w *world) fingerprint(b []byte) []byte {
	b = append(b, byte(w.held), byte(w.logged), byte(w.visible), byte(w.released),
		byte(w.settled), byte(w.delivered), byte(w.called), byte(w.writtenThrough), byte(w.kept),
		byte(w.probe.step), byte(w.probe.batch), byte(w.probe.proof))
	b = w.restart.fingerprint(b)
	for i := range w.readers {
		r := &w.readers[i]
		b = append(b, byte(r.step), byte(r.load), byte(r.floor), byte(r.fenced), byte(r.need),
			byte(r.shows))
		b = appendText(appendText(b, r.answer), r.told)
		if r.step == 0 || r.load >= len(w.loads) {
			continue
		}
		l := &w.loads[r.load]
		b = append(b, byte(l.doc), byte(l.leader), byte(l.step), byte(l.logged), bit(l.peeked))
		b = appendText(b, l.value)
	}
	return w.p.state(b)
}

// appendText appends s so that no other text is a beginning of it.
func appendText(b []byte, s string) []byte {
	return append(append(b, byte(len(s))), s...)
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
