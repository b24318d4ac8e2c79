package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
)

// Which says which tables are read; the zero Which is all of them.
type Which struct {
	OIDs  []uint32
	Names []string // schema.name

	// Triggers has the tables' triggers read too; Prefix is that of the channels which
	// those of somebody else notify.
	Triggers bool
	Prefix   string
}

// SetNoJIT has the rest of its transaction not be compiled to machine code: of a
// statement about hundreds of tables the server thinks that it will take long, and
// compiles for seconds what then runs for a tenth of one.
const SetNoJIT = "SELECT set_config('jit', 'off', true)"

// Tables reads tables: a handful of queries, however many, that are sent together.
func Tables(ctx context.Context, conn *pgx.Conn, which Which) ([]*Table, error) {
	if which.Names != nil {
		var err error
		if which.OIDs, err = oidsOf(ctx, conn, which.Names); err != nil {
			return nil, err
		}
	}
	condition, args := "true", []any(nil)
	if which.OIDs != nil {
		condition, args = "c.oid = ANY ($1::oid[])", []any{which.OIDs}
	}
	var batch pgx.Batch
	batch.Queue(SetNoJIT)
	queue := func(sql string, args ...any) {
		batch.Queue(strings.ReplaceAll(sql, "{which}", condition), args...)
	}
	for _, sql := range []string{sqlTables, sqlColumns, sqlIndexes, sqlForeign} {
		queue(sql, args...)
	}
	batch.Queue(sqlOperators)
	b := &builder{byOID: make(map[uint32]*Table), dropped: make(map[uint32]bool)}
	reads := []func(pgx.Rows) error{b.table, b.column, b.index, b.foreign, b.operator}
	if which.Triggers {
		queue(strings.ReplaceAll(sqlTriggers, "{prefix}", QuoteText(which.Prefix)), args...)
		reads = append(reads, b.trigger)
	}
	answers := conn.SendBatch(ctx, &batch)
	_, err := answers.Exec() // SetNoJIT
	for _, read := range reads {
		if err == nil {
			err = each(answers, read)
		}
	}
	return b.present(), errors.Join(err, answers.Close())
}

// oidsOf returns the OIDs of those of the tables that are there; it is never nil. All that is
// read of tables is found by them: of one table among thousands that is a thousandth.
func oidsOf(ctx context.Context, conn *pgx.Conn, names []string) ([]uint32, error) {
	var ids, last []string // last is what may follow the schema's name, for the index
	for _, name := range names {
		for i := range len(name) {
			if name[i] == '.' {
				ids, last = append(ids, name), append(last, name[i+1:])
			}
		}
	}
	rows, err := conn.Query(ctx, `SELECT DISTINCT c.oid
		FROM unnest($1::text[], $2::text[]::name[]) AS w(id, last)
		JOIN pg_catalog.pg_class c ON c.relname = w.last
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
			AND n.nspname || '.' || c.relname = w.id`, ids, last)
	if err != nil {
		return nil, err
	}
	oids, err := pgx.CollectRows(rows, pgx.RowTo[uint32])
	return append([]uint32{}, oids...), err
}

// each reads the rows of the next answer.
func each(answers pgx.BatchResults, read func(pgx.Rows) error) error {
	rows, err := answers.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// A builder puts the answers of the queries together.
type builder struct {
	tables []*Table
	byOID  map[uint32]*Table

	dropped map[uint32]bool // tables of which columns have been dropped meanwhile

	operators map[uint32]map[string]string // by types
}

// operator reads one row of sqlOperators, for the columns that are read already.
func (b *builder) operator(rows pgx.Rows) error {
	var of uint32
	var name, schema string
	if err := rows.Scan(&of, &name, &schema); err != nil {
		return err
	}
	if b.operators[of] == nil {
		if b.operators == nil {
			b.operators = make(map[uint32]map[string]string)
		}
		b.operators[of] = make(map[string]string)
		for _, t := range b.tables {
			for i := range t.Cols {
				if t.Cols[i].Type.OID == of {
					t.Cols[i].Type.Operators = b.operators[of]
				}
			}
		}
	}
	b.operators[of][name] = "OPERATOR(" + QuoteName(schema) + "." + name + ")"
	return nil
}

// table reads one row of sqlTables.
func (b *builder) table(rows pgx.Rows) error {
	t := new(Table)
	var owner, usage, sel *bool
	var aside []string
	err := rows.Scan(&t.OID, &t.Schema, &t.Name, &t.Kind, &t.Persistence, &t.RLS, &t.Identity,
		&t.Parent, &t.Leaves, &aside, &t.Subscribed, &t.Default,
		&t.Comment, &owner, &usage, &sel)
	if err != nil || owner == nil || usage == nil || sel == nil {
		return err // without an error: it has been dropped, see present
	}
	t.Owner, t.Usage, t.Select = *owner, *usage, *sel
	t.View = t.Kind == KindView || t.Kind == KindMaterial
	for l := range slices.Chunk(aside, 4) {
		t.Aside = append(t.Aside, Leaf{Schema: l[0], Name: l[1], Kind: l[2], Persistence: l[3]})
	}
	b.tables = append(b.tables, t)
	b.byOID[t.OID] = t
	return nil
}

// present returns the tables that are still there. The server's functions about privileges
// look at what there is now, and are NULL for what a transaction that has committed since
// the query's snapshot has dropped: a table, or all columns of one.
func (b *builder) present() []*Table {
	return slices.DeleteFunc(b.tables, func(t *Table) bool {
		return len(t.Cols) == 0 && b.dropped[t.OID]
	})
}

// column reads one row of sqlColumns.
func (b *builder) column(rows pgx.Rows) error {
	var of uint32
	var c Column
	var generated, identity string
	var mod int32
	var sel *bool
	err := rows.Scan(append(c.Type.Targets(), &of, &c.Num, &c.Name, &c.NotNull, &c.Default,
		&generated, &identity, &c.Native, &mod, &c.WideCollation, &c.Comment, &sel,
		&c.Casts)...)
	t := b.byOID[of]
	if err != nil || t == nil {
		return err
	}
	if sel == nil {
		b.dropped[of] = true
		return nil
	}
	c.Select = *sel
	c.Default = (c.Default || identity != "") && generated == ""
	c.Generated = generated != "" || identity == "a"
	if mod < 0 {
		mod = c.Type.Mod
	}
	if (c.Type.TypeName == "varchar" || c.Type.TypeName == "bpchar") && mod > 4 {
		c.MaxLen = int(mod) - 4 // the modifier counts the length word too
	}
	t.Cols = append(t.Cols, c)
	return nil
}

// index reads one row of sqlIndexes.
func (b *builder) index(rows pgx.Rows) error {
	var of uint32
	var x Index
	err := rows.Scan(&of, &x.Name, &x.Primary, &x.Identity, &x.Immediate, &x.Columns, &x.NotNull)
	t := b.byOID[of]
	if err != nil || t == nil {
		return err
	}
	if x.Primary {
		t.Key = x.Columns
	}
	t.Indexes = append(t.Indexes, x)
	return nil
}

// foreign reads one row of sqlForeign.
func (b *builder) foreign(rows pgx.Rows) error {
	var of uint32
	var f source.ForeignKey
	err := rows.Scan(&of, &f.Table, &f.Columns, &f.References, &f.Name)
	if t := b.byOID[of]; err == nil && t != nil {
		t.Foreign = append(t.Foreign, f)
	}
	return err
}

// trigger reads one row of sqlTriggers.
func (b *builder) trigger(rows pgx.Rows) error {
	var of uint32
	var g Trigger
	err := rows.Scan(&of, &g.Name, &g.Function, &g.Enabled, &g.Type, &g.Partial, &g.Source,
		&g.Notifies)
	if t := b.byOID[of]; err == nil && t != nil {
		t.Triggers = append(t.Triggers, g)
	}
	return err
}
