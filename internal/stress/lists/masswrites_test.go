package lists

import (
	"bytes"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// massWrites is how many rows are written on each database; 0: the short form.
var massWrites = flag.Int("stress.writes", 0, "rows that are written beside lists on each database")

const (
	massPosts   = 20_000
	massNotes   = 10_000
	massAuthors = 300
	massRows    = 500 // of a transaction

)

// massBurst returns how many rows are written between two times of rest, at which all lists are
// compared.
func massBurst() int {
	if waittest.Long() || *massWrites > 0 {
		return 10_000
	}
	return 4_000
}

// A mass writes rows by the thousand beside readers of lists, and compares every list with
// the database whenever all is at rest.
type mass struct {
	t      *testing.T
	l      *lemma
	rng    *rand.Rand
	exec   func(statements ...string) // in one transaction
	upsert string                     // follows the rows of an INSERT: %s is a column
	kill   func()                     // the feed's connection; nil: there is none

	written, compared, kept int
	reads, hits             atomic.Int64
}

// massTables make the tables.
var massTables = []string{
	"CREATE TABLE post (id int PRIMARY KEY, author int, state int, created int, v int)",
	"CREATE INDEX by_author ON post (author, created)",
	"CREATE TABLE note (id int PRIMARY KEY, post int, v int, FOREIGN KEY (post) REFERENCES post (id))",
	"CREATE INDEX by_post ON note (post)",
}

// fill writes all rows once.
func (m *mass) fill() {
	m.exec(massTables...)
	for at := 0; at < massPosts; at += massRows {
		m.exec(m.posts(at, 1))
	}
	for at := 0; at < massNotes; at += massRows {
		m.exec(m.notes(at, 1))
	}
}

// rows returns a statement that writes massRows rows of a table, from the at-th on, each
// stride rows from the one before.
func (m *mass) rows(table string, of, at, stride int, columns []string, values func() string) string {
	list := make([]string, massRows)
	for i := range list {
		list[i] = fmt.Sprintf("(%d,%s)", 1+(at+i*stride)%of, values())
	}
	set := make([]string, len(columns))
	for i, c := range columns {
		set[i] = c + " = " + fmt.Sprintf(m.upsert, c)
	}
	verb := "ON CONFLICT (id) DO UPDATE SET "
	if strings.HasPrefix(m.upsert, "VALUES") {
		verb = "ON DUPLICATE KEY UPDATE "
	}
	return fmt.Sprintf("INSERT INTO %s (id, %s) VALUES %s %s%s", table, strings.Join(columns, ", "),
		strings.Join(list, ","), verb, strings.Join(set, ", "))
}

func (m *mass) posts(at, stride int) string {
	return m.rows("post", massPosts, at, stride, []string{"author", "state", "created", "v"},
		func() string {
			return fmt.Sprintf("%d,%d,%d,%d", m.rng.IntN(massAuthors), m.rng.IntN(3), m.rng.IntN(1000),
				m.rng.IntN(1<<30))
		})
}

func (m *mass) notes(at, stride int) string {
	return m.rows("note", massNotes, at, stride, []string{"post", "v"}, func() string {
		return fmt.Sprintf("%d,%d", 1+m.rng.IntN(massPosts), m.rng.IntN(1<<30))
	})
}

// transaction writes some rows, most of them posts.
func (m *mass) transaction() {
	stride := 1 + m.rng.IntN(massNotes/massRows) // so that no row is written twice
	switch m.rng.IntN(10) {
	case 0:
		at := m.rng.IntN(massNotes)
		m.exec(fmt.Sprintf("DELETE FROM note WHERE id > %d AND id <= %d", at, at+massRows))
	case 1, 2:
		m.exec(m.notes(m.rng.IntN(massNotes), stride))
	case 3:
		m.exec(m.posts(m.rng.IntN(massPosts), stride), m.notes(m.rng.IntN(massNotes), stride))
		m.written += massRows
	default:
		m.exec(m.posts(m.rng.IntN(massPosts), stride))
	}
	m.written += massRows
}

// questions returns the lists.
func (m *mass) questions() (list []*query.Query) {
	each := 3 // the lists are those of every third author: 4 and 3 have no common divisor
	if waittest.Long() || *massWrites > 0 {
		each = 1
	}
	for a := 0; a < massAuthors; a += each {
		q := ""
		var o query.Options
		switch a % 4 {
		case 0:
			q = fmt.Sprintf("author=eq.%d&order=created.desc&limit=5", a)
		case 1:
			q = fmt.Sprintf("author=eq.%d&state=eq.1&select=id,v", a)
		case 2:
			q = fmt.Sprintf("author=in.(%d,%d)&select=id,v,note(id,v)&order=id&limit=8", a, a+1)
			o.Reads = func(string) error { return nil }
		case 3:
			q = fmt.Sprintf("author=eq.%d&state=eq.2&limit=3", a)
			o.Count = query.CountExact
		}
		found, err := m.l.s.Resource("post").Query(q, o)
		if err != nil {
			m.t.Fatalf("%s: %v", q, err)
		}
		list = append(list, found)
	}
	return list
}

// read asks for lists until ctx ends.
func (m *mass) read(ctx context.Context, list []*query.Query) {
	for ctx.Err() == nil {
		a, err := m.l.s.Resource("post").SelectList(ctx,
			&resource.ListAsk{Query: list[rand.IntN(len(list))], Pack: packAll}, resource.Options{})
		switch {
		case err == nil:
			m.reads.Add(1)
			if a.Origin == resource.HitMemory {
				m.hits.Add(1)
			}
			if !waittest.Long() && *massWrites == 0 {
				testbed.Pause(ctx, 200*time.Microsecond) // hits alone would take a processor
			}
		case ctx.Err() == nil && source.ClassOf(err) != source.Unavailable:
			m.t.Errorf("a reader: %v", err)
			return
		}
	}
}

// compare has each list answered as a reader gets it and from the database.
func (m *mass) compare(list []*query.Query) {
	m.t.Helper()
	for _, q := range list {
		a := m.l.ask(q, resource.Options{})
		is := m.l.ask(q, resource.Options{NoCache: true})
		if m.compared++; a.Origin == resource.HitMemory {
			m.kept++
		}
		if !bytes.Equal(a.Doc.Body(), is.Doc.Body()) {
			m.t.Fatalf("%s is stale after %d rows: %v\n%s\nnow\n%s", q, m.written, a.Origin,
				a.Doc.Body(), is.Doc.Body())
		}
	}
}

// run writes rows beside readers, and compares.
func (m *mass) run(src source.Source, mode source.FeedMode) {
	m.t.Helper()
	m.l = &lemma{t: m.t, name: "post", s: testbed.Over(m.t, src, testbed.Plan{Mode: mode,
		Specs: []resource.Spec{testbed.Spec("post"), testbed.Spec("note")}, Lists: 64 << 20})}
	list := m.questions()
	begin, goal, kills := time.Now(), max(*massWrites, 2*massBurst()), 0
	ctx, cancel := context.WithCancel(context.Background())
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
	for range 2 {
		readers.Go(func() { m.read(ctx, list) })
	}
	for m.written = 0; m.written < goal; {
		for end := m.written + massBurst(); m.written < end; {
			if m.transaction(); m.kill != nil && m.rng.IntN(60) == 0 {
				m.kill()
				kills++
			}
		}
		m.l.s.Quiet()
		m.compare(list)
	}
	testbed.Work(m.t, 0, &m.hits)
	waittest.Until(m.t, "at rest a list comes from memory", func() bool { m.compare(list); return m.kept > 0 })
	testbed.Figures(m.t, "%d rows written in %v, %d reads of lists beside them, %d from memory, the feed "+
		"killed %d times; at rest %d lists compared, %d of them from memory: 0 stale", m.written,
		time.Since(begin).Round(time.Second), m.reads.Load(), m.hits.Load(), kills, m.compared, m.kept)
}

func newMass(t *testing.T) *mass {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return &mass{t: t, rng: rand.New(rand.NewPCG(seed, 1)), upsert: "excluded.%s"}
}

// killSenders kills the connections of feeds of PostgreSQL.
func killSenders(t *testing.T, conn *pgx.Conn) {
	testbed.Number(t, conn, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_replication")
}

// killDump kills the connection of a feed of MariaDB, if there is one.
func killDump(conn *sql.Conn) {
	var id int64
	row := conn.QueryRowContext(context.Background(), "SELECT id FROM information_schema.processlist "+
		"WHERE command LIKE 'Binlog Dump%' LIMIT 1")
	if row.Scan(&id) == nil {
		_, _ = conn.ExecContext(context.Background(), fmt.Sprint("KILL ", id)) // it may have gone
	}
}

// TestStressPostgres_ListsBesideMassWrites: no list is stale at rest, however many rows are
// written and however often the feed is killed; with each replica identity.
func TestStressPostgres_ListsBesideMassWrites(t *testing.T) {
	for name, sql := range map[string]string{"default": "SELECT 1",
		"full": "ALTER TABLE post REPLICA IDENTITY FULL; ALTER TABLE note REPLICA IDENTITY FULL"} {
		t.Run(name, func(t *testing.T) {
			url := dbtest.Postgres(t)
			conn := testbed.Dial(t, url)
			m := newMass(t)
			m.exec = func(statements ...string) { testbed.MustExec(t, conn, strings.Join(statements, "; ")) }
			m.kill = func() { killSenders(t, conn) }
			m.fill()
			m.exec(sql)
			m.run(testbed.OpenPostgres(t, url), source.FeedLogical)
		})
	}
}

// TestStressMariaDB_ListsBesideMassWrites is the same over the binary log.
func TestStressMariaDB_ListsBesideMassWrites(t *testing.T) {
	url := dbtest.MariaDB(t)
	conn := testbed.DialMariaDB(t, url)
	m := newMass(t)
	m.upsert = "VALUES(%s)"
	m.exec = func(statements ...string) {
		for _, s := range append(append([]string{"BEGIN"}, statements...), "COMMIT") {
			if _, err := conn.ExecContext(context.Background(), s); err != nil {
				t.Fatalf("%.200s: %v", s, err)
			}
		}
	}
	m.kill = func() { killDump(conn) }
	m.fill()
	m.run(testbed.OpenMariaDB(t, url), source.FeedBinlog)
}

// TestStressSQLite_ListsBesideMassWrites is the same over the hooks of SQLite.
func TestStressSQLite_ListsBesideMassWrites(t *testing.T) {
	src := testbed.OpenSQLite(t, filepath.Join(t.TempDir(), "mass.db"), sqlite.Options{Own: true})
	m := newMass(t)
	m.exec = func(statements ...string) {
		if err := src.Exec(context.Background(), statements...); err != nil {
			t.Fatal(err)
		}
	}
	m.fill()
	m.run(src, source.FeedAuto)
}
