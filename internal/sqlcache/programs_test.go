package sqlcache_test

import (
	"bufio"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestServe_BehindAPooler: behind PgBouncer, whose sessions are shared by clients, these read what they
// have written, in the modes of session and transaction.
func TestServe_BehindAPooler(t *testing.T) {
	for mode, modes := range map[string][]pgx.QueryExecMode{"session": allModes,
		"transaction": {pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol}} {
		t.Run(mode, func(t *testing.T) {
			s := newServing(t, dbtest.Postgres(t, dbtest.Setup(rowsOfTruth)), never,
				append(tablesOfTruth, "part", "theirs")...)
			url := dbtest.PgBouncer(t, s.url, "pool_mode = "+mode, "default_pool_size = 10",
				"ignore_startup_parameters = extra_float_digits")
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			p := newPool(t, url, 8, modes...)
			var sessions sync.WaitGroup
			var asked, written atomic.Int64
			for i := range 4 {
				w := &writer{t: t, p: p, r: rand.New(rand.NewPCG(seed, uint64(i))), of: i + 1, rows: make(map[int]fact),
					parts: make(map[int]int), table: tablesOfTruth[i], reads: &asked, writes: &written}
				sessions.Go(func() {
					deadline := waittest.Deadline(waittest.Patience)
					for n := 0; !t.Failed() && (n < 150 || s.front.Stats().Hits == 0 && n < 100_000 &&
						deadline.After(time.Now())); n++ {
						if n%10 == 0 || n < 5 {
							w.write()
						}
						w.read()
					}
				})
			}
			sessions.Wait()
			st := s.front.Stats()
			t.Logf("%d reads of %d writes, %d from memory, passed on %v", asked.Load(), written.Load(), st.Hits,
				st.Passes)
			if st.Hits == 0 {
				t.Error("memory has answered nothing")
			}
		})
	}
}

// TestServe_Watch: psql that watches a row sees what is written through hotrow and past it.
func TestServe_Watch(t *testing.T) {
	s := newServing(t, dbtest.Postgres(t, dbtest.Setup(authors)), never, "a")
	cmd := exec.Command(dbtest.Program(t, "psql", "psql"), "-XAtq", s.url)
	cmd.Stdin = strings.NewReader("SELECT score FROM a WHERE id = 3 \\watch 0.01\n")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var shows atomic.Pointer[string]
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if line := lines.Text(); !strings.Contains(line, "every") && line != "" {
				shows.Store(&line)
			}
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		reading.Wait()
		_ = cmd.Wait()
	})
	for i, at := range []string{s.url, s.database, s.url, s.database} {
		before := s.front.Stats().Hits
		waittest.Until(t, "memory answers", func() bool { return s.front.Stats().Hits > before+5 })
		want := strconv.Itoa(100 + i)
		run(t, connect(t, at, pgx.QueryExecModeExec), "UPDATE a SET score = "+want+" WHERE id = 3")
		waittest.Until(t, "psql shows the write", func() bool {
			line := shows.Load()
			return line != nil && strings.TrimSpace(*line) == want
		})
	}
}
