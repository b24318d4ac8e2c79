package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// Every row of hotrow bench links that records has each redirect in the database
// once; the one whose server is killed, too.
func TestBench_LinksCountsEveryHit(t *testing.T) {
	out := mustCommand(t, "bench", "links", "-c", "4", "-d", "300ms", "--warmup", "50ms",
		"--format", "json")
	checkBenchLinks(t, out)
}

func TestPostgres_BenchLinksCountsEveryHit(t *testing.T) {
	out := mustCommand(t, "bench", "links", "-c", "4", "-d", "300ms", "--warmup", "0s",
		"--format", "json", "--database", dbtest.Postgres(t))
	checkBenchLinks(t, out)
}

func checkBenchLinks(t *testing.T, out string) {
	t.Helper()
	var rows []linksFigure
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(rows) != len(linksRows) {
		t.Fatalf("%d rows", len(rows))
	}
	for i, r := range rows {
		if r.Load.Answers == 0 || r.Load.Failed() > 0 {
			t.Errorf("%s: %d answers, %d failed", r.Row, r.Load.Answers, r.Load.Failed())
		}
		if i == 0 {
			continue
		}
		if r.Stored != r.Redirects || uint64(r.Stored) < r.Load.Answers {
			t.Errorf("%s: %d answered, %d redirects, %d stored", r.Row, r.Load.Answers,
				r.Redirects, r.Stored)
		}
	}
}

// A lost hit makes the command fail.
func TestBench_LinksSaysWhatIsMissing(t *testing.T) {
	out := mustCommand(t, "bench", "links", "-c", "1", "-d", "50ms", "--warmup", "0s")
	if !strings.Contains(out, "count(*)") || !strings.Contains(out, "recorded, held, killed") {
		t.Errorf("the table is\n%s", out)
	}
	var rows []linksFigure
	if err := json.Unmarshal([]byte(`[{"row":"x","load":{},"redirects":2,"stored":1}]`), &rows); err != nil {
		t.Fatal(err)
	}
	if err := rows[0].wrong(); err == nil || !strings.Contains(err.Error(), "2 redirects were sent, 1") {
		t.Errorf("a lost hit: %v", err)
	}
}

// A count of a million and more is written with an exponent.
func TestBench_LinksReadsLargeCounts(t *testing.T) {
	for text, want := range map[string]int64{
		"a 1\nb 999999\n": 999_999, "b 1.036318e+06\n": 1_036_318, "b 1.2345678901e+10": 12_345_678_901, "a 1\n": 0,
	} {
		if n, err := sample(text, "b "); n != want || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}

// A SQLite file is where whoever starts the command says, whatever directory the servers have.
func TestBench_LinksOverAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	checkBenchLinks(t, mustCommand(t, "bench", "links", "-c", "4", "-d", "100ms", "--warmup", "0s",
		"--format", "json", "--database", "sqlite:x.db"))
	if _, err := os.Stat("x.db"); err != nil {
		t.Error(err)
	}
}

// A server that ends, or waits for its database, is not waited for: its first words say why.
func TestBench_LinksSaysWhyNothingIsServed(t *testing.T) {
	t.Chdir(t.TempDir())
	for database, want := range map[string]string{
		"sqlite:no/x.db":                     "links.database: there is no directory ",
		"postgres://nobody@127.0.0.1:1/none": "the database is not reached; ",
	} {
		began := time.Now()
		code, _, stderr := command(t, "bench", "links", "--database", database)
		if code != 1 || !strings.Contains(stderr, want) || !strings.Contains(stderr, "last words") ||
			time.Since(began) > benchTimeout/2 {
			t.Errorf("over %s, exit %d after %v: %s", database, code, time.Since(began), stderr)
		}
	}
}
