package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A table is one table of the catalogue, with what source.Table does not say.
type table struct {
	source.Table
	engine   string // InnoDB, ...; "" for a view
	readable bool
	cols     []column   // those that this user may read
	unique   [][]string // columns of its unique indexes; the primary key first
	indexes  [][]string // columns of all indexes in which rows are looked up
}

// column returns the column called name; the server takes it in any case.
func (t *table) column(name string) (*column, bool) {
	for i := range t.cols {
		if strings.EqualFold(t.cols[i].Name, name) {
			return &t.cols[i], true
		}
	}
	return nil, false
}

// Catalog reads the tables of the database that the URL names. Those of other
// databases can be resources too, called DATABASE.TABLE in the configuration.
func (s *Source) Catalog(ctx context.Context) (*source.Catalog, error) {
	tables, v, err := s.tables(ctx, s.cfg.DBName, "")
	if err != nil {
		return nil, fmt.Errorf("read the catalogue: %w", err)
	}
	c := &source.Catalog{Server: v.product(), Tables: make([]source.Table, len(tables))}
	for i, t := range tables {
		c.Tables[i] = t.Table
	}
	return c, nil
}

// product returns the server's product and version, for people.
func (v *server) product() string {
	number, _, _ := strings.Cut(v.version, "-")
	if v.mariadb {
		return "MariaDB " + number
	}
	return "MySQL " + number
}

// tables reads the tables of a database, or the one called name.
func (s *Source) tables(ctx context.Context, schema, name string) ([]*table, server, error) {
	ctx, cancel := s.begin(ctx, len(catalogQueries)+1)
	defer cancel()
	var r *catalogReader
	var v server
	err := s.read(ctx, func(ctx context.Context, c *conn) (err error) {
		if v, err = c.server(); err != nil {
			return err
		}
		r = &catalogReader{byName: make(map[string]*table), home: s.cfg.DBName}
		return r.read(ctx, c, v, schema, name)
	})
	if err != nil {
		return nil, v, err
	}
	for _, t := range r.tables {
		t.Refused = t.refusal()
	}
	return r.tables, v, nil
}

// refusal says why the table cannot be a resource by itself, or "".
func (t *table) refusal() string {
	if why := t.unfollowed(); why != "" {
		return why
	}
	switch {
	case !t.readable:
		return "no SELECT privilege"
	case t.View:
		return "a view: its key and the tables that it depends on must be configured"
	case len(t.Key) == 0:
		return "no primary key"
	}
	for _, k := range t.Key {
		col, ok := t.column(k)
		switch {
		case !ok:
			return "no SELECT privilege on the key column " + k
		case !col.canBeKey():
			return fmt.Sprintf("its key column %s is %s, which no path can name", k, col.Native)
		}
	}
	return ""
}

// canBeKey reports whether values of the column have a text that can name a row.
func (c *column) canBeKey() bool { return c.Kind != row.JSON && c.read == "" }

// unfollowed says why documents of the table cannot be kept fresh, or "". Only
// InnoDB has snapshots of several statements, and locks by which it can be
// proved that a change is visible.
func (t *table) unfollowed() string {
	if t.View || t.engine == "InnoDB" {
		return ""
	}
	return fmt.Sprintf("its engine is %s, whose reads are no snapshots: "+
		"ALTER TABLE %s ENGINE=InnoDB", t.engine, quoteTable(t.Schema, t.Name))
}

// isUnique reports whether no two rows can have the same values in columns.
func (t *table) isUnique(columns []string) bool {
	return slices.ContainsFunc(t.unique, func(u []string) bool { return within(u, columns) })
}

// within reports whether every one of names is among others.
func within(names, others []string) bool {
	for _, n := range names {
		if !slices.ContainsFunc(others, func(o string) bool { return strings.EqualFold(n, o) }) {
			return false
		}
	}
	return true
}

// The queries of the catalogue, each for one database and one table or all. The
// columns are named in the order in which catalogReader reads them.
const (
	sqlTables = `SELECT TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_ROWS, TABLE_COMMENT
		FROM information_schema.TABLES
		WHERE TABLE_SCHEMA = ? AND (? = '' OR TABLE_NAME = ?)
			AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW') ORDER BY TABLE_NAME`
	sqlColumns = `SELECT TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, COLUMN_DEFAULT, IS_NULLABLE,
			DATA_TYPE, COLUMN_TYPE, CHARACTER_MAXIMUM_LENGTH, CHARACTER_SET_NAME, COLLATION_NAME,
			EXTRA, PRIVILEGES, COLUMN_COMMENT
		FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = ? AND (? = '' OR TABLE_NAME = ?)
		ORDER BY TABLE_NAME, ORDINAL_POSITION`
	sqlIndexes = `SELECT TABLE_NAME, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, SUB_PART, INDEX_TYPE
		FROM information_schema.STATISTICS
		WHERE TABLE_SCHEMA = ? AND (? = '' OR TABLE_NAME = ?)
		ORDER BY TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`
	sqlForeign = `SELECT k.TABLE_NAME, k.CONSTRAINT_NAME, k.COLUMN_NAME,
			k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME
		FROM information_schema.KEY_COLUMN_USAGE k
		WHERE k.TABLE_SCHEMA = ? AND (? = '' OR k.TABLE_NAME = ?)
			AND k.REFERENCED_TABLE_NAME IS NOT NULL
		ORDER BY k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION`
	// MariaDB's JSON is a longtext with a check that says so.
	sqlJSON = `SELECT TABLE_NAME, CONSTRAINT_NAME, CHECK_CLAUSE
		FROM information_schema.CHECK_CONSTRAINTS
		WHERE CONSTRAINT_SCHEMA = ? AND (? = '' OR TABLE_NAME = ?)
			AND CHECK_CLAUSE LIKE 'json\_valid(%'`
)

// catalogQueries are the queries that every server has.
var catalogQueries = []string{sqlTables, sqlColumns, sqlIndexes, sqlForeign}

// A catalogReader puts the answers of the queries together.
type catalogReader struct {
	home   string // the database that a bare name means
	schema string
	tables []*table
	byName map[string]*table
	index  string // that the row before was of
	key    string // the constraint that the row before was of
}

// read runs the queries.
func (r *catalogReader) read(ctx context.Context, c *conn, v server, schema, name string) error {
	r.schema = schema
	args := []any{schema, name, name}
	readers := []func([]any) error{r.table, r.columnRow, r.indexRow, r.foreign}
	for i, q := range catalogQueries {
		if err := c.query(ctx, q, args, readers[i]); err != nil {
			return err
		}
	}
	if v.mariadb {
		if err := c.query(ctx, sqlJSON, args, r.json); err != nil {
			return err
		}
	}
	for _, t := range r.tables {
		t.settle()
	}
	return nil
}

// table reads one row of sqlTables.
func (r *catalogReader) table(v []any) error {
	t := &table{engine: asText(v[2])}
	t.Schema, t.Name, t.Default = r.schema, asText(v[0]), r.schema == r.home
	t.View = asText(v[1]) == "VIEW"
	t.Rows = -1
	if v[3] != nil {
		t.Rows = asInt(v[3])
	}
	if t.Comment = asText(v[4]); t.View {
		t.Comment = "" // it says VIEW
	}
	r.tables = append(r.tables, t)
	r.byName[t.Name] = t
	return nil
}

// columnRow reads one row of sqlColumns.
func (r *catalogReader) columnRow(v []any) error {
	t := r.byName[asText(v[0])]
	if t == nil || !strings.Contains(strings.ToLower(asText(v[11])), "select") {
		return nil
	}
	t.readable = true
	c := column{num: int(asInt(v[2])), typ: strings.ToLower(asText(v[5])),
		charset: asText(v[8]), collation: asText(v[9])}
	c.Name, c.Native, c.Comment = asText(v[1]), asText(v[6]), asText(v[12])
	c.NotNull = asText(v[4]) == "NO"
	extra := strings.ToUpper(asText(v[10]))
	c.auto = strings.Contains(extra, "AUTO_INCREMENT")
	c.hidden = strings.Contains(extra, "INVISIBLE")
	c.Generated = strings.Contains(extra, "VIRTUAL GENERATED") ||
		strings.Contains(extra, "STORED GENERATED") || strings.Contains(extra, "PERSISTENT")
	// MariaDB writes a default of NULL as the text NULL.
	c.Default = c.auto || v[3] != nil && asText(v[3]) != "NULL"
	if v[7] != nil {
		c.maxLen = int(min(asInt(v[7]), 1<<31-1))
	}
	t.cols = append(t.cols, c)
	return nil
}

// indexRow reads one row of sqlIndexes. A part of an index that is an expression
// has no column.
func (r *catalogReader) indexRow(v []any) error {
	t := r.byName[asText(v[0])]
	if t == nil {
		return nil
	}
	name, column := asText(v[1]), asText(v[3])
	first := r.index != t.Name+"\x00"+name
	r.index = t.Name + "\x00" + name
	if name == "PRIMARY" {
		t.Key = append(t.Key, column)
	}
	if asInt(v[2]) == 0 {
		if first {
			t.unique = append(t.unique, nil)
		}
		last := &t.unique[len(t.unique)-1]
		*last = append(*last, column)
	}
	if kind := asText(v[5]); kind == "BTREE" || kind == "HASH" {
		if first {
			t.indexes = append(t.indexes, nil)
		}
		last := &t.indexes[len(t.indexes)-1]
		*last = append(*last, column)
	}
	return nil
}

// foreign reads one row of sqlForeign.
func (r *catalogReader) foreign(v []any) error {
	t := r.byName[asText(v[0])]
	if t == nil {
		return nil
	}
	parent := asText(v[3]) + "." + asText(v[4])
	if name := t.Name + "\x00" + asText(v[1]); r.key != name {
		r.key = name
		t.Foreign = append(t.Foreign, source.ForeignKey{Table: parent})
	}
	f := &t.Foreign[len(t.Foreign)-1]
	f.Columns = append(f.Columns, asText(v[2]))
	f.References = append(f.References, asText(v[5]))
	return nil
}

// json reads one row of sqlJSON.
func (r *catalogReader) json(v []any) error {
	t := r.byName[asText(v[0])]
	if t == nil {
		return nil
	}
	for i := range t.cols {
		if c := &t.cols[i]; c.typ == "longtext" &&
			strings.EqualFold(asText(v[2]), "json_valid("+quote(c.Name)+")") {
			c.typ, c.Native = "json", "json"
		}
	}
	return nil
}

// settle completes a table whose rows have all been read.
func (t *table) settle() {
	for i := range t.cols {
		c := &t.cols[i]
		c.settle()
		t.Columns = append(t.Columns, c.Column)
	}
}
