package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// manyTables makes a database with so many tables, the last of them with a foreign key.
func manyTables(t testing.TB, count int) (*Source, []source.Watched) {
	t.Helper()
	s := newSource(t)
	var statements []string
	var watched []source.Watched
	for i := range count {
		name := fmt.Sprintf("t%d", i)
		watched = append(watched, source.Watched{Table: s.cfg.DBName + "." + name,
			Columns: []string{"id"}})
		statements = append(statements, "CREATE TABLE "+name+
			" (id int, n varchar(10), u bigint unsigned, PRIMARY KEY (u, id))")
	}
	statements = append(statements, fmt.Sprintf("ALTER TABLE t%d ADD FOREIGN KEY (u, id) "+
		"REFERENCES t0 (u, id) ON DELETE CASCADE", count-1))
	mustExec(t, s, statements...)
	return s, watched
}

// definitionsOf reads the definitions of watched, and says how long that took and how many
// statements the server counted.
func definitionsOf(t testing.TB, s *Source, watched []source.Watched) (*definitions, int, time.Duration) {
	t.Helper()
	ctx := context.Background()
	c, err := s.acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.release()
	questions := func() (n int) {
		err := c.query(ctx, "SHOW SESSION STATUS LIKE 'Com_stmt_execute'", nil, func(v []any) error {
			n = int(catalog.AsInt(v[1]))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	v, err := c.server()
	if err != nil {
		t.Fatal(err)
	}
	asked, begin := questions(), time.Now()
	d, err := readDefinitions(ctx, s.catalog(c, v), watched)
	took := time.Since(begin)
	if err != nil {
		t.Fatal(err)
	}
	return d, questions() - asked, took
}

func TestMariaDB_DefinitionsOfManyTablesAreReadTogether(t *testing.T) {
	s, watched := manyTables(t, 40)
	all, asked, took := definitionsOf(t, s, watched)
	t.Logf("%d tables: %d statements, %v", len(watched), asked, took)
	if asked > 12 {
		t.Errorf("%d statements for %d tables", asked, len(watched))
	}
	few, _, _ := definitionsOf(t, s, watched[:2])
	for _, d := range []*definitions{all, few} {
		for name, got := range d.tables {
			if got.id == "" {
				continue
			}
			var columns []string
			for _, c := range got.Cols {
				columns = append(columns, c.Name+" "+c.Type)
			}
			if want := []string{"id int", "n varchar", "u bigint"}; !slices.Equal(columns, want) ||
				!slices.Equal(got.key, []int{2, 0}) || got.Engine != "InnoDB" {
				t.Errorf("%s has %q, key %v, engine %s", name, columns, got.key, got.Engine)
			}
		}
	}
	if got := all.tables[catalog.Name{Schema: s.cfg.DBName, Table: "t0"}]; len(all.tables) != 40 ||
		!strings.HasSuffix(strings.Join(got.onDelete, ","), ".t39") {
		t.Errorf("%d tables, t0 cascades to %q", len(all.tables), got.onDelete)
	}
	if len(few.tables) != 2 {
		t.Errorf("%d tables of two", len(few.tables))
	}
}
