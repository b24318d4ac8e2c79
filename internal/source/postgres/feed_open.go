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
)

// The names that hotrow uses on a server.
const (
	defaultPublication = "hotrow"
	defaultPrefix      = "events"
)

// OpenFeed returns the feed for mode, or the best that the database allows: the
// logical one, else notifications of triggers that are there, else none. See
// source.Source.
func (s *Source) OpenFeed(
	ctx context.Context, mode source.FeedMode, tables []source.Watched,
) (source.Feed, string, error) {
	return openFeed(ctx, s.feedSource(), mode, tables)
}

// feedSource returns what a feed needs of s.
func (s *Source) feedSource() feedSource {
	return feedSource{
		cfg: s.cfg.ConnConfig,
		log: s.log,
		pin: s.Pin, opts: s.opts, defs: &s.defs, reconnect: s.pool.Reset,
		read: s.read,
		names: feedNames{
			publication: cmp.Or(s.opts.Publication, defaultPublication),
			prefix:      cmp.Or(s.opts.NotifyPrefix, defaultPrefix),
		},
	}
}

func openFeed(
	ctx context.Context, src feedSource, mode source.FeedMode, tables []source.Watched,
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
	c := newControl(src.cfg)
	defer c.close()
	var facts *feedFacts
	err := c.do(ctx, func(conn *pgx.Conn) (err error) {
		facts, err = readFeedFacts(ctx, conn, tables, src.names)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("open feed: %w", pooled(err))
	}
	if gone := facts.missing(tables); gone != "" {
		return nil, "", fmt.Errorf("open feed: table %s does not exist", gone)
	}
	return choose(ctx, src, c, facts, mode, tables)
}

// missing returns a table that is not there, or "".
func (f *feedFacts) missing(tables []source.Watched) string {
	there := make(map[string]bool)
	for _, t := range f.tables {
		there[t.ID] = true
	}
	for _, w := range tables {
		if !there[w.Table] {
			return w.Table
		}
	}
	return ""
}

// choose opens the first mode that works and says why not a better one.
func choose(
	ctx context.Context, src feedSource, c *control, facts *feedFacts,
	mode source.FeedMode, tables []source.Watched,
) (source.Feed, string, error) {
	var noLogical string
	if mode != source.FeedNotify {
		feed, slot, err := openLogical(ctx, src, c, facts, mode, tables)
		if err == nil {
			return feed, "logical replication with publication " + src.names.publication + slot, nil
		}
		if mode == source.FeedLogical {
			return nil, "", fmt.Errorf("feed logical: %w", err)
		}
		noLogical = err.Error()
	}
	failed := failures(facts.checkNotify())
	if len(failed) > 0 {
		if mode == source.FeedNotify {
			return nil, "", fmt.Errorf("feed notify: %s", sentence(failed))
		}
		return nil, "no feed, so nothing is cached: " + noLogical + "; without a restart:" +
			" hotrow doctor URL --feed notify --apply installs triggers", nil
	}
	feed, err := openNotify(ctx, src, facts, tables)
	switch {
	case err != nil && mode == source.FeedNotify:
		return nil, "", fmt.Errorf("feed notify: %w", err)
	case err != nil:
		return nil, "no feed, so nothing is cached: " + noLogical + "; " + err.Error(), nil
	case mode == source.FeedNotify:
		return feed, "notifications of triggers, as configured", nil
	case src.opts.Slot != "":
		src.log.Warn("feed.slot cannot be used: the feed is notifications, so what is on disk is"+
			" not used again after a restart", "slot", src.opts.Slot)
	}
	return feed, "notifications of triggers; logical replication would cost writers less: " +
		noLogical, nil
}

// openLogical makes sure that the logical feed can work: that the publication
// has every table, and that a replication connection gets through. A slot that
// cannot be had is an error only in the mode that asks for this feed: a temporary
// one is worth more than no feed.
func openLogical(
	ctx context.Context, src feedSource, c *control, facts *feedFacts, mode source.FeedMode,
	tables []source.Watched,
) (feed source.Feed, slot string, err error) {
	if failed := failures(facts.checkLogical()); len(failed) > 0 {
		return nil, "", errors.New(sentence(failed))
	}
	if err := publish(ctx, c, tables, src.names); err != nil {
		return nil, "", err
	}
	if err := tryReplication(ctx, src.cfg); err != nil {
		return nil, "", err
	}
	f := newLogicalFeed(src, tables)
	if src.opts.Slot != "" {
		f.slot, err = newSlot(ctx, c, src.opts)
		if err != nil && mode != source.FeedAuto {
			return nil, "", err
		}
		slot = " and slot " + src.opts.Slot
		if err != nil {
			slot = " and a temporary slot"
			src.log.Warn("feed.slot cannot be used: a temporary slot is, so what is on disk is not"+
				" used again after a restart", "slot", src.opts.Slot, "err", err)
		}
	}
	found, err := f.looker.look(ctx, c)
	if err != nil {
		return nil, "", err
	}
	f.looker.accept(found)
	return f, slot, nil
}

// tryReplication opens a replication connection. Poolers and host-based access
// rules are found out in no other way.
func tryReplication(ctx context.Context, cfg *pgx.ConnConfig) error {
	conn, err := connectReplication(ctx, cfg)
	if err != nil {
		return fmt.Errorf("open a replication connection: %w", pooled(err))
	}
	defer hangUp(conn)
	if _, err := simple(ctx, conn, "IDENTIFY_SYSTEM"); err != nil {
		return fmt.Errorf("the URL does not lead to PostgreSQL itself: %w", err)
	}
	return nil
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

// publish makes the publication or adds tables that it lacks, where the user
// may. Two nodes that do it at once do not disturb each other: who comes second
// looks again.
func publish(
	ctx context.Context, c *control, tables []source.Watched, names feedNames,
) error {
	const tries = 3
	for try := 1; ; try++ {
		var failed error
		err := c.do(ctx, func(conn *pgx.Conn) error {
			facts, err := readFeedFacts(ctx, conn, tables, names)
			if err != nil {
				return err
			}
			findings := facts.checkPublication()
			if bad := failures(findings); len(bad) > 0 {
				return errors.New(sentence(bad))
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
		if state := sqlState(failed); failed == nil || try == tries ||
			state != "42710" && state != "XX000" && state != "23505" {
			return failed
		}
	}
}

// checkLogicalTables returns what makes a logical feed that works stop telling
// everything: it is asked while one runs.
func checkLogicalTables(f *feedFacts) []source.Finding {
	var out []source.Finding
	for _, t := range f.tables {
		out = append(out, f.checkTable(t)...)
		out = append(out, checkIdentity(t)...)
	}
	out = append(out, f.checkPublication()...)
	if missing := f.unpublished(); len(missing) > 0 {
		out = append(out, source.Finding{
			Level: source.LevelError,
			Text:  fmt.Sprintf("publication %s lacks %s", f.names.publication, ids(missing)),
		})
	}
	return failures(out)
}
