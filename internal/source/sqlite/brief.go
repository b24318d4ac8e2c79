package sqlite

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/source/document"
)

// A brief statement is over in microseconds unless it waits for a lock, and so need
// not be ended when its context is. To be able to end one the driver starts a goroutine
// for every statement, which costs more than to find a row.

// queryBrief is query for a brief statement, or one that is brief from row to row.
func (c *conn) queryBrief(
	ctx context.Context, q string, args []any, each func([]any) error,
) error {
	if c.waits {
		return c.query(ctx, q, args, each)
	}
	return c.queryHeld(ctx, q, args, each)
}

// queryHeld is queryBrief in a transaction that holds its locks, having read already.
func (c *conn) queryHeld(
	ctx context.Context, q string, args []any, each func([]any) error,
) error {
	if err := ctx.Err(); err != nil {
		return wrap(err)
	}
	rows, err := c.start(context.WithoutCancel(ctx), q, args)
	if err != nil {
		return err
	}
	return readAll(ctx, rows, each)
}

// execBrief is exec for a brief statement that does not wait for locks.
func (c *conn) execBrief(ctx context.Context, q string, args ...any) error {
	_, err := c.runBrief(ctx, q, args)
	return err
}

// runBrief is run for such a statement.
func (c *conn) runBrief(ctx context.Context, q string, args []any) (driver.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, wrap(err)
	}
	return c.run(context.WithoutCancel(ctx), q, args)
}

// A brief says which statements about the rows of a node are brief: the one that reads the
// rows of one parent, and an update.
type brief struct{ read, update bool }

// isBrief returns what judge has noted of n.
func isBrief(n *document.Node) brief {
	b, _ := n.Native.(brief)
	return b
}

// judge notes which statements of p are brief.
func (p *plan) judge(ctx context.Context, c *conn) error {
	for _, n := range p.Nodes() {
		if n.Table.Result {
			continue
		}
		b := brief{update: updatesOneRow(n)}
		if len(n.On) > 0 {
			var err error
			if b.read, err = p.stepsByIndex(ctx, c, n); err != nil {
				return err
			}
		}
		n.Native = b
	}
	return nil
}

// updatesOneRow reports whether update touches no row but the one it names: nothing
// is triggered, and no foreign key refers to a column that it sets.
func updatesOneRow(n *document.Node) bool {
	t := n.Table.Native.(*table)
	return !t.triggers && !slices.ContainsFunc(n.Fields, func(col document.Column) bool {
		return col != nil && !slices.Contains(n.KeyCols, col) && !slices.Contains(n.On, col) &&
			slices.Contains(t.referenced, col.Info().Name)
	})
}

// stepsByIndex reports whether the rows of one parent are found one by one: by an
// index of all columns that hold its key, and in the order in which that has them.
func (p *plan) stepsByIndex(ctx context.Context, c *conn, n *document.Node) (bool, error) {
	steps := true
	sql, cols := p.Find(n)
	err := explain(ctx, c, sql, make([]any, len(cols)), func(step string) {
		steps = steps && strings.HasPrefix(step, "SEARCH ") &&
			strings.Count(step, "=?") == len(cols)
	})
	return steps, err
}
