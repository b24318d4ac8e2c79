// Package sqlcache is what memory knows of answers to SQL statements that clients run in sessions
// of their own. It decides whether a statement's answer depends on the rows of one table alone, on
// which of them, and for whom it is the same; it notes what statements write; and it keeps copies
// by the rules of package fresh.
//
// A copy is the server's own messages, or their digest alone: then nothing is answered with it, and
// what it says is compared with what the server answers. The I/O is the caller's.
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
	"github.com/hotrow/hotrow/internal/tier"
)

// Options are what a Cache goes by.
type Options struct {
	Set    *resource.Set
	Source string         // its name in Set
	Names  source.Definer // the same source
	Serve  bool           // keep the messages of answers, not their digests alone
	Rest   time.Duration  // nobody asks for so long: the catalogue is not read; 0: 10 s
	Log    *slog.Logger   // nil: discard

	// Unfollowed is called when the database has a table with a primary key that the feed does not
	// follow; nil: nobody is told. It must not wait.
	Unfollowed func()
}

// A Cache has the copies of one source. Any goroutine may call its methods.
type Cache struct {
	names  source.Definer
	tell   func() // Options.Unfollowed
	told   uint64 // of the definitions for which that was called, or need not be; of run
	log    *slog.Logger
	serves bool
	memory *tier.Memory
	number uint32    // of the copies in memory
	lent   sync.Pool // of *tier.Reader
	fresh  *resource.Statements

	meaning atomic.Pointer[meaning] // nil: it was not read yet
	readAt  atomic.Int64            // when the last reading of the catalogue began
	reader  reader
	halted  atomic.Int64  // statements under way that may change what names mean
	halts   atomic.Uint64 // how many there ever were
	closed  closed

	mu           sync.Mutex // guards what follows; innermost
	fingerprints map[string]*Fingerprint

	wake   chan struct{}
	asks   asks
	stop   context.CancelFunc
	ended  chan struct{}
	counts counts
	said   front.Limiter // of the log
	broken Rule          // a rule that a test breaks
	looked func()        // of a test: a copy was found good, and was not given away yet

	recorded atomic.Int64 // bytes of answers that are under way
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
	noRows
)

// Key names an answer: the statement with its values, in which form, and for whom.
type Key [16]byte

// A Copy is what is known of an answer. It never changes, and is attached to the answer's document.
type Copy struct {
	of     *resource.Freshness
	set    *fresh.ReadSet
	number uint64 // of the meaning
	found  found
	tags   int   // of rows that it is made of
	at     int64 // when it had come: what it shows may be of then
	digest [16]byte

	exact    bool // the order of its rows counts
	compared bool // the server may give one answer only

	columns   int      // bytes of the document that describe what the statement takes and gives
	described [16]byte // of the statement behind it, as Ask has it
}

// Size implements row.Attachment.
func (one *Copy) Size() int { return copySize + 4*one.tags }

// copySize is what a Copy takes with what it depends on, about, but for the tags of rows.
const copySize = 400

// An Answer is the server's messages that are about a statement, as they were sent.
type Answer struct {
	Columns []byte // which describe what it takes and gives
	Rows    []byte // and the others

	Described [16]byte // of the statement behind it, as Ask has it, if Columns were sent
}

const (
	// The catalogue is read lookEvery, and what was read counts for lookLimit: so late may a
	// change of a definition be seen that has not come through hotrow.
	lookEvery = 200 * time.Millisecond
	lookLimit = 500 * time.Millisecond

	// fencePause is between two fences that are taken for writes of clients.
	fencePause = 2 * time.Millisecond
)

// New returns a Cache of nothing. Close it before the Set.
func New(o Options) *Cache {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Cache{names: o.Names, tell: o.Unfollowed, log: o.Log, serves: o.Serve,
		memory: o.Set.Memory(), number: o.Set.Number(o.Source, "statements"),
		fingerprints: make(map[string]*Fingerprint),
		wake:         make(chan struct{}, 1), ended: make(chan struct{})}
	c.lent.New = func() any { return new(tier.Reader) }
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
func (c *Cache) drop(k row.Key) { c.memory.Drop(c.ref(k)) }

// agree forgets the copy of a key if it is of another state than what was answered last.
func (c *Cache) agree(k row.Key, state uint64) {
	of := row.NewDocument("", copyFormat, nil, state, row.Stamp{})
	if held, same := c.memory.Compare(c.ref(k), of); held && !same {
		c.drop(k)
	}
}

// copyFormat is that of all copies: none is a document of a row.
const copyFormat row.Format = 0

func (c *Cache) ref(k row.Key) tier.Ref {
	return tier.Ref{Resource: c.number, Format: copyFormat, Key: k}
}

// forget drops every copy.
func (c *Cache) forget() { c.memory.DropAll(c.number) }

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
