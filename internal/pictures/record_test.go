package pictures

import (
	"bufio"
	"io"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// readers is how many reads follow one another before and after the write; the film shows the
// counters after each part of them. Of 10,000 the server is asked for one as well.
const (
	readers = 4_000
	parts   = 8
)

// What the film's writer and its program say.
const (
	update = "UPDATE product SET price = 28 WHERE id = 1"
	query  = "SELECT name, price FROM product WHERE id = 1"
)

// A take is what was seen in one run.
type take struct {
	before, after side          // of the write
	late          time.Duration // from the end of the write to the answer that has it
}

// A side is one answer that was looked at closely, and the many that followed.
type side struct {
	row    string
	at     time.Time     // when the one had come
	took   time.Duration // of the many
	counts []count       // after the one, then after each part of the many
}

// A count is how many answers the program had, and how often the database ran its query.
type count struct{ answers, queries int }

// A camera is a database with a hotrow in front of it, and what has been counted so far.
type camera struct {
	*server
	direct  string // the URL of the database
	asks    io.Writer
	reads   *bufio.Scanner
	answers int
}

// record makes a run: a read, many reads, a write by another program, a read, many reads.
func record(t *testing.T) take {
	t.Helper()
	c := &camera{direct: dbtest.Postgres(t, dbtest.Setup("CREATE EXTENSION pg_stat_statements;"+
		"CREATE TABLE product (id int PRIMARY KEY, name text NOT NULL, price int NOT NULL);"+
		"INSERT INTO product VALUES (1, 'kettle', 30), (2, 'teapot', 25)"))}
	t.Setenv("HOTROW_SQL_LISTEN", "127.0.0.1:0")
	t.Setenv("HOTROW_SQL_MODE", "serve")
	c.server = start(t, "serve", c.direct)
	at, err := url.Parse(c.direct)
	if err != nil {
		t.Fatal(err)
	}
	at.Host = c.sql
	c.connect(at.String())
	c.warm()
	var run take
	run.before = c.look("kettle|30")
	dbtest.Psql(t, c.direct, update)
	written := time.Now()
	run.after = c.look("kettle|28")
	run.late = run.after.at.Sub(written)
	return run
}

// connect starts the program that reads: a psql whose session stays.
func (c *camera) connect(at string) {
	c.t.Helper()
	psql := exec.Command("psql", "--no-psqlrc", "--quiet", "--no-align", "--tuples-only", at)
	in, err := psql.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := psql.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	psql.Stderr = c.log
	if err := psql.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.asks, c.reads = in, bufio.NewScanner(out)
	c.t.Cleanup(func() {
		_ = in.Close()
		if err := psql.Wait(); err != nil {
			c.t.Error(err)
		}
	})
}

// ask has the program read one row n times, and returns the answer, which all have to be.
func (c *camera) ask(query string, n int) (row string) {
	c.t.Helper()
	if _, err := io.WriteString(c.asks, strings.Repeat(query+";\n", n)); err != nil {
		c.t.Fatal(err)
	}
	for i := range n {
		if !c.reads.Scan() || i > 0 && c.reads.Text() != row {
			c.t.Fatalf("%q after %q, %v\n%s", c.reads.Text(), row, c.reads.Err(), c.log)
		}
		row = c.reads.Text()
	}
	return row
}

// warm has another row answered from memory: then hotrow follows the table.
func (c *camera) warm() {
	c.t.Helper()
	other := strings.ReplaceAll(query, "id = 1", "id = 2")
	waittest.Until(c.t, "another row comes from memory", func() bool {
		before := c.queries()
		c.ask(other, 1)
		return c.queries() == before
	})
	dbtest.Psql(c.t, c.direct, "SELECT pg_stat_statements_reset()")
}

// queries returns how often the database has run the program's query, as it says itself.
func (c *camera) queries() int {
	c.t.Helper()
	said := dbtest.Psql(c.t, c.direct, "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements"+
		" JOIN pg_database d ON d.oid = dbid AND d.datname = current_database()"+
		" WHERE query LIKE 'SELECT name, price FROM product%'")
	n, err := strconv.Atoi(said)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// look reads the row until it is what is wanted, then many times.
func (c *camera) look(want string) (s side) {
	c.t.Helper()
	waittest.UntilEvery(c.t, time.Millisecond, "no answer has "+want+"; the log", func() bool {
		s.row = c.ask(query, 1)
		s.at = time.Now()
		c.answers++
		return s.row == want
	}, c.log.String)
	s.counts = append(s.counts, count{c.answers, c.queries()})
	for range parts {
		begin := time.Now()
		if row := c.ask(query, readers/parts); row != want {
			c.t.Fatalf("%s, want %s", row, want)
		}
		s.took += time.Since(begin)
		c.answers += readers / parts
		s.counts = append(s.counts, count{c.answers, c.queries()})
	}
	return s
}

// stands reports whether the database had one query on each side of the write.
func (run take) stands() bool {
	for i, s := range []side{run.before, run.after} {
		for _, c := range s.counts {
			if c.queries != i+1 {
				return false
			}
		}
	}
	return true
}
