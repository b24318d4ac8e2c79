package fresh

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

var wordsDuration = flag.Duration("sim.words", 0, "play scenarios of lists until this time is over")

// TestSimulationWords plays scenarios that are too large for the exhaustive check, each
// in one order of atomic steps that its seed decides: up to seven transactions of two
// tables, tags that share slots, templates that come and go, six readers.
func TestSimulationWords(t *testing.T) {
	n, first := 3000, uint64(1)
	if testing.Short() {
		n = 500
	}
	if *wordsDuration > 0 {
		n, first = 1<<40, rand.Uint64()>>1
	}
	begin, steps := time.Now(), 0
	for i := range n {
		if *wordsDuration > 0 && time.Since(begin) > *wordsDuration {
			t.Logf("%d scenarios, %d steps", i, steps)
			break
		}
		rng := rand.New(rand.NewPCG(first+uint64(i), 1))
		sc := randomScenario(rng)
		sc.prepare()
		for range 4 {
			s, failure := strollWords(&sc, rng)
			if steps += s; failure != "" {
				t.Fatalf("seed %d: %s", first+uint64(i), failure)
			}
		}
	}
	if *wordsDuration == 0 && steps < 100*n {
		t.Errorf("only %d steps", steps)
	}
}

// A simTold is what the feed of a scenario tells of the author that a row of table 0 had, and
// what a list does where that is nothing (TagColumns).
type simTold uint8

const (
	simTells   simTold = iota // each change tells it
	simForgets                // lists name the rows that they have read
	simBlind                  // lists name the tag Unseen
)

// randomScenario returns a scenario in which a list of Ada's rows, or of all rows, with
// user 1 embedded perhaps, is read while rows change.
func randomScenario(rng *rand.Rand) wordScenario {
	sc := wordScenario{slots: 1 << rng.IntN(5), notify: rng.IntN(4) == 0, evicts: rng.IntN(3) == 0}
	if rng.IntN(4) == 0 {
		sc.limit = 1 + rng.IntN(2)
	}
	r := newSimRows(rng)
	own := byAuthor
	own.forgets, own.blind = r.told == simForgets, r.told == simBlind
	sc.templates = []wordTemplate{own, {table: 1, column: "id", identity: true}}
	if r.told == simForgets {
		sc.templates = append(sc.templates, wordTemplate{table: 0, column: "id", identity: true})
	}
	for i := range sc.templates {
		switch rng.IntN(6) {
		case 0:
			sc.templates[i].later = true
		case 1:
			sc.templates[i].removed = true
		}
	}
	r.all, r.embeds = rng.IntN(4) == 0, rng.IntN(2) == 0
	var ids []int
	for i := range 1 + rng.IntN(7) {
		tx, concerns := r.tx(rng)
		if concerns && !tx.fails {
			ids = append(ids, i)
		}
		sc.txs = append(sc.txs, tx)
	}
	sc.query = r.query(ids)
	for range 2 + rng.IntN(5) {
		r := wordReader{last: rng.IntN(3) == 0, need: Need(rng.IntN(3)),
			format: row.Format(rng.IntN(4) / 3)}
		if r.need == Settled {
			r.min = 1 + rng.IntN(len(sc.txs))
			if slices.ContainsFunc(sc.txs, func(tx wordTx) bool { return tx.fails }) {
				r.need, r.min = Any, 0
			}
		}
		sc.readers = append(sc.readers, r)
	}
	return sc
}

// simRows are the rows of table 0: who their authors are, "" for none of a row that is not
// there, at first and after each transaction.
type simRows struct {
	told        simTold
	all, embeds bool
	states      [][3]string
}

func newSimRows(rng *rand.Rand) *simRows {
	r := &simRows{told: simTold(max(0, rng.IntN(5)-2)), states: make([][3]string, 1)}
	for i := range r.states[0] {
		r.states[0][i] = r.author(rng)
	}
	return r
}

func (r *simRows) author(rng *rand.Rand) string {
	return [...]string{"ada", "bob", "eve", ""}[rng.IntN(4)]
}

// cells is what the feed tells of a row; old says that it has been so.
func (r *simRows) cells(id int, author string, old bool) cells {
	switch {
	case author == "":
		return nil
	case old && r.told != simTells && id > 0: // of the first one it tells all the same
		return cells{"id": fmt.Sprint(id)}
	}
	return cells{"id": fmt.Sprint(id), "author": author}
}

// query is the list, which some transactions change.
func (r *simRows) query(ids []int) wordQuery {
	q := listOf(ofAda, ids...)
	switch {
	case r.all:
		q = listOf(wordClass{0, "", ""}, ids...)
	case r.told == simBlind:
		q.tags = append(q.tags, wordClass{0, "author", Unseen})
	case r.told == simForgets:
		q.reads = append(q.reads, 0)
	}
	if r.embeds {
		q.reads = append(q.reads, 1)
	}
	q.read = func(v txs) (string, []wordClass) {
		var tags []wordClass
		last := 0
		for i := range r.states {
			if i > 0 && v.has(i-1) {
				last = i
			}
		}
		for id, author := range r.states[last] {
			if r.told == simForgets && !r.all && author == "ada" {
				tags = append(tags, wordClass{0, "id", fmt.Sprint(id)})
			}
		}
		if r.embeds {
			tags = append(tags, wordClass{1, "id", "1"})
		}
		return told(v, ids...), tags
	}
	return q
}

// tx returns a transaction and whether it changes the list.
func (r *simRows) tx(rng *rand.Rand) (tx wordTx, concerns bool) {
	is := r.states[len(r.states)-1]
	defer func() {
		if tx.fails {
			is = r.states[len(r.states)-1]
		}
		r.states = append(r.states, is)
	}()
	switch rng.IntN(12) {
	case 0:
		return wordTx{lost: true}, true
	case 1:
		return wordTx{whole: []int{0}}, true
	case 2:
		return wordTx{whole: []int{1}}, r.embeds
	}
	for range 1 + rng.IntN(2) {
		if rng.IntN(3) == 0 {
			id := fmt.Sprint(1 + rng.IntN(2))
			tx.rows = append(tx.rows, wordRow{1, cells{"id": id}, cells{"id": id}})
			concerns = concerns || r.embeds && id == "1"
			continue
		}
		id := rng.IntN(len(is))
		was := is[id]
		if is[id] = r.author(rng); was == "" && is[id] == "" {
			is[id] = "eve"
		}
		tx.rows = append(tx.rows, wordRow{0, r.cells(id, was, true), r.cells(id, is[id], false)})
		concerns = concerns || r.all || was == "ada" || is[id] == "ada"
	}
	tx.own = rng.IntN(3) == 0
	tx.fails = tx.own && rng.IntN(5) == 0
	return tx, concerns
}
