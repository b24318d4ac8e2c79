// Package memcached reads and writes the values of a memcached server, or of
// any other that speaks its text protocol, as documents.
//
// A value is a text whose parts a separator divides, a JSON object, or one text
// or blob. The server has no catalogue and no order, so there are no lists; it
// tells nobody of changes, so there is no feed, and copies are kept only for the
// time that a resource's ttl gives them. A write is a gets, then an add or a
// cas: it replaces exactly the value that its conditions were compared with.
//
// The client is our own: seven commands and a strict reader of their answers.
// It keeps nothing and knows nothing of how documents are served.
package memcached

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// The defaults of Options.
const (
	defaultMaxConns         = 16
	defaultAcquireTimeout   = 2 * time.Second
	defaultStatementTimeout = 5 * time.Second
	lifetime                = 30 * time.Minute // of a connection
	defaultMaxValue         = 64 << 20
)

// Options say how a server is used. The zero Options are good for most.
type Options struct {
	MaxConns         int           // connections; 0: 16
	AcquireTimeout   time.Duration // to wait for one of them; 0: 2 s
	StatementTimeout time.Duration // for one answer; 0: 5 s
	MaxValue         int           // bytes of a value that are read; 0: 64 MiB
	ReadOnly         bool          // no writes
	Log              *slog.Logger  // nil: nothing is logged
}

// withDefaults returns o with its zero fields filled in.
func (o Options) withDefaults() Options {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&o.AcquireTimeout, defaultAcquireTimeout)
	set(&o.StatementTimeout, defaultStatementTimeout)
	if o.MaxConns <= 0 {
		o.MaxConns = defaultMaxConns
	}
	if o.MaxValue <= 0 {
		o.MaxValue = defaultMaxValue
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// A Source is one memcached server. It implements source.Source.
type Source struct {
	at   target
	opts Options
	pool pool

	ctx  context.Context // ends when the source is closed
	stop context.CancelFunc

	server    atomic.Pointer[string] // which process answers; see recognize
	onRestart atomic.Pointer[func()]

	waiting  atomic.Int64
	acquired atomic.Uint64
	timeouts atomic.Uint64
}

// Open returns the server that rawURL names, such as memcached://HOST:11211;
// see parseURL. It need not be up: connections are made when they are needed.
func Open(ctx context.Context, rawURL string, o Options) (*Source, error) {
	at, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &Source{at: at, opts: o}
	s.pool.places = make(chan struct{}, o.MaxConns)
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	return s, nil
}

// errNoTables is the error of what needs a catalogue or statements.
func errNoTables(what string) error {
	return &source.Error{Class: source.Invalid, Err: errors.ErrUnsupported, Message: "memcached " +
		what + ": name its values in a configuration file, as a resource with memcached: {...}"}
}

// Catalog returns an error that wraps errors.ErrUnsupported: nobody can ask a
// memcached server what it holds.
func (s *Source) Catalog(context.Context) (*source.Catalog, error) {
	return nil, errNoTables("has no catalogue")
}

// Exec returns an error that wraps errors.ErrUnsupported.
func (s *Source) Exec(context.Context, ...string) error {
	return errNoTables("has no statements")
}

// OpenFeed returns no feed and the sentence that says why.
func (s *Source) OpenFeed(
	_ context.Context, mode source.FeedMode, _ []source.Watched,
) (source.Feed, string, error) {
	if err := checkMode(mode); err != nil {
		return nil, "", err
	}
	return nil, noFeed, nil
}

// noFeed is why there is no feed.
const noFeed = "memcached reports no changes: documents are kept only where a resource " +
	"has a ttl, and for so long"

// checkMode refuses feeds that other databases have.
func checkMode(mode source.FeedMode) error {
	if mode == source.FeedAuto || mode == source.FeedNone {
		return nil
	}
	return fmt.Errorf("feed mode %q: %s", mode, noFeed)
}

// Stats returns a snapshot of the connection pool.
func (s *Source) Stats() source.PoolStats {
	return source.PoolStats{
		Max:      s.opts.MaxConns,
		InUse:    len(s.pool.places),
		Idle:     s.pool.count(),
		Waiting:  int(s.waiting.Load()),
		Acquired: s.acquired.Load(),
		Timeouts: s.timeouts.Load(),
	}
}

// Close closes every connection. Loads under way end with an error.
func (s *Source) Close() error {
	s.stop()
	s.pool.close()
	return nil
}
