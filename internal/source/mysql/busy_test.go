package mysql

import (
	"context"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestMariaDB_LocksAreNoOutage is about statements that meet a lock, or are slow, and whose
// time runs out: the source's, the caller's.
func TestMariaDB_LocksAreNoOutage(t *testing.T) {
	url := dbtest.MariaDB(t, dbtest.Setup(`CREATE TABLE a (id int PRIMARY KEY, n int);
		CREATE TABLE b (id int PRIMARY KEY, n int); CREATE TABLE slow (id int PRIMARY KEY, n int);
		INSERT INTO a VALUES (1, 1); INSERT INTO b VALUES (1, 1); INSERT INTO slow VALUES (1, 1);
		CREATE TRIGGER late BEFORE UPDATE ON slow FOR EACH ROW SET NEW.n = SLEEP(60);`))
	for name, o := range map[string]Options{
		"the source's time": {MaxConns: 1, StatementTimeout: waittest.Limit(time.Second)},
		"the caller's time": {MaxConns: 1},
	} {
		s := openSource(t, url, o)
		plans := make(map[string]*plan)
		for _, table := range []string{"a", "b", "slow"} {
			plans[table] = mustCompile(t, s, &source.Spec{Name: table, Table: table})
		}
		within := func(fn func(context.Context) error) error {
			ctx := t.Context()
			if o.StatementTimeout == 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, waittest.Limit(300*time.Millisecond))
				defer cancel()
			}
			return fn(ctx)
		}
		write := func(table string) error {
			return within(func(ctx context.Context) error {
				p := plans[table]
				_, err := p.Write(ctx, &source.Write{Op: source.OpReplace, Key: "1",
					Input: mustInput(t, p, `{"n":2}`)})
				return err
			})
		}
		holder := openSource(t, url, Options{MaxConns: 1, StatementTimeout: time.Minute})
		c, err := holder.acquire(t.Context())
		if err == nil {
			err = c.exec(t.Context(), "LOCK TABLES a WRITE")
		}
		if err != nil {
			t.Fatal(err)
		}
		err = within(func(ctx context.Context) error {
			_, err := plans["a"].Load(ctx, []row.Key{"1"})
			return err
		})
		if source.ClassOf(err) != source.Busy {
			t.Errorf("%s: a read of a locked table: %v", name, err)
		}
		for _, table := range []string{"a", "slow"} {
			if err := write(table); source.ClassOf(err) != source.Busy {
				t.Errorf("%s: a write to %s: %v", name, table, err)
			}
			if err := write("b"); err != nil {
				t.Errorf("%s: a write to another table after that: %v", name, err)
			}
		}
		c.discard()
	}
}
