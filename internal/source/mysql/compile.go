package mysql

import (
	"context"
	"fmt"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// A compiler answers what the engine asks about the schema. It implements
// document.Schema.
type compiler struct {
	*schemaCache
	views []string // that were read so far, without their databases
}

// Compile checks spec against the catalogue.
func (s *Source) Compile(ctx context.Context, spec *source.Spec) (source.Plan, error) {
	plans, errs := s.CompileAll(ctx, []*source.Spec{spec})
	return plans[0], errs[0]
}

// CompileAll implements source.ManyCompiler.
func (s *Source) CompileAll(ctx context.Context, specs []*source.Spec) ([]source.Plan, []error) {
	s.compiled.Add(1) // a definition may have changed
	plans, errs := make([]source.Plan, len(specs)), make([]error, len(specs))
	d, err := s.dialect(ctx)
	known := &schemaCache{src: s, ctx: ctx, tables: make(map[catalog.Name][]*table)}
	if err == nil {
		err = known.look(source.TablesOf(specs...))
	}
	for i, spec := range specs {
		if plans[i], errs[i] = known.compile(d, spec, err); errs[i] != nil {
			plans[i], errs[i] = nil, fmt.Errorf("resource %s: %w", spec.Name, errs[i])
		}
	}
	return plans, errs
}

// compile compiles spec, unless failed says why it cannot be.
func (s *schemaCache) compile(
	d *document.Dialect, spec *source.Spec, failed error,
) (source.Plan, error) {
	if failed != nil {
		return nil, failed
	}
	c := &compiler{schemaCache: s}
	p, err := document.Compile(database{s.src}, d, c, spec)
	if err != nil {
		return nil, err
	}
	s.src.views.add(c.views, p.Deps())
	return &plan{p, s.src}, nil
}

// dialect returns the dialect of the server.
func (s *Source) dialect(ctx context.Context) (*document.Dialect, error) {
	ctx, cancel := s.begin(ctx, 1)
	defer cancel()
	d := dialectMySQL
	err := s.read(ctx, func(_ context.Context, c *conn) error {
		v, err := c.server()
		if v.mariadb {
			d = dialectMariaDB
		}
		return err
	})
	return d, err
}

// Table implements document.Schema: "name" in the URL's database or "database.name".
func (c *compiler) Table(name string) (*document.Table, error) {
	t, err := c.lookup(name)
	if err != nil {
		return nil, err
	}
	return t.document(), nil
}

// document returns the table as the engine sees it. A feed of the binlog has whole rows,
// old and new.
func (t *table) document() *document.Table {
	d := &document.Table{Table: t.Table.Table, From: quoteTable(t.Schema, t.Name), Native: t,
		ReportsOld: true, Unique: t.IsUnique}
	d.Into = d.From
	d.Cols = documentColumns(t.cols)
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

// lookup returns the table that name means.
func (c *compiler) lookup(name string) (*table, error) {
	for _, n := range catalog.Names(name, c.src.cfg.DBName) {
		found, err := c.named(n)
		if err != nil {
			return nil, fmt.Errorf("look up table %s: %w", name, err)
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	tables, _, err := c.src.tables(c.ctx, catalog.Name{Schema: c.src.cfg.DBName})
	if err != nil {
		return nil, err
	}
	all := make([]source.Table, len(tables))
	for i, t := range tables {
		all[i] = t.Table.Table
	}
	return nil, document.NoTable(name, all)
}

// Allowed implements document.Schema.
func (c *compiler) Allowed(d *document.Table, spec *source.Spec) error {
	t := d.Native.(*table)
	if why := t.Unfollowed(); why != "" && !spec.Timed {
		return fmt.Errorf("table %s cannot be a resource: %s", t.ID(), why)
	}
	if len(t.cols) == 0 {
		return &source.Error{Class: source.Forbidden, Message: "no SELECT privilege on " + t.ID(),
			Hint: fmt.Sprintf("GRANT SELECT ON %s TO the user %s", quoteTable(t.Schema, t.Name),
				c.src.cfg.User)}
	}
	return nil
}

// Followed implements document.Schema.
func (c *compiler) Followed(what string, d *document.Table, spec *source.Spec) error {
	if why := d.Native.(*table).Unfollowed(); why != "" && !spec.Timed {
		return fmt.Errorf("%s reads %s, but %s", what, d.ID(), why)
	}
	return nil
}

// Behind implements document.Schema.
func (c *compiler) Behind(view *document.Table) ([]*document.Table, error) {
	r := &reading{c: c, seen: make(map[string]bool)}
	err := r.view(view.Native.(*table))
	return r.documents(), err
}

// Reads implements document.Schema.
func (c *compiler) Reads(q *document.Query) ([]*document.Table, error) {
	r := &reading{c: c, seen: make(map[string]bool)}
	err := r.query(q.Native.(*queryText).tokens, c.src.cfg.DBName)
	return r.documents(), err
}

// documents returns the tables that were found as the engine sees them.
func (r *reading) documents() []*document.Table {
	out := make([]*document.Table, len(r.tables))
	for i, t := range r.tables {
		out[i] = t.document()
	}
	return out
}

// Scan implements document.Schema.
func (c *compiler) Scan(query string) (*document.Query, error) {
	q, err := scanQuery(query)
	if err == nil {
		err = q.reading()
	}
	if err != nil {
		return nil, err
	}
	return &document.Query{Template: q.Template, Native: q}, nil
}

// reading refuses what is no SELECT, or one that locks.
func (q *queryText) reading() error {
	first := token{text: "nothing"}
	if len(q.tokens) > 0 {
		first = q.tokens[0]
	}
	if !first.is("SELECT") && !first.is("WITH") {
		return fmt.Errorf("only a SELECT can be a resource, this begins with %s", first.text)
	}
	for i, t := range q.tokens {
		if (t.is("UPDATE") || t.is("SHARE")) && (follows(q.tokens, i, "FOR") ||
			follows(q.tokens, i, "IN")) {
			return fmt.Errorf("a SELECT that locks rows cannot be a resource")
		}
		if t.is("INTO") {
			return fmt.Errorf("only a SELECT that returns its rows can be a resource: drop INTO")
		}
	}
	return nil
}

// Describe implements document.Schema. The server does not know the types of parameters.
func (c *compiler) Describe(q *document.Query) error {
	ctx, cancel := c.src.begin(c.ctx, 2)
	defer cancel()
	text := q.With(func(int) string { return "NULL" })
	var columns []column
	err := c.src.read(ctx, func(ctx context.Context, conn *conn) error {
		columns = nil
		rows, err := conn.QueryContext(ctx, "SELECT * FROM ("+text+"\n) AS q LIMIT 0")
		if err != nil {
			return err
		}
		defer rows.Close()
		types, err := rows.ColumnTypes()
		if err != nil {
			return err
		}
		for _, t := range types {
			columns = append(columns,
				column{Column: catalog.ResultColumn(t.Name(), t.DatabaseTypeName())})
		}
		return rows.Err()
	})
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	q.Columns = documentColumns(columns)
	return nil
}
