package stress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// BenchmarkInvalidate measures how long after a foreign writer's commit has been
// acknowledged memory still answers with the old copy.
func BenchmarkInvalidate(b *testing.B) {
	b.Run("source=postgres", func(b *testing.B) {
		url := dbtest.Postgres(b)
		conn := testbed.Dial(b, url)
		testbed.MustExec(b, conn, "CREATE TABLE flat (id int PRIMARY KEY, value bigint)",
			"INSERT INTO flat VALUES (1, 1)")
		s := newStand(b, url, plan{Specs: []resource.Spec{testbed.Spec("flat")}, Mode: source.FeedLogical})
		invalidate(b, s, func() error {
			_, err := conn.Exec(context.Background(), "UPDATE flat SET value = value + 1 WHERE id = 1")
			return err
		})
	})
	for _, log := range []bool{false, true} {
		b.Run(fmt.Sprintf("source=sqlite/changelog=%v", log), func(b *testing.B) {
			s, path := sqliteStand(b, log)
			shell := startShell(b, path)
			invalidate(b, s, func() error {
				return shell.exec("UPDATE flat SET value = value + 1 WHERE id = 1;")
			})
		})
	}
}

// invalidate writes again and again what memory holds.
func invalidate(b *testing.B, s *stand, write func() error) {
	b.Helper()
	r, ctx := s.Resource("flat"), context.Background()
	took := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for range b.N {
		waittest.Until(b, "a copy", func() bool {
			a, err := r.Get(ctx, "1", resource.Options{})
			return err == nil && a.Origin == resource.HitMemory
		})
		if err := write(); err != nil {
			b.Fatal(err)
		}
		acknowledged := time.Now()
		for gone := false; !gone; {
			_, err := r.Get(ctx, "1", resource.Options{OnlyIfCached: true})
			gone = errors.Is(err, resource.ErrNotCached)
			if !gone && time.Since(acknowledged) > testbed.Patience {
				b.Fatal("the copy stays")
			}
			time.Sleep(10 * time.Microsecond)
		}
		took = append(took, time.Since(acknowledged))
	}
	b.StopTimer()
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	b.ReportMetric(ms(percentile(took, 0.5)), "p50-ms")
	b.ReportMetric(ms(percentile(took, 0.99)), "p99-ms")
	b.ReportMetric(0, "ns/op")
}

// sqliteStand serves a SQLite file with one row, with the change log if asked.
func sqliteStand(b *testing.B, log bool) (*stand, string) {
	b.Helper()
	path := dbtest.SQLite(b)
	dbtest.SQLiteShell(b, path, `PRAGMA journal_mode = wal;
		CREATE TABLE flat (id INTEGER PRIMARY KEY, value INTEGER); INSERT INTO flat VALUES (1, 1);`)
	src := testbed.OpenSQLite(b, path, sqlite.Options{})
	sp := testbed.Spec("flat")
	if log {
		p, err := src.Compile(b.Context(), sp.Table)
		if err != nil {
			b.Fatal(err)
		}
		findings, err := src.Doctor(b.Context(), source.FeedSQLite, resource.Watched([]source.Plan{p}))
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range findings {
			if err := src.Exec(b.Context(), f.Apply...); err != nil {
				b.Fatal(err)
			}
		}
	}
	return newStandOver(b, src, plan{Specs: []resource.Spec{sp}, Mode: source.FeedSQLite}), path
}

// A shell is a sqlite3 process that goes on: a foreign writer.
type shell struct {
	in  io.Writer
	out *bufio.Reader
}

// startShell starts a shell on a file. It ends with the test.
func startShell(t testing.TB, path string) *shell {
	t.Helper()
	cmd := exec.Command("sqlite3", "-batch", path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("sqlite3 is not available: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	s := &shell{in, bufio.NewReader(out)}
	if err := s.exec("PRAGMA synchronous = OFF; "); err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(in, ".timeout 10000\n")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// exec runs SQL and waits until the shell says that it has.
func (s *shell) exec(sql string) error {
	if _, err := io.WriteString(s.in, sql+"\nSELECT 'done';\n"); err != nil {
		return err
	}
	line, err := s.out.ReadString('\n')
	if err == nil && strings.TrimSpace(line) != "done" {
		err = fmt.Errorf("sqlite3 says %q", line)
	}
	return err
}
