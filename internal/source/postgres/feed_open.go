package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
	"github.com/hotrow/hotrow/internal/source/postgres/logical"
	"github.com/hotrow/hotrow/internal/source/postgres/notify"
)

// channelPrefix is that of the channels of triggers that are not hotrow's.
const channelPrefix = "events"

// OpenFeed returns the feed for mode, or the best that the database allows: the
// logical one, else notifications of triggers that are there, else none. See
// source.Source.
func (s *Source) OpenFeed(
	ctx context.Context, mode source.FeedMode, tables []source.Watched,
) (source.Feed, string, error) {
	return openFeed(ctx, s.feedSource(), mode, tables)
}

// feedSource returns what a feed needs of s.
func (s *Source) feedSource() feed.Config {
	return feed.Config{
		Conn:     s.plain,
		Log:      s.log,
		Pin:      s.Pin,
		Followed: s.pinned.Load,
		Slot:     s.opts.Slot, SlotUnbounded: s.opts.SlotUnbounded,
		SlotFailover: s.opts.SlotFailover,
		Standby:      s.feedStandby(),
		Definitions:  &s.defs, Reconnect: s.reconnect,
		Read: s.readPrimary, Explain: pooled,
		Names: feed.Names{
			Publication: cmp.Or(s.opts.Publication, feed.DefaultPublication),
			Prefix:      channelPrefix,
		},
	}
}

func openFeed(
	ctx context.Context, src feed.Config, mode source.FeedMode, tables []source.Watched,
) (source.Feed, string, error) {
	switch mode {
	case source.FeedNone:
		return nil, "no feed: the configuration says none", nil
	case source.FeedAuto, source.FeedLogical, source.FeedNotify:
	default:
		return nil, "", fmt.Errorf("feed: postgres has no mode %q; use %s, %s, %s or %s", mode,
			source.FeedAuto, source.FeedLogical, source.FeedNotify, source.FeedNone)
	}
	if len(tables) == 0 {
		return nil, "no feed: there is no table to follow", nil
	}
	if src.Standby != nil && mode == source.FeedNotify {
		return nil, "", errors.New("feed notify: a standby sends no notifications;" +
			" take reads out, or use logical")
	}
	c := followed(src)
	defer c.Close()
	var facts *feed.Facts
	err := c.Do(ctx, func(conn *pgx.Conn) (err error) {
		if facts, err = feed.ReadFacts(ctx, conn, tables, src.Names); err == nil {
			facts.Reads = src.Standby != nil
		}
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("open feed: %w", pooled(err))
	}
	gone := make(map[string]string)
	for _, w := range tables {
		if facts.Table(w.Table) == nil {
			gone[w.Table] = "table " + w.Table + " does not exist"
		}
	}
	if len(gone) > 0 {
		return nil, "", fmt.Errorf("open feed: %w", &source.UnfollowedError{Why: gone})
	}
	return choose(ctx, src, c, facts, mode, tables)
}

// followed returns a control of the server that a feed follows. The caller closes it.
func followed(src feed.Config) *feed.Control {
	if src.Standby != nil {
		return feed.NewStandbyControl(src)
	}
	return feed.NewControl(src)
}

// choose opens the first mode that works and says why not a better one. A mode that follows
// every table comes before a better one that does not.
func choose(
	ctx context.Context, src feed.Config, c *feed.Control, facts *feed.Facts,
	mode source.FeedMode, tables []source.Watched,
) (source.Feed, string, error) {
	failed := feed.Failures(notify.Check(facts))
	var noLogical string
	if mode != source.FeedNotify {
		opened, slot, err := logical.Open(ctx, src, c, facts, mode, tables)
		if err == nil {
			why := "logical replication with publication " + src.Names.Publication + slot
			return opened, why, nil
		}
		if ctx.Err() != nil || interrupted(err) { // which says nothing of what is possible
			return nil, "", fmt.Errorf("feed logical: %w", classify(err))
		}
		noLogical = err.Error()
		switch partly := source.UnfollowedOf(err).Leaves(tables); {
		case mode == source.FeedLogical, partly && (src.Standby != nil || len(failed) > 0):
			return nil, "", fmt.Errorf("feed logical: %w", err)
		case src.Standby != nil:
			return nil, "no feed, so nothing is cached: " + noLogical, nil
		}
	}
	if len(failed) > 0 {
		err := feed.Refusal(failed)
		if mode == source.FeedNotify || source.UnfollowedOf(err).Leaves(tables) {
			return nil, "", fmt.Errorf("feed notify: %w", err)
		}
		return nil, "no feed, so nothing is cached: " + noLogical + "; without a restart:" +
			" hotrow doctor URL --feed notify --apply installs triggers", nil
	}
	opened, err := notify.Open(ctx, src, facts, tables)
	switch {
	case err != nil && (ctx.Err() != nil || interrupted(err)):
		return nil, "", fmt.Errorf("feed notify: %w", classify(err))
	case err != nil && mode == source.FeedNotify:
		return nil, "", fmt.Errorf("feed notify: %w", err)
	case err != nil:
		return nil, "no feed, so nothing is cached: " + noLogical + "; " + err.Error(), nil
	case mode == source.FeedNotify:
		return opened, "notifications of triggers, as configured", nil
	}
	why := "notifications of triggers; logical replication would cost writers less: " + noLogical
	if src.Slot != "" {
		why += "; without it what is on disk is not used again after a restart"
	}
	return opened, why, nil
}

// pooled explains the error of a pooler that does not know a session's setting,
// such as PgBouncer's of a replication connection.
func pooled(err error) error {
	if strings.Contains(err.Error(), "unsupported startup parameter") {
		// Which parameter differs from try to try, and would be logged each time.
		return &source.Error{Class: source.Unavailable, After: retryAfter, Err: err,
			Message: behindPooler}
	}
	if errors.As(err, new(*pgconn.ConnectError)) {
		return classify(err)
	}
	return err
}
