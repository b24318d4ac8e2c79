package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Look returns the tables whose definition has changed since the handler was told.
func (f *logicalFeed) Look(ctx context.Context) ([]string, error) {
	return f.looker.lookAside(ctx, f.src.read)
}

// Look returns the tables whose definition has changed since the handler was told.
func (f *notifyFeed) Look(ctx context.Context) ([]string, error) {
	return f.looker.lookAside(ctx, f.src.read)
}

// lookAside looks by a connection of loads, while the feed has none or may be behind,
// and returns the tables that are not what they were at the last look of either kind.
// The handler is told by the feed all the same. The first look of all finds everything
// changed: nobody knows what was compiled before.
func (l *looker) lookAside(
	ctx context.Context, read func(context.Context, func(context.Context, *pgx.Conn) error) error,
) ([]string, error) {
	seen := l.seen.Load()
	base := seen
	if a := l.aside.Load(); a != nil && a.since == seen {
		base = a.found
	}
	var tables []string
	err := read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		defs, version := l.defs.all()
		if base != nil && base.mark.version == version {
			var end, snapshot string
			var total *string
			err := conn.QueryRow(ctx, base.mark.fence, append(base.mark.args(), nil)...).
				Scan(&end, &snapshot, &total)
			if err != nil || total != nil && *total == base.mark.total {
				return err
			}
		}
		var now *looked
		err := pgx.BeginTxFunc(ctx, conn, lookTx, func(tx pgx.Tx) (err error) {
			now, err = l.read(ctx, tx, defs)
			return err
		})
		if err != nil {
			return err
		}
		now.mark.version = version
		if l.compare(base, now, defs); base == nil {
			now.tables = watchedIDs(l.tables)
		}
		if now.names && l.reconnect != nil {
			l.reconnect()
		}
		tables = now.tables
		l.aside.Store(&asideLook{since: seen, found: now})
		return nil
	})
	return tables, err
}
