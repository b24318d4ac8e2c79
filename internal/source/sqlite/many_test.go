package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/source"
)

// A countingConn counts what is asked.
type countingConn struct {
	driverConn
	asked int
}

func (c *countingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.asked++
	return c.driverConn.PrepareContext(ctx, query)
}

func (c *countingConn) QueryContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Rows, error) {
	c.asked++
	return c.driverConn.QueryContext(ctx, query, args)
}

func (c *countingConn) ExecContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Result, error) {
	c.asked++
	return c.driverConn.ExecContext(ctx, query, args)
}

// TestSQLite_StatementsDoNotGrowWithTables: what looks at all tables asks of all of them
// together, but for parts of hundreds.
func TestSQLite_StatementsDoNotGrowWithTables(t *testing.T) {
	count := func(tables int) (asked int) {
		var statements []string
		var specs []*source.Spec
		for i := range tables {
			statements = append(statements, fmt.Sprintf("CREATE TABLE t%d (id integer PRIMARY KEY, "+
				"name text COLLATE NOCASE UNIQUE, up integer REFERENCES t%d)", i, max(0, i-1)),
				fmt.Sprintf("CREATE TRIGGER r%d AFTER DELETE ON t%d BEGIN SELECT 1; END", i, i))
			name := fmt.Sprintf("t%d", i)
			specs = append(specs, &source.Spec{Name: name, Table: name})
		}
		path, _ := newFile(t, "WAL", statements...)
		s := openTest(t, path, Options{Readers: 1})
		err := s.readPool().use(t.Context(), func(c *conn) error {
			counting := &countingConn{driverConn: c.c}
			c.c = counting
			known, err := s.cachedTables(t.Context(), c)
			if err != nil {
				return err
			}
			k := &compiler{ctx: t.Context(), c: c, catalogue: known}
			for _, spec := range specs {
				if _, err := s.compile(k, spec); err != nil {
					return err
				}
			}
			asked = counting.asked
			c.c = counting.driverConn
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return asked
	}
	if few, many := count(10), count(150); many > few+5 {
		t.Errorf("%d statements of 150 tables, and %d of 10", many, few)
	}
}

// TestReadTables_CollationsOfManyColumns: more columns than one statement asks of have each
// its own collation.
func TestReadTables_CollationsOfManyColumns(t *testing.T) {
	collations := []string{"NOCASE", "BINARY", "RTRIM"}
	var statements []string
	want := make(map[string]string)
	for i := range comparedAtOnce / 2 {
		create := fmt.Sprintf("CREATE TABLE t%d (id integer PRIMARY KEY, n integer", i)
		for j, collation := range []string{collations[i%3], collations[(i+1)%3], ""} {
			name := fmt.Sprintf("c%d", j)
			create += fmt.Sprintf(`, "%s" text`, name)
			if collation != "" {
				create += " collate " + collation
			}
			want[fmt.Sprintf("t%d.%s", i, name)] = collation
		}
		statements = append(statements, create+")")
	}
	path, _ := newFile(t, "WAL", append(statements, "CREATE TABLE plain (id text PRIMARY KEY)",
		"CREATE VIEW broken AS SELECT nosuch FROM gone")...)
	s := openTest(t, path, Options{})
	got := make(map[string]string)
	err := s.readPool().use(t.Context(), func(c *conn) error {
		known, err := readCatalogue(t.Context(), c)
		for _, table := range known.tables {
			for _, col := range table.columns {
				if col.Name == "c2" && col.collation == "BINARY" { // which is the usual one
					got[table.Name+"."+col.Name] = ""
				} else if col.Name[0] == 'c' {
					got[table.Name+"."+col.Name] = col.collation
				} else if col.collation != "BINARY" {
					t.Errorf("%s.%s: %s", table.Name, col.Name, col.collation)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
