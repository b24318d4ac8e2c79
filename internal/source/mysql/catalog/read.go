package catalog

import (
	"context"
	"maps"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
)

// The queries of the catalogue. Each begins with the database and the table that a row
// is about; for them stand the conditions that one names.
const (
	sqlTables = `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_ROWS, TABLE_COMMENT
		FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? {AND TABLE_NAME = ?}
			AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW') ORDER BY TABLE_NAME`
	sqlColumns = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, COLUMN_DEFAULT,
			IS_NULLABLE, DATA_TYPE, COLUMN_TYPE, CHARACTER_MAXIMUM_LENGTH, CHARACTER_SET_NAME,
			COLLATION_NAME, EXTRA, PRIVILEGES, COLUMN_COMMENT, GENERATION_EXPRESSION
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? {AND TABLE_NAME = ?}
		ORDER BY TABLE_NAME, ORDINAL_POSITION`
	sqlIndexes = `SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, INDEX_TYPE
		FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? {AND TABLE_NAME = ?}
		ORDER BY TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`
	sqlForeign = `SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME,
			REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
		FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = ? {AND TABLE_NAME = ?}
			AND REFERENCED_TABLE_NAME IS NOT NULL
		ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION`
	// MariaDB's JSON is a longtext with a check that says so.
	sqlJSON = `SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CHECK_CLAUSE
		FROM information_schema.CHECK_CONSTRAINTS
		WHERE CONSTRAINT_SCHEMA = ? {AND TABLE_NAME = ?} AND CHECK_CLAUSE LIKE 'json\_valid(%'`
)

// Queries is how many queries Read makes of the tables of one database.
const Queries = 5

// askTogether is of how many tables of one database the catalogue is asked in one
// query for all of its tables. For fewer it is asked one by one: the database may
// have many more.
const askTogether = 16

// A Reader reads the catalogue.
type Reader struct {
	Conn    Conn
	Home    string // the database that a bare name means
	MariaDB bool   // and not MySQL
}

// Tables returns those of the tables that are there. A Name without a table stands for
// all of its database. (The server may take letters of both cases to be equal: who
// asks for one compares.)
func (r *Reader) Tables(ctx context.Context, names ...Name) ([]*Table, error) {
	b := &builder{home: r.Home, byName: make(map[Name]*Table)}
	steps := []struct {
		sql  string
		each func(*Table, []any)
	}{{sqlColumns, b.column}, {sqlIndexes, b.index}}
	if r.MariaDB {
		steps = append(steps, struct {
			sql  string
			each func(*Table, []any)
		}{sqlJSON, b.json})
	}
	if err := r.of(ctx, names, sqlTables, b.table); err != nil {
		return nil, err
	}
	for _, s := range steps {
		err := r.of(ctx, names, s.sql, func(n Name, v []any) {
			if t := b.byName[n]; t != nil {
				s.each(t, v)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	keys, err := r.references(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if t := b.byName[k.Child]; t != nil {
			t.Foreign = append(t.Foreign, source.ForeignKey{Name: k.Constraint,
				Columns: k.Columns, Table: k.Parent.String(), References: k.References})
		}
	}
	for _, t := range b.tables {
		t.settle()
	}
	return b.tables, nil
}

// Indexes returns the columns of the indexes in which rows of a table are looked up.
func (r *Reader) Indexes(ctx context.Context, name Name) ([][]string, error) {
	b := new(builder)
	var t Table
	err := r.of(ctx, []Name{name}, sqlIndexes, func(_ Name, v []any) { b.index(&t, v) })
	return t.Indexes, err
}

// of runs a query for tables.
func (r *Reader) of(
	ctx context.Context, names []Name, sql string, fn func(n Name, v []any),
) error {
	one := strings.NewReplacer("{", "", "}", "").Replace(sql)
	before, rest, _ := strings.Cut(sql, "{")
	_, after, _ := strings.Cut(rest, "}")
	tables := make(map[string][]string)
	var schemas []string
	for _, n := range names {
		if _, known := tables[n.Schema]; !known {
			schemas = append(schemas, n.Schema)
		}
		tables[n.Schema] = append(tables[n.Schema], n.Table)
	}
	done := make(map[Name]bool) // of two spellings of one table the first counts
	for _, schema := range schemas {
		list := tables[schema]
		wanted := make(map[string]bool, len(list))
		for _, t := range list {
			wanted[strings.ToLower(t)] = true
		}
		now := make(map[Name]bool)
		each := func(v []any) error {
			n := Name{AsText(v[0]), AsText(v[1])}
			if now[n] = true; !done[n] && (wanted[""] || wanted[strings.ToLower(n.Table)]) {
				fn(n, v[2:])
			}
			return nil
		}
		if wanted[""] || len(list) >= askTogether {
			if err := r.Conn.Query(ctx, before+after, []any{schema}, each); err != nil {
				return err
			}
			continue
		}
		for _, t := range list {
			if err := r.Conn.Query(ctx, one, []any{schema, t}, each); err != nil {
				return err
			}
			maps.Copy(done, now)
			clear(now)
		}
	}
	return nil
}

// A builder puts the answers of the queries together.
type builder struct {
	home   string
	tables []*Table
	byName map[Name]*Table
	last   indexName // that the row before was of
}

// An indexName names an index.
type indexName struct{ schema, table, index string }

// table takes one row of sqlTables.
func (b *builder) table(n Name, v []any) {
	t := &Table{Type: AsText(v[0]), Engine: AsText(v[1])}
	t.Schema, t.Name, t.Default = n.Schema, n.Table, n.Schema == b.home
	t.View = t.Type == "VIEW"
	t.Rows = -1
	if v[2] != nil {
		t.Rows = AsInt(v[2])
	}
	if t.Comment = AsText(v[3]); t.View {
		t.Comment = "" // it says VIEW
	}
	b.tables = append(b.tables, t)
	b.byName[n] = t
}

// column takes one row of sqlColumns.
func (b *builder) column(t *Table, v []any) {
	c := Column{Num: int(AsInt(v[1])), Type: strings.ToLower(AsText(v[4])),
		Charset: AsText(v[7]), Collation: AsText(v[8]),
		Readable: strings.Contains(strings.ToLower(AsText(v[10])), "select")}
	c.Name, c.Native, c.Comment = AsText(v[0]), AsText(v[5]), AsText(v[11])
	c.NotNull = AsText(v[3]) == "NO"
	extra := strings.ToUpper(AsText(v[9]))
	c.Auto = strings.Contains(extra, "AUTO_INCREMENT")
	c.Hidden = strings.Contains(extra, "INVISIBLE")
	c.Generated = strings.Contains(extra, "VIRTUAL GENERATED") ||
		strings.Contains(extra, "STORED GENERATED") || strings.Contains(extra, "PERSISTENT")
	if strings.Contains(extra, "VIRTUAL GENERATED") {
		c.Virtual = AsText(v[12])
	}
	// MariaDB writes a default of NULL as the text NULL.
	c.Default = c.Auto || v[2] != nil && AsText(v[2]) != "NULL"
	if v[6] != nil {
		c.MaxLen = int(min(AsInt(v[6]), 1<<31-1))
	}
	t.Cols = append(t.Cols, c)
}

// index takes one row of sqlIndexes. A part of an index that is an expression has no
// column.
func (b *builder) index(t *Table, v []any) {
	name, column := AsText(v[0]), AsText(v[2])
	at := indexName{t.Schema, t.Name, name}
	first := b.last != at
	b.last = at
	if name == "PRIMARY" {
		t.Key = append(t.Key, column)
	}
	if AsInt(v[1]) == 0 {
		t.Unique = appendPart(t.Unique, first, column)
	}
	if kind := AsText(v[3]); kind == "BTREE" || kind == "HASH" {
		t.Indexes = appendPart(t.Indexes, first, column)
	}
}

// appendPart adds a column to the last of lists, or to a new one.
func appendPart(lists [][]string, first bool, column string) [][]string {
	if first {
		lists = append(lists, nil)
	}
	last := &lists[len(lists)-1]
	*last = append(*last, column)
	return lists
}

// json takes one row of sqlJSON.
func (b *builder) json(t *Table, v []any) {
	for i := range t.Cols {
		if c := &t.Cols[i]; c.Type == "longtext" &&
			strings.EqualFold(AsText(v[0]), "json_valid("+Quote(c.Name)+")") {
			c.Type, c.Native = "json", "json"
		}
	}
}

// settle completes a table whose rows have all been read.
func (t *Table) settle() {
	for i := range t.Cols {
		c := &t.Cols[i]
		c.settle()
		if c.Readable {
			t.Columns = append(t.Columns, c.Column)
		}
	}
	t.Refused = t.refusal()
}
