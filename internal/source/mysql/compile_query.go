package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// queryPlan compiles a query resource.
func (c *compiler) queryPlan(p *plan, spec *source.Spec) error {
	q, err := scanQuery(spec.Query)
	if err != nil {
		return err
	}
	if err := q.reading(); err != nil {
		return err
	}
	key, err := q.keyNames(spec.Key)
	if err != nil {
		return err
	}
	columns, err := c.describe(q)
	if err != nil {
		return err
	}
	n := &node{name: "the query", spec: spec, table: &table{cols: columns}}
	p.root, p.query = n, q
	if p.parts, err = c.queryParts(spec, key, n); err != nil {
		return err
	}
	p.keyRead = n.readsKey(key, p.parts)
	for _, part := range p.parts {
		p.keys = append(p.keys, part.KeyPart())
		if part.Wide && !p.keyRead {
			return fmt.Errorf("key: the database compares %s by more than its bytes: select it in"+
				" the query, so that hotrow sees how the row writes it", part.Name)
		}
	}
	n.from = "(" + q.With(func(name string) string {
		return p.parts[max(0, slices.Index(key, name))].Mark()
	}) + "\n) AS q"
	if err := c.queryDeps(p, q); err != nil {
		return err
	}
	if len(spec.Embeds) > 0 && !p.keyRead {
		return fmt.Errorf("to embed documents the query must return its key: %s",
			strings.Join(key, ", "))
	}
	return c.fill(n, 1)
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

// keyNames returns the names of the key's parts: those that are configured, or
// the parameters in the order of their first use. Each must be used, and no
// other.
func (q *queryText) keyNames(key []string) ([]string, error) {
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

// describe asks the server for the columns of a query's answer.
func (c *compiler) describe(q *queryText) ([]column, error) {
	ctx, cancel := c.src.begin(c.ctx, 2)
	defer cancel()
	text := q.With(func(string) string { return "NULL" })
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
				column{catalog.ResultColumn(t.Name(), t.DatabaseTypeName())})
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	return columns, nil
}

// queryParts returns the parts of the key. The server does not know the types of
// parameters: they are those of the columns that depends names, or else those of
// the answer.
func (c *compiler) queryParts(
	spec *source.Spec, key []string, n *node,
) ([]*column, error) {
	parts := make([]*column, len(key))
	for _, d := range spec.Depends {
		if len(d.Columns) != len(key) || parts[0] != nil {
			continue
		}
		t, err := c.lookup(d.Table)
		if err != nil {
			return nil, fmt.Errorf("depends: %w", err)
		}
		cols, err := t.columnsOf(d.Columns)
		if err != nil {
			return nil, fmt.Errorf("depends: %w", err)
		}
		for i, col := range cols {
			part := *col
			part.Name = key[i]
			parts[i] = &part
		}
	}
	for i, name := range key {
		if parts[i] != nil {
			continue
		}
		col, ok := n.table.column(name)
		if !ok {
			return nil, fmt.Errorf("key: the type of %q is not known: name the column that holds"+
				" it in depends, or select it%s", name, row.DidYouMean(name, n.table.names()))
		}
		parts[i] = col
	}
	return parts, nil
}

// names returns the names of the columns.
func (t *table) names() []string {
	out := make([]string, len(t.cols))
	for i := range t.cols {
		out[i] = t.cols[i].Name
	}
	return out
}

// readsKey reports whether the query returns its key, and sets the key's columns
// of n if so. Otherwise a document's key is the one that was asked for. A column
// that has the kind of the key's part is that, with what the answer does not
// say: its collation.
func (n *node) readsKey(key []string, parts []*column) bool {
	cols := make([]*column, len(key))
	for i, name := range key {
		col, ok := n.table.column(name)
		if !ok || col.KeyPart().Kind != parts[i].KeyPart().Kind {
			return false
		}
		cols[i] = col
	}
	n.keyCols = cols
	return true
}

// queryDeps notes the tables that a query reads.
func (c *compiler) queryDeps(p *plan, q *queryText) error {
	r := &reading{c: c, seen: make(map[string]bool)}
	if err := r.query(q.tokens, c.src.cfg.DBName); err != nil {
		return fmt.Errorf("query: %w", err)
	}
	return c.declared("the query", p.root.spec, r.tables, p.parts, p.keyRead)
}
