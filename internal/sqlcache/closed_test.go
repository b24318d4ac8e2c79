package sqlcache_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestClosed_IsWhatMayChange: while a write is under way no copy is good that it may change, and those
// of other rows are.
func TestClosed_IsWhatMayChange(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t, dbtest.Setup(authors)), "a")
	reader := connect(t, s.url, pgx.QueryExecModeExec)
	direct := connect(t, s.database, pgx.QueryExecModeSimpleProtocol)
	const one, other, none = "SELECT score FROM a WHERE id = 1", "SELECT score FROM a WHERE id = 2",
		"SELECT score FROM a WHERE id = 4711"
	const both, list, count = "SELECT score FROM a WHERE id IN (1, 2)", "SELECT id FROM a WHERE score = 3",
		"SELECT count(*) FROM a WHERE id = 1"
	const some = "SELECT name FROM a WHERE id = 1 AND score > -1"
	all := []string{one, other, none, both, list, count, some}
	for _, tt := range []struct {
		name, locks, write string
		args               []any
		good               []string
	}{
		{"an update by key", "UPDATE a SET score = 5 WHERE id = 2",
			"UPDATE a SET score = score + 1 WHERE id = $1", []any{2},
			[]string{one, none, count, some}},
		{"an update by key and more", "UPDATE a SET score = 5 WHERE id = 2",
			"UPDATE a AS x SET score = 7, name = 'y' WHERE x.name <> '' AND (x.id = 2)", nil,
			[]string{one, none, count, some}},
		{"an update of the key", "UPDATE a SET score = 5 WHERE id = 2",
			"UPDATE a SET score = 1, id = 4712 WHERE id = 2", nil, nil},
		{"an update by what is no key", "UPDATE a SET score = 5 WHERE id = 2",
			"UPDATE a SET score = 6 WHERE score = (SELECT score FROM a WHERE id = 2)", nil, nil},
		{"a removal", "UPDATE a SET score = 5 WHERE id = 2", "DELETE FROM a WHERE id IN (2, 3)", nil,
			[]string{one, none, count, some}},
		{"a new row", "INSERT INTO a (id, name, score) VALUES (4711, 'n', 1)",
			"INSERT INTO a (id, name, score) VALUES (4711, 'n', 1)", nil, []string{one, other, both, some}},
		{"a row that may be there", "INSERT INTO a (id, name, score) VALUES (4711, 'n', 1)",
			"INSERT INTO a (id, name, score) VALUES (4711, 'n', 1) ON CONFLICT (id) DO UPDATE SET score = 2", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, sql := range all {
				s.becomes(reader, sql)
			}
			writer := connect(t, s.url, pgx.QueryExecModeExec)
			s.becomes(writer, one) // its state is known
			run(t, direct, "BEGIN")
			run(t, direct, tt.locks)
			ended := make(chan error, 1)
			go func() {
				_, err := writer.Exec(context.Background(), tt.write, tt.args...)
				ended <- err
			}()
			waittest.Until(t, "the write waits for the lock", func() bool {
				var n int
				err := direct.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&n)
				return err == nil && n > 0
			})
			for _, sql := range all {
				want := uint64(0)
				for _, good := range tt.good {
					if sql == good {
						want = 3
					}
				}
				if n := s.hits(reader, 3, sql); n != want {
					t.Errorf("%s: %d hits of 3, want %d", sql, n, want)
				}
			}
			run(t, direct, "ROLLBACK")
			if err := <-ended; err != nil {
				t.Error(err)
			}
			run(t, direct, "UPDATE a SET id = 2 WHERE id = 4712")
			run(t, direct, "DELETE FROM a WHERE id >= 4711")
			run(t, direct, "INSERT INTO a (id, name, score) SELECT i, 'again', 3 FROM generate_series(2, 3) i"+
				" ON CONFLICT DO NOTHING")
		})
	}
	if c := s.settled(); c.Wrong > 0 {
		t.Errorf("%+v", c)
	}
}
