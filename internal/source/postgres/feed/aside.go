package feed

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// LookAside looks by a connection of loads, while the feed has none or may be behind,
// and returns the tables that are not what they were at the last look of either kind.
// The handler is told by the feed all the same. The first look of all finds everything
// changed: nobody knows what was compiled before.
func (l *Watcher) LookAside(
	ctx context.Context, read func(context.Context, func(context.Context, *pgx.Conn) error) error,
) ([]string, error) {
	told := l.reported.Load()
	base := told
	if a := l.aside.Load(); a != nil && a.since == told {
		base = a.found
	}
	var tables []string
	err := read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		defs, version := l.Definitions.all()
		if base != nil && base.stamps.version == version {
			var end, snapshot string
			var total *string
			err := conn.QueryRow(ctx, base.stamps.fence, base.stamps.fenceArgs(nil)...).
				Scan(&end, &snapshot, &total)
			if err != nil || total != nil && *total == base.stamps.total {
				return err
			}
		}
		var now *Diff
		err := pgx.BeginTxFunc(ctx, conn, lookTx, func(tx pgx.Tx) (err error) {
			now, err = l.read(ctx, tx, defs)
			return err
		})
		if err != nil {
			return err
		}
		now.stamps.version = version
		if l.compare(base, now, defs); base == nil {
			now.Tables = watchedIDs(now.Watched)
		}
		if now.names && l.Reconnect != nil {
			l.Reconnect()
		}
		tables = now.Tables
		l.aside.Store(&asideDiff{since: told, found: now})
		return nil
	})
	return tables, err
}
