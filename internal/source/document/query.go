package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A Query is the SELECT of a resource that is not a table.
type Query struct {
	source.Template
	Spec    *source.Spec
	Key     []string // the names of the key's parts, in order
	Columns []Column // of its answer
	Parts   []Column // of the key, which only have its types; nil: the server does not know
	Native  any      // the driver's own
}

// queryPlan compiles a query resource.
func (c *compiler) queryPlan(p *Plan, spec *source.Spec) error {
	q, err := c.Scan(spec.Query)
	if err != nil {
		return err
	}
	q.Spec = spec
	if q.Key, err = q.keyNames(spec.Key); err != nil {
		return err
	}
	if err := c.Describe(q); err != nil {
		return err
	}
	n := &Node{Name: "the query", Alias: c.alias(), Spec: spec,
		Table: &Table{Cols: q.Columns, Result: true}}
	if p.Parts = q.Parts; p.Parts == nil {
		if p.Parts, err = c.parts(q, n.Table); err != nil {
			return err
		}
	}
	p.Root, p.Query = n, q
	p.KeyRead = c.readsKey(n, q.Key, p.Parts)
	for _, part := range p.Parts {
		p.keys = append(p.keys, part.KeyPart())
		if part.KeyPart().Wide && !p.KeyRead {
			return fmt.Errorf("key: the database compares %s by more than its bytes: select it in"+
				" the query, so that hotrow sees how the row writes it", part.Info().Name)
		}
	}
	tables, err := c.Reads(q)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	err = c.declared("the query", spec, tables, &keyOf{p.keys, p.Parts, p.KeyRead})
	if err != nil {
		return err
	}
	if len(spec.Embeds) > 0 && !p.KeyRead {
		return fmt.Errorf("to embed documents the query must return its key: %s",
			strings.Join(q.Key, ", "))
	}
	if c.dialect.Nested == nil {
		n.Table.From = "(" + q.With(func(part int) string {
			return c.dialect.Param(p.Parts[part])
		}) + "\n) AS q"
	}
	return c.fill(n, 1)
}

// keyNames returns the names of the key's parts: those that are configured, or the
// parameters in the order of their first use. Each must be used, and no other.
func (q *Query) keyNames(key []string) ([]string, error) {
	var used []string
	for _, name := range q.Params {
		if !slices.Contains(used, name) {
			used = append(used, name)
		}
	}
	if len(used) == 0 {
		return nil, fmt.Errorf("the query has no parameter: say WHERE column = :key")
	}
	if len(key) == 0 {
		return used, nil
	}
	if len(key) == 1 && len(used) == 1 && used[0] == "key" {
		return key, nil
	}
	for _, name := range used {
		if !slices.Contains(key, name) {
			return nil, fmt.Errorf("the query has the parameter :%s, which is not in its key (%s)",
				name, strings.Join(key, ", "))
		}
	}
	for _, name := range key {
		if !slices.Contains(used, name) {
			return nil, fmt.Errorf("the query does not use :%s, which is in its key", name)
		}
	}
	return key, nil
}

// Part returns which part of the key a parameter is.
func (q *Query) Part(param string) int {
	return max(0, slices.Index(q.Key, param)) // :key is the one part there is
}

// With returns the query with each parameter replaced by what give returns for its
// part of the key.
func (q *Query) With(give func(part int) string) string {
	return q.Template.With(func(name string) string { return give(q.Part(name)) })
}

// parts returns the parts of the key where the server does not know the types of
// parameters: they are those of the columns that depends names, or else those of
// the answer.
func (c *compiler) parts(q *Query, answer *Table) ([]Column, error) {
	parts := make([]Column, len(q.Key))
	for i, name := range q.Key {
		col, err := c.holds(q, i)
		if err != nil {
			return nil, fmt.Errorf("depends: %w", err)
		}
		if col != nil {
			parts[i] = col.As(name)
			continue
		}
		col, ok := answer.column(name, c.dialect.Fold)
		if !ok {
			return nil, fmt.Errorf("key: the type of %q is not known: name the column that holds"+
				" it in depends, or select it%s", name, row.DidYouMean(name, Names(answer.Cols)))
		}
		parts[i] = col
	}
	return parts, nil
}

// holds returns the column that depends says has a part of the key; nil: it names none.
func (c *compiler) holds(q *Query, part int) (Column, error) {
	for i := range q.Spec.Depends {
		table, column, ok := q.Spec.Depends[i].Holds(q.Key, part)
		if !ok {
			continue
		}
		t, err := c.Table(table)
		if err != nil {
			return nil, err
		}
		return c.column(t, column)
	}
	return nil, nil
}

// readsKey reports whether the query returns its key, and sets the key's columns
// of n if so. Otherwise a document's key is the one that was asked for. A column
// that has the kind of the key's part is that, with what the answer does not say:
// its collation.
func (c *compiler) readsKey(n *Node, key []string, parts []Column) bool {
	cols := make([]Column, len(key))
	for i, name := range key {
		col, ok := n.Table.column(name, c.dialect.Fold)
		if !ok || col.KeyPart().Kind != parts[i].KeyPart().Kind {
			return false
		}
		cols[i] = col
	}
	n.KeyCols = cols
	return true
}
