package pictures

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// readers is how many requests follow one another before and after the write; the film shows
// the counters after each part of them.
const (
	readers = 10_000
	parts   = 8
)

// What the film's reader and writer type.
const (
	document = "product/1"
	update   = "UPDATE product SET price = 28 WHERE id = 1"
)

// A take is what was seen in one run.
type take struct {
	before, after side          // of the write
	late          time.Duration // from the end of the write to the answer that has it
}

// A side is one answer that was looked at closely, and the many that followed.
type side struct {
	body, origin string
	at           time.Time     // when the one had come
	took         time.Duration // of the many
	hits         int           // of the many
	counts       []count       // after the one, then after each part of the many
}

// A count is how many answers readers had, and how many queries the database had for them.
type count struct{ answers, queries int }

// A camera is a hotrow in front of a SQLite file, and what has been counted so far.
type camera struct {
	*server
	file          string
	none, answers int // queries before the first answer; answers so far
}

// record makes a run: a read, many reads, a write by another program, a read, many reads.
func record(t *testing.T) take {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shop.db")
	dbtest.SQLiteShell(t, file, "PRAGMA journal_mode = WAL;"+
		"CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price INTEGER NOT NULL);"+
		"INSERT INTO product VALUES (1, 'kettle', 30), (2, 'teapot', 25)")
	c := &camera{server: start(t, "serve", file), file: file}
	c.none = c.queries()
	var run take
	run.before = c.look(`"price":30`)
	dbtest.SQLiteShell(t, file, update)
	written := time.Now()
	run.after = c.look(`"price":28`)
	run.late = run.after.at.Sub(written)
	return run
}

// loads matches the counters of reads of the database for somebody who has asked.
var loads = regexp.MustCompile(`^hotrow_cache_fills_total\{result="(?:stored|discarded|error)".* (\d+)$`)

// queries returns how many queries the database has had for readers. Those of the auditor, two
// a second, are not for them.
func (c *camera) queries() int {
	c.t.Helper()
	resp, err := http.Get(c.ops + "/metrics")
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	n := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		m := loads.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		more, err := strconv.Atoi(m[1])
		if err != nil {
			c.t.Fatal(err)
		}
		n += more
	}
	return n - c.none
}

// look reads the document until it has what is wanted, then many times.
func (c *camera) look(want string) (s side) {
	c.t.Helper()
	waittest.UntilEvery(c.t, time.Millisecond, "no answer has "+want+"; the log", func() bool {
		var said strings.Builder
		get := exec.Command(binary, "get", "-v", document, "--server", c.http)
		get.Stderr = &said
		body, err := get.Output()
		if err != nil {
			c.t.Fatalf("hotrow get: %v: %s", err, said.String())
		}
		c.answers++
		s.at = time.Now()
		_, origin, _ := strings.Cut(said.String(), "\n* ")
		s.origin, _, _ = strings.Cut(origin, ";")
		s.body = strings.TrimSpace(string(body))
		return strings.Contains(s.body, want)
	}, c.log.String)
	s.counts = append(s.counts, count{c.answers, c.queries()})
	begin := time.Now()
	for range parts {
		for range readers / parts {
			if c.read(s.body) {
				s.hits++
			}
		}
		s.took += time.Since(begin)
		s.counts = append(s.counts, count{c.answers, c.queries()})
		begin = time.Now()
	}
	return s
}

// read is one more reader, who gets the same, and reports whether that was a hit.
func (c *camera) read(want string) bool {
	c.t.Helper()
	resp, err := http.Get(c.http + "/" + document)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != want {
		c.t.Fatalf("%s %v, want %s", body, err, want)
	}
	c.answers++
	return resp.Header.Get("Cache-Status") == "hotrow; hit; detail=mem"
}

// stands reports whether all of the many were hits, and the database had one query on each
// side of the write.
func (run take) stands() bool {
	for i, s := range []side{run.before, run.after} {
		if s.hits != readers {
			return false
		}
		for _, c := range s.counts {
			if c.queries != i+1 {
				return false
			}
		}
	}
	return true
}
