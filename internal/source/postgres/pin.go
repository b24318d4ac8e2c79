package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// Pin makes every new connection one to this server, and drops those that were made
// before it was known. A feed pins the server that it follows: loads from another one,
// such as a primary of before, would not be covered by its changes.
func (s *Source) Pin(server feed.Server) {
	old := s.pinned.Swap(&server)
	if old == nil || old.Origin != server.Origin {
		s.pool.Reset()
	}
}

// keepToServer makes the connections of c lead to the pinned server, of several hosts too:
// the others are passed over.
func (s *Source) keepToServer(c *pgx.ConnConfig) {
	feed.Only(c, func() string {
		if pin := s.pinned.Load(); pin != nil {
			return pin.Address
		}
		return ""
	})
	asked := c.ValidateConnect // for by target_session_attrs, or because of several hosts
	c.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if pin := s.pinned.Load(); pin != nil {
			return checkServer(ctx, conn, pin)
		}
		if asked == nil {
			return nil
		}
		err := asked(ctx, conn)
		if s.opts.ReadOnly && errors.Is(err, pgconn.ErrReadOnlyConnection) {
			// It is we who make the session one: of the server that says nothing.
			err = pgconn.ValidateConnectTargetSessionAttrsPrimary(ctx, conn)
		}
		return err
	}
}

// checkServer refuses a connection to another server than the pinned one.
func checkServer(ctx context.Context, conn *pgconn.PgConn, pin *feed.Server) error {
	id, err := feed.OriginAt(ctx, conn)
	if err != nil && !errors.Is(err, feed.ErrStandby) {
		return err
	}
	if id != pin.Origin {
		return &source.Error{
			Class:   source.Unavailable,
			Message: "the connection leads to another database server than the feed follows",
			Detail:  fmt.Sprintf("cluster and timeline %q, the feed follows %q", id, pin.Origin),
			After:   time.Second,
		}
	}
	return nil
}
