package sqlite

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"
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

// judge notes which statements of n and of what is embedded in it are brief.
func (n *node) judge(ctx context.Context, c *conn) error {
	var err error
	n.walk(func(n *node) {
		if n.table == nil || err != nil {
			return
		}
		n.briefUpdate = n.updatesOneRow()
		if len(n.on.columns) > 0 {
			n.briefRead, err = n.stepsByIndex(ctx, c)
		}
	})
	return err
}

// updatesOneRow reports whether update touches no row but the one it names: nothing
// is triggered, and no foreign key refers to a column that it sets.
func (n *node) updatesOneRow() bool {
	if n.table.triggers {
		return false
	}
	return !slices.ContainsFunc(n.fields, func(f field) bool {
		return f.at >= 0 && !contains(n.key.columns, f.column.Name) &&
			!contains(n.on.columns, f.column.Name) && contains(n.table.referenced, f.column.Name)
	})
}

// stepsByIndex reports whether the rows of one parent are found one by one: by an
// index of all columns that hold its key, and in the order in which that has them.
func (n *node) stepsByIndex(ctx context.Context, c *conn) (bool, error) {
	steps := true
	err := explain(ctx, c, n.selectByOn(1), make([]any, len(n.on.columns)), func(step string) {
		steps = steps && strings.HasPrefix(step, "SEARCH ") &&
			strings.Count(step, "=?") == len(n.on.columns)
	})
	return steps, err
}
