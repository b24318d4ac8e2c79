// Package memcachefront speaks the protocol of memcached for the resources, its text
// commands and its meta commands: it reads commands, asks package kv, and replies.
//
// It is an eventloop.Protocol. What memory holds is answered by the loop that reads it; what it
// does not hold is read together, as it came together in one command or one burst. It
// keeps no documents and knows no database and no configuration file; a caller gives the
// listener.
package memcachefront

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/wire/memcache"
)

// Options are what a Front needs. The zero value of every field but those of kv.Options
// that must be set is usable.
type Options struct {
	kv.Options

	MaxValue     int  // bytes of a value: 1 MiB; stays
	RefuseExpiry bool // a time to live is an error, and not passed over

	Version string                          // hotrow's own
	Memory  func() (keys, bytes, max int64) // what the cache holds, for stats; nil: nothing
}

func (o Options) withDefaults() Options {
	o.Proto, o.Refusal = "memcache", "ERROR Too many open connections\r\n"
	if o.MaxValue <= 0 {
		o.MaxValue = front.BodyBytes
	}
	return o
}

// A Front answers the connections of any number of listeners. It is an eventloop.Protocol and
// an eventloop.Ender.
type Front struct {
	store  *kv.Store
	live   atomic.Pointer[Options]
	began  time.Time
	unique atomic.Uint64 // of the item that was changed last
	turns  turns
	limits memcache.Limits
	stats  stats

	mu     sync.Mutex // guards what follows; innermost
	open   int
	scopes []*scope
}

// New returns the front for o. Close it.
func New(o Options) *Front {
	o = o.withDefaults()
	f := &Front{store: kv.New(o.Options), began: time.Now(),
		limits: memcache.Limits{Line: front.LineBytes, Value: o.MaxValue}}
	f.live.Store(&o)
	return f
}

// Configure replaces the options. The next command on any connection goes by them.
func (f *Front) Configure(o Options) {
	o = o.withDefaults()
	f.store.Configure(o.Options)
	f.live.Store(&o)
}

// Serve serves the connections of l until Shutdown or Close. It owns l from now on.
func (f *Front) Serve(l net.Listener, o kv.Listen) (*kv.Site, error) {
	return f.store.Serve(l, o, f, f.NewScope, front.LineBytes+f.limits.Value+4)
}

// Close ends what is still being read. The listeners come first.
func (f *Front) Close() { f.store.Close() }

// A scope is what the connections of one loop share.
type scope struct {
	*kv.Scope
	f    *Front
	live *Options // for this wake-up

	turn  turn
	cmd   memcache.Command
	found []kv.Found

	// Counters. The loop is their one writer.
	commands, keys, absent, writes atomic.Uint64
}

// NewScope makes the state of a loop.
func (f *Front) NewScope() eventloop.Scope {
	s := &scope{Scope: f.store.NewScope(), f: f}
	s.Items = true
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scopes = append(f.scopes, s)
	return s
}

// BeginTurn begins a wake-up of the loop.
func (s *scope) BeginTurn(now time.Time) {
	s.Scope.BeginTurn(now)
	s.live = s.f.live.Load()
}

// add adds to a counter that has one writer.
func add(n *atomic.Uint64, more int) { n.Store(n.Load() + uint64(more)) }
