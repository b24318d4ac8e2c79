package mysql

import (
	"context"
	"fmt"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/binlog"
)

// OpenFeed returns the feed of the binary log, or none with the reason. See
// source.Source.
func (s *Source) OpenFeed(
	ctx context.Context, mode source.FeedMode, tables []source.Watched,
) (source.Feed, string, error) {
	switch mode {
	case source.FeedNone:
		return nil, "no feed: the configuration says none", nil
	case source.FeedAuto, source.FeedBinlog:
	default:
		return nil, "", fmt.Errorf("feed: MariaDB and MySQL have no mode %q; use %s, %s or %s",
			mode, source.FeedAuto, source.FeedBinlog, source.FeedNone)
	}
	if len(tables) == 0 {
		return nil, "no feed: there is no table to follow", nil
	}
	why, unfollowed, err := s.unobserved(ctx, tables)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("open feed: %w", err)
	case why == "":
	case unfollowed.Leaves(tables):
		return nil, "", fmt.Errorf("feed binlog: %w; see hotrow doctor", unfollowed)
	case mode == source.FeedBinlog:
		return nil, "", fmt.Errorf("feed binlog: %s; see hotrow doctor", why)
	default:
		return nil, "no feed, so nothing is cached: " + why + "; see hotrow doctor URL --apply", nil
	}
	return binlog.New(s.followed(), tables), "the binary log in the ROW format", nil
}

// unobserved says why a feed of tables would not be told of everything; "": it would. The error
// that it returns names the tables that this is about, nil: all.
func (s *Source) unobserved(
	ctx context.Context, tables []source.Watched,
) (why string, unfollowed *source.UnfollowedError, err error) {
	findings, err := s.Doctor(ctx, source.FeedBinlog, tables)
	var bad []string
	var failed []source.Finding
	for _, f := range findings {
		if f.Level == source.LevelError {
			bad, failed = append(bad, f.Text), append(failed, f)
		}
	}
	unfollowed = source.NewUnfollowedError(failed, func(f source.Finding) string { return f.Text })
	return strings.Join(bad, "; "), unfollowed, err
}

// mayFollow returns an error if a feed of tables would not be told of everything.
func (s *Source) mayFollow(ctx context.Context, tables []source.Watched) error {
	switch why, unfollowed, err := s.unobserved(ctx, tables); {
	case err != nil, why == "":
		return err
	case unfollowed != nil:
		return unfollowed
	default:
		return fmt.Errorf("%w: %s", source.ErrReopen, why)
	}
}

// followed says how the feed uses s.
func (s *Source) followed() binlog.Source {
	return binlog.Source{
		Driver: feedDriver{s}, Net: s.cfg.Net, Addr: s.cfg.Addr, User: s.cfg.User,
		Password: s.cfg.Passwd, TLS: s.cfg.TLS, Home: s.cfg.DBName,
		ServerID: s.opts.ServerID, Log: s.log, Views: s.views.now, Check: s.mayFollow,
	}
}

// A feedDriver is a Source as the feed uses it.
type feedDriver struct{ s *Source }

// Pin implements binlog.Driver.
func (d feedDriver) Pin(identity string) { d.s.Pin(identity) }

// Control implements binlog.Driver.
func (d feedDriver) Control(ctx context.Context) (binlog.Conn, error) {
	c, err := d.s.controlConn(ctx)
	if err != nil {
		return nil, err
	}
	return feedConn{c}, nil
}

// A feedConn is a connection as the feed uses it.
type feedConn struct{ *conn }

// Exec implements binlog.Conn.
func (c feedConn) Exec(ctx context.Context, sql string) error { return c.exec(ctx, sql) }

// Release implements binlog.Conn.
func (c feedConn) Release() { c.release() }

// Discard implements binlog.Conn.
func (c feedConn) Discard() { c.discard() }

// Server implements binlog.Conn.
func (c feedConn) Server() (identity string, mariadb bool, err error) {
	v, err := c.server()
	return v.identity, v.mariadb, err
}

// Identify returns the identity of the server that the URL leads to now, on a
// connection that no pin binds to the one followed before.
func (d feedDriver) Identify(ctx context.Context) (string, error) {
	identity := ""
	err := d.s.ask(ctx, func(_ context.Context, c *conn) error {
		v, err := c.server()
		identity = v.identity
		return err
	})
	return identity, err
}
