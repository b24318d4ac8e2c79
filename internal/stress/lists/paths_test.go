package lists

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// socialTables are those of a timeline, after Mastodon's: accounts follow accounts and write
// statuses, of which some belong to a conversation.
var socialTables = []string{
	`CREATE TABLE accounts (id int PRIMARY KEY, name varchar(20))`,
	`CREATE TABLE statuses (id int PRIMARY KEY, account_id int NOT NULL, score int NOT NULL)`,
	`CREATE TABLE follows (id int PRIMARY KEY, account_id int NOT NULL, target_id int NOT NULL)`,
	`CREATE TABLE likes (id int PRIMARY KEY, status_id int NOT NULL)`,
	`CREATE INDEX statuses_account ON statuses (account_id)`,
	`CREATE INDEX follows_account ON follows (account_id)`,
	`CREATE INDEX likes_status ON likes (status_id)`,
	`INSERT INTO accounts VALUES (1, 'ann'), (2, 'bob'), (3, 'cid'), (4, 'dan'), (5, 'eve')`,
	`INSERT INTO follows VALUES (1, 1, 2), (2, 1, 3), (3, 2, 3), (4, 4, 1)`,
	`INSERT INTO statuses VALUES (10, 1, 1), (20, 2, 2), (30, 3, 3), (31, 3, 4), (50, 5, 5)`,
	`INSERT INTO likes VALUES (1, 20), (2, 50)`,
}

const (
	homeQuery = `SELECT a.id AS account_id, a.name, count(s.id) AS n, sum(s.score) AS total,
		max(s.id) AS newest FROM accounts a LEFT JOIN follows f ON f.account_id = a.id
		LEFT JOIN statuses s ON s.account_id = f.target_id WHERE a.id = :account_id GROUP BY a.id, a.name`

	// likesQuery counts the likes of what those have written whom one follows, and is there
	// for whoever has none, too.
	likesQuery = `SELECT count(l.id) AS n FROM follows f JOIN statuses s ON s.account_id = f.target_id
		JOIN likes l ON l.status_id = s.id WHERE f.account_id = :account_id`
)

// paths parses the paths of a query, and takes all else for the tables and columns of its key.
func paths(t testing.TB, depends ...string) (list []source.Dep) {
	t.Helper()
	for _, d := range depends {
		if table, key, ok := strings.Cut(d, ":"); ok && !strings.Contains(d, "->") {
			list = append(list, source.Dep{Table: table, Columns: []string{key}})
			continue
		}
		p, err := source.ParsePath(d)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, source.Dep{Path: p})
	}
	return list
}

func querySpec(t testing.TB, name, query, key string, depends ...string) resource.Spec {
	s := testbed.Spec(name)
	s.Writable = false
	s.Table = &source.Spec{Name: name, Query: query, Key: []string{key}, Depends: paths(t, depends...)}
	return s
}

func socialSpecs(t testing.TB) []resource.Spec {
	return []resource.Spec{
		testbed.Spec("accounts"), testbed.Spec("statuses"), testbed.Spec("follows"), testbed.Spec("likes"),
		querySpec(t, "home", homeQuery, "account_id", "accounts:id",
			"statuses.account_id -> follows.target_id -> follows.account_id -> :key"),
		querySpec(t, "likes_of", likesQuery, "account_id",
			"likes.status_id -> statuses.id -> statuses.account_id -> follows.target_id -> :account_id"),
	}
}

// A social is these tables served over one database.
type social struct {
	t    *testing.T
	s    *testbed.Bed
	exec func(statements ...string) // in one transaction
}

// socials runs a test over each database; of PostgreSQL with both identities and feeds.
func socials(t *testing.T, fn func(t *testing.T, b *social, knowsOld bool)) {
	for _, v := range []struct {
		name, identity string
		mode           source.FeedMode
	}{{"default", "", source.FeedLogical}, {"full", "FULL", source.FeedLogical},
		{"notify", "", source.FeedNotify}} {
		t.Run("postgres_"+v.name, func(t *testing.T) {
			url := dbtest.Postgres(t)
			conn := testbed.Dial(t, url)
			b := &social{t: t}
			b.exec = func(statements ...string) { testbed.MustExec(t, conn, strings.Join(statements, "; ")) }
			b.exec(socialTables...)
			for _, table := range []string{"accounts", "statuses", "follows", "likes"} {
				if v.identity != "" {
					b.exec("ALTER TABLE " + table + " REPLICA IDENTITY " + v.identity)
				}
			}
			if v.mode == source.FeedNotify {
				testbed.ApplyDoctor(t, url, socialSpecs(t))
			}
			b.s = testbed.Over(t, testbed.OpenPostgres(t, url), testbed.Plan{Specs: socialSpecs(t), Mode: v.mode})
			fn(t, b, v.name != "default")
		})
	}
	t.Run("mariadb", func(t *testing.T) {
		url := dbtest.MariaDB(t)
		conn := testbed.DialMariaDB(t, url)
		b := &social{t: t}
		b.exec = func(statements ...string) {
			for _, s := range dbtest.SQLs(append(append([]string{"BEGIN"}, statements...), "COMMIT")...) {
				if _, err := conn.ExecContext(context.Background(), s); err != nil {
					t.Fatalf("%s: %v", s, err)
				}
			}
		}
		b.exec(socialTables...)
		b.s = testbed.Over(t, testbed.OpenMariaDB(t, url), testbed.Plan{Specs: socialSpecs(t), Mode: source.FeedBinlog})
		fn(t, b, true)
	})
	t.Run("sqlite", func(t *testing.T) {
		src := testbed.OpenSQLite(t, filepath.Join(t.TempDir(), "social.db"), sqlite.Options{Own: true})
		b := &social{t: t}
		b.exec = func(statements ...string) {
			if err := src.Exec(context.Background(), statements...); err != nil {
				t.Fatalf("%q: %v", statements, err)
			}
		}
		b.exec(socialTables...)
		b.s = testbed.Over(t, src, testbed.Plan{Specs: socialSpecs(t), Mode: source.FeedAuto})
		fn(t, b, true)
	})
}

func (b *social) get(of string, key row.Key, o resource.Options) resource.Answer {
	b.t.Helper()
	a, err := b.s.Resource(of).Get(b.t.Context(), key, o)
	if err != nil {
		b.t.Fatalf("%s/%s: %v", of, key, err)
	}
	return a
}

// kept returns the answer that memory has.
func (b *social) kept(of string, key row.Key) (a resource.Answer) {
	b.t.Helper()
	waittest.Until(b.t, fmt.Sprintf("%s/%s is in memory", of, key), func() bool {
		a = b.get(of, key, resource.Options{})
		return a.Origin == resource.HitMemory
	})
	return a
}

// TestStress_PathsDropWhoFollows: a timeline goes from memory when somebody writes whom its
// reader follows, and when that changes; it stays when others write.
// It runs alone: definitions that others change on its server may drop what it expects to stay.
func TestStress_PathsDropWhoFollows(t *testing.T) {
	socials(t, func(t *testing.T, b *social, knowsOld bool) {
		b.t = t
		for _, step := range []struct {
			of      string
			key     row.Key
			write   string
			keeps   bool
			unknown bool // with the old values unknown it is not kept
		}{
			{"home", "1", "INSERT INTO statuses VALUES (100, 2, 7)", false, false},
			{"home", "1", "INSERT INTO statuses VALUES (101, 5, 7)", true, false},
			{"home", "1", "UPDATE statuses SET score = 9 WHERE id = 50", true, true},
			{"home", "1", "UPDATE statuses SET score = 9 WHERE id = 30", false, false},
			{"home", "1", "UPDATE statuses SET account_id = 5 WHERE id = 100", false, false}, // it leaves
			{"home", "1", "UPDATE statuses SET account_id = 3 WHERE id = 100", false, false},
			{"home", "1", "DELETE FROM statuses WHERE id = 50", true, true},
			{"home", "1", "DELETE FROM statuses WHERE id = 100", false, false},
			{"home", "1", "INSERT INTO follows VALUES (10, 1, 5)", false, false},
			{"home", "1", "INSERT INTO statuses VALUES (102, 5, 7)", false, false}, // followed since
			{"home", "1", "INSERT INTO follows VALUES (11, 3, 5)", true, false},
			{"home", "1", "DELETE FROM follows WHERE id = 11", true, true},
			{"home", "1", "DELETE FROM follows WHERE id = 10", false, false},
			{"home", "1", "INSERT INTO statuses VALUES (103, 5, 7)", true, false}, // not any more
			{"home", "1", "UPDATE follows SET target_id = 5 WHERE id = 2", false, false},
			{"home", "1", "UPDATE accounts SET name = 'other' WHERE id = 2", true, false},
			{"home", "1", "UPDATE accounts SET name = 'other' WHERE id = 1", false, false},
			{"home", "5", "INSERT INTO statuses VALUES (104, 2, 7)", true, false}, // follows nobody
			{"home", "5", "INSERT INTO follows VALUES (12, 5, 2)", false, false},
			{"home", "9", "INSERT INTO statuses VALUES (105, 2, 7)", true, false}, // there is no such row
			{"home", "9", "INSERT INTO accounts VALUES (9, 'new')", false, false},
			{"likes_of", "4", "INSERT INTO likes VALUES (10, 20)", true, false}, // nothing of 1's is liked
			{"likes_of", "4", "INSERT INTO likes VALUES (11, 10)", false, false},
			{"likes_of", "4", "INSERT INTO statuses VALUES (106, 1, 7)", false, false},
			{"likes_of", "4", "INSERT INTO likes VALUES (12, 106)", false, false}, // of what is new
			{"likes_of", "4", "INSERT INTO follows VALUES (13, 4, 2)", false, false},
			{"likes_of", "4", "DELETE FROM likes WHERE id = 12", false, false},
			{"likes_of", "4", "DELETE FROM likes WHERE id = 2", true, true},
		} {
			was := b.kept(step.of, step.key)
			b.exec(step.write)
			b.s.Quiet()
			a := b.get(step.of, step.key, resource.Options{})
			is := b.get(step.of, step.key, resource.Options{NoCache: true})
			if !bytes.Equal(a.Doc.Body(), is.Doc.Body()) {
				t.Errorf("%s/%s after %s is %s, and in the database %s", step.of, step.key, step.write,
					a.Doc.Body(), is.Doc.Body())
			}
			stays := a.Doc.Stamp() == was.Doc.Stamp() // flagged, where a busy machine's feed is late
			if want := step.keeps && (knowsOld || !step.unknown); stays != want {
				t.Errorf("%s/%s after %s: in memory still %v, want %v", step.of, step.key, step.write,
					stays, want)
			}
		}
	})
}

// TestStress_PathsBesideWriters: while rows of every table of a path are written, readers load
// timelines all the time; whenever the writer rests, none in memory differs from the database.
func TestStress_PathsBesideWriters(t *testing.T) {
	socials(t, func(t *testing.T, b *social, _ bool) {
		b.t = t
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const accounts = 12
		for id := 6; id <= accounts; id++ {
			if id != 9 {
				b.exec(fmt.Sprintf("INSERT INTO accounts VALUES (%d, 'x')", id))
			}
		}
		var commits, reads, hits atomic.Int64
		var wg sync.WaitGroup
		var writing sync.Mutex
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, 2))
			for next := 1000; ctx.Err() == nil; next++ {
				writing.Lock()
				b.exec(socialWrite(rng, next, accounts))
				writing.Unlock()
				commits.Add(1)
				testbed.Pause(ctx, time.Duration(rng.IntN(3))*time.Millisecond)
			}
		})
		for r := range 4 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(3, uint64(r)))
				for testbed.Breathe(ctx) {
					of, key := "home", row.Key(fmt.Sprint(1+rng.IntN(accounts)))
					if rng.IntN(2) == 0 {
						of = "likes_of"
					}
					a, err := b.s.Resource(of).Get(ctx, key, resource.Options{})
					if err != nil && ctx.Err() == nil {
						t.Errorf("%s/%s: %v", of, key, err)
						return
					}
					if reads.Add(1); a.Origin == resource.HitMemory {
						hits.Add(1)
					}
					testbed.Pause(ctx, 200*time.Microsecond)
				}
			})
		}
		stale, compared := 0, 0
		for end := time.Now().Add(testbed.Length(time.Second / 2)); time.Now().Before(end); {
			testbed.Pause(ctx, time.Duration(100+rand.IntN(200))*time.Millisecond)
			s, c := b.atRest(&writing, accounts)
			stale, compared = stale+s, compared+c
		}
		testbed.Work(t, 0, &commits, &hits)
		cancel()
		wg.Wait()
		testbed.Figures(t, "%d commits beside %d reads, %d of them hits; %d compared, %d stale", commits.Load(),
			reads.Load(), hits.Load(), compared, stale)
		if stale > 0 || commits.Load() == 0 || hits.Load() == 0 || compared == 0 {
			t.Error("an answer was stale, or a part of the test has done nothing")
		}
	})
}

// socialWrite returns a random statement that changes what timelines are made of.
func socialWrite(rng *rand.Rand, next, accounts int) string {
	who := func() int { return 1 + rng.IntN(accounts) }
	switch rng.IntN(10) {
	case 0, 1:
		return fmt.Sprintf("INSERT INTO statuses VALUES (%d, %d, %d)", next, who(), rng.IntN(100))
	case 2:
		return fmt.Sprintf("UPDATE statuses SET score = %d WHERE account_id = %d", rng.IntN(100), who())
	case 3:
		return fmt.Sprintf("UPDATE statuses SET account_id = %d WHERE account_id = %d", who(), who())
	case 4:
		return fmt.Sprintf("DELETE FROM statuses WHERE account_id = %d", who())
	case 5, 6:
		return fmt.Sprintf("INSERT INTO follows VALUES (%d, %d, %d)", next, who(), who())
	case 7:
		return fmt.Sprintf("DELETE FROM follows WHERE account_id = %d AND target_id = %d", who(), who())
	case 8:
		return fmt.Sprintf("UPDATE follows SET target_id = %d WHERE account_id = %d", who(), who())
	}
	return fmt.Sprintf("INSERT INTO likes SELECT %d, id FROM statuses WHERE account_id = %d LIMIT 1",
		next, who())
}

// atRest compares what memory has of every document with the database while nobody writes.
func (b *social) atRest(writing *sync.Mutex, accounts int) (stale, compared int) {
	b.t.Helper()
	writing.Lock()
	defer writing.Unlock()
	b.s.Quiet()
	for id := 1; id <= accounts; id++ {
		for _, of := range []string{"home", "likes_of"} {
			key := row.Key(fmt.Sprint(id))
			a, is := b.get(of, key, resource.Options{}), b.get(of, key, resource.Options{NoCache: true})
			if a.Origin == resource.HitMemory {
				compared++
			}
			if !bytes.Equal(a.Doc.Body(), is.Doc.Body()) {
				stale++
				b.t.Errorf("%s/%s is %s, and in the database %s", of, key, a.Doc.Body(), is.Doc.Body())
			}
		}
	}
	return stale, compared
}

// TestStress_PathsReadYourWrites: who has written through hotrow reads it in every document
// that a path leads to, at once, and who watches one is told.
func TestStress_PathsReadYourWrites(t *testing.T) {
	socials(t, func(t *testing.T, b *social, _ bool) {
		b.t = t
		statuses := b.s.Resource("statuses")
		key := row.Key("1")
		w := b.s.Resource("home").Watch(100)
		defer w.Close()
		for i := range 20 {
			b.kept("home", key)
			shape := statuses.Shape()
			in := &row.Input{Present: make([]bool, len(shape.Fields)),
				Values: make(row.Values, len(shape.Fields))}
			for at, f := range shape.Fields {
				in.Present[at] = true
				in.Values[at] = row.IntValue(map[string]int64{"id": 2000 + int64(i), "account_id": 2,
					"score": int64(i)}[f.Name])
			}
			if _, err := statuses.Write(t.Context(), resource.Write{Op: source.OpCreate, Input: in}); err != nil {
				t.Fatal(err)
			}
			a := b.get("home", key, resource.Options{})
			if want := fmt.Sprintf(`"newest":%d}`, 2000+i); !strings.HasSuffix(string(a.Doc.Body()), want) {
				t.Fatalf("after a write home/1 is %s, want %s", a.Doc.Body(), want)
			}
			for told := false; !told; {
				select {
				case e := <-w.C:
					told = e.Reset || e.Key == key
				case <-time.After(testbed.Patience):
					t.Fatal("who watches was not told of the write")
				}
			}
		}
	})
}

// TestStress_PathsOverTheLimit: a document whose path leads to more rows than are told apart
// depends on all of them, and says so.
// It runs alone: definitions that others change on its server may drop what it expects to stay.
func TestStress_PathsOverTheLimit(t *testing.T) {
	socials(t, func(t *testing.T, b *social, _ bool) {
		b.t = t
		var rows []string
		for i := range source.MaxLed {
			rows = append(rows, fmt.Sprintf("(%d, 5, %d)", 5000+i, 100+i))
		}
		b.exec("INSERT INTO follows VALUES " + strings.Join(rows, ", "))
		b.s.Quiet()
		// drops reports whether a write drops the document.
		drops := func(write string) bool {
			t.Helper()
			was := b.kept("home", "5")
			b.exec(write)
			b.s.Quiet()
			a := b.get("home", "5", resource.Options{})
			kept := b.kept("home", "5")
			is := b.get("home", "5", resource.Options{NoCache: true}) // which is kept, too
			if !bytes.Equal(a.Doc.Body(), is.Doc.Body()) {
				t.Errorf("after %s: %s, and in the database %s", write, a.Doc.Body(), is.Doc.Body())
			}
			return kept.Doc.Stamp() != was.Doc.Stamp()
		}
		over := func(want bool) {
			t.Helper()
			if n := b.s.Resource("home").Stats().Over; (n > 0) != want {
				t.Errorf("%d documents are counted that depend on all rows, want some: %v", n, want)
			}
		}
		id := 9100
		status := func(account int) string {
			id++
			return fmt.Sprintf("INSERT INTO statuses VALUES (%d, %d, 1)", id, account)
		}
		// A class that the document depends on may share its word with one of another
		// account, one time in 64: not with each of three.
		others := func() bool { return drops(status(2)) && drops(status(3)) && drops(status(4)) }
		if others() {
			t.Error("statuses of accounts that it does not follow drop it")
		}
		if !drops(status(100)) {
			t.Error("a status of an account that it follows does not")
		}
		over(false)
		if !drops("INSERT INTO follows VALUES (9000, 5, 9000)") {
			t.Error("to follow one more does not drop it")
		}
		over(true)
		if !drops(status(2)) || !drops(status(3)) || !drops(status(4)) {
			t.Error("it follows too many to be told apart, and a status of another does not drop it")
		}
		if drops("INSERT INTO follows VALUES (9001, 4, 9000)") && drops("INSERT INTO follows VALUES (9002, 3, 9000)") {
			t.Error("whom others follow drops it: the table before is told apart")
		}
		if !drops("DELETE FROM follows WHERE id = 9000") {
			t.Error("to follow one less does not drop it")
		}
		if others() {
			t.Error("statuses of accounts that it does not follow drop it again")
		}
	})
}

// TestStress_PathsHitOnTheLoop: an event loop answers such a document as it does others: beside
// them, without an allocation, and not once a row has changed that leads to it.
func TestStress_PathsHitOnTheLoop(t *testing.T) {
	socials(t, func(t *testing.T, b *social, _ bool) {
		b.t = t
		home, accounts := b.s.Resource("home"), b.s.Resource("accounts")
		b.kept("home", "1")
		b.kept("accounts", "1")
		b.kept("accounts", "2")
		var s resource.Snapshot
		var l resource.Lookups
		together := func() (found int) {
			s.Begin(time.Now())
			for _, of := range []*resource.Resource{home, accounts, home} {
				l.Add(of, "1", row.FormatJSON)
			}
			l.Add(accounts, "2", row.FormatJSON)
			l.Get(&s)
			for i := range 4 {
				doc, state, _ := l.Result(i, &s)
				if state == resource.Hit && (i%2 == 0) == strings.Contains(string(doc.Body()), "total") {
					found++
				}
			}
			return found
		}
		one := func() resource.State {
			s.Begin(time.Now())
			_, state, _ := home.Lookup("1", row.FormatJSON, &s)
			return state
		}
		waittest.Until(t, "hits", func() bool { return one() == resource.Hit && together() == 4 })
		if n := testing.AllocsPerRun(100, func() { one() }); n > 0 {
			t.Errorf("a hit makes %v allocations", n)
		}
		b.exec("INSERT INTO statuses VALUES (100, 2, 7)")
		b.s.Quiet()
		if state, found := one(), together(); state != resource.Miss || found != 2 {
			t.Errorf("after a write: state %v, and %d of 4 together", state, found)
		}
	})
}
