package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
)

// Check asks SQLite how it would run Load.
func (p *plan) Check(ctx context.Context) ([]source.Finding, error) {
	var out []source.Finding
	err := p.s.readPool().use(ctx, func(c *conn) error {
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

// checkNode checks one statement of p.
func (p *plan) checkNode(ctx context.Context, c *conn, n *document.Node) ([]source.Finding, error) {
	var out []source.Finding
	sql, cols := p.Find(n)
	args := make([]any, len(cols))
	if n == p.Root && p.Query != nil {
		args = p.QueryArgs(args)
	}
	scans, err := scanned(ctx, c, sql, args)
	if err != nil {
		return nil, err
	}
	switch {
	case len(scans) == 0:
	case n == p.Root:
		out = append(out, source.Finding{
			Level: source.LevelWarning,
			Text:  fmt.Sprintf("%s reads all of %s for one key", p.Name, strings.Join(scans, ", ")),
			Why:   "every read that memory does not answer takes as long as the table is large",
		})
	default:
		out = append(out, p.noIndex(n))
	}
	if n != p.Root && !n.Exact {
		out = append(out, source.Finding{
			Level: source.LevelInfo,
			Text: fmt.Sprintf("%s(%s) and the key that it holds differ in type or collation",
				n.Table.Name, strings.Join(document.Names(n.On), ", ")),
			Why: "any change of the table drops every document of " + p.Name,
		})
	}
	return out, nil
}

// noIndex is the finding that embedded rows are found by reading all of them.
func (p *plan) noIndex(n *document.Node) source.Finding {
	t, cols := n.Table.Name, document.Names(n.On)
	name := "hotrow_" + t + "_" + strings.Join(cols, "_")
	quotedCols := make([]string, len(cols))
	for i, c := range cols {
		quotedCols[i] = quote(c)
	}
	return source.Finding{
		Level: source.LevelWarning,
		Text:  fmt.Sprintf("no index on %s(%s)", t, strings.Join(cols, ", ")),
		Why: fmt.Sprintf("each read of %s that memory does not answer reads all of %s",
			p.Name, t),
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
	if err := c.learn(ctx); err != nil {
		return err
	}
	return c.queryOnce(ctx, "EXPLAIN QUERY PLAN "+sql, args, func(v []any) error {
		step, _ := v[3].(string)
		each(step)
		return nil
	})
}
