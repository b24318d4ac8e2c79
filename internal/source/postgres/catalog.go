package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// The kinds of relations, as pg_class.relkind has them.
const (
	kindTable       = "r"
	kindPartitioned = "p"
	kindView        = "v"
	kindMaterial    = "m"
	kindForeign     = "f"
)

// A table is one table of the catalogue, with what source.Table does not say.
type table struct {
	source.Table
	oid         uint32
	kind        string
	persistence string
	rls         bool
	readable    bool
	identity    string // pg_class.relreplident
	inherited   bool   // tables that are not its partitions inherit from it
	cols        []column
	unique      [][]string // columns of its unique indexes; the primary key first
}

// A column is one column of a table.
type column struct {
	source.Column
	valueType
	num    int16
	maxLen int // of a text, in characters; 0: no bound
}

// column returns the column called name.
func (t *table) column(name string) (*column, bool) {
	for i := range t.cols {
		if t.cols[i].Name == name {
			return &t.cols[i], true
		}
	}
	return nil, false
}

// Catalog reads which tables there are: four queries, however many.
func (s *Source) Catalog(ctx context.Context) (*source.Catalog, error) {
	tables, server, err := s.tables(ctx, nil)
	if err != nil {
		return nil, err
	}
	c := &source.Catalog{Server: server, Tables: make([]source.Table, len(tables))}
	for i, t := range tables {
		c.Tables[i] = t.Table
	}
	return c, nil
}

// sqlNoJIT has the rest of its batch, which is one transaction, not be compiled to
// machine code: of a statement about hundreds of tables the server thinks that it will
// take long, and compiles for seconds what then runs for a tenth of one.
const sqlNoJIT = "SELECT set_config('jit', 'off', true)"

// tables reads the tables with these OIDs, or all when oids is nil.
func (s *Source) tables(ctx context.Context, oids []uint32) ([]*table, string, error) {
	ctx, cancel := s.begin(ctx, 2)
	defer cancel()
	var tables []*table
	var server string
	err := s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		server = "PostgreSQL " + conn.PgConn().ParameterStatus("server_version")
		var b pgx.Batch
		b.Queue(sqlNoJIT)
		for _, sql := range []string{sqlTables, sqlColumns, sqlUnique, sqlForeign} {
			b.Queue(sql, oids)
		}
		answers := conn.SendBatch(ctx, &b)
		r := catalogReader{byOID: make(map[uint32]*table)}
		err := r.read(answers)
		if e := answers.Close(); err == nil {
			err = e
		}
		tables = r.tables
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("read the catalogue: %w", err)
	}
	for _, t := range tables {
		t.Refused = t.refusal()
	}
	return tables, server, nil
}

// refusal says why the table cannot be a resource by itself, or "".
func (t *table) refusal() string {
	if why := t.unfollowed(); why != "" {
		return why
	}
	switch {
	case !t.readable:
		return "no SELECT privilege"
	case t.rls:
		return "row-level security"
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
	if t.inherited { // the feed of the whole source would refuse it
		return "other tables inherit from it: use declarative partitions"
	}
	return ""
}

// canBeKey reports whether values of the column have a text that can name a row.
func (c *column) canBeKey() bool {
	if c.record {
		return false
	}
	switch c.kind {
	case row.JSON, row.Array, row.Rows, row.Null:
		return false
	}
	return true
}

// unfollowed says why changes of the table are in no write-ahead log, or "".
func (t *table) unfollowed() string {
	switch {
	case t.kind == kindForeign:
		return "a foreign table: its changes are not in this database"
	case t.kind == kindMaterial:
		return "a materialized view: its changes are not in the write-ahead log"
	case t.persistence == "u":
		return "unlogged: its changes are not in the write-ahead log"
	case t.persistence == "t":
		return "temporary: its changes are not in the write-ahead log"
	}
	return ""
}

// A catalogReader puts the answers of the four queries together.
type catalogReader struct {
	tables []*table
	byOID  map[uint32]*table
}

// read reads the answers, which are in the order of the queries.
func (r *catalogReader) read(answers pgx.BatchResults) error {
	if _, err := answers.Exec(); err != nil { // sqlNoJIT
		return err
	}
	for _, read := range []func(pgx.Rows) error{r.table, r.column, r.index, r.foreign} {
		rows, err := answers.Query()
		if err != nil {
			return err
		}
		for rows.Next() {
			if err := read(rows); err != nil {
				rows.Close()
				return err
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
	}
	return nil
}

// table reads one row of sqlTables.
func (r *catalogReader) table(rows pgx.Rows) error {
	t := new(table)
	var estimate float32
	err := rows.Scan(&t.oid, &t.Schema, &t.Name, &t.kind, &t.persistence, &t.rls, &t.identity,
		&t.inherited, &estimate, &t.Default, &t.Comment, &t.readable)
	t.View = t.kind == kindView || t.kind == kindMaterial
	t.Rows = int64(estimate)
	r.tables = append(r.tables, t)
	r.byOID[t.oid] = t
	return err
}

// column reads one row of sqlColumns.
func (r *catalogReader) column(rows pgx.Rows) error {
	var of uint32
	var c column
	var t typeRow
	var generated, identity string
	var mod int32
	var wideCollation bool
	err := rows.Scan(append(t.targets(), &of, &c.num, &c.Name, &c.NotNull, &c.Default,
		&generated, &identity, &c.Native, &mod, &wideCollation, &c.Comment)...)
	if err != nil || r.byOID[of] == nil {
		return err
	}
	c.valueType = t.valueType()
	c.wide = c.wide || wideCollation
	c.Kind, c.Bits, c.Wide = c.kind, c.bits, c.wide
	c.Default = (c.Default || identity != "") && generated == ""
	c.Generated = generated != "" || identity == "a"
	if mod < 0 {
		mod = t.typmod
	}
	if (t.typname == "varchar" || t.typname == "bpchar") && mod > 4 {
		c.maxLen = int(mod) - 4 // the modifier counts the length word too
	}
	to := r.byOID[of]
	to.cols = append(to.cols, c)
	to.Columns = append(to.Columns, c.Column)
	return nil
}

// index reads one row of sqlUnique.
func (r *catalogReader) index(rows pgx.Rows) error {
	var of uint32
	var primary bool
	var columns []string
	if err := rows.Scan(&of, &primary, &columns); err != nil || r.byOID[of] == nil {
		return err
	}
	t := r.byOID[of]
	if primary {
		t.Key = columns
	}
	t.unique = append(t.unique, columns)
	return nil
}

// foreign reads one row of sqlForeign.
func (r *catalogReader) foreign(rows pgx.Rows) error {
	var of uint32
	var f source.ForeignKey
	err := rows.Scan(&of, &f.Table, &f.Columns, &f.References)
	if err != nil || r.byOID[of] == nil {
		return err
	}
	r.byOID[of].Foreign = append(r.byOID[of].Foreign, f)
	return nil
}

// isUnique reports whether no two rows can have the same values in columns.
func (t *table) isUnique(columns []string) bool {
	for _, u := range t.unique {
		covered := true
		for _, c := range u {
			covered = covered && slices.Contains(columns, c)
		}
		if covered {
			return true
		}
	}
	return false
}
