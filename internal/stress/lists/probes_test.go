package lists

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
)

// probesOf commits one row after another and wants fewer probes than commits: one for all
// that come within 25 ms while nobody reads, and one more for each that was not visible at once.
func probesOf(t *testing.T, s *testbed.Bed, commit func(i int)) {
	t.Helper()
	const commits = 400
	s.Quiet()
	before, begin := s.Stats().Probes, time.Now()
	for i := range commits {
		commit(i)
	}
	s.Quiet()
	took, probes := time.Since(begin), int(s.Stats().Probes-before)
	testbed.Figures(t, "%d commits in %v, %d probes", commits, took.Round(time.Millisecond), probes)
	if most := 20 + int(took/(10*time.Millisecond)); probes == 0 || probes > most {
		t.Errorf("%d probes for %d commits in %v, want %d at most", probes, commits, took, most)
	}
}

// TestPostgres_OneProbeSettlesManyTransactions: what a busy database is asked does not grow
// with its transactions.
func TestPostgres_OneProbeSettlesManyTransactions(t *testing.T) {
	url := dbtest.Postgres(t)
	conn := testbed.Dial(t, url)
	testbed.MustExec(t, conn, "CREATE TABLE flat (id int PRIMARY KEY, value int)",
		"INSERT INTO flat SELECT i, 0 FROM generate_series(1, 1000) i", "SET synchronous_commit = off")
	s := testbed.New(t, url, testbed.Plan{Specs: []resource.Spec{testbed.Spec("flat")}, Mode: source.FeedLogical})
	probesOf(t, s, func(i int) {
		testbed.MustExec(t, conn, fmt.Sprintf("UPDATE flat SET value = value + 1 WHERE id = %d", i+1))
	})
}

// TestMariaDB_OneProbeSettlesManyTransactions is the same over the binary log.
func TestMariaDB_OneProbeSettlesManyTransactions(t *testing.T) {
	url := dbtest.MariaDB(t)
	conn := testbed.DialMariaDB(t, url)
	exec := func(sql string) {
		if _, err := conn.ExecContext(context.Background(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE flat (id int PRIMARY KEY, value int)")
	for i := range 400 {
		exec(fmt.Sprintf("INSERT INTO flat VALUES (%d, 0)", i+1))
	}
	s := testbed.Over(t, testbed.OpenMariaDB(t, url),
		testbed.Plan{Specs: []resource.Spec{testbed.Spec("flat")}, Mode: source.FeedBinlog})
	probesOf(t, s, func(i int) {
		exec(fmt.Sprintf("UPDATE flat SET value = value + 1 WHERE id = %d", i+1))
	})
}
