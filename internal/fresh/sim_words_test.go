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
// tables, classes that share slots, templates that come and go, six readers.
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

// randomScenario returns a scenario in which a list of Ada's rows, or of all rows, with
// user 1 embedded perhaps, is read while rows change.
func randomScenario(rng *rand.Rand) wordScenario {
	names := []string{"ada", "bob", "eve"}
	sc := wordScenario{slots: 1 << rng.IntN(5), notify: rng.IntN(4) == 0, evicts: rng.IntN(3) == 0}
	if rng.IntN(4) == 0 {
		sc.limit = 1 + rng.IntN(2)
	}
	sc.templates = []wordTemplate{byAuthor, {table: 1, column: "id", identity: true}}
	for i := range sc.templates {
		switch rng.IntN(6) {
		case 0:
			sc.templates[i].later = true
		case 1:
			sc.templates[i].removed = true
		}
	}
	all, embeds := rng.IntN(4) == 0, rng.IntN(2) == 0
	var ids []int
	for i := range 1 + rng.IntN(7) {
		tx, concerns := randomTx(rng, names, all, embeds)
		if concerns && !tx.fails {
			ids = append(ids, i)
		}
		sc.txs = append(sc.txs, tx)
	}
	class := ofAda
	if all {
		class = wordClass{0, "", ""}
	}
	sc.query = listOf(class, ids...)
	if embeds {
		sc.query.reads = []int{1}
		sc.query.read = func(v txs) (string, []wordClass) {
			return told(v, ids...), []wordClass{{1, "id", "1"}}
		}
	}
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

// randomTx returns a transaction and whether it changes the list.
func randomTx(rng *rand.Rand, names []string, all, embeds bool) (tx wordTx, concerns bool) {
	switch rng.IntN(12) {
	case 0:
		return wordTx{lost: true}, true
	case 1:
		return wordTx{whole: []int{0}}, true
	case 2:
		return wordTx{whole: []int{1}}, embeds
	}
	for range 1 + rng.IntN(2) {
		if rng.IntN(3) == 0 {
			id := fmt.Sprint(1 + rng.IntN(2))
			tx.rows = append(tx.rows, wordRow{1, cells{"id": id}, cells{"id": id}})
			concerns = concerns || embeds && id == "1"
			continue
		}
		var old, new cells
		if rng.IntN(4) > 0 {
			old = author(names[rng.IntN(len(names))])
		}
		if old == nil || rng.IntN(4) > 0 {
			new = author(names[rng.IntN(len(names))])
		}
		tx.rows = append(tx.rows, wordRow{0, old, new})
		concerns = concerns || all || old["author"] == "ada" || new["author"] == "ada"
	}
	tx.own = rng.IntN(3) == 0
	tx.fails = tx.own && rng.IntN(5) == 0
	return tx, concerns
}
