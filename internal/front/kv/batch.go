package kv

import (
	"context"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
)

// What one batch is for at most.
const (
	batchKeys  = MaxMisses
	batchBytes = 256 << 10
)

// A Batch is the reads of one pipeline that wait for the database, and what is replied
// between them. It has memory of its own.
type Batch struct {
	began  time.Time // when it was loaded
	reads  []*Read
	misses []Miss
	keys   int
	bytes  int
}

// A Read is one command of a batch. It has memory of its own.
type Read struct {
	Name   string   // of the command, for the access log
	Keys   [][]byte // that it is for
	Before []byte   // what is replied before it

	// Append appends the reply. missed says that some of found was not in memory.
	Append func(out []byte, found []Found, missed bool) []byte

	found  []Found
	missed bool
}

// Full reports whether no more reads belong into the batch.
func (b *Batch) Full() bool { return b.keys >= batchKeys || b.bytes >= batchBytes }

// Missing reports whether something has to be loaded.
func (b *Batch) Missing() bool { return len(b.misses) > 0 }

// Add adds a read by a reader. What memory has is taken now.
func (b *Batch) Add(s *Scope, by Reader, r *Read) {
	r.found = make([]Found, len(r.Keys))
	for i, key := range r.Keys {
		f := &r.found[i]
		if !s.Get(by, key, f) {
			b.misses = append(b.misses, s.Miss(by.Who, key, f))
			r.missed = true
			continue
		}
		s.Count(r.found[i : i+1])
		if f.Doc != nil {
			b.bytes += len(f.Doc.Body())
		}
	}
	b.keys += len(r.Keys)
	b.reads = append(b.reads, r)
}

// Append appends the replies of a batch whose documents are there, and tail behind them.
func (b *Batch) Append(out, tail []byte) []byte {
	for _, r := range b.reads {
		out = append(out, r.Before...)
		out = r.Append(out, r.found, r.missed)
	}
	return append(out, tail...)
}

// Load loads what b misses, and then resumes the connection with the replies, tail and
// next. w says the rest.
func (c *Session) Load(b *Batch, tail []byte, next eventloop.Next, w Work) {
	b.began, w.Size = time.Now(), c.store.Size(b.misses)
	w.Run = func(ctx context.Context) ([]byte, eventloop.Next) {
		c.store.Load(ctx, b.misses)
		out := b.Append(nil, tail)
		c.logBatch(b)
		return out, next
	}
	c.Do(w)
}
