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

// Check implements source.Plan.
func (p *plan) Check(ctx context.Context) ([]source.Finding, error) {
	findings, errs := p.src.CheckAll(ctx, []source.Plan{p})
	return findings[0], errs[0]
}

// checksAtOnce is how many plans are looked at at a time.
const checksAtOnce = 4

// CheckAll implements source.ManyChecker. It asks the server how it would run each Load, and
// looks at the indexes of the tables: how a table of three rows is read says little about one
// of millions.
func (s *Source) CheckAll(
	ctx context.Context, plans []source.Plan,
) ([][]source.Finding, []error) {
	findings, errs := make([][]source.Finding, len(plans)), make([]error, len(plans))
	indexes, err := s.indexes(ctx, plans)
	source.Together(len(plans), min(checksAtOnce, s.opts.MaxConns), func(i int) {
		p, err := plans[i].(*plan), err
		if err == nil {
			findings[i], err = p.check(ctx, indexes)
		}
		if err != nil {
			errs[i] = fmt.Errorf("check %s: %w", p.Name, err)
		}
	})
	return findings, errs
}

// indexes returns the columns of the indexes of the tables of plans, as of now.
func (s *Source) indexes(
	ctx context.Context, plans []source.Plan,
) (indexes map[catalog.Name][][]string, err error) {
	var names []catalog.Name
	asked := make(map[catalog.Name]bool)
	for _, p := range plans {
		for _, n := range p.(*plan).Nodes() {
			if name := tableName(n); name.Table != "" && !n.Table.View && !asked[name] {
				asked[name] = true
				names = append(names, name)
			}
		}
	}
	ctx, cancel := s.begin(ctx, catalog.Queries(names...))
	defer cancel()
	err = s.read(ctx, func(ctx context.Context, c *conn) error {
		r := catalog.Reader{Conn: c}
		indexes, err = r.Indexes(ctx, names...)
		return err
	})
	return indexes, err
}

// tableName returns the name of a node's table; one without a table for a query's.
func tableName(n *document.Node) catalog.Name {
	return catalog.Name{Schema: n.Table.Schema, Table: n.Table.Name}
}

// check looks at one plan.
func (p *plan) check(
	ctx context.Context, indexes map[catalog.Name][][]string,
) (out []source.Finding, err error) {
	ctx, cancel := p.src.begin(ctx, 2*len(p.Nodes()))
	defer cancel()
	err = p.src.read(ctx, func(ctx context.Context, c *conn) error {
		out = nil
		for _, n := range p.Nodes() {
			found, err := p.checkNode(ctx, c, n, indexes[tableName(n)])
			if err != nil {
				return err
			}
			out = append(out, found...)
		}
		return nil
	})
	return out, err
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
func (p *plan) checkNode(
	ctx context.Context, c *conn, n *document.Node, indexes [][]string,
) ([]source.Finding, error) {
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
	switch {
	case !isIndexed(n, indexes, document.Names(cols)):
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

// isIndexed reports whether one of a table's indexes begins with these columns in some order.
// Of a query or a view only the server's plan can tell.
func isIndexed(n *document.Node, indexes [][]string, columns []string) bool {
	if n.Table.Name == "" || n.Table.View {
		return true
	}
	return slices.ContainsFunc(indexes, func(x []string) bool {
		return len(x) >= len(columns) && catalog.Within(x[:len(columns)], columns)
	})
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
