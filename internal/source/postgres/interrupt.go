package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// cancelLimit is how long the server has to end a statement whose caller's time has run out.
const cancelLimit = time.Second

// askToEnd has the connections of a pool ask the server to end a statement when the time of
// its context is over. A server that does is there: the statement met a lock, or was slow. Only
// one that does not answer costs the connection, and is taken to be out of reach.
func askToEnd(c *pgx.ConnConfig) {
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &interrupter{
			ask: &pgconn.CancelRequestContextWatcherHandler{
				Conn: conn, DeadlineDelay: cancelLimit},
			leave: &pgconn.DeadlineContextWatcherHandler{Conn: conn.Conn()},
		}
	}
}

// committingKey marks the context of a COMMIT. It is left and never asked to end: a server
// that waits for another one's word would say that all is well without it.
type committingKey struct{}

// An interrupter ends what waits on a connection for a context that has ended. It is for one
// connection, and one goroutine at a time.
type interrupter struct{ ask, leave, used ctxwatch.Handler }

// HandleCancel implements ctxwatch.Handler.
func (i *interrupter) HandleCancel(ctx context.Context) {
	i.used = i.ask
	// A caller that has given up, and not run out of time, waits for no word of the server.
	if ctx.Value(committingKey{}) != nil || ctx.Err() == context.Canceled {
		i.used = i.leave
	}
	i.used.HandleCancel(ctx)
}

// HandleUnwatchAfterCancel implements ctxwatch.Handler.
func (i *interrupter) HandleUnwatchAfterCancel() { i.used.HandleUnwatchAfterCancel() }
