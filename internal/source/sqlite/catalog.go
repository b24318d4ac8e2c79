package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A table is a table as the catalogue has it, and what SQLite adds to that.
type table struct {
	source.Table
	columns      []column // in the order of the hook's values, hidden ones included
	unique       []index
	rowid        string // the column that is another name for the rowid; ""
	withoutRowID bool
	opaque       bool // a unique index on an expression: see changelog.go

	triggers   bool     // other than those of the change log
	referenced []string // columns that foreign keys of any table name
}

// A column is one column of a table.
type column struct {
	source.Column
	collation string // BINARY, NOCASE, RTRIM or the user's own
	preset    string // DEFAULT's expression; ""
	affinity  affinity
	virtual   bool   // generated when it is read: the hook does not have its value
	within    string // the expression of what is meant within the column; "": the column
}

// An index is a unique index over whole columns.
type index struct {
	columns    []string
	collations []string
	partial    bool // unique among some of the rows only
}

// Catalog reads which tables there are.
func (s *Source) Catalog(ctx context.Context) (*source.Catalog, error) {
	cat := &source.Catalog{}
	err := s.readPool().use(ctx, func(c *conn) error {
		known, err := s.cachedTables(ctx, c)
		if err != nil {
			return err
		}
		for _, t := range known.tables {
			cat.Tables = append(cat.Tables, t.listed())
		}
		return c.query(ctx, "SELECT 'SQLite ' || sqlite_version()", nil, func(v []any) error {
			cat.Server, _ = v[0].(string)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the catalogue: %w", err)
	}
	return cat, nil
}

// listed returns the table as the catalogue of all databases has it. Nothing keeps that: its
// columns are copies.
func (t *table) listed() source.Table {
	out := t.Table
	out.Columns = make([]source.Column, len(t.columns))
	for i := range t.columns {
		out.Columns[i] = t.columns[i].Column
	}
	return out
}

// ofEach names the tables that have rows of their own. What is asked of them is asked of all
// together: of thousands, a statement for each would take seconds.
const ofEach = `FROM pragma_table_list AS t, `

// isListed is the condition of ofEach.
const isListed = ` WHERE t.schema = 'main' AND t.type = 'table' `

// readCatalogue reads the tables and views of the main schema.
func readCatalogue(ctx context.Context, c *conn) (*catalogue, error) {
	k := &catalogue{named: make(map[string]*table), folded: make(map[string]*table)}
	err := c.queryOnce(ctx, `SELECT name, type, wr FROM pragma_table_list
		WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') ORDER BY name`,
		nil, func(v []any) error {
			name, _ := v[0].(string)
			if isInternal(name) {
				k.logs = k.logs || name == logTable
				return nil
			}
			t := &table{Table: source.Table{Name: name, Default: true}}
			switch v[1] {
			case "view":
				t.View, t.Refused = true, "a view has no key of its own: use a query"
			case "virtual":
				t.Refused = "a virtual table: its changes cannot be followed"
			}
			t.withoutRowID = v[2] == int64(1)
			k.tables = append(k.tables, t)
			k.named[name], k.folded[foldName(name)] = t, t
			return nil
		})
	if err != nil {
		return nil, err
	}
	for _, read := range []func(context.Context, *conn, map[string]*table) error{
		readColumns, readIndexes, readCollations,
	} {
		if err := read(ctx, c, k.named); err != nil {
			return nil, err
		}
	}
	for _, t := range k.tables {
		if t.Refused == "" {
			t.judgeIndexes()
			t.judgeKey()
		}
	}
	if err := resolveForeign(ctx, c, k); err != nil {
		return nil, err
	}
	return k, readTriggers(ctx, c, k.named)
}

// ofTables calls each for the rows of a query that begin with the name of one of the tables.
func ofTables(
	ctx context.Context, c *conn, tables map[string]*table, query string,
	each func(t *table, v []any),
) error {
	return c.queryOnce(ctx, query, nil, func(v []any) error {
		name, _ := v[0].(string)
		if t := tables[name]; t != nil {
			each(t, v[1:])
		}
		return nil
	})
}

// readTriggers notes which tables have triggers that are not ours.
func readTriggers(ctx context.Context, c *conn, tables map[string]*table) error {
	triggered := make(map[string]bool)
	err := c.queryOnce(ctx, "SELECT tbl_name, name FROM main.sqlite_schema WHERE type = 'trigger'",
		nil, func(v []any) error {
			on, _ := v[0].(string)
			if name, _ := v[1].(string); !isInternal(name) {
				triggered[foldName(on)] = true
			}
			return nil
		})
	for name, t := range tables {
		t.triggers = triggered[foldName(name)]
	}
	return err
}

// virtualColumn is what pragma_table_xinfo says of a column GENERATED ALWAYS AS ... VIRTUAL.
const virtualColumn = 2

// readColumns reads the columns of tables and their primary keys.
func readColumns(ctx context.Context, c *conn, tables map[string]*table) error {
	keys := make(map[*table]map[int64]string)
	err := ofTables(ctx, c, tables, `SELECT t.name, x.name, x.type, x."notnull", x.dflt_value,
		x.pk, x.hidden `+ofEach+`pragma_table_xinfo(t.name) AS x`+isListed+`
		ORDER BY t.name, x.cid`, func(t *table, v []any) {
		name, _ := v[0].(string)
		native, _ := v[1].(string)
		preset, _ := v[3].(string)
		hidden, _ := v[5].(int64)
		col := column{affinity: affinityOf(native), preset: preset, collation: "BINARY",
			virtual: hidden == virtualColumn}
		col.Column = source.Column{
			Name: name, Kind: kindOf(native), Native: native, NotNull: v[2] == int64(1),
			Default: preset != "", Generated: hidden != 0,
		}
		if col.Kind == row.Int {
			col.Bits = 64
		}
		if pk, _ := v[4].(int64); pk > 0 {
			if keys[t] == nil {
				keys[t] = make(map[int64]string)
			}
			keys[t][pk] = name
		}
		t.columns = append(t.columns, col)
	})
	for _, t := range tables {
		t.columns = slices.Clone(t.columns) // without the room that it has grown by
	}
	for t, parts := range keys {
		for i := int64(1); i <= int64(len(parts)); i++ {
			t.Key = append(t.Key, parts[i])
		}
		if len(t.Key) == 1 && !t.withoutRowID {
			if col, _ := t.column(t.Key[0]); strings.EqualFold(col.Native, "INTEGER") {
				t.rowid, col.Default = col.Name, true
			}
		}
	}
	return err
}

// readIndexes reads the unique indexes of tables. "INTEGER PRIMARY KEY DESC" is the
// one key of that type which is not the rowid, and shows by its index.
func readIndexes(ctx context.Context, c *conn, tables map[string]*table) error {
	for _, t := range tables {
		if t.rowid != "" {
			t.unique = append(t.unique, index{columns: t.Key})
		}
	}
	last := "" // names of indexes are unique in a schema
	return ofTables(ctx, c, tables, `SELECT t.name, l.name, l.origin, x.name, x.coll, l.partial `+
		ofEach+`pragma_index_list(t.name) AS l, pragma_index_xinfo(l.name) AS x`+isListed+`
		AND l."unique" = 1 AND x.key = 1 ORDER BY t.name, l.seq, x.seqno`,
		func(t *table, v []any) {
			name, _ := v[0].(string)
			col, ok := v[2].(string)
			coll, _ := v[3].(string)
			if !ok { // an expression
				t.opaque = true
			}
			if name != last {
				if v[1] == "pk" && t.rowid != "" {
					t.unique, t.rowid = nil, ""
				}
				t.unique = append(t.unique, index{partial: v[4] == int64(1)})
				last = name
			}
			ix := &t.unique[len(t.unique)-1]
			ix.columns, ix.collations = append(ix.columns, col), append(ix.collations, coll)
		})
}

// comparedAtOnce is of how many columns one statement asks: a compound SELECT has at most 500
// parts.
const comparedAtOnce = 400

// readCollations finds out how SQLite compares the columns of tables. Those of a table whose
// definition does not name a collation have the usual one.
func readCollations(ctx context.Context, c *conn, tables map[string]*table) error {
	var ask []*column
	var statements []string
	err := ofTables(ctx, c, tables, `SELECT name FROM main.sqlite_schema
		WHERE type = 'table' AND sql LIKE '%collate%' ORDER BY name`, func(t *table, _ []any) {
		for i := range t.columns {
			if col := &t.columns[i]; !col.Generated && col.Name != t.rowid && t.Refused == "" {
				ask = append(ask, col)
				statements = append(statements, "SELECT +"+columnExpr(col.Name)+" = 'x' FROM "+
					quote(t.Name))
			}
		}
	})
	for err == nil && len(ask) > 0 {
		n := min(len(ask), comparedAtOnce)
		err = compareColumns(ctx, c, ask[:n], statements[:n])
		ask, statements = ask[n:], statements[n:]
	}
	for _, t := range tables {
		for i := range t.columns {
			if col := &t.columns[i]; !col.Generated && col.Name != t.rowid {
				col.Wide = !col.exact()
				col.Folds = (col.collation == "NOCASE" || col.collation == "RTRIM") &&
					col.Kind == row.Text && col.affinity == affinityText
			}
		}
	}
	return err
}

// compareColumns asks SQLite how it compares columns, by a statement for each: the opcode of
// the comparison names the collation; no pragma does. They are parts of one statement, unless
// that does not have one comparison for each.
func compareColumns(ctx context.Context, c *conn, columns []*column, statements []string) error {
	var found []string
	q := "EXPLAIN " + strings.Join(statements, " UNION ALL ")
	err := c.queryOnce(ctx, q, nil, func(v []any) error {
		op, _ := v[1].(string)
		p4, _ := v[5].(string)
		if op == "Ne" || op == "Eq" {
			name, _, _ := strings.Cut(p4, "-")
			found = append(found, strings.ToUpper(name))
		}
		return nil
	})
	if err == nil && len(found) != len(columns) && len(columns) > 1 {
		for i := range columns {
			err = errors.Join(err, compareColumns(ctx, c, columns[i:i+1], statements[i:i+1]))
		}
		return err
	}
	for i, name := range found[:min(len(found), len(columns))] {
		if name != "" {
			columns[i].collation = name
		}
	}
	return err
}

// exact reports whether two values of the column are equal only if they have
// one text.
func (c *column) exact() bool {
	if c.collation != "BINARY" {
		return false
	}
	return c.Kind == row.Int && c.affinity == affinityInteger ||
		c.Kind == row.Text && c.affinity == affinityText ||
		c.Kind == row.Bytes && c.affinity == affinityBlob
}

// judgeIndexes notes whether an index finds other rows equal than its columns
// do, and keeps of the unique indexes those that make a key.
func (t *table) judgeIndexes() {
	kept := t.unique[:0]
	for _, ix := range t.unique {
		whole := true
		for i, c := range ix.columns {
			col, ok := t.column(c)
			whole = whole && ok
			if !ok || c == t.rowid || i >= len(ix.collations) {
				continue
			}
			t.opaque = t.opaque || !strings.EqualFold(ix.collations[i], col.collation)
		}
		if whole {
			kept = append(kept, ix)
		}
	}
	t.unique = kept
}

// judgeKey says why t cannot be a resource, if it cannot, and completes the
// part of t that others see.
func (t *table) judgeKey() {
	if len(t.Key) == 0 {
		t.Refused = "no primary key"
	}
	for _, k := range t.Key {
		switch col, _ := t.column(k); {
		case col.Native == "":
			t.Refused = fmt.Sprintf("key column %s has no type", k)
		case col.Kind == row.JSON:
			t.Refused = fmt.Sprintf("key column %s is JSON, which no path can name", k)
		}
	}
}

// resolveForeign reads the foreign keys of tables. A reference without columns
// means the other table's primary key.
func resolveForeign(ctx context.Context, c *conn, k *catalogue) error {
	var of *table
	last := int64(-1)
	return ofTables(ctx, c, k.named, `SELECT t.name, f.id, f."table", f."from", f."to" `+ofEach+
		`pragma_foreign_key_list(t.name) AS f`+isListed+`ORDER BY t.name, f.id, f.seq`,
		func(t *table, v []any) {
			id, _ := v[0].(int64)
			from, _ := v[2].(string)
			to, _ := v[3].(string)
			if t != of || id != last {
				name, _ := v[1].(string)
				t.Foreign = append(t.Foreign, source.ForeignKey{Table: name})
				of, last = t, id
			}
			fk := &t.Foreign[len(t.Foreign)-1]
			parent := k.folded[foldName(fk.Table)]
			if parent != nil {
				fk.Table = parent.Name
				if to == "" && len(fk.Columns) < len(parent.Key) {
					to = parent.Key[len(fk.Columns)]
				}
				if c, err := parent.need(to); err == nil {
					parent.referenced = append(parent.referenced, c.Name)
				}
			}
			fk.Columns, fk.References = append(fk.Columns, from), append(fk.References, to)
		})
}
