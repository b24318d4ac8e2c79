package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
)

// A compiler answers what the engine asks about the schema. It implements
// document.Schema.
type compiler struct {
	ctx context.Context
	c   *conn
	*catalogue
}

// Compile checks spec against the catalogue and prepares its statements.
func (s *Source) Compile(ctx context.Context, spec *source.Spec) (source.Plan, error) {
	plans, errs := s.CompileAll(ctx, []*source.Spec{spec})
	return plans[0], errs[0]
}

// CompileAll implements source.ManyCompiler.
func (s *Source) CompileAll(ctx context.Context, specs []*source.Spec) ([]source.Plan, []error) {
	plans, errs := make([]source.Plan, len(specs)), make([]error, len(specs))
	err := s.readPool().use(ctx, func(c *conn) error {
		known, err := s.cachedTables(ctx, c)
		if err != nil {
			return err
		}
		for i, spec := range specs {
			plans[i], errs[i] = s.compile(&compiler{ctx: ctx, c: c, catalogue: known}, spec)
		}
		return errors.Join(errs...)
	})
	for i, spec := range specs {
		if errs[i] == nil && plans[i] == nil {
			errs[i] = err
		}
		if errs[i] != nil {
			plans[i], errs[i] = nil, fmt.Errorf("resource %s: %w", spec.Name, errs[i])
		}
	}
	s.watchMore(func(next *watchList) {
		for _, p := range plans {
			if p != nil {
				next.addPlan(p.(*plan))
			}
		}
	})
	return plans, errs
}

// compile compiles spec.
func (s *Source) compile(k *compiler, spec *source.Spec) (source.Plan, error) {
	p := &plan{s: s}
	var err error
	if p.Plan, err = document.Compile(database{s}, dialect, k, spec); err != nil {
		return nil, err
	}
	if err := p.judge(k.ctx, k.c); err != nil {
		return nil, err
	}
	return p, nil
}

// cachedTables returns the tables as of now, reading them only if the schema
// has changed since they were read last.
func (s *Source) cachedTables(ctx context.Context, c *conn) (*catalogue, error) {
	var known *catalogue
	err := c.snapshot(ctx, func() (err error) {
		known, err = s.tables(ctx, c, s.readPool())
		return err
	})
	return known, err
}

// tables is cachedTables by a connection to the file of readers. What was read counts once the
// version is found to be the same as before.
func (s *Source) tables(ctx context.Context, c *conn, readers *pool) (*catalogue, error) {
	k := s.known.Load()
	for {
		version, err := c.integer(ctx, "PRAGMA schema_version")
		if err != nil {
			return nil, err
		}
		if k != nil && k.version == version && k.file == readers {
			s.known.Store(k)
			return k, nil
		}
		if k, err = readCatalogue(ctx, c); err != nil {
			return nil, err
		}
		k.version, k.file = version, readers
	}
}

// A catalogue is the tables as of one version of the schema of one file. Readers, the writer
// and plans share it.
type catalogue struct {
	version int64
	file    *pool // connections to the file; another file has others
	tables  []*table
	named   map[string]*table
	folded  map[string]*table // by their names in lower case, as SQLite compares them
	logs    bool              // there is a change log
}

// foldName returns a name as names are compared: SQLite folds letters of ASCII only.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
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
	if t := k.folded[foldName(strings.TrimPrefix(name, "main."))]; t != nil {
		return usable(t)
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
