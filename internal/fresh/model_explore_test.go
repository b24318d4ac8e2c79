package fresh

import (
	"fmt"
	"hash/maphash"
	"slices"
	"testing"
)

// A node is a state that has been reached, by one move from another: the way
// there is played again instead of copying the state.
type node struct {
	from int32 // -1: the beginning
	move move
}

// explore tries every order of moves, shortest first. It returns how many
// states there are, and the first failures, each with the shortest way to it.
// States are told apart by a hash of 64 bits: the chance that two of a million
// share one is below 1 in 30 million.
func explore(sc *scenario, protocol func() protocol) (states int, failures []string) {
	var (
		nodes = []node{{from: -1}}
		seed  = maphash.MakeSeed()
		seen  = map[uint64]struct{}{}
		path  []move
		moves []move
		next  []move
		print []byte
	)
	for ; states < len(nodes) && len(failures) < 3; states++ {
		path = wayTo(path[:0], nodes, states)
		w := play(sc, protocol(), path)
		moves = w.moves(moves[:0])
		for i, m := range moves {
			if i > 0 { // the first goes on with the world that told the moves
				w = play(sc, protocol(), path)
			}
			w.take(m)
			print = w.fingerprint(print[:0])
			f := maphash.Bytes(seed, print)
			if _, ok := seen[f]; ok {
				continue
			}
			seen[f] = struct{}{}
			if next = w.moves(next[:0]); w.failure == "" && len(next) == 0 {
				w.failure = w.final()
			}
			if w.failure != "" {
				failures = append(failures, fmt.Sprint(w.failure, ": ", append(path, m)))
				continue
			}
			nodes = append(nodes, node{int32(states), m})
		}
	}
	return states, failures
}

// wayTo appends the moves that lead to a node.
func wayTo(path []move, nodes []node, n int) []move {
	for ; nodes[n].from >= 0; n = int(nodes[n].from) {
		path = append(path, nodes[n].move)
	}
	slices.Reverse(path)
	return path
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
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			states, failures := explore(&sc, func() protocol { return newRealFor(&sc) })
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
