// Package sqlcache is what memory knows of answers to SQL statements that clients run in sessions
// of their own. It decides whether a statement's answer depends on the rows of one table alone, on
// which of them, and for whom it is the same; it notes what statements write; and it keeps copies
// by the rules of package fresh.
//
// A copy is a digest of the server's messages: nothing is answered with it. What it would have
// answered is compared with what the server does answer. The I/O is the caller's.
package sqlcache

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// Options are what a Cache goes by.
type Options struct {
	Set    *resource.Set
	Source string         // its name in Set
	Names  source.Definer // the same source
	Rest   time.Duration  // nobody asks for so long: the catalogue is not read; 0: 10 s
	Log    *slog.Logger   // nil: discard
}

// A Cache has the copies of one source. Any goroutine may call its methods.
type Cache struct {
	names source.Definer
	log   *slog.Logger
	fresh *resource.Statements

	meaning atomic.Pointer[meaning] // nil: it was not read yet
	readAt  atomic.Int64            // when the last reading of the catalogue began
	reader  reader
	halted  atomic.Int64  // statements under way that may change what names mean
	halts   atomic.Uint64 // how many there ever were
	closed  closed

	mu           sync.Mutex // guards what follows; innermost
	copies       map[Key]*Copy
	fingerprints map[string]*Fingerprint

	wake   chan struct{}
	asks   asks
	stop   context.CancelFunc
	ended  chan struct{}
	counts counts
	said   front.Limiter // of the log
	broken Rule          // a rule that a test breaks
}

// A Rule is one that a test breaks, to show that others notice.
type Rule uint8

// The rules.
const (
	noRule Rule = iota
	noHold
	noFingerprint
	noDeps
	noRole
)

// Key names an answer: the statement with its values, in which form, and for whom.
type Key [16]byte

// A Copy is an answer that is known. It never changes.
type Copy struct {
	of     *resource.Freshness
	set    *fresh.ReadSet
	number uint64 // of the meaning
	answer [16]byte
	told   byte
	rows   uint32
}

const (
	// The catalogue is read lookEvery, and what was read counts for lookLimit: so late may a
	// change of a definition be seen that has not come through hotrow.
	lookEvery = 200 * time.Millisecond
	lookLimit = 500 * time.Millisecond

	// fencePause is between two fences that are taken for writes of clients.
	fencePause = 5 * time.Millisecond
)

// New returns a Cache of nothing. Close it before the Set.
func New(o Options) *Cache {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Cache{names: o.Names, log: o.Log, copies: make(map[Key]*Copy),
		fingerprints: make(map[string]*Fingerprint), wake: make(chan struct{}, 1),
		ended: make(chan struct{})}
	c.reader.restAfter = cmp.Or(o.Rest, 10*time.Second)
	c.fresh = o.Set.Statements(o.Source, c.drop, c.agree)
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	go c.run(ctx)
	return c
}

// Close ends what runs beside.
func (c *Cache) Close() {
	c.stop()
	<-c.ended
}

// drop forgets the copy of a key.
func (c *Cache) drop(k row.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.copies, keyOf(k))
}

// agree forgets the copy of a key if it is of another state than what was answered last.
func (c *Cache) agree(k row.Key, state uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := keyOf(k)
	if old := c.copies[key]; old != nil && stateOf(old.answer) != state {
		delete(c.copies, key)
	}
}

func keyOf(k row.Key) (key Key) {
	copy(key[:], k)
	return key
}

// copyOf returns the copy of a key; nil: there is none.
func (c *Cache) copyOf(k Key) *Copy {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.copies[k]
}

// put keeps a copy, in the place of any other if there is no more room.
func (c *Cache) put(k Key, one *Copy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.copies[k] == nil && len(c.copies) >= front.SQLCopies {
		for other := range c.copies {
			delete(c.copies, other)
			break
		}
	}
	c.copies[k] = one
}

// forget drops every copy.
func (c *Cache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.copies)
}

// isValid reports whether nothing is known by now for which a copy is not good.
func (c *Cache) isValid(one *Copy) bool {
	m := c.meaning.Load()
	return one.of == c.fresh.Now() && m != nil && one.number == m.number &&
		(one.set.Valid() || c.broken == noDeps)
}

// known returns what names mean; nil: nobody knows at present.
func (c *Cache) known() *meaning {
	if c.halted.Load() > 0 {
		return nil
	}
	return c.recent()
}

// recent returns what names mean by a reading that counts still; nil: there is none. Who calls it
// has the catalogue read.
func (c *Cache) recent() *meaning {
	if c.reader.ask() {
		c.wakeUp()
	}
	m := c.meaning.Load()
	if m == nil || resource.Clock()-c.readAt.Load() > int64(lookLimit) {
		return nil
	}
	return m
}
