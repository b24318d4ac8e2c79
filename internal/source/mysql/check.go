package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// Check asks the server how it would run Load, and looks at the indexes of the
// tables: how a table of three rows is read says little about one of millions.
func (p *plan) Check(ctx context.Context) ([]source.Finding, error) {
	ctx, cancel := p.src.begin(ctx, 2+2*len(p.Nodes()))
	defer cancel()
	var out []source.Finding
	err := p.src.read(ctx, func(ctx context.Context, c *conn) error {
		out = nil
		for _, n := range p.Nodes() {
			found, err := p.checkNode(ctx, c, n)
			if err != nil {
				return err
			}
			out = append(out, found...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", p.Name, err)
	}
	return out, nil
}

// A step is one row of an EXPLAIN.
type step struct {
	table, access, possible, key string
}

// scans reports whether the step reads a table, or an index, from end to end
// and has no index that could be used instead, however small the table is now.
func (s *step) scans() bool {
	return (s.access == "ALL" || s.access == "index") && s.possible == "" &&
		s.table != "" && !strings.HasPrefix(s.table, "<")
}

// explain asks the server for the steps of a statement, and for what it has to
// say about comparisons that keep it from using an index.
func (c *conn) explain(
	ctx context.Context, sql string, args []any,
) (steps []step, notes []string, err error) {
	v, err := c.server()
	if err != nil {
		return nil, nil, err
	}
	rows, err := c.QueryContext(ctx, v.explain()+sql, args...)
	if err != nil {
		return nil, nil, err
	}
	columns, err := rows.Columns()
	if err != nil {
		return nil, nil, err
	}
	place := func(name string) int {
		return slices.IndexFunc(columns, func(c string) bool { return strings.EqualFold(c, name) })
	}
	table, access := place("table"), place("type")
	possible, key := place("possible_keys"), place("key")
	if min(table, access, possible, key) < 0 {
		return nil, nil, fmt.Errorf("EXPLAIN has the columns %s", strings.Join(columns, ", "))
	}
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, nil, err
		}
		steps = append(steps, step{
			table: catalog.AsText(values[table]), access: catalog.AsText(values[access]),
			possible: catalog.AsText(values[possible]), key: catalog.AsText(values[key]),
		})
	}
	if err := rows.Err(); err != nil {
		return nil, nil, err
	}
	err = c.query(ctx, "SHOW WARNINGS", nil, func(v []any) error {
		if text := catalog.AsText(v[2]); strings.HasPrefix(text, "Cannot use") {
			notes = append(notes, text)
		}
		return nil
	})
	return steps, notes, err
}

// checkNode checks one statement of p.
func (p *plan) checkNode(ctx context.Context, c *conn, n *document.Node) ([]source.Finding, error) {
	sql, cols := p.Find(n)
	args := make([]any, len(cols))
	for i, col := range cols {
		args[i] = native(col).sample()
	}
	if n == p.Root && p.Query != nil {
		args = p.QueryArgs(args)
	}
	steps, notes, err := c.explain(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	var out []source.Finding
	for _, note := range notes {
		out = append(out, source.Finding{
			Level: source.LevelWarning,
			Text:  fmt.Sprintf("%s: %s", p.Name, note),
			Why: "every load reads the whole table: the key is compared as another type than the" +
				" column's",
		})
	}
	indexed, err := isIndexed(ctx, c, n, document.Names(cols))
	if err != nil {
		return nil, err
	}
	switch {
	case !indexed:
		out = append(out, noIndex(p.Name, n, cols))
	case len(notes) == 0:
		out = append(out, scanFindings(p.Name, steps)...)
	}
	if n != p.Root && !n.Exact {
		out = append(out, source.Finding{
			Level: source.LevelInfo,
			Text: fmt.Sprintf("%s(%s) and the key that it holds differ in type, or are equal"+
				" without having the same letters", n.Name,
				strings.Join(document.Names(cols), ", ")),
			Why: "any change of the table drops every document of " + p.Name +
				"; a collation such as utf8mb4_nopad_bin (MariaDB) or utf8mb4_0900_bin (MySQL)" +
				" for both columns would change that",
		})
	}
	return out, nil
}

// isIndexed reports whether an index begins with these columns in some order, as
// of now. Of a query or a view only the server's plan can tell.
func isIndexed(
	ctx context.Context, c *conn, n *document.Node, columns []string,
) (bool, error) {
	if n.Table.Name == "" || n.Table.View {
		return true, nil
	}
	r := catalog.Reader{Conn: c}
	indexes, err := r.Indexes(ctx, catalog.Name{Schema: n.Table.Schema, Table: n.Table.Name})
	return slices.ContainsFunc(indexes, func(x []string) bool {
		return len(x) >= len(columns) && catalog.Within(x[:len(columns)], columns)
	}), err
}

// scanFindings returns what a statement reads from end to end. Which index
// would help is for its author to say.
func scanFindings(name string, steps []step) []source.Finding {
	var out []source.Finding
	for _, s := range steps {
		if s.scans() {
			out = append(out, source.Finding{
				Level: source.LevelWarning,
				Text:  fmt.Sprintf("%s: the statement reads all of %s", name, s.table),
				Why: "every load reads the whole table: there is no index for the condition, or" +
					" the key is compared as another type than the column's",
			})
		}
	}
	return out
}

// noIndex is the finding that rows are found by reading all of them.
func noIndex(
	resource string, n *document.Node, cols []document.Column,
) source.Finding {
	list := make([]string, len(cols))
	for i, col := range cols {
		list[i] = quote(col.Info().Name)
		if col := native(col); col.Type == "blob" || strings.HasSuffix(col.Type, "text") {
			list[i] += "(100)" // an index holds a part of a long column
		}
	}
	name := "hotrow_" + n.Table.Name + "_" + strings.Join(document.Names(cols), "_")
	if len(name) > 64 {
		name = name[:64]
	}
	on := quote(name) + " ON " + n.Table.From
	return source.Finding{
		Level: source.LevelWarning,
		Text: fmt.Sprintf("%s: rows of %s are found by (%s) without an index", resource, n.Name,
			strings.Join(document.Names(cols), ", ")),
		Why:    "every load reads the whole table",
		Apply:  []string{"CREATE INDEX " + on + " (" + strings.Join(list, ", ") + ")"},
		Remove: []string{"DROP INDEX " + on},
	}
}

// sample returns a value that the column may have, for EXPLAIN: with NULL the
// server sees at once that there is nothing to find.
func (c *column) sample() any {
	switch c.KeyPart().Kind {
	case row.Bool, row.Int, row.Uint:
		return int64(1)
	case row.Float, row.Float32:
		return 1.0
	case row.Decimal:
		return "1"
	case row.Bytes:
		return []byte("x")
	case row.Date:
		return "2000-01-01"
	case row.Time:
		return "00:00:00"
	case row.Datetime, row.DatetimeTZ:
		return "2000-01-01 00:00:00"
	case row.UUID:
		return "00000000-0000-0000-0000-000000000001"
	}
	if len(c.Labels) > 0 {
		return c.Labels[0]
	}
	return "1"
}
