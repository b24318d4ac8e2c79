package schema

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql"
	"github.com/hotrow/hotrow/internal/source/postgres"
	"github.com/hotrow/hotrow/internal/source/sqlite"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// A database is a Store that tests may also write to from outside.
type database interface {
	source.Store
	Exec(ctx context.Context, statements ...string) error
	Close() error
}

func TestMigrate(t *testing.T) {
	runMigrate(t, func(t *testing.T) (database, error) {
		path := filepath.Join(t.TempDir(), "links.db")
		return sqlite.Open(t.Context(), path, sqlite.Options{Own: true})
	})
}

func TestPostgres_Migrate(t *testing.T) {
	runMigrate(t, func(t *testing.T) (database, error) {
		return postgres.Open(t.Context(), dbtest.Postgres(t), postgres.Options{})
	})
}

func TestMariaDB_Migrate(t *testing.T) {
	runMigrate(t, func(t *testing.T) (database, error) {
		return mysql.Open(t.Context(), dbtest.MariaDB(t), mysql.Options{})
	})
}

func runMigrate(t *testing.T, open func(*testing.T) (database, error)) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, database)
	}{
		{"Again", migrateAgain}, {"Together", migrateTogether}, {"Foreign", migrateForeign},
		{"Newer", migrateNewer}, {"Months", months}, {"Resumed", migrateResumed},
		{"Older", migrateOlder},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			test.run(t, s)
		})
	}
}

func mustMigrate(t *testing.T, s database) Report {
	t.Helper()
	r, err := Migrate(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func migrateAgain(t *testing.T, s database) {
	got := mustMigrate(t, s)
	want := Report{From: 0, To: Latest, Steps: []string{"links", "clicks", "users", "sketches"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got = mustMigrate(t, s); len(got.Steps) > 0 || got.From != Latest {
		t.Errorf("the second time: %v", got)
	}
	if !strings.Contains(got.String(), "up to date") {
		t.Errorf("report %q", got)
	}
}

func migrateTogether(t *testing.T, s database) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := Migrate(context.WithoutCancel(t.Context()), s); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := mustMigrate(t, s); got.From != Latest {
		t.Errorf("after four at once: %v", got)
	}
}

func migrateForeign(t *testing.T, s database) {
	if err := s.Exec(t.Context(), "CREATE TABLE link_tags (mine int)"); err != nil {
		t.Fatal(err)
	}
	_, err := Migrate(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "link_tags that hotrow has not made") {
		t.Fatalf("over a foreign table: %v", err)
	}
	if err := s.Query(t.Context(), "SELECT mine FROM link_tags", nil, nil); err != nil {
		t.Errorf("the foreign table: %v", err)
	}
}

func migrateNewer(t *testing.T, s database) {
	mustMigrate(t, s)
	_, err := s.Tx(t.Context(), func(tx source.StoreTx) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO hotrow_links VALUES (?, ?, ?)", 99, "later", 1)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Migrate(t.Context(), s); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("over a newer schema: %v", err)
	}
}

// A step that was begun and not finished, as an interrupted migration leaves it
// on MariaDB, is taken again.
func migrateResumed(t *testing.T, s database) {
	mustMigrate(t, s)
	err := s.Exec(t.Context(), "DROP TABLE click_refs",
		"UPDATE hotrow_links SET at = 0 WHERE version = 2", "DELETE FROM hotrow_links WHERE version > 2",
		"DROP TABLE link_users", "DROP TABLE click_sketches")
	if err != nil {
		t.Fatal(err)
	}
	got := mustMigrate(t, s)
	if diff := cmp.Diff([]string{"clicks", "users", "sketches"}, got.Steps); diff != "" {
		t.Error(diff)
	}
	if err := s.Query(t.Context(), "SELECT id FROM click_refs", nil, nil); err != nil {
		t.Error(err)
	}
}

// Sums that have their sketches with them keep what they count. An interrupted
// migration, which has got as far as one column, goes on.
func migrateOlder(t *testing.T, s database) {
	for _, older := range [][]string{
		{"ALTER TABLE click_time ADD COLUMN hll " + types[s.Dialect()].Replace("{bytes}"),
			"ALTER TABLE click_time DROP COLUMN visitors",
			"INSERT INTO click_time (link_id, unit, bucket, clicks, bots, hll) VALUES" +
				" (1, 'd', 2, 3, 4, 'abc'), (1, 'd', 3, 3, 4, NULL)", "DROP TABLE click_sketches"},
		{"ALTER TABLE click_time DROP COLUMN visitors"},
	} {
		mustMigrate(t, s)
		older = append(older, "DELETE FROM hotrow_links WHERE version > 3")
		if err := s.Exec(t.Context(), older...); err != nil {
			t.Fatal(err)
		}
		if len(older) == 2 {
			err := s.Exec(t.Context(), "INSERT INTO hotrow_links VALUES (4, 'sketches', 0)")
			if err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"sketches"}, mustMigrate(t, s).Steps); diff != "" {
			t.Error(diff)
		}
		var got []string
		add := func(r source.StoreRow) error {
			got = append(got, fmt.Sprintf("%d %t %s", r.Int(0), r.Null(1), r.Text(2)))
			return nil
		}
		err := s.Query(t.Context(), "SELECT t.bucket, t.visitors, s.hll FROM click_time t"+
			" LEFT JOIN click_sketches s ON s.link_id = t.link_id AND s.unit = t.unit"+
			" AND s.bucket = t.bucket ORDER BY t.bucket", nil, add)
		if diff := cmp.Diff([]string{"2 true abc", "3 true "}, got); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	}
}

func months(t *testing.T, s database) {
	mustMigrate(t, s)
	var list []string
	for _, at := range []time.Time{
		time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
	} {
		list = append(list, Month(at))
		for range 2 {
			statements := append(CreateMonth(s.Dialect(), Month(at)), CreateView(s.Dialect(), list)...)
			if err := s.Exec(t.Context(), statements...); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, err := s.Tx(t.Context(), func(tx source.StoreTx) error {
		for i, m := range list {
			_, err := tx.Exec(t.Context(), "INSERT INTO "+MonthTable(m)+
				" (seq, link_id, at, kind, ip) VALUES (?, 1, ?, 0, ?)", i+1, i, []byte{1})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	err = s.Query(t.Context(), "SELECT count(*), min(seq), max(seq) FROM clicks WHERE link_id = ?",
		[]any{1}, func(r source.StoreRow) error {
			n = r.Int(0)*100 + r.Int(1)*10 + r.Int(2)
			return nil
		})
	if err != nil || n != 212 {
		t.Errorf("the view has %d, %v; want 212", n, err)
	}
}
