package logical

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// A stream can be given more tables while it runs: what it sends of a table begins with the
// first transaction that changes it after it was published. A transaction may have changed it
// before and commit after that, and of this one nobody knows what is sent. So those that write
// the table then are waited for, and only what is written later counts as told.

// Follow implements source.Feed. Tables that are not followed any more stay published: other
// nodes may follow them.
func (f *Feed) Follow(ctx context.Context, tables []source.Watched) (before uint64, err error) {
	s := f.session.Load()
	switch {
	case s == nil:
		return 0, source.ErrDetached
	case f.Src.Standby != nil:
		return 0, fmt.Errorf("%w: a standby is followed", source.ErrReopen)
	}
	var more []string
	for _, w := range tables {
		if !slices.ContainsFunc(f.Watcher.Tables(), func(o source.Watched) bool {
			return o.Table == w.Table
		}) {
			more = append(more, w.Table)
		}
	}
	if len(more) > 0 {
		err = f.publishMore(ctx, tables, more)
	}
	if err == nil {
		err = f.Watcher.Follow(ctx, f.Control, tables, s)
	}
	if err != nil {
		return 0, fmt.Errorf("follow other tables: %w", err)
	}
	// What was sent so far and passed over may not be visible yet.
	return f.settler.newBarrier(ctx, f.Primary)
}

// publishMore makes sure that the stream has all changes of tables that begin from now on, and
// that all others of those among more are visible.
func (f *Feed) publishMore(ctx context.Context, tables []source.Watched, more []string) error {
	limited, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	err := f.Primary.Do(limited, func(conn *pgx.Conn) error {
		facts, err := feed.ReadFacts(limited, conn, tables, f.Src.Names)
		if err != nil {
			return err
		}
		gone := make(map[string]string)
		for _, id := range more {
			if facts.Table(id) == nil {
				gone[id] = "table " + id + " does not exist"
			}
		}
		switch v := facts.Server.Version; {
		case len(gone) > 0:
			return &source.UnfollowedError{Why: gone}
		case !tellsStreams(v):
			return fmt.Errorf("%w: PostgreSQL %d.%d may not send all changes of a table that is"+
				" published while it sends", source.ErrReopen, v/10000, v%10000)
		}
		return nil
	})
	if err == nil {
		err = publish(limited, f.Primary, tables, f.Src.Names)
	}
	if err != nil {
		return err
	}
	return f.awaitWriters(ctx, more)
}

// tellsStreams reports whether a server of this version sends what is changed in a table after it
// was published, whatever else goes on. Earlier minor releases may never send any of it, if a
// transaction that had changed the table before commits after that.
func tellsStreams(version int) bool {
	minor := map[int]int{13: 21, 14: 18, 15: 13, 16: 9, 17: 5}
	least, known := minor[version/10000]
	return version/10000 > 17 || known && version%10000 >= least
}

// sqlWriters finds the transactions that have locks which writers of tables have, or of their
// partitions.
const sqlWriters = `WITH RECURSIVE parts (oid) AS (
	SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname || '.' || c.relname = ANY ($1)
	UNION SELECT i.inhrelid FROM parts p JOIN pg_inherits i ON i.inhparent = p.oid)
	SELECT DISTINCT l.virtualtransaction FROM pg_locks l
		JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
		WHERE l.locktype = 'relation' AND l.granted AND l.relation IN (SELECT oid FROM parts)
		AND l.mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock',
			'AccessExclusiveLock')`

// awaitWriters waits until the transactions have ended that may have changed tables by now. Their
// locks go when they are visible.
func (f *Feed) awaitWriters(ctx context.Context, tables []string) error {
	first, err := f.writers(ctx, tables)
	notice := time.AfterFunc(waitNotice, func() {
		f.Src.Log.Warn("the feed waits for transactions that write tables which it is to follow;"+
			" nothing of these is cached until they end (see pg_locks, pg_stat_activity)",
			"tables", tables, "after", waitNotice)
	})
	defer notice.Stop()
	for now, wait := first, time.Millisecond; err == nil; wait = min(2*wait, 5*flushAfter) {
		if !slices.ContainsFunc(now, func(t string) bool { return slices.Contains(first, t) }) {
			return nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		now, err = f.writers(ctx, tables)
	}
	return err
}

// writers returns the transactions that write tables now.
func (f *Feed) writers(ctx context.Context, tables []string) (list []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	err = f.Primary.Do(ctx, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, sqlWriters, tables)
		if err == nil {
			list, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	return list, err
}
