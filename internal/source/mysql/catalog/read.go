package catalog

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
)

// The queries of the catalogue. Each begins with the database and the table that a row
// is about; {} stands for the condition that names tables. No query asks for what the server
// has to open the tables of InnoDB for if it can do without, as for TABLE_ROWS: it keeps a few
// hundred of them open by default.
const (
	sqlTables = `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_COMMENT
		FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? {}
			AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW') ORDER BY TABLE_NAME`
	sqlColumns = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, COLUMN_DEFAULT,
			IS_NULLABLE, DATA_TYPE, COLUMN_TYPE, CHARACTER_MAXIMUM_LENGTH, CHARACTER_SET_NAME,
			COLLATION_NAME, EXTRA, PRIVILEGES, COLUMN_COMMENT, GENERATION_EXPRESSION
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? {}
		ORDER BY TABLE_NAME, ORDINAL_POSITION`
	sqlIndexes = `SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, INDEX_TYPE
		FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? {}
		ORDER BY TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`
	sqlForeign = `SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME,
			REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
		FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = ? {}
			AND REFERENCED_TABLE_NAME IS NOT NULL
		ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION`
	// MariaDB's JSON is a longtext with a check that says so.
	sqlJSON = `SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CHECK_CLAUSE
		FROM information_schema.CHECK_CONSTRAINTS
		WHERE CONSTRAINT_SCHEMA = ? {} AND CHECK_CLAUSE LIKE 'json\_valid(%'`
)

// askAtOnce is of how many tables one query asks: a server may end one that lasts.
const askAtOnce = 500

// Queries is how many queries Tables may make of so many names: of a whole database, for
// which one name stands, as many as of some thousands of tables.
func Queries(names ...Name) int {
	const steps, whole = 5, 20
	for _, n := range names {
		if n.Table == "" {
			return steps * whole
		}
	}
	return steps * (len(names)/askAtOnce + 1)
}

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
	b, names, err := r.list(ctx, names)
	if err != nil {
		return nil, err
	}
	steps := []step{{sqlColumns, b.column}, {sqlIndexes, b.index}}
	if r.MariaDB {
		steps = append(steps, step{sqlJSON, b.json})
	}
	if err := r.complete(ctx, b, names, steps); err != nil {
		return nil, err
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

// Columns is Tables without their keys, their indexes and what refines types.
func (r *Reader) Columns(ctx context.Context, names ...Name) ([]*Table, error) {
	b, names, err := r.list(ctx, names)
	if err != nil {
		return nil, err
	}
	return b.tables, r.complete(ctx, b, names, []step{{sqlColumns, b.column}})
}

// A step is one query of what Tables returns, and what takes each row of it.
type step struct {
	sql  string
	each func(*Table, []any)
}

// list returns which of the tables are there, and their names: for all of many tables the
// server is asked in parts.
func (r *Reader) list(ctx context.Context, names []Name) (*builder, []Name, error) {
	b := &builder{home: r.Home, byName: make(map[Name]*Table)}
	if err := r.of(ctx, names, sqlTables, b.table); err != nil {
		return nil, nil, err
	}
	there := make([]Name, len(b.tables))
	for i, t := range b.tables {
		there[i] = t.Named()
	}
	return b, there, nil
}

// complete reads more of the tables of b.
func (r *Reader) complete(ctx context.Context, b *builder, names []Name, steps []step) error {
	for _, s := range steps {
		err := r.of(ctx, names, s.sql, func(n Name, v []any) {
			if t := b.byName[n]; t != nil {
				s.each(t, v)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Indexes returns the columns of the indexes in which rows of tables are looked up.
func (r *Reader) Indexes(ctx context.Context, names ...Name) (map[Name][][]string, error) {
	b, tables := new(builder), make(map[Name]*Table)
	err := r.of(ctx, names, sqlIndexes, func(n Name, v []any) {
		t := tables[n]
		if t == nil {
			t = &Table{Table: source.Table{Schema: n.Schema, Name: n.Table}}
			tables[n] = t
		}
		b.index(t, v)
	})
	indexes := make(map[Name][][]string, len(tables))
	for n, t := range tables {
		indexes[n] = t.Indexes
	}
	return indexes, err
}

// of runs a query for tables.
func (r *Reader) of(
	ctx context.Context, names []Name, sql string, fn func(n Name, v []any),
) error {
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
		if slices.Contains(list, "") {
			list = []string{""}
		}
		for part := range slices.Chunk(list, askAtOnce) {
			now, err := r.part(ctx, schema, part, sql, done, fn)
			if err != nil {
				return err
			}
			maps.Copy(done, now)
		}
	}
	return nil
}

// part runs a query for some tables of a database, or for all if the one name is "", and
// returns of which it told. Those that are done it passes over.
func (r *Reader) part(
	ctx context.Context, schema string, names []string, sql string, done map[Name]bool,
	fn func(n Name, v []any),
) (told map[Name]bool, err error) {
	condition, args := "", []any{schema}
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[strings.ToLower(name)] = true
	}
	if !wanted[""] {
		condition = "AND TABLE_NAME IN (?" + strings.Repeat(", ?", len(names)-1) + ")"
		for _, name := range names {
			args = append(args, name)
		}
	}
	if len(args) == 2 { // for which the server need not look which tables there are
		condition = "AND TABLE_NAME = ?"
	}
	told = make(map[Name]bool)
	err = r.Conn.Query(ctx, strings.Replace(sql, "{}", condition, 1), args, func(v []any) error {
		n := Name{AsText(v[0]), AsText(v[1])}
		if told[n] = true; !done[n] && (wanted[""] || wanted[strings.ToLower(n.Table)]) {
			fn(n, v[2:])
		}
		return nil
	})
	return told, err
}

// A builder puts the answers of the queries together.
type builder struct {
	home   string
	tables []*Table
	byName map[Name]*Table
	last   indexName // that the row before was of
	texts  map[string]string
}

// text returns a text, of which thousands of columns have the same, once.
func (b *builder) text(v any) string {
	text := AsText(v)
	if same, known := b.texts[text]; known {
		return same
	}
	if b.texts == nil {
		b.texts = make(map[string]string)
	}
	b.texts[text] = text
	return text
}

// An indexName names an index.
type indexName struct{ schema, table, index string }

// table takes one row of sqlTables.
func (b *builder) table(n Name, v []any) {
	t := &Table{Type: b.text(v[0]), Engine: b.text(v[1])}
	t.Schema, t.Name, t.Default = n.Schema, n.Table, n.Schema == b.home
	t.View = t.Type == "VIEW"
	if t.Comment = AsText(v[2]); t.View {
		t.Comment = "" // it says VIEW
	}
	b.tables = append(b.tables, t)
	b.byName[n] = t
}

// column takes one row of sqlColumns.
func (b *builder) column(t *Table, v []any) {
	c := Column{Num: int(AsInt(v[1])), Type: strings.ToLower(b.text(v[4])),
		Charset: b.text(v[7]), Collation: b.text(v[8])}
	c.Name, c.Native, c.Comment = b.text(v[0]), b.text(v[5]), b.text(v[11])
	c.NotNull = AsText(v[3]) == "NO"
	extra := strings.ToUpper(AsText(v[9]))
	c.Auto = strings.Contains(extra, "AUTO_INCREMENT")
	c.Hidden = strings.Contains(extra, "INVISIBLE")
	c.Generated = strings.Contains(extra, "VIRTUAL GENERATED") ||
		strings.Contains(extra, "STORED GENERATED") || strings.Contains(extra, "PERSISTENT")
	if strings.Contains(extra, "VIRTUAL GENERATED") {
		c.Virtual = AsText(v[12])
	}
	for privilege := range strings.SplitSeq(strings.ToLower(AsText(v[10])), ",") {
		read := privilege == "select"
		c.Readable = c.Readable || read
		if read || !c.Generated {
			t.may = appendNew(t.may, privilege)
		}
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

// appendNew adds a text to a list that does not have it.
func appendNew(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
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
	t.Cols = append(make([]Column, 0, len(t.Cols)), t.Cols...) // without room for more
	for i := range t.Cols {
		t.Cols[i].settle()
	}
	t.Refused = t.refusal()
}
