package fresh

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
)

// A sqlRule is a rule that is broken, to show that the check notices.
type sqlRule uint8

const (
	nothingBroken sqlRule = iota
	nothingHeld
	heldAtAnswer
	releasedWithoutStamp
	releasedAtLoss
	releasedAtFence
	newClassNotHeld
	noRows
	noOwn
	recordsInTransaction
	lookAtArrival
	stateByText
	unsureAtAnswer
	leaseAtAnswer
	closesNothing
	closedWithoutOwn
	templatesOfSet
	keyNotNeeded
	inexactHeld
	closedAfterWalk
	openedAtAnswer
	loweredAtFence
	fenceBeforeAnswer
	joinsWithoutOwn
	sessionWithoutFence
	nowWithoutFence
	fenceAfterWalk
	addsCloseNothing
	allAreWhole
	countIsWhole
	newKeyOpen
	opaqueIsSome
	someIsKeys
	openedWithinTransaction
	numRules
)

// sqlStates is how many a scenario may have.
const sqlStates = 100_000

func sqlScenarios() (list []sqlScenario) {
	type prog = []sqlOp
	read := func(q int) sqlOp { return sqlOp{kind: sqlRead, q: q} }
	piped := func(q int) sqlOp { return sqlOp{kind: sqlRead, q: q, piped: true} }
	at := func(q int, level sqlLevel) sqlOp { return sqlOp{kind: sqlRead, q: q, level: level} }
	write, lock := sqlOp{kind: sqlWrite}, sqlOp{kind: sqlLock}
	hidden, begin := sqlOp{kind: sqlHidden}, sqlOp{kind: sqlBegin}
	fails, lost := sqlOp{kind: sqlWrite, fails: true}, sqlOp{kind: sqlWrite, lost: true}
	update, commit, rollback := sqlOp{kind: sqlUpdate}, sqlOp{kind: sqlCommit}, sqlOp{kind: sqlCommit, fails: true}

	ofAda := sqlQuery{author: ada}
	ofBob := sqlQuery{author: bob}
	high := sqlQuery{author: ada, least: 4}
	best := sqlQuery{author: ada, limit: 1}
	third := sqlQuery{author: unset, keys: 1 << 2}
	count := sqlQuery{author: ada, count: true}
	exists := sqlQuery{author: ada, keyless: true}

	moves := sqlTx{author: bob, score: unset}            // SET author = 'bob' WHERE id = 0
	keeps := sqlTx{author: ada, score: 6}                // SET score = 6 WHERE id = 0 AND author = 'ada'
	rises := sqlTx{row: 2, author: unset, score: 9}      // SET score = 9 WHERE id = 2
	anyRow := sqlTx{author: bob, score: 7, noKey: true}  // SET author = 'bob', score = 7 WHERE score = 5
	comes := sqlTx{row: 2, insert: true, score: 5}       // INSERT with its key
	identity := sqlTx{row: 2, insert: true, noKey: true} // INSERT whose key a sequence gives
	goes := sqlTx{delete: true, author: unset, score: unset}
	cast := sqlTx{author: bob, score: unset, inexact: true} // SET author = 'BOB' that becomes 'bob'
	foreign := sqlTx{author: bob, score: unset, foreign: true}
	other := sqlTx{author: ada, score: 8, foreign: true}

	two := [sqlRows]sqlRow{{true, ada, 5}, {true, bob, 5}}
	three := two
	three[2] = sqlRow{true, ada, 3}
	add := func(name string, rows [sqlRows]sqlRow, queries []sqlQuery, txs []sqlTx, a, b, c prog) *sqlScenario {
		list = append(list, sqlScenario{name: name, rows: rows, queries: queries, txs: txs,
			progs: [sqlSessions][]sqlOp{a, b, c}})
		return &list[len(list)-1]
	}
	for _, full := range []bool{false, true} {
		kind := map[bool]string{false: ", old values unknown", true: ""}[full]
		each := func(name string, rows [sqlRows]sqlRow, q sqlQuery, tx sqlTx, a, b, c prog) {
			add(name+kind, rows, []sqlQuery{q, ofBob}, []sqlTx{tx}, a, b, c).full = full
		}
		each("old class", two, ofAda, moves, prog{write, read(0)}, prog{read(0), read(0)}, prog{read(0)})
		each("new class", two, ofAda, moves, prog{write, read(1)}, prog{read(1), read(1)}, prog{read(1)})
		each("lock handed over", two, ofAda, moves, prog{write}, prog{lock, read(0)}, prog{read(0), read(1)})
		each("value", two, ofAda, keeps, prog{write, read(0)}, prog{read(0), read(0)}, prog{read(0)})
		each("enters a condition", three, high, rises, prog{write, read(0)}, prog{read(0)}, prog{read(0)})
		each("enters a window", three, best, rises, prog{write, read(0)}, prog{read(0)}, prog{read(0)})
		each("unknown key", two, ofAda, anyRow, prog{write, read(0)}, prog{read(0)}, prog{read(0)})
		each("absent, key given", two, third, comes, prog{write, read(0)}, prog{read(0)}, prog{read(0)})
		each("absent, key by sequence", two, third, identity, prog{write, read(0)}, prog{read(0)}, prog{read(0)})
		each("deleted", two, ofAda, goes, prog{write, read(0)}, prog{read(0)}, prog{read(0)})
		each("cast by assignment", two, ofAda, cast, prog{write, read(1)}, prog{read(1)}, prog{read(1)})
		each("count", two, count, moves, prog{write, read(0)}, prog{read(0)}, prog{read(0)})
		each("exists", two, exists, moves, prog{write, read(0)}, prog{read(0)}, prog{read(0)})
		each("rolled back", two, ofAda, moves, prog{fails, read(0)}, prog{read(0), read(0)}, nil)
		each("closed, rolled back", two, ofAda, anyRow, prog{fails, read(0)}, prog{read(0), read(0)}, nil)
		each("transaction", two, ofAda, moves, prog{begin, update, read(1), commit}, prog{read(1), read(1)}, nil)
		each("transaction, rolled back", two, ofAda, anyRow, prog{begin, update, read(1), rollback},
			prog{read(1), read(1)}, nil)
		each("closed while looking", two, ofAda, anyRow, prog{write}, prog{read(0), read(0)}, nil)
		list[len(list)-1].slow = true
		each("foreign, now", two, ofAda, foreign, prog{at(0, sqlNow)}, prog{read(0), read(0)}, nil)
		each("foreign, session", two, ofAda, foreign, prog{read(1), at(0, sqlSession)}, prog{read(0)}, nil)
	}
	one := []sqlTx{moves}
	lists := []sqlQuery{ofAda, ofBob}
	add("pipelined begin", two, lists, one, prog{read(0), begin, piped(0), commit}, prog{read(0)}, nil)
	add("pipelined write", two, lists, one, prog{read(0), write, piped(0)}, prog{read(0), read(0)}, nil)
	add("hidden state", two, lists, nil, prog{read(0), hidden, read(0), read(0)}, prog{read(0), read(0)}, nil)
	add("hidden state, pipelined", two, lists, nil, prog{read(0), hidden, piped(0), read(0)}, prog{read(0)},
		nil)
	add("lost", two, lists, one, prog{lost}, prog{lock, read(0)}, prog{read(0), read(0)})
	add("lost, closed", two, lists, []sqlTx{anyRow}, prog{lost}, prog{lock, read(0)}, prog{read(0), read(0)})
	add("foreign and own", two, lists, []sqlTx{moves, other}, prog{write, read(0)}, prog{read(0), read(1)}, nil)
	add("foreign and own, closed", three, lists, []sqlTx{rises, other}, prog{write, read(0)}, prog{read(0)}, nil)
	second := write
	second.tx = 1
	add("two writes, one closed", three, lists, []sqlTx{moves, rises}, prog{write}, prog{second, read(0), read(0)}, nil)
	return list
}

// exploreSQL tries every order of turns. It returns how many states there are and, if something
// fails, what and the way to it.
func exploreSQL(w *sqlWorld) (states int, way string) {
	type node struct {
		s    sqlState
		from int
		turn sqlTurn
	}
	begin := sqlState{clock: 1}
	w.tidy(&begin)
	nodes, seed := []node{{s: begin, from: -1}}, maphash.MakeSeed()
	seen := map[uint64]struct{}{maphash.Comparable(seed, begin): {}} // by hash: see explore
	path := func(i int) string {
		var turns []string
		for ; i > 0; i = nodes[i].from {
			t := nodes[i].turn
			turns = append(turns, fmt.Sprint(t.what, " ", t.i, " ", t.op))
		}
		slices.Reverse(turns)
		return fmt.Sprint(w.fail, ": ", strings.Join(turns, ", "))
	}
	for i := 0; i < len(nodes) && i < sqlStates; i++ {
		ends, from := true, nodes[i].s
		w.turns(&from, func(turn sqlTurn, s *sqlState) {
			ends = false
			w.tidy(s)
			h := maphash.Comparable(seed, *s)
			if _, old := seen[h]; way == "" && (w.fail != "" || !old) {
				seen[h] = struct{}{}
				nodes = append(nodes, node{*s, i, turn})
			}
			if way == "" && w.fail != "" {
				way = path(len(nodes) - 1)
			}
		})
		if ends {
			w.end(&from)
			if w.fail != "" {
				way = path(i)
			}
		}
		if way != "" {
			break
		}
	}
	return len(nodes), way
}

// end checks a state in which nothing can happen any more.
func (w *sqlWorld) end(s *sqlState) {
	if s.closed != 0 {
		w.fail = "the table stays closed"
	}
	for i, c := range s.counters {
		if c.dirty != 0 && !w.is(releasedAtFence) {
			w.fail = fmt.Sprint("counter ", i, " stays dirty")
		}
	}
	for k := range s.conns {
		if p := &s.conns[k]; int(p.answered) < len(w.sc.progs[k]) && !p.lost {
			w.fail = fmt.Sprint("session ", k, " gets no answer")
		}
	}
	for q := range w.sc.queries {
		want, _ := w.sc.answer(q, s.visible)
		for _, c := range s.copies[q] {
			if got, _ := w.sc.answer(q, c.v); c.kept && !s.moved(w.deps(q, c.v), c.c0, true) && got != want {
				w.fail = "a copy is stale for ever"
			}
		}
	}
}

func TestModelSQL(t *testing.T) {
	for _, sc := range sqlScenarios() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			w := &sqlWorld{sc: &sc}
			states, way := exploreSQL(w)
			t.Logf("%d states, %d hits, %d kept", states, w.hits, w.kept)
			if way != "" {
				t.Error(way)
			}
			if states >= sqlStates || w.hits == 0 || w.kept == 0 {
				t.Errorf("%d states, %d hits, %d kept: the scenario does not run, or does not end",
					states, w.hits, w.kept)
			}
		})
	}
}

// TestModelSQL_BrokenRulesFail shows that the check can fail: each broken rule does, in the scenario
// that is named.
func TestModelSQL_BrokenRulesFail(t *testing.T) {
	const unknown = ", old values unknown"
	tests := []struct {
		rule           sqlRule
		name, scenario string
	}{
		{nothingHeld, "own writes are known by the feed alone", "old class"},
		{heldAtAnswer, "held when the answer comes, not before the COMMIT is forwarded", "lock handed over"},
		{releasedWithoutStamp, "a release stamps nothing", "old class"},
		{releasedAtLoss, "released when the connection is lost", "lost"},
		{releasedAtLoss, "opened when the connection is lost", "lost, closed"},
		{newClassNotHeld, "the class of the new values is not held", "new class"},
		{noRows, "a copy does not depend on its rows", "old class"},
		{noOwn, "a copy without keys does not depend on own writes", "count"},
		{noOwn, "a copy without keys does not depend on own writes", "exists"},
		{recordsInTransaction, "answers within a transaction are kept", "transaction"},
		{lookAtArrival, "a look while groups before are under way", "pipelined begin"},
		{stateByText, "the state is what the statements' texts say", "hidden state"},
		{unsureAtAnswer, "a session is unsure from the answer on", "hidden state, pipelined"},
		{leaseAtAnswer, "the lease begins when the answer comes", "old class"},
		{closesNothing, "unknown rows hold the table's counters alone", "unknown key"},
		{closedWithoutOwn, "a write that closes does not move what own writes move", "unknown key"},
		{templatesOfSet, "held are the templates that SET names", "enters a condition"},
		{templatesOfSet, "held are the templates that SET names", "enters a window"},
		{keyNotNeeded, "a key that is not given is no reason to close", "absent, key by sequence"},
		{inexactHeld, "the value of the text is held, not that of the column", "cast by assignment"},
		{closedAfterWalk, "whether the table is closed is read after the walk", "closed while looking"},
		{openedAtAnswer, "opened when the answer comes", "enters a condition"},
		{loweredAtFence, "opened when the fence begins, before the feed's touch", "enters a condition"},
		{fenceBeforeAnswer, "a fence begun before the answer opens", "enters a condition"},
		{joinsWithoutOwn, "a join does not look at own writes", "old class"},
		{sessionWithoutFence, "level session waits for no fence", "foreign, session" + unknown},
		{nowWithoutFence, "level now waits for no fence", "foreign, now"},
	}
	all := sqlScenarios()
	broken := map[sqlRule]bool{nothingBroken: true, releasedAtFence: true}
	for _, tt := range tests {
		broken[tt.rule] = true
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(all, func(sc sqlScenario) bool { return sc.name == tt.scenario })
			_, way := exploreSQL(&sqlWorld{sc: &all[i], broken: tt.rule})
			if way == "" {
				t.Fatalf("the check does not catch it in %q", tt.scenario)
			}
			t.Log(way)
		})
	}
	for rule := range fenceAfterWalk {
		if !broken[rule] {
			t.Errorf("rule %d is never broken", rule)
		}
	}
}

// TestModelSQL_HoldingOnIsHarmless: no fence is needed before a precise hold is released.
func TestModelSQL_HoldingOnIsHarmless(t *testing.T) {
	some := []string{"old class", "new class", "unknown key", "lock handed over", "lost", "foreign and own"}
	for _, sc := range sqlScenarios() {
		if !slices.Contains(some, sc.name) {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			if _, way := exploreSQL(&sqlWorld{sc: &sc, broken: releasedAtFence}); way != "" {
				t.Error(way)
			}
		})
	}
}
