package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
)

// Check asks SQLite how it would run Load.
func (p *plan) Check(ctx context.Context) ([]source.Finding, error) {
	var out []source.Finding
	err := p.s.readPool().use(ctx, func(c *conn) error {
		var nodes []*node
		p.root.walk(func(n *node) { nodes = append(nodes, n) })
		for _, n := range nodes {
			found, err := p.checkNode(ctx, c, n)
			if err != nil {
				return err
			}
			out = append(out, found...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", p.name, err)
	}
	return out, nil
}

// checkNode checks one statement of p.
func (p *plan) checkNode(ctx context.Context, c *conn, n *node) ([]source.Finding, error) {
	var out []source.Finding
	sql, args := n.selectByOn, make([]any, len(n.on.columns))
	if n == p.root {
		sql, args = n.selectByKey, make([]any, len(p.kt))
		if n.query != nil {
			args = n.query.bind(args)
		}
	}
	scans, err := scanned(ctx, c, sql(1), args)
	if err != nil {
		return nil, err
	}
	switch {
	case len(scans) == 0:
	case n == p.root:
		out = append(out, source.Finding{
			Level: source.LevelWarning,
			Text:  fmt.Sprintf("%s reads all of %s for one key", p.name, strings.Join(scans, ", ")),
			Why:   "every read that memory does not answer takes as long as the table is large",
		})
	default:
		out = append(out, noIndex(n))
	}
	if n != p.root && !n.exact {
		out = append(out, source.Finding{
			Level: source.LevelInfo,
			Text: fmt.Sprintf("%s(%s) and the key that it holds differ in type or collation",
				n.table.Name, strings.Join(n.on.columns, ", ")),
			Why: "any change of the table drops every document of " + p.name,
		})
	}
	return out, nil
}

// noIndex is the finding that embedded rows are found by reading all of them.
func noIndex(n *node) source.Finding {
	t, cols := n.table.Name, n.on.columns
	name := "hotrow_" + t + "_" + strings.Join(cols, "_")
	quotedCols := make([]string, len(cols))
	for i, c := range cols {
		quotedCols[i] = quote(c)
	}
	return source.Finding{
		Level: source.LevelWarning,
		Text:  fmt.Sprintf("no index on %s(%s)", t, strings.Join(cols, ", ")),
		Why: fmt.Sprintf("each read of %s that memory does not answer reads all of %s",
			n.path[:strings.LastIndexByte(n.path, '.')], t),
		Apply: []string{fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s (%s)",
			quote(name), quote(t), strings.Join(quotedCols, ", "))},
		Remove: []string{"DROP INDEX IF EXISTS " + quote(name)},
	}
}

// scanned returns the tables that a statement reads from end to end.
func scanned(ctx context.Context, c *conn, sql string, args []any) ([]string, error) {
	var out []string
	err := explain(ctx, c, sql, args, func(step string) {
		words := strings.Fields(step)
		if len(words) < 2 || words[0] != "SCAN" {
			return
		}
		switch {
		case words[1] == "CONSTANT", strings.HasPrefix(words[1], "("), words[1] == "q",
			strings.Contains(step, "VIRTUAL TABLE"):
			return
		}
		out = append(out, words[1])
	})
	return out, err
}

// explain calls each for every step in which SQLite would run a statement.
func explain(ctx context.Context, c *conn, sql string, args []any, each func(step string)) error {
	return c.queryOnce(ctx, "EXPLAIN QUERY PLAN "+sql, args, func(v []any) error {
		step, _ := v[3].(string)
		each(step)
		return nil
	})
}
