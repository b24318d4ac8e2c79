// Package kv has what the key-value fronts have in common, whatever they speak: which
// row a key names, what memory answers, how what it does not have is read together, and
// who is told of changes. It knows no protocol.
package kv

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/workers"
)

// Options are what a Store needs. The zero value of every field but Resources is
// usable.
type Options struct {
	Proto     string // what requests are counted as: "resp"
	Refusal   string // what a client is told whose connection is one too many
	Resources *resource.Set

	// Starting reports whether the resources are not known yet: then a name that is
	// not served may be soon. nil: they are.
	Starting func() bool

	// Auth says whose token it is, Tokens whether there are any. nil: there are none.
	Auth   func(token string) (front.Principal, bool)
	Tokens func() bool

	// Issued returns a value that changes when the tokens that Auth knows do.
	// nil: no token is good.
	Issued func() any

	// Open says that a listener beyond loopback is meant to be read without a
	// token. Such a listener still takes no anonymous writes.
	Open bool

	// A key is Prefix, the name of a resource, Separator and the key of a row. A key
	// whose name is not served is one of Default, if that is set.
	Prefix    string
	Separator string // ":"
	Default   string

	// Names are those that keys have for resources, in place of their own.
	Names map[string]string

	// Format is the one of values that are documents.
	Format row.Format

	// StaleAllowed says that answers may be stale though the protocol cannot say so: as the
	// resource has it for those that can.
	StaleAllowed bool

	// Queries are names of keys that ask for lists.
	Queries map[string]*Query

	ReadTimeout  time.Duration // 30 s
	WriteTimeout time.Duration // of one write: 30 s

	TrackingKeys int // keys that are tracked at most: 1,000,000
	MaxClients   int // connections of a listener at most: 10,000

	Unsent *front.OutputBudget // bounds the answers that peers do not take. nil: one of its own
	Access *accesslog.Log
	Log    *slog.Logger // nil: discard

	named map[string]string // Names the other way round
}

// withDefaults returns o with its zero fields filled in.
func (o Options) withDefaults() Options {
	if o.Separator == "" {
		o.Separator = ":"
	}
	if o.ReadTimeout <= 0 {
		o.ReadTimeout = front.ReadWait
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = front.WriteWait
	}
	if o.TrackingKeys <= 0 {
		o.TrackingKeys = front.TrackedKeys
	}
	if o.MaxClients <= 0 {
		o.MaxClients = front.Clients
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.named = make(map[string]string, len(o.Names))
	for res, name := range o.Names {
		o.named[name] = res
	}
	return o
}

// HasTokens reports whether there are tokens.
func (o *Options) HasTokens() bool { return o.Tokens != nil && o.Tokens() }

// IssuedNow returns what Issued does.
func (o *Options) IssuedNow() any {
	if o.Issued == nil {
		return nil
	}
	return o.Issued()
}

// A Store is the resources as keys and values. Close it.
type Store struct {
	live     atomic.Pointer[Options]
	stats    stats
	logLimit front.Limiter
	unsent   *front.OutputBudget
	workers  workers.Pool
	work     sync.WaitGroup // reads that are under way
	ctx      context.Context
	cancel   context.CancelFunc
	cursors  cursors
	tracker  *Tracker

	mu      sync.Mutex // guards what follows; innermost
	closed  bool
	counted []*Served
	sites   []*Site // that were ever served
	gone    Stats   // what was counted of resources that are served no more

	issued any // the tokens of the last Configure, whose callers take turns
}

// New returns the Store for o.
func New(o Options) *Store {
	s := &Store{unsent: o.Unsent}
	if s.unsent == nil {
		s.unsent = front.NewOutputBudget(0, 0)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	o = o.withDefaults()
	s.live.Store(&o)
	s.issued = o.IssuedNow()
	s.tracker = newTracker(s)
	return s
}

// Configure replaces the options: the next request goes by them. If keys or values have another
// meaning by them, or there are other tokens, who keeps copies is told that these may be of
// another resource, or not to be read any more. It is not called by two at a time.
func (s *Store) Configure(o Options) {
	o = o.withDefaults()
	was := s.live.Swap(&o)
	issued := o.IssuedNow()
	if !o.means(was) || issued != s.issued {
		s.tracker.Flush()
	}
	s.issued = issued
}

// means reports whether keys mean by o what they mean by p, and their values look the same.
func (o *Options) means(p *Options) bool {
	return o.Prefix == p.Prefix && o.Separator == p.Separator && o.Default == p.Default &&
		o.Format == p.Format && o.Open == p.Open && o.StaleAllowed == p.StaleAllowed &&
		maps.Equal(o.Names, p.Names) &&
		maps.EqualFunc(o.Queries, p.Queries, func(a, b *Query) bool { return *a == *b })
}

// Tracker returns who tells of changes.
func (s *Store) Tracker() *Tracker { return s.tracker }

// Live returns the options of now.
func (s *Store) Live() *Options { return s.live.Load() }

// newMeter returns the part of a new connection in the budget of unread answers.
func (s *Store) newMeter() eventloop.Meter { return s.unsent.NewShare() }

// Go runs a piece of work that Close waits for. It reports false when the Store is
// closed. The context ends with the Store.
func (s *Store) Go(run func(ctx context.Context)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Add(1)
	s.workers.Go(func() {
		defer s.work.Done()
		run(s.ctx)
	})
	return true
}

// Close ends what is being read, and waits for it. The listeners come first.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.work.Wait()
}
