package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
)

// A plan is one resource, compiled. It never changes, but for what late knows. It implements
// source.Plan.
type plan struct {
	*document.Plan
	src   *Source
	types []string // of the key's parts, as SQL writes them

	one, many document.Statement // read one document, and those of arrays of keys
	probe     string             // reads the key's parameters and no table

	late late // deferred triggers of what it writes
}

var (
	_ source.Plan  = (*plan)(nil)
	_ source.Typed = (*plan)(nil)
)

// A compiler answers what the engine asks about the schema. It implements
// document.Schema.
type compiler struct {
	src *Source
	ctx context.Context

	known map[string]*table // by the names that mean them; nil: nobody has looked before

	views, procs, results []uint32 // what is read besides tables: see definition
}

// Compile checks spec against the catalogue and prepares its statements.
func (s *Source) Compile(ctx context.Context, spec *source.Spec) (source.Plan, error) {
	for try := 0; ; try++ {
		c := &compiler{src: s, ctx: ctx}
		p, err := c.plan(spec)
		if err == nil {
			// A table may change between the catalogue and the statement.
			if err = p.prepare(ctx); source.ClassOf(err) == source.Missing && try < 2 {
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("resource %s: %w", spec.Name, err)
		}
		s.defs.Put(spec.Name, c.definition(p.Deps()))
		return p, nil
	}
}

// CompileAll implements source.ManyCompiler.
func (s *Source) CompileAll(ctx context.Context, specs []*source.Spec) ([]source.Plan, []error) {
	plans, errs := make([]source.Plan, len(specs)), make([]error, len(specs))
	known, err := s.named(ctx, source.TablesOf(specs...))
	found, compilers := make([]*plan, len(specs)), make([]*compiler, len(specs))
	for i, spec := range specs {
		if err != nil {
			errs[i] = fmt.Errorf("resource %s: %w", spec.Name, err)
			continue
		}
		compilers[i] = &compiler{src: s, ctx: ctx, known: known}
		found[i], errs[i] = compilers[i].plan(spec)
	}
	if err != nil {
		return plans, errs
	}
	source.Together(len(specs), checksAtOnce, func(i int) {
		if errs[i] == nil {
			errs[i] = found[i].prepare(ctx)
		}
	})
	for i, spec := range specs {
		if errs[i] != nil { // a table may have changed meanwhile
			plans[i], errs[i] = s.Compile(ctx, spec)
			continue
		}
		s.defs.Put(spec.Name, compilers[i].definition(found[i].Deps()))
		plans[i] = found[i]
	}
	return plans, errs
}

// named returns the tables that names mean: those that are there.
func (s *Source) named(ctx context.Context, names []string) (map[string]*table, error) {
	if len(names) == 0 { // of queries
		return nil, nil
	}
	oids, err := s.oids(ctx, names)
	if err != nil {
		what := names[0]
		if more := len(names) - 1; more > 0 {
			what += fmt.Sprintf(" and %d more", more)
		}
		return nil, fmt.Errorf("look up table %s: %w", what, err)
	}
	if len(oids) == 0 {
		return nil, nil
	}
	tables, _, err := s.tables(ctx, slices.Collect(maps.Values(oids)))
	if err != nil {
		return nil, err
	}
	byOID := make(map[uint32]*table, len(tables))
	for _, t := range tables {
		byOID[t.oid] = t
	}
	known := make(map[string]*table, len(oids))
	for name, oid := range oids {
		if t := byOID[oid]; t != nil {
			known[name] = t
		}
	}
	return known, nil
}

// sqlNamed finds what names mean: "schema.name", or a name in the default schema. Each way
// is a join of its own, which needs not compare each name with each table.
const sqlNamed = `SELECT DISTINCT ON (name) name, oid FROM (
	SELECT w.name, c.oid, false AS bare FROM unnest($1::text[]) AS w(name)
		JOIN (SELECT c.oid, c.relkind, n.nspname || '.' || c.relname AS name
			FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		) AS c ON c.name = w.name AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
	UNION ALL
	SELECT w.name, c.oid, true FROM unnest($1::text[]) AS w(name)
		JOIN pg_catalog.pg_class c ON c.relname = w.name AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			AND n.nspname = pg_catalog.current_schema()) AS found
	ORDER BY name, bare`

// oids returns the OIDs of the tables that names mean.
func (s *Source) oids(ctx context.Context, names []string) (map[string]uint32, error) {
	ctx, cancel := s.begin(ctx, 1)
	defer cancel()
	var oids map[string]uint32
	err := s.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		oids = make(map[string]uint32)
		rows, err := conn.Query(ctx, sqlNamed, names)
		if err != nil {
			return err
		}
		var name string
		var oid uint32
		_, err = pgx.ForEachRow(rows, []any{&name, &oid}, func() error {
			oids[name] = oid
			return nil
		})
		return err
	})
	return oids, err
}

// plan compiles a table resource or a query resource.
func (c *compiler) plan(spec *source.Spec) (*plan, error) {
	compiled, err := document.Compile(database{c.src}, dialect, c, spec)
	if err != nil {
		return nil, err
	}
	p := &plan{Plan: compiled, src: c.src}
	compiled.Native = p
	for _, part := range p.Parts {
		p.types = append(p.types, native(part).base)
	}
	p.build()
	return p, nil
}

// Table implements document.Schema: "name" in the default schema or "schema.name".
func (c *compiler) Table(name string) (*document.Table, error) {
	t, err := c.lookup(name)
	if err != nil {
		return nil, err
	}
	return t.document(), nil
}

// document returns the table as the engine sees it. A new row goes nowhere but into the
// table that INSERT names, where ONLY may not be written.
func (t *table) document() *document.Table {
	d := &document.Table{Table: t.Table, Native: t, Cols: documentColumns(t.cols),
		ReportsOld: t.reportsOld(), Unique: t.isUnique}
	d.Into = pgx.Identifier{t.Schema, t.Name}.Sanitize()
	if d.From = d.Into; t.inherited { // rows of its heirs would change without a word about it
		d.From = "ONLY " + d.Into
	}
	return d
}

// documentColumns returns columns as the engine sees them.
func documentColumns(cols []column) []document.Column {
	out := make([]document.Column, len(cols))
	for i := range cols {
		out[i] = &cols[i]
	}
	return out
}

// reportsOld reports whether every feed tells the whole of a row as it was: the
// triggers always do, the log with this replica identity. A change that was logged
// with another identity, before the plan or after, concerns every document. A
// partition may have an identity of its own.
func (t *table) reportsOld() bool { return t.identity == "f" && t.kind == catalog.KindTable }

// lookup returns the table that name means.
func (c *compiler) lookup(name string) (*table, error) {
	if t := c.known[name]; t != nil {
		return t, nil
	}
	named, err := c.src.named(c.ctx, []string{name})
	if err != nil {
		return nil, err
	}
	if t := named[name]; t != nil {
		return t, nil
	}
	tables, _, err := c.src.tables(c.ctx, nil)
	if err != nil {
		return nil, err
	}
	all := make([]source.Table, len(tables))
	for i, t := range tables {
		all[i] = t.Table
	}
	return nil, document.NoTable(name, all)
}

// Allowed implements document.Schema.
func (c *compiler) Allowed(d *document.Table, spec *source.Spec) error {
	t := d.Native.(*table)
	if why := t.unfollowed(); why != "" && !spec.Timed {
		return fmt.Errorf("table %s is %s", t.ID(), why)
	}
	if !t.readable {
		user := pgx.Identifier{c.src.cfg.ConnConfig.User}.Sanitize()
		return &source.Error{Class: source.Forbidden,
			Message: "no SELECT privilege on " + t.ID(),
			Hint: fmt.Sprintf("GRANT SELECT ON %s TO %s",
				pgx.Identifier{t.Schema, t.Name}.Sanitize(), user)}
	}
	if t.rls && !spec.RLSIgnore {
		return fmt.Errorf("table %s has row-level security: every reader would see the rows"+
			" that this user may see; rls: ignore says that this is meant", t.ID())
	}
	return c.judgePolicies(d)
}

// Followed implements document.Schema.
func (c *compiler) Followed(what string, d *document.Table, spec *source.Spec) error {
	t := d.Native.(*table)
	if why := t.unfollowed(); why != "" && !spec.Timed {
		return fmt.Errorf("%s reads %s, which is %s", what, t.ID(), why)
	}
	if t.rls && !spec.RLSIgnore {
		return fmt.Errorf("%s reads %s, which has row-level security; rls: ignore says that"+
			" one user's view may be everybody's", what, t.ID())
	}
	return c.judgePolicies(d)
}

// Behind implements document.Schema.
func (c *compiler) Behind(view *document.Table) ([]*document.Table, error) {
	if t := view.Native.(*table); t.kind == catalog.KindMaterial {
		return []*document.Table{view}, nil
	}
	return c.readsOfView(view.Native.(*table).oid)
}

// Reads implements document.Schema: of the query as a view, whose parameters are nulls of
// their types.
func (c *compiler) Reads(q *document.Query) ([]*document.Table, error) {
	return c.readsOfQuery(q.With(func(part int) string {
		return "(NULL::" + native(q.Parts[part]).base + ")"
	}))
}
