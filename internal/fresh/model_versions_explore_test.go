package fresh

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/hotrow/hotrow/internal/waittest"
)

// exploreWords tries every order of moves, depth first: a move that leads to a state of its
// own goes on with the world that it was made in, and only the others play the way there again.
// It returns how many states there are, and the first failure with a way to it.
func exploreWords(sc *wordScenario) (states int, failures []string) {
	sc.prepare()
	x := wordExplorer{sc: sc, seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}}
	x.visit(newWordWorld(sc))
	return x.states, x.failures
}

// wordStates is how many a scenario may have: one that has more is to be cut in two.
const wordStates = 300_000

type wordExplorer struct {
	sc       *wordScenario
	seed     maphash.Seed
	seen     map[uint64]struct{} // by the hash of 64 bits: see explore
	path     []wordMove          // to the state that is visited
	print    []byte
	states   int
	failures []string
}

// visit tries all that can happen to w, which is at path, and stops it.
func (x *wordExplorer) visit(w *wordWorld) {
	x.states++
	moves := w.moves(nil)
	if len(moves) == 0 {
		w.final()
		x.failed(w)
		w.stop()
	}
	for i, m := range moves {
		if len(x.failures) > 0 || x.states >= wordStates {
			if i == 0 {
				w.stop()
			}
			return
		}
		if i > 0 { // the first goes on with the world that told the moves
			w = playWords(x.sc, x.path)
		}
		w.take(m)
		x.path = append(x.path, m)
		if x.failed(w) || !x.isNew(w) {
			w.stop()
		} else {
			x.visit(w)
		}
		x.path = x.path[:len(x.path)-1]
	}
}

// isNew reports whether nothing has led to the state of w before.
func (x *wordExplorer) isNew(w *wordWorld) bool {
	x.print = w.fingerprint(x.print[:0])
	h := maphash.Bytes(x.seed, x.print)
	_, old := x.seen[h]
	x.seen[h] = struct{}{}
	return !old
}

// failed notes a failure of w.
func (x *wordExplorer) failed(w *wordWorld) bool {
	if w.failure != "" {
		x.failures = append(x.failures, fmt.Sprint(w.failure, ": ", x.path))
	}
	return w.failure != ""
}

func playWords(sc *wordScenario, path []wordMove) *wordWorld {
	w := newWordWorld(sc)
	for _, m := range path {
		w.take(m)
	}
	return w
}

// strollWords takes moves at random to the end.
func strollWords(sc *wordScenario, rng *rand.Rand) (steps int, failure string) {
	w := newWordWorld(sc)
	defer w.stop()
	var path, moves []wordMove
	for {
		if moves = w.moves(moves[:0]); len(moves) == 0 {
			w.final()
			break
		}
		m := moves[rng.IntN(len(moves))]
		path = append(path, m)
		if w.take(m); w.failure != "" {
			break
		}
	}
	if w.failure != "" {
		return len(path), fmt.Sprint(w.failure, ": ", path)
	}
	return len(path), ""
}

// TestModelWords drives every order of the atomic steps.
func TestModelWords(t *testing.T) {
	for _, sc := range wordScenarios() {
		if sc.long && !waittest.Long() {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			states, failures := exploreWords(&sc)
			t.Logf("%d states", states)
			if states < 50 || states >= wordStates {
				t.Errorf("%d states: the scenario does not run, or does not end", states)
			}
			for _, f := range failures {
				t.Error(f)
			}
		})
	}
}

// fingerprint appends all that decides what can still happen.
func (w *wordWorld) fingerprint(b []byte) []byte {
	b = append(b, byte(w.logged), byte(w.visible), byte(w.held), byte(w.released), byte(w.settled),
		byte(w.failed), byte(w.delivered), bit(w.evicted),
		byte(w.d.versions.marks), byte(w.d.versions.rest), byte(w.d.versions.first))
	for i := range w.registered {
		b = append(b, bit(w.registered[i]), bit(w.removed[i]))
		if tm := w.known[i]; tm != nil {
			b = append(b, byte(tm.since.Load()))
		}
	}
	for _, list := range [][]*Pending{w.d.pending, w.proof} {
		for _, p := range list {
			b = append(b, byte(p.Ref.(int)), bit(p.begins))
			for i := range p.invalidations {
				if m := p.invalidations[i].InvalidationSet; m != nil {
					b = append(b, byte(len(m.slots)), bit(m.shared), byte(m.grace))
				}
			}
		}
		b = append(b, '|')
	}
	for _, c := range w.d.versions.gracePeriods {
		b = append(b, byte(c.marks), byte(len(c.waits)))
	}
	p := w.d.applied.Load()
	b = append(b, byte(p.Epoch), byte(p.Pos), byte(w.d.epoch.Load()), byte(w.d.versions.clock.v.Load()))
	b = w.printWord(b, &w.d.versions.all.v)
	for _, t := range w.tables {
		b = w.printWord(w.printWord(b, &t.version.v), &t.whole.v)
	}
	for i := range w.d.versions.slots {
		b = w.printWord(b, &w.d.versions.slots[i])
	}
	for _, c := range w.store {
		b = printCopy(b, c)
	}
	for _, l := range w.leases {
		b = w.printLease(b, l)
	}
	for _, a := range w.actors {
		b = w.printActor(b, a)
	}
	return b
}

func (w *wordWorld) printLease(b []byte, l *Lease) []byte {
	b = append(b, bit(l.invalidated), bit(l.sent), bit(l.now), bit(l.answered), bit(l.settled),
		byte(l.AsOf.Pos), byte(l.Stamp.Epoch), byte(l.list.c0), byte(len(l.list.read.slots)))
	for _, t := range l.list.read.tables {
		b = append(b, bit(t.any))
	}
	if l.after != nil {
		b = appendText(b, l.after.ETag())
	}
	b = append(b, byte(slices.Index(w.leases, l.older)), bit(l.doc != nil))
	return append(b, byte(slices.Index(w.leases, w.s.shard("q").inflight[flight{"q", l.Format}])))
}

func (w *wordWorld) printActor(b []byte, a *actor) []byte {
	b = append(b, bit(a.running), bit(a.begun), bit(a.ended), bit(w.versions == a),
		bit(w.shard == a), bit(w.apply == a), byte(a.floor))
	b = appendText(appendText(b, a.told), a.answer)
	if a.running {
		h := a.seen.Sum64()
		b = fmt.Append(b, h, a.turns)
	}
	return append(b, '|')
}

func (w *wordWorld) printWord(b []byte, x *atomic.Uint64) []byte {
	v := x.Load()
	return append(b, byte(v>>dirtyBits), byte(v))
}

func printCopy(b []byte, c *wordCopy) []byte {
	if c == nil {
		return append(b, 0)
	}
	b = append(b, 1, byte(c.c0), byte(c.epoch), byte(len(c.deps.slots)))
	seen := c.seen.Load()
	b = append(b, byte(seen), byte(seen>>8), byte(seen>>16), byte(seen>>24))
	return appendText(b, string(c.doc.Body()))
}

// noteCopy notes which copy a reader has found.
func (a *actor) noteCopy(c *wordCopy) {
	b := printCopy(nil, c)
	for _, v := range b {
		a.note(uint64(v))
	}
}
