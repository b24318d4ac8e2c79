package sqlite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	driverpkg "modernc.org/sqlite"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A query is the SELECT of a resource that is not a table.
type query struct {
	text   string
	params []string // for each part of the key
	dates  bool     // it calls date functions, see volatile.go
}

// queryRoot makes the node of a resource that is a query.
func (k *compiler) queryRoot(
	ctx context.Context, spec *source.Spec,
) (*node, row.KeyType, error) {
	q := &query{text: strings.TrimRight(strings.TrimSpace(spec.Query), "; \n\t")}
	if len(spec.Key) == 0 {
		return nil, nil, fmt.Errorf("a query needs key: the columns that are its key")
	}
	if err := q.findParams(spec.Key); err != nil {
		return nil, nil, fmt.Errorf("query: %w", err)
	}
	cols, reads, err := k.describe(ctx, q)
	if err != nil {
		return nil, nil, fmt.Errorf("query: %w", err)
	}
	n := &node{path: spec.Name, query: q, shape: &row.Shape{}}
	for _, c := range cols {
		isKey := slices.Contains(spec.Key, c.Name)
		if shown(spec, c.Name, isKey) {
			n.addField(c.Name, kindOf(c.DeclType), isKey, fieldSpec(spec, c.Name), nil)
		}
	}
	for name := range spec.Fields {
		if !slices.ContainsFunc(cols, func(c driverpkg.ColumnInfo) bool {
			return strings.EqualFold(c.Name, name)
		}) {
			return nil, nil, fmt.Errorf("fields: the query has no column %s%s",
				quoted(name), row.DidYouMean(name, columnNames(cols)))
		}
	}
	if err := k.queryDeps(spec, reads); err != nil {
		return nil, nil, err
	}
	kt, err := k.queryKey(n, spec, cols)
	if err != nil {
		return nil, nil, err
	}
	k.widen(kt)
	return n, kt, n.distinct()
}

// columnNames returns the names of the columns of a result.
func columnNames(cols []driverpkg.ColumnInfo) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = c.Name
	}
	return out
}

// describe asks SQLite for the columns of the query, and which tables it reads.
// The authorizer allows reading only, so that a configuration cannot write.
func (k *compiler) describe(
	ctx context.Context, q *query,
) (cols []driverpkg.ColumnInfo, reads []string, err error) {
	seen, formats := make(map[string]bool), make(map[string]bool)
	authorize := func(
		action driverpkg.AuthorizerActionCode, arg1, arg2, _, view string,
	) driverpkg.AuthorizerReturnCode {
		switch action {
		case driverpkg.AuthRead:
			seen[arg1] = true
		case driverpkg.AuthFunction:
			if strings.EqualFold(arg2, "strftime") {
				formats[view] = true
			}
		case driverpkg.AuthSelect, driverpkg.AuthRecursive:
		default:
			return driverpkg.AuthorizerDeny
		}
		return driverpkg.AuthorizerOK
	}
	if err := k.c.c.RegisterAuthorizer(authorize); err != nil {
		return nil, nil, wrap(err)
	}
	cols, err = k.c.c.ColumnInfo(q.text)
	if off := k.c.c.RegisterAuthorizer(nil); err == nil {
		err = off
	}
	if codeOf(err)&0xff == codeAuth {
		return nil, nil, fmt.Errorf("only a SELECT can be a resource: %w", wrap(err))
	}
	if err != nil {
		return nil, nil, wrap(err)
	}
	return cols, slices.Sorted(maps.Keys(seen)), q.fixed(ctx, k.c, formats)
}

// queryDeps checks that depends names every table that the query reads.
func (k *compiler) queryDeps(spec *source.Spec, reads []string) error {
	for _, d := range spec.Depends {
		t, err := k.find(d.Table)
		if err != nil {
			return fmt.Errorf("depends: %w", err)
		}
		dep := source.Dep{Table: t.Name}
		if dep.Columns, err = t.resolve(d.Columns); err != nil {
			return fmt.Errorf("depends: %w", err)
		}
		if len(dep.Columns) > 0 && len(dep.Columns) != len(spec.Key) {
			return fmt.Errorf("depends: %s has %d columns, but the key has %d",
				t.Name, len(dep.Columns), len(spec.Key))
		}
		if len(dep.Columns) == 0 {
			dep.Columns = nil
		}
		k.deps = append(k.deps, dep)
	}
	for _, name := range reads {
		if err := k.followed(name); err != nil {
			return err
		}
	}
	return nil
}

// followed checks that changes of what a query reads are known.
func (k *compiler) followed(name string) error {
	for _, d := range k.deps {
		if strings.EqualFold(d.Table, name) {
			return nil
		}
	}
	for _, t := range k.tables {
		switch {
		case !strings.EqualFold(t.Name, name):
		case t.View: // the tables below it are told too
			return nil
		default:
			return fmt.Errorf("the query reads table %s, which depends does not name: "+
				"add {table: %s}, with key if a column of it holds the key", t.Name, t.Name)
		}
	}
	switch strings.ToLower(name) {
	case "json_each", "json_tree", "jsonb_each", "jsonb_tree": // made of their arguments
		return nil
	}
	return fmt.Errorf("the query reads %s, whose changes cannot be followed", quoted(name))
}

// queryKey returns the type of the key: that of the result's columns, or of the
// columns that depends names where the result does not have them.
func (k *compiler) queryKey(
	n *node, spec *source.Spec, cols []driverpkg.ColumnInfo,
) (row.KeyType, error) {
	kt := make(row.KeyType, len(spec.Key))
	inResult := 0
	for i, name := range spec.Key {
		var col *column
		for _, c := range cols {
			if c.Name == name {
				inResult++
				col = k.origin(c)
			}
		}
		if col == nil {
			col = k.depColumn(spec, i)
		}
		if col == nil {
			return nil, fmt.Errorf("key: the type of %s is not known: select it as a column of "+
				"a table, or name the column that holds it in depends%s",
				quoted(name), row.DidYouMean(name, columnNames(cols)))
		}
		kt[i] = row.KeyPart{Column: name, Kind: keyKind(col.Kind), Wide: !col.exact()}
		if kt[i].Kind == row.Int {
			kt[i].Bits = 64
		}
	}
	switch {
	case inResult == len(spec.Key):
		n.key = n.place(spec.Key, func(string) row.Kind { return row.Text })
		for i := range kt {
			n.key.kinds[i] = kt[i].Kind
		}
	case kt.Wide():
		return nil, fmt.Errorf("key: the database compares %s by more than its bytes: "+
			"select it in the query, so that hotrow sees how the row writes it",
			strings.Join(spec.Key, ", "))
	}
	return kt, nil
}

// origin returns the column of a table that a column of the result is.
func (k *compiler) origin(c driverpkg.ColumnInfo) *column {
	for _, t := range k.tables {
		if t.Name == c.TableName {
			if col, ok := t.column(c.OriginName); ok {
				return col
			}
		}
	}
	return nil
}

// depColumn returns the column that holds part i of the key in the first table
// of depends that names one.
func (k *compiler) depColumn(spec *source.Spec, i int) *column {
	for _, d := range k.deps {
		if len(d.Columns) == len(spec.Key) {
			if t, err := k.find(d.Table); err == nil {
				col, _ := t.column(d.Columns[i])
				return col
			}
		}
	}
	return nil
}

// widen makes a dependency by key one of the whole table where the text of its
// columns may not be that of the key.
func (k *compiler) widen(kt row.KeyType) {
	for i := range k.deps {
		d := &k.deps[i]
		if t, err := k.find(d.Table); err == nil && len(d.Columns) > 0 {
			own := len(d.Columns) == len(kt) && t.isUnique(d.Columns)
			if !own && !sameText(t, d.Columns, kt) {
				d.Columns = nil
			}
		}
	}
}
