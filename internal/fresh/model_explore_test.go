package fresh

import (
	"fmt"
	"hash/maphash"
	"testing"

	"github.com/hotrow/hotrow/internal/waittest"
)

// An explorer tries what can happen in a scenario.
type explorer struct {
	sc       *scenario
	protocol func() protocol
	seed     maphash.Seed
	seen     map[uint64]struct{} // by the hash of a state
	path     []move              // to the state that is visited
	print    []byte
	states   int
	failures []string
}

// explore tries every order of moves, depth first: a move that leads to a state of its own
// goes on with the world that it was made in, and only the others play the way there again.
// It returns how many states there are, and the first failures, each with a way to it. States
// are told apart by a hash of 64 bits: the chance that two of a million share one is below 1
// in 30 million.
func explore(sc *scenario, protocol func() protocol) (states int, failures []string) {
	x := explorer{sc: sc, protocol: protocol, seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}}
	w := newWorld(sc, protocol())
	x.visit(w, w.moves(nil))
	return x.states, x.failures
}

// visit tries the moves that can be made in w, which is at path.
func (x *explorer) visit(w *world, moves []move) {
	x.states++
	for i, m := range moves {
		if len(x.failures) >= 3 {
			return
		}
		if i > 0 { // the first goes on with the world that told the moves
			w = play(x.sc, x.protocol(), x.path)
		}
		w.take(m)
		x.path = append(x.path, m)
		if x.isNew(w) {
			next := w.moves(nil)
			if w.failure == "" && len(next) == 0 {
				w.failure = w.final()
			}
			if w.failure == "" {
				x.visit(w, next)
			} else {
				x.failures = append(x.failures, fmt.Sprint(w.failure, ": ", x.path))
			}
		}
		x.path = x.path[:len(x.path)-1]
	}
}

// isNew reports whether nothing has led to the state of w before.
func (x *explorer) isNew(w *world) bool {
	x.print = w.fingerprint(x.print[:0])
	h := maphash.Bytes(x.seed, x.print)
	_, old := x.seen[h]
	x.seen[h] = struct{}{}
	return !old
}

// play makes the moves of path from the beginning.
func play(sc *scenario, p protocol, path []move) *world {
	w := newWorld(sc, p)
	for _, m := range path {
		w.take(m)
	}
	return w
}

// TestModel_ABeginningIsOneCall: an epoch that begins before what may be invisible is
// marked is caught, with the call that marks it right behind.
func TestModel_ABeginningIsOneCall(t *testing.T) {
	for _, sc := range scenarios() {
		if !sc.txs[0].barrier {
			continue
		}
		_, failures := explore(&sc, func() protocol {
			r := newReal(false)
			r.broken = beginsFirst
			return r
		})
		if len(failures) == 0 {
			t.Fatalf("the check does not catch it in %q", sc.name)
		}
		t.Log(failures[0])
	}
}

func TestModel(t *testing.T) {
	for _, sc := range scenarios() {
		if sc.long && !waittest.Long() {
			continue
		}
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
