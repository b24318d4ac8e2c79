package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// maxLevels bounds how deep documents are embedded in one another.
const maxLevels = 8

// A compiler turns one Spec into a plan.
type compiler struct {
	c      *conn
	tables []*table
	deps   []source.Dep
}

// Compile checks spec against the catalogue and prepares its statements.
func (s *Source) Compile(ctx context.Context, spec *source.Spec) (source.Plan, error) {
	p := &plan{s: s, name: spec.Name}
	err := s.readPool().use(ctx, func(c *conn) error {
		tables, err := s.cachedTables(ctx, c)
		if err != nil {
			return err
		}
		k := &compiler{c: c, tables: tables}
		if spec.Query != "" {
			p.root, p.kt, err = k.queryRoot(ctx, spec)
		} else {
			p.root, p.kt, err = k.tableRoot(spec)
		}
		if err != nil {
			return err
		}
		if err := k.embed(p.root, spec, p.kt, 1); err != nil {
			return err
		}
		if err := p.root.judge(ctx, c); err != nil {
			return err
		}
		p.root.finish()
		p.deps = k.deps
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("resource %s: %w", spec.Name, err)
	}
	for _, d := range p.deps {
		s.watchColumns(d.Table, union(d.Columns, d.Identity))
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

// tableRoot makes the node of a resource that is a table.
func (k *compiler) tableRoot(spec *source.Spec) (*node, row.KeyType, error) {
	t, err := k.find(spec.Table)
	if err != nil {
		return nil, nil, err
	}
	key := spec.Key
	if len(key) == 0 {
		if t.Refused != "" {
			return nil, nil, fmt.Errorf("table %s cannot be a resource: %s", t.Name, t.Refused)
		}
		key = t.Key
	}
	for i, c := range key {
		col, err := t.need(c)
		if err != nil {
			return nil, nil, fmt.Errorf("key: %w", err)
		}
		key = slices.Clone(key)
		key[i] = col.Name
	}
	if !t.isUnique(key) {
		return nil, nil, fmt.Errorf("key %s of table %s is not unique: "+
			"it needs a unique index on these columns", strings.Join(key, ", "), t.Name)
	}
	n, err := newTableNode(spec.Name, t, spec, key)
	if err != nil {
		return nil, nil, err
	}
	dep := source.Dep{Table: t.Name, Columns: key}
	if len(t.Key) > 0 && (len(union(t.Key, key)) != len(t.Key) || len(key) != len(t.Key)) {
		dep.Identity, n.ident = t.Key, n.place(t.Key, t.kind)
		dep.KnowsOld = true // the hooks and the change log have whole rows
	}
	k.deps = append(k.deps, dep)
	return n, keyType(t, key), nil
}

// keyType returns the type of a key of t.
func keyType(t *table, key []string) row.KeyType {
	kt := make(row.KeyType, len(key))
	for i, c := range key {
		col, _ := t.column(c)
		kt[i] = row.KeyPart{Column: c, Kind: keyKind(col.Kind), Wide: !col.exact()}
		if kt[i].Kind == row.Int {
			kt[i].Bits = 64
		}
	}
	return kt
}

// find returns the table that a configuration means.
func (k *compiler) find(name string) (*table, error) {
	bare := strings.TrimPrefix(name, "main.")
	var names []string
	for _, t := range k.tables {
		if t.Name == bare {
			return usable(t)
		}
		names = append(names, t.Name)
	}
	for _, t := range k.tables {
		if strings.EqualFold(t.Name, bare) { // as SQLite itself has it
			return usable(t)
		}
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

// newTableNode makes the node of a table with the members that spec wants.
func newTableNode(path string, t *table, spec *source.Spec, key []string) (*node, error) {
	for name := range spec.Fields {
		if _, err := t.need(name); err != nil {
			return nil, fmt.Errorf("fields: %w", err)
		}
	}
	n := &node{path: path, table: t, shape: &row.Shape{}}
	for i := range t.columns {
		col := &t.columns[i]
		isKey := slices.Contains(key, col.Name)
		if shown(spec, col.Name, isKey) {
			n.addField(col.Name, col.Kind, isKey, fieldSpec(spec, col.Name), col)
		}
	}
	n.key = n.place(key, t.kind)
	return n, n.distinct()
}

// kind returns the kind of a column that exists.
func (t *table) kind(name string) row.Kind {
	c, _ := t.column(name)
	return c.Kind
}

// fieldSpec returns what spec says of a column, whose name SQLite takes in any
// case.
func fieldSpec(spec *source.Spec, name string) source.FieldSpec {
	if fs, ok := spec.Fields[name]; ok {
		return fs
	}
	for c, fs := range spec.Fields {
		if strings.EqualFold(c, name) {
			return fs
		}
	}
	return source.FieldSpec{}
}

// shown reports whether a column is a member of the documents.
func shown(spec *source.Spec, name string, key bool) bool {
	if fieldSpec(spec, name).Hide {
		return false
	}
	named := slices.ContainsFunc(mapKeys(spec.Fields), func(c string) bool {
		return strings.EqualFold(c, name)
	})
	if spec.Only && !named {
		return false
	}
	return named || key || !spec.Hide || !source.IsSecret(name)
}

// mapKeys returns the names of fields.
func mapKeys(m map[string]source.FieldSpec) []string {
	out := make([]string, 0, len(m))
	for c := range m {
		out = append(out, c)
	}
	return out
}

// addField adds a member that comes from a column.
func (n *node) addField(
	name string, kind row.Kind, key bool, fs source.FieldSpec, col *column,
) {
	member := fs.Name
	if member == "" {
		member = name
	}
	read := kind
	if key && !fs.RFC3339 {
		kind = keyKind(kind) // a key is named as it is written
	}
	if key && read != row.Null {
		read = kind
	}
	n.fields = append(n.fields, field{at: len(n.cols), column: col, required: fs.Required})
	n.cols = append(n.cols, name)
	n.shape.Fields = append(n.shape.Fields, row.Field{Name: member, Column: name, Kind: kind,
		Dynamic: true, Key: key, OmitNull: fs.OmitNull, RFC3339: fs.RFC3339})
	n.kinds = append(n.kinds, read)
}

// distinct refuses two members of one name.
func (n *node) distinct() error {
	seen := make(map[string]string)
	for _, f := range n.shape.Fields {
		what := "column " + f.Column
		if f.Shape != nil {
			what = "embed " + f.Name
		}
		if other, ok := seen[f.Name]; ok {
			return fmt.Errorf("%s and %s both become the member %q: give one another name",
				other, what, f.Name)
		}
		seen[f.Name] = what
	}
	return nil
}

// finish compiles the shapes, the innermost first.
func (n *node) finish() {
	for _, e := range n.embeds {
		e.finish()
		n.shape.Fields[e.member].Shape = e.shape
	}
	n.shape = row.NewShape(n.shape.Fields)
}
