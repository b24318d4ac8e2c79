// Package wirefront speaks the wire protocol for the resources: it reads the
// messages of package rows, asks package resource, and answers.
//
// It is an eventloop.Protocol. What memory holds is answered by the loop that reads
// it; what it does not hold is read together, as it came together, and answered
// out of order; changes are pushed to those who watch. It keeps no documents
// and knows no database and no configuration file; a caller gives the listener.
package wirefront

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/workers"
)

// Options are what a Front needs. The zero value of every field but Resources is
// usable. Those that say so are the same after Configure.
type Options struct {
	Resources *resource.Set

	// Starting reports whether the resources are not known yet: then a name that is
	// not served may be soon. nil: they are.
	Starting func() bool

	// Auth says whose token it is. nil: nobody's.
	Auth func(token string) (front.Principal, bool)

	// Issued returns a value that changes when the tokens that Auth knows do.
	// nil: no token is good.
	Issued func() any

	// Open says that a listener beyond loopback is meant to be read without a
	// token. Such a listener still takes no anonymous writes.
	Open bool

	MaxMessage   int           // bytes of a message that is accepted: 1 MiB; stays
	MaxList      int           // bytes of the documents of one answer: 8 MiB
	Handshake    time.Duration // for a peer to say who it is: 10 s
	SlowWatcher  time.Duration // that a watcher may be behind by: 30 s
	WriteTimeout time.Duration // of one write in the database: 30 s
	ReadTimeout  time.Duration // of a read whose request has no deadline: 30 s
	Perf         bool          // answer the messages of gofast's perf program, too
	Server       string        // what INFO and whoami call us: "hotrow"; stays
	Instance     string        // of this process, for clients that compare; stays
	Log          *slog.Logger  // nil: discard

	// Unsent bounds the answers that peers do not take; stays. nil: one of its own.
	Unsent *front.OutputBudget

	Access *accesslog.Log // of the messages, with front.AccessColumns; nil: none
}

// A Front answers the connections of any number of listeners. It is a
// eventloop.Protocol and an eventloop.Ender.
type Front struct {
	live     atomic.Pointer[Options]
	stats    stats
	logLimit front.Limiter
	draining atomic.Bool
	workers  workers.Pool
	unsent   *front.OutputBudget
	work     sync.WaitGroup // requests and hubs that run
	ctx      context.Context
	cancel   context.CancelFunc

	mu      sync.Mutex // guards what follows; after conn.mu, and before no lock of this package
	closed  bool
	conns   map[*conn]struct{}
	hubs    map[*resource.Resource]*hub
	lists   map[listKey]*listHub
	counted []*served
	ended   gofast.Stats // of connections that are no more
	numbers uint64       // given to connections
}

// New returns the front for o. Close it.
func New(o Options) *Front {
	f := &Front{
		conns: make(map[*conn]struct{}), hubs: make(map[*resource.Resource]*hub),
		lists: make(map[listKey]*listHub),
	}
	if f.unsent = o.Unsent; f.unsent == nil {
		f.unsent = front.NewOutputBudget(0, 0)
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.Configure(o)
	return f
}

// Configure replaces the options. The next message on any connection is answered
// by them, and watches are ended of what is not served or allowed any more.
func (f *Front) Configure(o Options) {
	positive := func(p *int, byDefault int) {
		if *p <= 0 {
			*p = byDefault
		}
	}
	positive(&o.MaxMessage, front.BodyBytes)
	positive(&o.MaxList, front.ListBytes)
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = front.WriteWait
	}
	if o.ReadTimeout <= 0 {
		o.ReadTimeout = front.ReadWait
	}
	if o.SlowWatcher <= 0 {
		o.SlowWatcher = front.WatchWait
	}
	if o.Server == "" {
		o.Server = "hotrow"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	f.live.Store(&o)
	for _, c := range f.list() {
		c.recheck()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for res, h := range f.hubs {
		if !o.serves(res) { // nobody watches it any more
			close(h.done)
			delete(f.hubs, res)
		}
	}
}

// list returns the connections of now.
func (f *Front) list() []*conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]*conn, 0, len(f.conns))
	for c := range f.conns {
		list = append(list, c)
	}
	return list
}

// start runs a piece of work that Close waits for. It reports false when the
// front is closed.
func (f *Front) start(run func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.work.Add(1)
	f.workers.Go(func() {
		defer f.work.Done()
		run()
	})
	return true
}

// hub returns the hub of a resource, made for the first who watches it.
func (f *Front) hub(res *resource.Resource) (*hub, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.hubs[res]; h != nil {
		return h, nil
	}
	switch {
	case f.closed:
		return nil, fail(kindDraining, "")
	case !f.live.Load().serves(res): // a reload has taken it away
		return nil, faultNoResource()
	}
	h := newHub(res)
	f.hubs[res] = h
	f.work.Go(h.run)
	return h, nil
}

// Drain tells every peer that this server is going away, ends the watches, and
// waits until all requests are answered, or until ctx ends.
func (f *Front) Drain(ctx context.Context) error {
	f.draining.Store(true)
	for _, c := range f.list() {
		c.goAway()
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for f.busy() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// busy reports whether a request has no answer yet, or one that was not taken.
func (f *Front) busy() bool {
	for _, c := range f.list() {
		if c.busy() {
			return true
		}
	}
	return false
}

// Close ends the hubs and what is still being read. The listeners come first.
func (f *Front) Close() {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		for _, h := range f.hubs {
			close(h.done)
		}
		clear(f.hubs)
	}
	f.mu.Unlock()
	f.cancel()
	f.work.Wait()
}
