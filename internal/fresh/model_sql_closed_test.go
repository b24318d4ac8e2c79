package fresh

import (
	"slices"
	"testing"

	"github.com/hotrow/hotrow/internal/waittest"
)

// The SQL front as it is built, in the same model: a write holds no version counter. From before its
// COMMIT is forwarded until the feed has told of it, it closes what it may change: copies found by
// the keys that it names, those that lack a row if it adds one, all that are found by other columns,
// or the whole table. The feed alone moves the counters, and nobody joins another's load. Where the
// feed does not know old values a copy that other columns find depends on its rows, too.

// closesCopy reports whether transaction i closes a copy of query q that shows v.
func (w *sqlWorld) closesCopy(i, q int, v uint8) bool {
	t, query := &w.sc.txs[i], &w.sc.queries[q]
	byKeys := query.author == unset && query.keys != 0
	_, found := w.sc.answer(q, v)
	whole := found == query.keys
	switch {
	case w.is(allAreWhole):
		whole = !query.count
	case w.is(countIsWhole) && query.count:
		whole = true
	}
	switch {
	case !byKeys:
		return !w.is(someIsKeys) || t.noKey
	case t.insert:
		return !whole && !w.is(addsCloseNothing)
	case t.noKey:
		return !w.is(opaqueIsSome)
	case t.rekeys && !w.is(newKeyOpen):
		return true
	}
	return query.keys>>t.row&1 != 0
}

// sqlClosedScenarios are those of the front as it is built.
func sqlClosedScenarios() (list []sqlScenario) {
	read, write := sqlOp{kind: sqlRead}, sqlOp{kind: sqlWrite}
	ofBob := sqlOp{kind: sqlRead, q: 1}
	lock, begin := sqlOp{kind: sqlLock}, sqlOp{kind: sqlBegin}
	update, commit := sqlOp{kind: sqlUpdate}, sqlOp{kind: sqlCommit}
	rollback := sqlOp{kind: sqlCommit, fails: true}
	fails, lost := sqlOp{kind: sqlWrite, fails: true}, sqlOp{kind: sqlWrite, lost: true}
	after := sqlOp{kind: sqlRead, level: sqlSession}

	queries := map[string]sqlQuery{
		"of an author": {author: ada}, "in a window": {author: ada, limit: 1},
		"above a score": {author: ada, least: 4}, "how many of an author": {author: ada, count: true},
		"one key": {author: unset, keys: 1}, "two keys": {author: unset, keys: 1 | 1<<2},
		"an absent key": {author: unset, keys: 1 << 2}, "one key above a score": {author: unset, keys: 1, least: 6},
		"how many of a key": {author: unset, keys: 1 << 2, count: true},
	}
	txs := map[string]sqlTx{
		"another author": {author: bob, score: unset}, "another score": {author: unset, score: 9},
		"by what is no key":    {author: bob, score: 7, noKey: true},
		"a new row":            {row: 2, insert: true, score: 5},
		"a row of any key":     {row: 2, insert: true, score: 5, noKey: true},
		"a removal":            {delete: true, author: unset, score: unset},
		"another key":          {author: unset, score: unset, rekeys: true, to: 2},
		"a value of a cast":    {author: bob, score: unset, inexact: true},
		"of another program":   {author: bob, score: 9, foreign: true},
		"a score of another":   {author: unset, score: 9, foreign: true},
		"a new row of another": {row: 2, insert: true, author: ada, score: 9, foreign: true},
		"a key of another":     {author: unset, score: unset, rekeys: true, to: 2, foreign: true},
		"a removal of another": {delete: true, author: unset, score: unset, foreign: true},
	}
	progs := map[string][sqlSessions][]sqlOp{
		"":                   {{write, read}, {read}, {read}},
		"rolled back":        {{fails, read}, {read, read}, nil},
		"lost":               {{lost}, {lock, read}, {read}},
		"lock handed over":   {{write}, {lock, read}, {read}},
		"transaction":        {{begin, update, commit, read}, {read}, nil},
		"for nothing":        {{begin, update, rollback, read}, {read}, nil},
		"while looking":      {{write}, {read, read}, nil},
		"of another program": {{ofBob, after}, {read}, {read}},
		"seen while looking": {{ofBob, after}, {read}, nil},
	}
	for _, full := range []bool{false, true} {
		for q, query := range queries {
			for tx, does := range txs {
				for p, sessions := range progs {
					if does.foreign != (len(sessions[0]) > 0 && sessions[0][0] == ofBob) {
						continue
					}
					name := q + ", " + tx + ", " + p
					if !full {
						name += ", old values unknown"
					}
					list = append(list, sqlScenario{name: name, full: full, closes: true,
						slow: p == "while looking" || p == "seen while looking",
						rows: [sqlRows]sqlRow{{true, ada, 5}, {true, bob, 5}}, txs: []sqlTx{does},
						queries: []sqlQuery{query, {author: bob}}, progs: sessions})
				}
			}
		}
	}
	return list
}

// TestModelSQLClosed: what is closed is enough, for each statement, write and course of events; without
// waittest.Long for a seventh of them, another one each time.
func TestModelSQLClosed(t *testing.T) {
	t.Parallel()
	states, hits := 0, 0
	for i, sc := range sqlClosedScenarios() {
		if !waittest.Long() && i%7 != 0 {
			continue
		}
		w := &sqlWorld{sc: &sc}
		n, way := exploreSQL(w)
		states, hits = states+n, hits+w.hits
		if way != "" {
			t.Errorf("%s: %s", sc.name, way)
		}
		if n >= sqlStates || w.kept == 0 {
			t.Errorf("%s: %d states, %d kept: it does not run, or does not end", sc.name, n, w.kept)
		}
	}
	t.Logf("%d states, %d hits", states, hits)
}

// TestModelSQLClosed_BrokenRulesFail: each broken rule is caught, in a scenario that is named.
func TestModelSQLClosed_BrokenRulesFail(t *testing.T) {
	all := sqlClosedScenarios()
	tests := map[sqlRule]struct{ name, scenario string }{
		nothingHeld:             {"a write closes nothing", "one key, another score, "},
		heldAtAnswer:            {"closed when the answer comes", "one key, another score, lock handed over"},
		openedAtAnswer:          {"opened when the answer comes", "one key, another score, "},
		loweredAtFence:          {"opened when the fence begins", "one key, another score, "},
		fenceBeforeAnswer:       {"opened by a fence begun before the answer", "one key, another score, "},
		releasedAtLoss:          {"opened when the connection is lost", "one key, another score, lost"},
		closedAfterWalk:         {"closed is asked after the versions", "one key, another score, while looking"},
		fenceAfterWalk:          {"the fence is asked last", "one key, of another program, seen while looking"},
		leaseAtAnswer:           {"the lease begins when the answer comes", "one key, another score, "},
		openedWithinTransaction: {"closed for the statement, not the COMMIT", "one key, another score, transaction"},
		addsCloseNothing:        {"a new row closes no absence", "an absent key, a row of any key, "},
		allAreWhole:             {"all keys of the statement count as found", "two keys, a new row, "},
		countIsWhole:            {"a count has found its keys", "how many of a key, a new row, "},
		newKeyOpen:              {"SET of the key closes the old one alone", "an absent key, another key, "},
		opaqueIsSome:            {"a condition on other columns closes what they find", "one key, by what is no key, "},
		someIsKeys:              {"a write by key closes what keys find alone", "in a window, another score, "},
		noRows: {"a copy does not depend on its rows",
			"of an author, a removal of another, of another program"},
		sessionWithoutFence: {"level session has no fence", "one key, of another program, of another program"},
	}
	for rule := fenceAfterWalk; rule < numRules; rule++ {
		if tests[rule].name == "" {
			t.Errorf("rule %d is never broken", rule)
		}
	}
	for rule, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(all, func(sc sqlScenario) bool {
				return sc.full && sc.name == tt.scenario ||
					rule == noRows && sc.name == tt.scenario+", old values unknown"
			})
			if i < 0 {
				t.Fatalf("no scenario %q", tt.scenario)
			}
			_, way := exploreSQL(&sqlWorld{sc: &all[i], broken: rule})
			if way == "" {
				t.Fatal("the check does not catch it")
			}
			t.Log(way)
		})
	}
}
