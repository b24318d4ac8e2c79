package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source/document"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// Who lets everybody see what this user may see (rls: ignore) has PostgreSQL evaluate the
// policies of a table at each read. With one whose result changes while the table's rows do
// not, a row comes and goes without a word: then nothing is kept.

// judgePolicies notes in d whether the policies that this user is under change what a read
// finds by themselves.
func (c *compiler) judgePolicies(d *document.Table) error {
	t := d.Native.(*table)
	if !t.rls {
		return nil
	}
	ctx, cancel := c.src.begin(c.ctx, 2)
	defer cancel()
	return c.src.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		d.ByItself, err = readPolicies(ctx, tx, t)
		return errors.Join(err, tx.Rollback(ctx))
	})
}

// readPolicies says why what this user sees of a table changes by itself; "": it does not.
func readPolicies(ctx context.Context, tx pgx.Tx, t *table) (why string, err error) {
	rows, err := tx.Query(ctx, `SELECT p.polname::text, p.polqual::text
		FROM pg_catalog.pg_policy p WHERE p.polrelid = $1 AND p.polcmd IN ('r', '*')
		AND p.polqual IS NOT NULL AND pg_catalog.row_security_active(p.polrelid)
		ORDER BY 1`, t.oid)
	if err != nil {
		return "", err
	}
	var name, tree string
	var names, trees []string
	_, err = pgx.ForEachRow(rows, []any{&name, &tree}, func() error {
		names, trees = append(names, name), append(trees, tree)
		return nil
	})
	r := &reading{tx: tx}
	for i := 0; i < len(trees) && err == nil; i++ {
		if why, err = r.policy(ctx, trees[i]); why != "" {
			return fmt.Sprintf("the policy %s of %s says which rows there are, and %s", names[i],
				t.ID(), why), nil
		}
	}
	return "", err
}

// policy says why the result of a policy's expression changes by itself; "": it does not.
// CURRENT_USER is always the same one here.
func (r *reading) policy(ctx context.Context, tree string) (string, error) {
	err := r.functions(ctx, treeOIDs(treeFunction, tree))
	switch {
	case err != nil && (feed.SQLState(err) != "" || ctx.Err() != nil):
		return "", err
	case err != nil:
		return err.Error(), nil
	case treeClock.MatchString(tree):
		return "its result changes with the time of day", nil
	case len(treeOIDs(treeRelation, tree)) > 0:
		return "it reads tables", nil
	}
	return "", nil
}
