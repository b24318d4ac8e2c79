// Package sqlfront passes sessions of PostgreSQL's protocol on: each client has a session of its
// own at the database, as the user that it logs in as, and bytes go both ways as they come. What
// differs is the key by which a statement is cancelled, and that TLS ends here.
//
// hotrow learns no password and changes no statement, but that it answers SHOW hotrow.statements
// itself (show.go). With Options.Serve memory answers what it can (serve.go); without, what it
// would have answered is counted (look.go).
package sqlfront

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/sqlcache"
)

// Options are what the front goes by.
type Options struct {
	// Dial opens a connection to the database on which nothing was said. Any goroutine calls it.
	Dial func(ctx context.Context) (Upstream, error)

	MaxClients    int  // sessions at a time; 0: front.SQLClients
	TrustUpstream bool // clients of other machines may be let in by a database that asks nothing

	// Cache says what memory would answer; nil: it is not looked into. The caller closes it, after
	// the front.
	Cache *sqlcache.Cache

	// Serve has memory answer what it can. Cache keeps answers then.
	Serve bool

	LookAlways bool // however many statements there are: for tests
	AuditEvery int  // of so many hits the server is asked for one; 0: front.SQLAudit

	Unsent *front.OutputBudget // counts what peers do not take; nil: one of the front's own
	Log    *slog.Logger        // nil: discard
}

// An Upstream is a connection to the database. The session owns it.
type Upstream struct {
	Conn        net.Conn // *tls.Conn over BelowTLS if it has TLS
	Certificate []byte   // that the database has shown, in DER; nil: there is no TLS

	// Again opens another one to the same server.
	Again func(ctx context.Context) (net.Conn, error)
}

// BelowTLS returns a connection like nc. TLS over it can go on in an event loop.
func BelowTLS(nc net.Conn) net.Conn { return eventloop.BelowTLS(nc, nil) }

// A Front passes sessions on. Any goroutine may call its methods.
type Front struct {
	opts   atomic.Pointer[Options]
	count  counters
	shapes *shapes
	sample *sampler
	said   front.Limiter // of the log
}

// New returns a front. It serves nothing yet.
func New(o Options) *Front {
	every := cmp.Or(o.AuditEvery, front.SQLAudit)
	f := &Front{shapes: newShapes(), sample: newSampler(o.LookAlways || o.Serve, every)}
	f.Configure(o)
	return f
}

// Configure makes options count for sessions that begin from now on.
func (f *Front) Configure(o Options) {
	if o.MaxClients == 0 {
		o.MaxClients = front.SQLClients
	}
	if o.Unsent == nil {
		if old := f.opts.Load(); old != nil {
			o.Unsent = old.Unsent
		} else {
			o.Unsent = front.NewOutputBudget(0, 0)
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	f.opts.Store(&o)
}

// Close releases what the front has. Its sites are closed first.
func (f *Front) Close() {}

// sayAway tells the log, now and then, that the database cannot be reached.
func (f *Front) sayAway(err error) {
	if f.said.Allow(time.Now()) {
		log := f.opts.Load().Log
		log.Warn("a SQL client was refused: the database cannot be reached", "err", err)
	}
}

// say tells the log why a client was refused.
func (s *Site) say(why *fault, one *session) {
	if s.f.said.Allow(time.Now()) {
		s.f.opts.Load().Log.Warn("a SQL client was refused", "reason", why.text, "hint", why.hint,
			"peer", one.from.String())
	}
}
