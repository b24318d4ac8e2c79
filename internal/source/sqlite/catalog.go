package sqlite

import (
	"context"
	"fmt"
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
	affinity  affinity
	collation string // BINARY, NOCASE, RTRIM or the user's own
	preset    string // DEFAULT's expression; ""
	virtual   bool   // generated when it is read: the hook does not have its value
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
		return c.snapshot(ctx, func() error {
			tables, err := readTables(ctx, c)
			if err != nil {
				return err
			}
			for _, t := range tables {
				cat.Tables = append(cat.Tables, t.Table)
			}
			return c.query(ctx, "SELECT 'SQLite ' || sqlite_version()", nil, func(v []any) error {
				cat.Server, _ = v[0].(string)
				return nil
			})
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the catalogue: %w", err)
	}
	return cat, nil
}

// readTables reads the tables and views of the main schema.
func readTables(ctx context.Context, c *conn) ([]*table, error) {
	var tables []*table
	err := c.query(ctx, `SELECT name, type, wr FROM pragma_table_list
		WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') ORDER BY name`,
		nil, func(v []any) error {
			name, _ := v[0].(string)
			if isInternal(name) {
				return nil
			}
			t := &table{Table: source.Table{Name: name, Default: true, Rows: -1}}
			switch v[1] {
			case "view":
				t.View, t.Refused = true, "a view has no key of its own: use a query"
			case "virtual":
				t.Refused = "a virtual table: its changes cannot be followed"
			}
			t.withoutRowID = v[2] == int64(1)
			tables = append(tables, t)
			return nil
		})
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if err := t.read(ctx, c); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	if err := resolveForeign(ctx, c, tables); err != nil {
		return nil, err
	}
	return tables, readTriggers(ctx, c, tables)
}

// readTriggers notes which tables have triggers that are not ours.
func readTriggers(ctx context.Context, c *conn, tables []*table) error {
	return c.query(ctx, "SELECT tbl_name, name FROM main.sqlite_schema WHERE type = 'trigger'",
		nil, func(v []any) error {
			on, _ := v[0].(string)
			name, _ := v[1].(string)
			for _, t := range tables {
				if strings.EqualFold(t.Name, on) && !isInternal(name) {
					t.triggers = true
				}
			}
			return nil
		})
}

// read reads the columns, keys and indexes of t.
func (t *table) read(ctx context.Context, c *conn) error {
	if err := t.readColumns(ctx, c); err != nil {
		if t.View {
			t.Refused = "the view cannot be read: " + err.Error()
			return nil
		}
		return err
	}
	if t.Refused != "" {
		return nil
	}
	if err := t.readIndexes(ctx, c); err != nil {
		return err
	}
	if err := t.readCollations(ctx, c); err != nil {
		return err
	}
	t.judgeIndexes()
	t.judgeKey()
	if !t.withoutRowID && t.rowidName() != "" {
		n, err := c.integer(ctx, "SELECT max("+t.rowidName()+") FROM "+quote(t.Name))
		if err != nil {
			return err
		}
		t.Rows = n // right unless rows were deleted: as good as an estimate
	}
	return nil
}

// virtualColumn is what pragma_table_xinfo says of a column GENERATED ALWAYS AS ... VIRTUAL.
const virtualColumn = 2

// readColumns reads the columns of t and its primary key.
func (t *table) readColumns(ctx context.Context, c *conn) error {
	keys := map[int64]string{}
	err := c.query(ctx, `SELECT name, type, "notnull", dflt_value, pk, hidden
		FROM pragma_table_xinfo(?) ORDER BY cid`, []any{t.Name}, func(v []any) error {
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
			keys[pk] = name
		}
		t.columns = append(t.columns, col)
		return nil
	})
	if err != nil {
		return err
	}
	for i := int64(1); i <= int64(len(keys)); i++ {
		t.Key = append(t.Key, keys[i])
	}
	if len(t.Key) == 1 && !t.withoutRowID {
		if col, _ := t.column(t.Key[0]); strings.EqualFold(col.Native, "INTEGER") {
			t.rowid, col.Default = col.Name, true
		}
	}
	return nil
}

// readIndexes reads the unique indexes of t. "INTEGER PRIMARY KEY DESC" is the
// one key of that type which is not the rowid, and shows by its index.
func (t *table) readIndexes(ctx context.Context, c *conn) error {
	if t.rowid != "" {
		t.unique = append(t.unique, index{columns: t.Key})
	}
	last := ""
	return c.query(ctx, `SELECT l.name, l.origin, x.name, x.coll, l.partial
		FROM pragma_index_list(?) AS l, pragma_index_xinfo(l.name) AS x
		WHERE l."unique" = 1 AND x.key = 1 ORDER BY l.seq, x.seqno`,
		[]any{t.Name}, func(v []any) error {
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
			return nil
		})
}

// readCollations asks SQLite how it compares the text columns of t. The
// comparison's opcode names the collation; no pragma does.
func (t *table) readCollations(ctx context.Context, c *conn) error {
	for i := range t.columns {
		col := &t.columns[i]
		if col.Generated || col.Name == t.rowid {
			continue
		}
		q := "EXPLAIN SELECT 1 FROM " + quote(t.Name) +
			" WHERE +" + columnExpr(col.Name) + " = 'x'"
		err := c.queryOnce(ctx, q, nil, func(v []any) error {
			op, _ := v[1].(string)
			p4, _ := v[5].(string)
			if op != "Ne" && op != "Eq" {
				return nil
			}
			if name, _, ok := strings.Cut(p4, "-"); ok {
				col.collation = strings.ToUpper(name)
			}
			return nil
		})
		if err != nil {
			return err
		}
		col.Wide = !col.exact()
		col.Folds = (col.collation == "NOCASE" || col.collation == "RTRIM") &&
			col.Kind == row.Text && col.affinity == affinityText
	}
	return nil
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
	for _, col := range t.columns {
		t.Columns = append(t.Columns, col.Column)
	}
}

// resolveForeign reads the foreign keys of tables. A reference without columns
// means the other table's primary key.
func resolveForeign(ctx context.Context, c *conn, tables []*table) error {
	byName := make(map[string]*table, len(tables))
	for _, t := range tables {
		byName[strings.ToLower(t.Name)] = t
	}
	for _, t := range tables {
		last := int64(-1)
		err := c.query(ctx, `SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?)
			ORDER BY id, seq`, []any{t.Name}, func(v []any) error {
			id, _ := v[0].(int64)
			from, _ := v[2].(string)
			to, _ := v[3].(string)
			if id != last {
				name, _ := v[1].(string)
				t.Foreign = append(t.Foreign, source.ForeignKey{Table: name})
				last = id
			}
			fk := &t.Foreign[len(t.Foreign)-1]
			parent := byName[strings.ToLower(fk.Table)]
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
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
