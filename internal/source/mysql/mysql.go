// Package mysql reads, writes and follows one database of a MariaDB or MySQL
// server.
//
// A document is read by prepared statements: one, or, when other documents are
// embedded in it, one for each level within one read-only transaction, which is
// one snapshot. Keys are bound as values of their column's own kind, text for
// text columns: a number would make the server convert and read every row. What
// differs between servers is told apart by the version that a connection gives.
//
// It holds no cache and knows no protocol of ours.
package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/hotrow/hotrow/internal/source"
)

// The defaults of Options.
const (
	defaultMaxConns         = 16
	defaultAcquireTimeout   = 2 * time.Second
	defaultStatementTimeout = 5 * time.Second
	lifetime                = 30 * time.Minute // of a connection

	// answerGrace is how much longer a statement's answer is waited for than
	// the server has for the statement: the server ends it first, with an error
	// that leaves the connection usable, and only a server that hangs costs it.
	answerGrace = 250 * time.Millisecond

	// controlConns is how many connections fences, probes and the like may have
	// beside the pool: they must not wait behind loads.
	controlConns = 4
)

// Options say how a database is used. The zero Options are good for most.
type Options struct {
	MaxConns         int           // connections for loads and writes; 0: 16
	AcquireTimeout   time.Duration // to wait for one of them; 0: 2 s
	StatementTimeout time.Duration // for one statement; 0: 5 s
	ReadOnly         bool          // no writes, and no session that could write
	ServerID         uint32        // of the feed among the server's replicas; 0: chosen
	User             string        // for a URL that names none
	Password         string        // for a URL that has none
	Log              *slog.Logger  // nil: nothing is logged
}

// A Source is one database of a server. It implements source.Source.
type Source struct {
	cfg     *driver.Config // of every connection; Clone it before changing it
	db      *sql.DB        // of loads and writes
	control *sql.DB        // of what must not wait for those
	log     *slog.Logger
	opts    Options

	ctx  context.Context // ends when the source is closed
	stop context.CancelFunc

	views views
	ends  *source.Fences // who has read shares where the log ends: see noteSeen

	pin      atomic.Pointer[pin]
	compiled atomic.Uint64 // how many times a resource was compiled
	waiting  atomic.Int64
	acquired atomic.Uint64
	timeouts atomic.Uint64
}

// A pin is the server that connections must lead to. Sessions that were made
// under another one are dropped when they are used next.
type pin struct{ identity string }

// Open returns the database that rawURL names, such as
// mysql://USER@HOST:3306/DATABASE; see parseURL. The server need not be up:
// connections are made when they are needed.
func Open(ctx context.Context, rawURL string, o Options) (*Source, error) {
	o = o.withDefaults()
	cfg, err := parseURL(rawURL, o.User, o.Password)
	if err != nil {
		return nil, err
	}
	if cfg.Timeout <= 0 || cfg.Timeout > o.AcquireTimeout {
		// A connection that is still being made holds a place in the pool.
		cfg.Timeout = o.AcquireTimeout
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Source{cfg: cfg, log: o.Log, opts: o, ctx: life, stop: stop, ends: source.NewFences()}
	inner, err := driver.NewConnector(cfg)
	if err != nil {
		stop()
		return nil, fmt.Errorf("open mysql: %w", err)
	}
	s.db = s.open(inner, o.ReadOnly, false)
	s.db.SetMaxOpenConns(o.MaxConns)
	s.db.SetMaxIdleConns(o.MaxConns)
	s.db.SetConnMaxLifetime(lifetime)
	s.control = s.open(inner, false, false)
	s.control.SetMaxOpenConns(controlConns)
	s.control.SetMaxIdleConns(controlConns)
	s.control.SetConnMaxLifetime(lifetime)
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

// Pin makes every new connection one to the server with this identity (see
// binlog.IdentityMariaDB), and drops those that were made before it was known. A feed
// pins the server that it follows: loads from another one would not be covered
// by its changes.
func (s *Source) Pin(identity string) {
	if old := s.pin.Load(); old == nil || old.identity != identity {
		s.pin.Store(&pin{identity})
	}
}

// Stats returns a snapshot of the connection pool.
func (s *Source) Stats() source.PoolStats {
	st := s.db.Stats()
	return source.PoolStats{
		Max:      st.MaxOpenConnections,
		InUse:    st.InUse,
		Idle:     st.Idle,
		Waiting:  int(s.waiting.Load()),
		Acquired: s.acquired.Load(),
		Timeouts: s.timeouts.Load(),
	}
}

// Close closes every connection. Loads under way end with an error.
func (s *Source) Close() error {
	s.stop()
	err := s.db.Close()
	if e := s.control.Close(); err == nil {
		err = e
	}
	return err
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
