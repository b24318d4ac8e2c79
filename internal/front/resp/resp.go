// Package respfront speaks the protocol of Redis for the resources: it reads commands,
// asks package kv, and replies.
//
// It is an eventloop.Protocol. What memory holds is answered by the loop that reads it; what it
// does not hold is read together, as it came together in one pipeline. It keeps no
// documents and knows no database and no configuration file; a caller gives the listener.
package respfront

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// Options are what a Front needs. The zero value of every field but those of kv.Options
// that must be set is usable.
type Options struct {
	kv.Options

	MaxBody int // bytes of the value of a write: 1 MiB; stays

	ExpireIgnored bool // SET with a time is taken, and the time means nothing

	Version string                          // hotrow's own
	Memory  func() (keys, bytes, max int64) // what the cache holds, for INFO; nil: nothing
}

func (o Options) withDefaults() Options {
	o.Proto, o.Refusal = "resp", "-ERR max number of clients reached\r\n"
	if o.MaxBody <= 0 {
		o.MaxBody = front.BodyBytes
	}
	return o
}

// A Front answers the connections of any number of listeners. It is an eventloop.Protocol and
// an eventloop.Ender.
type Front struct {
	store *kv.Store
	live  atomic.Pointer[Options]
	began time.Time
	runID string

	stats stats

	commands table
	get      *command // of commands
	names    []string // of the commands, sorted

	limits, strict resp.Limits

	queued atomic.Int64 // bytes of all transactions

	mu     sync.Mutex // guards what follows; after conn.mu
	conns  map[uint64]*conn
	number uint64 // of the last connection
	scopes []*scope
}

// New returns the front for o. Close it.
func New(o Options) *Front {
	o = o.withDefaults()
	id := make([]byte, 20)
	_, _ = rand.Read(id) // it never fails
	f := &Front{
		store: kv.New(o.Options), began: time.Now(), runID: hex.EncodeToString(id),
		conns: make(map[uint64]*conn), commands: newTable(),
		limits: resp.Limits{Args: front.Arguments, Arg: max(front.ArgumentBytes, o.MaxBody),
			Inline: front.InlineBytes},
	}
	f.get = f.commands["get"]
	f.strict = f.limits
	f.strict.Strict = front.StrictBytes
	f.names = slices.Sorted(maps.Keys(f.commands))
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
	return f.store.Serve(l, o, f, f.NewScope, front.CommandBytes+f.limits.Arg)
}

// Close ends what is still being read. The listeners come first.
func (f *Front) Close() { f.store.Close() }

// conn returns the connection of that number, nil if there is none.
func (f *Front) conn(id uint64) *conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conns[id]
}

// list returns the connections of now.
func (f *Front) list() []*conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]*conn, 0, len(f.conns))
	for _, c := range f.conns {
		list = append(list, c)
	}
	return list
}

// A scope is what the connections of one loop share.
type scope struct {
	*kv.Scope
	f    *Front
	live *Options // for this wake-up

	turn     turn
	commands atomic.Uint64 // this loop alone adds to it
	args     [][]byte
	get      [2][]byte           // the arguments of the GET at hand
	keys     [kv.Together][]byte // of the GETs at the front of the input
	ends     [kv.Together]int    // where they end
	found    []kv.Found
}

// NewScope makes the state of a loop.
func (f *Front) NewScope() eventloop.Scope {
	s := &scope{Scope: f.store.NewScope(), f: f}
	s.get[0] = []byte("GET")
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
