// Package postgres reads, writes and follows one PostgreSQL database.
//
// A document, nested ones included, is read by one statement whose answer is
// decoded from PostgreSQL's binary format into row.Values; types without a
// plain binary form are cast to text by the server. Parameters are bound as
// text of the column's own type, so that what the server parses is exactly
// what was asked for. Statements are always prepared: the simple protocol is
// never used with values in it.
//
// It holds no cache and knows no protocol of ours.
package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// The defaults of Options.
const (
	defaultMaxConns         = 16
	defaultAcquireTimeout   = 2 * time.Second
	defaultStatementTimeout = 5 * time.Second
	lifetime                = 30 * time.Minute // of a connection, unless the URL asks for less

	// answerGrace is how much longer a statement's answer is waited for than
	// the server has for the statement: the server ends it first, with an error
	// that leaves the connection usable, and only a server that hangs costs it.
	answerGrace = 250 * time.Millisecond
)

// Options say how a database is used. The zero Options are good for most.
type Options struct {
	MaxConns         int           // connections for loads and writes; 0: 16
	AcquireTimeout   time.Duration // to wait for one of them; 0: 2 s
	StatementTimeout time.Duration // for one statement; 0: 5 s
	ReadOnly         bool          // no writes, and no session that could write
	Reads            string        // URL of a standby that is followed and read; "": none
	Publication      string        // of the logical feed; "": hotrow
	Slot             string        // replication slot of the logical feed; "": a temporary one
	SlotUnbounded    bool          // have Slot even if the server would keep its log for ever
	SlotFailover     bool          // standbys keep Slot, too
	Log              *slog.Logger  // nil: nothing is logged
}

// A Source is one PostgreSQL database. It implements source.Source.
type Source struct {
	pool *pgxpool.Pool
	cfg  *pgxpool.Config // copy ConnConfig before changing it
	log  *slog.Logger
	opts Options

	// plain is what cfg says of connections, without what keeps them to one server.
	plain *pgx.ConnConfig

	ctx  context.Context // ends when the source is closed
	stop context.CancelFunc

	defs     feed.Definitions            // of the resources that were compiled last
	pinned   atomic.Pointer[feed.Server] // the one that connections must lead to
	standby  *standby                    // nil: the primary is read
	waiting  atomic.Int64
	timeouts atomic.Uint64
}

// Open returns the database that url names: a URL or a list of keywords and
// values as libpq has them, with its environment variables and password file.
// The server need not be up: connections are made when they are needed.
func Open(ctx context.Context, url string, o Options) (*Source, error) {
	o = o.withDefaults()
	cfg, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Source{cfg: cfg, log: o.Log, opts: o, ctx: life, stop: stop}
	s.configure(cfg)
	s.plain = cfg.ConnConfig.Copy()
	s.keepToServer(cfg.ConnConfig)
	askToEnd(cfg.ConnConfig)
	if s.pool, err = feed.NewPool(life, cfg); err != nil {
		stop()
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	if o.Reads != "" {
		if err := s.openStandby(o.Reads); err != nil {
			s.stop()
			s.pool.Close()
			return nil, err
		}
	}
	return s, nil
}

// withDefaults returns o with its zero fields filled in.
func (o Options) withDefaults() Options {
	if o.MaxConns <= 0 {
		o.MaxConns = defaultMaxConns
	}
	if o.AcquireTimeout <= 0 {
		o.AcquireTimeout = defaultAcquireTimeout
	}
	if o.StatementTimeout <= 0 {
		o.StatementTimeout = defaultStatementTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// configure sets what the sessions of a pool have in common beside what every connection
// has: see feed.Connect.
func (s *Source) configure(c *pgxpool.Config) {
	o := s.opts
	c.MaxConns, c.MinConns, c.MinIdleConns = int32(min(o.MaxConns, 1<<20)), 0, 0
	if c.ConnConfig.ConnectTimeout <= 0 || c.ConnConfig.ConnectTimeout > o.AcquireTimeout {
		// A connection that is still being made holds a place in the pool.
		c.ConnConfig.ConnectTimeout = o.AcquireTimeout
	}
	c.MaxConnLifetime = min(c.MaxConnLifetime, lifetime)
	params := c.ConnConfig.RuntimeParams
	if params["application_name"] == "" {
		params["application_name"] = "hotrow"
	}
	if params["statement_timeout"] == "" {
		params["statement_timeout"] = strconv.FormatInt(o.StatementTimeout.Milliseconds(), 10)
	}
	if o.ReadOnly {
		params["default_transaction_read_only"] = "on"
	}
	c.ShouldPing = func(ctx context.Context, p pgxpool.ShouldPingParams) bool {
		return ctx.Value(pingKey{}) != nil || p.IdleDuration > time.Second
	}
	c.PingTimeout = o.AcquireTimeout
}

// pingKey marks the context of an acquire that must get a connection that
// answers now: one has just turned out to be dead, and others may be too.
type pingKey struct{}

// Stats returns a snapshot of the connection pool.
func (s *Source) Stats() source.PoolStats {
	out := source.PoolStats{Waiting: int(s.waiting.Load()), Timeouts: s.timeouts.Load()}
	pools := []*pgxpool.Pool{s.pool}
	if s.standby != nil {
		pools = append(pools, s.standby.pool)
	}
	for _, p := range pools {
		st := p.Stat()
		out.Max += int(st.MaxConns())
		out.InUse += int(st.AcquiredConns())
		out.Idle += int(st.IdleConns())
		out.Acquired += uint64(st.AcquireCount())
	}
	return out
}

// Close closes every connection. Loads under way end with an error.
func (s *Source) Close() error {
	s.stop()
	s.pool.Close()
	if s.standby != nil {
		s.standby.pool.Close()
		s.standby.shown.Close()
	}
	return nil
}

// begin returns a context that also ends when the source is closed, and at the
// latest after the time that n statements and their connection may take.
func (s *Source) begin(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	limit := s.opts.AcquireTimeout + time.Duration(n)*(s.opts.StatementTimeout+answerGrace)
	ctx, cancel := context.WithTimeout(ctx, limit)
	release := context.AfterFunc(s.ctx, cancel)
	return ctx, func() {
		release()
		cancel()
	}
}

// acquire takes a connection to the primary from the pool. The caller releases it.
func (s *Source) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	return s.acquireFrom(ctx, s.pool)
}

// acquireFrom takes a connection from a pool. The caller releases it.
func (s *Source) acquireFrom(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	wait, cancel := context.WithTimeout(ctx, s.opts.AcquireTimeout)
	defer cancel()
	return s.acquireWithin(wait, ctx, pool)
}

// acquireWithin is acquireFrom with a context that ends after AcquireTimeout, within the
// caller's.
func (s *Source) acquireWithin(
	wait, outer context.Context, pool *pgxpool.Pool,
) (*pgxpool.Conn, error) {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	conn, err := pool.Acquire(wait)
	if err == nil {
		return conn, nil
	}
	if outer.Err() == nil && wait.Err() != nil {
		s.timeouts.Add(1)
		return nil, &source.Error{
			Class:   source.Unavailable,
			Message: fmt.Sprintf("no connection to the database within %v", s.opts.AcquireTimeout),
			Hint:    "the server is slow or pool.max is too small",
			After:   time.Second,
			Err:     err,
		}
	}
	if s.ctx.Err() != nil {
		return nil, &source.Error{Class: source.Unavailable, Message: "the source is closed",
			Err: err}
	}
	return nil, classify(err)
}
