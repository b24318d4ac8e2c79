package logical

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
	"github.com/hotrow/hotrow/internal/waittest"
)

func TestPostgres_BarrierDoesNotWaitForIdleTransactions(t *testing.T) {
	open, err := pgx.Connect(t.Context(), dbtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close(context.Background())
	for _, sql := range []string{"CREATE TABLE t (id int)", "BEGIN", "INSERT INTO t VALUES (1)"} {
		if _, err := open.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	c := feed.NewControl(feed.Config{Conn: open.Config()})
	defer c.Close()
	var s settler
	id, err := s.newBarrier(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.barriers[id].waiting) == 0 {
		t.Fatal("the barrier does not know of the open transaction")
	}
	for end := waittest.Deadline(time.Minute); ; {
		settled, err := s.probe(t.Context(), c, []*source.Tx{{ID: id, All: true}})
		if err != nil {
			t.Fatal(err)
		}
		if settled[0] {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the barrier waits for a transaction whose session is idle")
		}
		time.Sleep(2 * time.Millisecond) // between polls
	}
}
