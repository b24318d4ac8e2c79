package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
)

// A compiler answers what the engine asks about the schema. It implements
// document.Schema.
type compiler struct {
	ctx    context.Context
	c      *conn
	tables []*table
}

// Compile checks spec against the catalogue and prepares its statements.
func (s *Source) Compile(ctx context.Context, spec *source.Spec) (source.Plan, error) {
	p := &plan{s: s}
	err := s.readPool().use(ctx, func(c *conn) error {
		tables, err := s.cachedTables(ctx, c)
		if err != nil {
			return err
		}
		k := &compiler{ctx: ctx, c: c, tables: tables}
		if p.Plan, err = document.Compile(database{s}, dialect, k, spec); err != nil {
			return err
		}
		return p.judge(ctx, c)
	})
	if err != nil {
		return nil, fmt.Errorf("resource %s: %w", spec.Name, err)
	}
	for _, d := range p.Deps() {
		s.watchColumns(d.Table, union(d.Columns, d.Identity))
	}
	for _, path := range p.Paths() {
		for _, step := range path.Steps {
			s.watchColumns(step.Table, step.On)
		}
	}
	return p, nil
}

// cachedTables returns the tables as of now, reading them only if the schema
// has changed since they were read last.
func (s *Source) cachedTables(ctx context.Context, c *conn) ([]*table, error) {
	var tables []*table
	err := c.snapshot(ctx, func() error {
		version, err := c.integer(ctx, "PRAGMA schema_version")
		if err != nil {
			return err
		}
		if k := s.known.Load(); k != nil && k.version == version && k.path == s.readPool() {
			tables = k.tables
			return nil
		}
		if tables, err = readTables(ctx, c); err != nil {
			return err
		}
		s.known.Store(&catalogue{version: version, path: s.readPool(), tables: tables})
		return nil
	})
	return tables, err
}

// A catalogue is the tables as of one version of the schema of one file.
type catalogue struct {
	version int64
	path    *pool // connections to the file; another file has others
	tables  []*table
}

// Table implements document.Schema.
func (k *compiler) Table(name string) (*document.Table, error) {
	t, err := k.find(name)
	if err != nil {
		return nil, err
	}
	return t.document(), nil
}

// document returns the table as the engine sees it. The hooks and the change log have whole
// rows.
func (t *table) document() *document.Table {
	name := quote(t.Name)
	d := &document.Table{Table: t.Table, From: name, Into: name, Native: t,
		Cols: documentColumns(t.columns), ReportsOld: true, Unique: t.isUnique}
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

// find returns the table that a configuration means.
func (k *compiler) find(name string) (*table, error) {
	bare := strings.TrimPrefix(name, "main.")
	at := slices.IndexFunc(k.tables, func(t *table) bool { return t.Name == bare })
	if at < 0 { // as SQLite itself has it
		at = slices.IndexFunc(k.tables, func(t *table) bool {
			return strings.EqualFold(t.Name, bare)
		})
	}
	if at >= 0 {
		return usable(k.tables[at])
	}
	var names []string
	for _, t := range k.tables {
		names = append(names, t.Name)
	}
	return nil, fmt.Errorf("there is no table %s%s", quoted(name), row.DidYouMean(name, names))
}

// usable refuses what has no rows of its own that could be followed.
func usable(t *table) (*table, error) {
	if t.View || t.Refused != "" && t.Refused != "no primary key" {
		return nil, fmt.Errorf("%s cannot be a resource: %s", quoted(t.Name), t.Refused)
	}
	return t, nil
}

// Allowed implements document.Schema: Table has refused what is not.
func (k *compiler) Allowed(*document.Table, *source.Spec) error { return nil }

// Followed implements document.Schema.
func (k *compiler) Followed(_ string, t *document.Table, _ *source.Spec) error {
	_, err := usable(t.Native.(*table))
	return err
}

// Behind implements document.Schema. No view is a resource here.
func (k *compiler) Behind(view *document.Table) ([]*document.Table, error) {
	_, err := usable(view.Native.(*table))
	return nil, err
}

// need returns the column called name, or an error that names the nearest.
func (t *table) need(name string) (*column, error) {
	if c, ok := t.column(name); ok {
		return c, nil
	}
	for i := range t.columns {
		if strings.EqualFold(t.columns[i].Name, name) {
			return &t.columns[i], nil
		}
	}
	return nil, fmt.Errorf("table %s has no column %s%s",
		t.Name, quoted(name), row.DidYouMean(name, t.names()))
}
