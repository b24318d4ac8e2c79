package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sourcetest"
)

func TestStore(t *testing.T) {
	sourcetest.RunStore(t, func(t *testing.T) source.Store { return openOwn(t) })
}

// openOwn makes a file of hotrow's own.
func openOwn(t testing.TB) *Source {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "own.db"), Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// The feed is told every row of a table that a plan reads, and of another one
// only that it has changed.
func TestStore_TablesThatNobodyReadsAreToldAsAWhole(t *testing.T) {
	s := openOwn(t)
	if err := s.Exec(t.Context(), "CREATE TABLE links (id INTEGER PRIMARY KEY, code TEXT UNIQUE)",
		"CREATE TABLE clicks (seq INTEGER PRIMARY KEY, at INTEGER)"); err != nil {
		t.Fatal(err)
	}
	spec := &source.Spec{Name: "links", Table: "links", Key: []string{"code"}}
	if _, err := s.Compile(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	w := s.writerNow()
	var got source.Tx
	_, err := s.Tx(t.Context(), func(tx source.StoreTx) error {
		if _, _, err := tx.Insert(t.Context(), "links", []string{"code"}, "a"); err != nil {
			return err
		}
		err := tx.Bulk(t.Context(), &source.Bulk{Table: "clicks", Columns: []string{"seq", "at"},
			Rows: 20, Row: func(i int, into []any) { into[0], into[1] = i, i }})
		w.changes.batch.Take(&got) // what the feeds would be told
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Changes) != 1 || got.Changes[0].Table != "links" ||
		len(got.Tables) != 1 || got.Tables[0] != "clicks" {
		t.Errorf("told %v and tables %v", got.Changes, got.Tables)
	}
}

// BenchmarkStoreBulk measures rows of clicks into one table with an index. The
// seam's share beside SQLite's own work is small: see the allocations.
func BenchmarkStoreBulk(b *testing.B) {
	s := openOwn(b)
	if err := s.Exec(b.Context(), `CREATE TABLE clicks (seq INTEGER PRIMARY KEY, link_id INTEGER,
		at INTEGER, kind INTEGER, ip BLOB, country TEXT, visitor INTEGER, agent_id INTEGER,
		ref_id INTEGER, path TEXT)`, "CREATE INDEX clicks_link ON clicks(link_id, at)"); err != nil {
		b.Fatal(err)
	}
	const rows = 5000
	ip := []byte{127, 0, 0, 1}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		_, err := s.Tx(b.Context(), func(tx source.StoreTx) error {
			return tx.Bulk(b.Context(), &source.Bulk{Table: "clicks", Rows: rows,
				Columns: []string{"seq", "link_id", "at", "kind", "ip", "country", "visitor",
					"agent_id", "ref_id", "path"},
				Row: func(i int, into []any) {
					seq := int64(n*rows + i)
					into[0], into[1], into[2], into[3] = seq, seq%1000, seq*7, int64(0)
					into[4], into[5], into[6] = ip, "DE", seq
					into[7], into[8] = int64(1), int64(2)
				}})
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "rows/s")
}
