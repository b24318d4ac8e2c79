package stress

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/testbed"
)

// The token of a read covers that read: who sends it along, to whichever node and for
// whichever row, gets nothing older. Rows of pair are written together, always to a greater
// value, so that two answers can be compared without knowing what was written when.

// pairTable is what the tests of tokens read: rows 1 to 4, and 9, which comes and goes.
var pairTable = []string{
	"CREATE TABLE pair (id INTEGER PRIMARY KEY, v INTEGER NOT NULL)",
	"INSERT INTO pair VALUES (1, 1), (2, 1), (3, 1), (4, 1)",
}

// pairSpecs has pair as documents and lists.
func pairSpecs() []resource.Spec { return []resource.Spec{testbed.Spec("pair")} }

// nextPair is the statement that gives all rows the next value.
func nextPair() string { return fmt.Sprintf("UPDATE pair SET v = %d", pairNow.Add(1)) }

var pairNow atomic.Int64 // grows over all tests

var pairValue = regexp.MustCompile(`"v":(\d+)`)

// A glance is what one answer has shown, and the token that came with it.
type glance struct {
	how            string
	oldest, newest int64 // of the values in it
	token          string
}

// pairWays are requests for a row of pair that are answered in different ways.
var pairWays = []struct {
	name, path string
	headers    []string
}{
	{"document", "/pair/%d", nil},
	{"no-cache", "/pair/%d", []string{"Cache-Control: no-cache"}},
	{"MessagePack, no-cache", "/pair/%d?format=json", []string{"Cache-Control: no-cache"}},
	{"list", "/pair?id=eq.%d", nil},
	{"list, no-cache", "/pair?id=eq.%d", []string{"Cache-Control: no-cache"}},
	{"keys", "/pair?id=in.(%d,4)", nil},
}

// glance asks for a row of pair, and includes what a token says.
func (c *client) glance(way, id int, token string) (g glance, err error) {
	w := &pairWays[way]
	headers := w.headers
	if token != "" {
		headers = append([]string{"Hotrow-Min-Position: " + token}, headers...)
	}
	a, err := c.get(fmt.Sprintf(w.path, id), headers...)
	if err != nil {
		return g, err
	}
	all := pairValue.FindAllSubmatch(a.body, -1)
	if a.code != 200 || all == nil {
		return g, fmt.Errorf("%s of %d: status %d: %s", w.name, id, a.code, a.body)
	}
	g.oldest = math.MaxInt64
	for _, m := range all {
		v, err := strconv.ParseInt(string(m[1]), 10, 64)
		if err != nil {
			return g, err
		}
		g.oldest, g.newest = min(g.oldest, v), max(g.newest, v)
	}
	g.how = fmt.Sprintf("%s of %d from %q", w.name, id, a.status())
	g.token = a.header.Get("Hotrow-Position")
	if g.token == "" {
		err = fmt.Errorf("%s has no position", g.how)
	}
	return g, err
}

// passOn reads a row on one node, and another of the same transaction on the other with the
// token of that answer.
func passOn(from, to *client, way, then int) error {
	first, err := from.glance(way, 1+rand.IntN(4), "")
	if err != nil {
		return err
	}
	second, err := to.glance(then, 1+rand.IntN(4), first.token)
	if err == nil && second.oldest < first.newest {
		err = fmt.Errorf("%s gave %d with %s, and then %s gave %d with %s", first.how, first.newest,
			first.token, second.how, second.oldest, second.token)
	}
	return err
}

// tokensAtRest writes, reads on one node and at once on the other, when nobody else does
// anything.
func tokensAtRest(t *testing.T, nodes [2]*stand, exec func(sql string)) {
	t.Helper()
	var conns [2]*client
	for i, s := range nodes {
		conns[i] = s.connect()
		for id := 1; id <= 4; id++ {
			conns[i].mustHit(t, "/pair/"+strconv.Itoa(id))
		}
	}
	const rounds = 300
	older := make(map[string]int)
	var last error
	for i := range rounds {
		exec(nextPair())
		at, way := i%2, i%len(pairWays)
		if err := passOn(conns[at], conns[1-at], way, rand.IntN(2)*3); err != nil {
			older[pairWays[way].name], last = older[pairWays[way].name]+1, err
		}
	}
	if len(older) > 0 {
		t.Errorf("older in %v of %d rounds; the last: %v", older, rounds, last)
	}
}

// absencesAtRest does the same with a row that goes.
func absencesAtRest(t *testing.T, nodes [2]*stand, exec func(sql string)) {
	t.Helper()
	a, b := nodes[0].connect(), nodes[1].connect()
	const rounds = 60
	older := 0
	for i := range rounds {
		exec("INSERT INTO pair VALUES (9, 1)")
		for _, c := range []*client{a, b} { // an absence from here on is not one of before
			c.mustGet(t, 200, "/pair/9", "Cache-Control: no-cache")
			c.mustGet(t, 200, "/pair/9")
		}
		exec("DELETE FROM pair WHERE id = 9")
		headers := [][]string{{"Cache-Control: no-cache"}, nil}[i%2]
		first, err := a.get("/pair/9", headers...)
		if err != nil {
			t.Fatal(err)
		}
		if first.code != 404 {
			continue // a copy, or another's read
		}
		token := first.header.Get("Hotrow-Position")
		then, err := b.get("/pair/9", "Hotrow-Min-Position: "+token)
		if err != nil {
			t.Fatal(err)
		}
		if token == "" || then.code != 404 {
			older++
		}
	}
	if older > 0 {
		t.Errorf("a row that was gone was there again in %d of %d rounds", older, rounds)
	}
}

// tokensBesideWriters does it while others write all the time.
func tokensBesideWriters(t *testing.T, nodes [2]*stand, write func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { write(ctx) })
	var mu sync.Mutex // guards bad
	var bad []error
	var rounds atomic.Int64
	for range 4 {
		from, to := nodes[0].connect(), nodes[1].connect()
		wg.Go(func() {
			for testbed.Breathe(ctx) {
				if rand.IntN(2) == 0 {
					from, to = to, from
				}
				err := passOn(from, to, rand.IntN(len(pairWays)), rand.IntN(len(pairWays)))
				rounds.Add(1)
				if err != nil {
					mu.Lock()
					bad = append(bad, err)
					mu.Unlock()
				}
			}
		})
	}
	testbed.Work(t, testbed.Length(time.Second/2), &rounds)
	cancel()
	wg.Wait()
	testbed.Figures(t, "%d rounds, %d older", rounds.Load(), len(bad))
	for _, err := range bad[:min(len(bad), 5)] {
		t.Error(err)
	}
	if len(bad) > 5 {
		t.Errorf("and %d more", len(bad)-5)
	}
}

// writeAllTheTime writes greater values through exec.
func writeAllTheTime(exec func(sql string)) func(context.Context) {
	return func(ctx context.Context) {
		for testbed.Pause(ctx, time.Millisecond) {
			exec(nextPair())
		}
	}
}

func checkTokens(t *testing.T, nodes [2]*stand, exec func(sql string)) {
	t.Run("at rest", func(t *testing.T) { tokensAtRest(t, nodes, exec) })
	t.Run("absences", func(t *testing.T) { absencesAtRest(t, nodes, exec) })
	t.Run("beside writers", func(t *testing.T) {
		tokensBesideWriters(t, nodes, writeAllTheTime(exec))
	})
}

// TestPostgres_TokenOfAReadCoversIt: two nodes on one database, by each of its feeds.
func TestPostgres_TokenOfAReadCoversIt(t *testing.T) {
	t.Parallel()
	for _, modes := range [][2]source.FeedMode{
		{source.FeedLogical, source.FeedLogical}, {source.FeedLogical, source.FeedNotify},
	} {
		t.Run(string(modes[1]), func(t *testing.T) {
			url := dbtest.Postgres(t)
			conn := testbed.Dial(t, url)
			testbed.MustExec(t, conn, pairTable...)
			specs := pairSpecs()
			if modes[1] == source.FeedNotify {
				doctored(t, url, specs)
			}
			var nodes [2]*stand
			for i := range nodes {
				nodes[i] = newStand(t, url, plan{Specs: specs, Mode: modes[i]})
			}
			checkTokens(t, nodes, func(sql string) { testbed.MustExec(t, conn, sql) })
		})
	}
}

// TestMariaDB_TokenOfAReadCoversIt is the same over the binary log.
func TestMariaDB_TokenOfAReadCoversIt(t *testing.T) {
	url := dbtest.MariaDB(t)
	conn := testbed.DialMariaDB(t, url)
	exec := execOf(t, conn)
	for _, sql := range pairTable {
		exec(sql)
	}
	var nodes [2]*stand
	for i := range nodes {
		nodes[i] = newStandOver(t, testbed.OpenMariaDB(t, url), plan{Specs: pairSpecs(),
			Mode: source.FeedBinlog})
	}
	checkTokens(t, nodes, exec)
}

// execOf runs statements on a connection.
func execOf(t testing.TB, conn *sql.Conn) func(string) {
	return func(sql string) {
		if _, err := conn.ExecContext(context.Background(), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestSQLite_TokenOfAReadCoversIt: another program writes, with the change log and without;
// and hotrow itself. One token is used on the same node, one on another, which has positions
// of its own.
func TestSQLite_TokenOfAReadCoversIt(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"another program", "hotrow"} {
		t.Run(who, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pair.db")
			first := testbed.OpenSQLite(t, path, sqlite.Options{Own: true})
			by := first
			if who != "hotrow" {
				by = testbed.OpenSQLite(t, path, sqlite.Options{Own: true})
			}
			exec := func(sql string) {
				if err := by.Exec(context.Background(), sql); err != nil {
					t.Errorf("%s: %v", sql, err)
				}
			}
			for _, sql := range pairTable {
				exec(sql)
			}
			one := newStandOver(t, first, plan{Specs: pairSpecs(), Mode: source.FeedAuto})
			other := newStandOver(t, testbed.OpenSQLite(t, path, sqlite.Options{Own: true}),
				plan{Specs: pairSpecs(), Mode: source.FeedAuto})
			t.Run("two nodes", func(t *testing.T) { checkTokens(t, [2]*stand{one, other}, exec) })
			t.Run("one node", func(t *testing.T) { checkTokens(t, [2]*stand{one, one}, exec) })
		})
	}
}
