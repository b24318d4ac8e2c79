package logical

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// Open makes sure that the logical feed can work: that the publication
// has every table, and that a replication connection gets through. A slot that
// cannot be had is an error only in the mode that asks for this feed: a temporary
// one is worth more than no feed.
func Open(
	ctx context.Context, src feed.Config, c *feed.Control, facts *feed.Facts, mode source.FeedMode,
	tables []source.Watched,
) (opened source.Feed, slot string, err error) {
	if failed := feed.Failures(Check(facts)); len(failed) > 0 {
		return nil, "", feed.Refusal(failed)
	}
	if err := Try(ctx, src); err != nil {
		return nil, "", err
	}
	f := newFeed(src, tables)
	defer func() {
		if err != nil {
			_ = f.Close() // nothing of it is kept
		}
	}()
	if src.Standby != nil {
		if err := f.relatives(ctx); err != nil {
			return nil, "", err
		}
	}
	if err := f.published(ctx); err != nil {
		return nil, "", err
	}
	if src.Slot != "" {
		f.slot, err = newSlot(ctx, c, src)
		if err != nil && mode != source.FeedAuto {
			return nil, "", err
		}
		slot = " and slot " + src.Slot
		if err != nil {
			slot = " and a temporary slot"
			src.Log.Warn("feed.slot cannot be used: a temporary slot is, so what is on disk is not"+
				" used again after a restart", "slot", src.Slot, "err", err)
		}
	}
	found, err := f.Watcher.Look(ctx, c)
	if err != nil {
		return nil, "", err
	}
	f.Watcher.Accept(found)
	return f, slot, nil
}

// tryLimit bounds how long Try waits for transactions: while there are some that last
// longer, a feed that works is worth more than one that waits for them.
const tryLimit = 2 * time.Second

// Try waits until the transactions have ended for which Run would wait: those that are
// open when it makes its slot. It makes none itself, which would be left behind on the
// server if it gave up.
func (f *Feed) Try(ctx context.Context) error {
	deadline := time.Now().Add(tryLimit)
	return f.Primary.Do(ctx, func(conn *pgx.Conn) error {
		open, err := currentSnapshot(ctx, conn)
		for now := open; err == nil && now.xmin < open.xmax; now, err = currentSnapshot(ctx, conn) {
			if time.Now().After(deadline) {
				return fmt.Errorf("transactions that were open %v ago have not ended"+
					" (pg_stat_activity, pg_prepared_xacts)", tryLimit)
			}
			time.Sleep(tryLimit / 50)
		}
		return err
	})
}

// Try opens a replication connection. Poolers and host-based access
// rules are found out in no other way.
func Try(ctx context.Context, src feed.Config) error {
	conn, err := connectReplication(ctx, src)
	if err != nil {
		return fmt.Errorf("open a replication connection: %w", src.Explain(err))
	}
	defer feed.HangUp(conn)
	if _, err := simple(ctx, conn, "IDENTIFY_SYSTEM"); err != nil {
		return fmt.Errorf("the URL does not lead to PostgreSQL itself: %w", err)
	}
	return nil
}

// published makes sure of the publication, on the standby too if one is followed.
func (f *Feed) published(ctx context.Context) error {
	err := publish(ctx, f.Primary, f.Watcher.Tables(), f.Src.Names)
	if err != nil || f.Src.Standby == nil {
		return err
	}
	return f.replays(ctx)
}

// publish makes the publication or adds tables that it lacks, where the user
// may. Two nodes that do it at once do not disturb each other: who comes second
// looks again.
func publish(
	ctx context.Context, c *feed.Control, tables []source.Watched, names feed.Names,
) error {
	const tries = 3
	for try := 1; ; try++ {
		var failed error
		err := c.Do(ctx, func(conn *pgx.Conn) error {
			facts, err := feed.ReadFacts(ctx, conn, tables, names)
			if err != nil {
				return err
			}
			findings := checkPublication(facts)
			if bad := feed.Failures(findings); len(bad) > 0 {
				return feed.Refusal(bad)
			}
			for _, f := range findings {
				for _, sql := range f.Apply {
					if _, failed = conn.Exec(ctx, sql); failed != nil {
						return nil
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		// 42710, 23505: somebody else was faster to make or to add it. XX000: the
		// catalogue's row was changed by somebody else at the same time.
		if state := feed.SQLState(failed); failed == nil || try == tries ||
			state != "42710" && state != "XX000" && state != "23505" {
			return failed
		}
	}
}

// checkLogicalTables returns what makes a logical feed that works stop telling
// everything: it is asked while one runs.
func checkLogicalTables(f *feed.Facts) []source.Finding {
	var out []source.Finding
	for _, t := range f.Tables {
		out = append(out, f.CheckTable(t)...)
		out = append(out, CheckIdentity(t)...)
	}
	out = append(out, checkPublication(f)...)
	if mine, _ := unpublished(f); len(mine) > 0 { // the others are among the findings
		out = append(out, source.Finding{
			Level: source.LevelError, Tables: feed.IDs(mine),
			Text: fmt.Sprintf("publication %s lacks %s", f.Names.Publication,
				strings.Join(feed.IDs(mine), ", ")),
		})
	}
	return feed.Failures(out)
}
