package kv

import (
	"context"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
)

// PieceSize is how long the output becomes before the rest of an answer waits for the peer.
const PieceSize = eventloop.FlushSize

// A Batch is the reads of one pipeline that wait for the database, and what is replied
// between them; or one read whose answer is made as the peer takes it. It has memory of its
// own.
type Batch struct {
	began  time.Time // when it was loaded
	reads  []*Read
	misses []Miss
	keys   int
	bytes  int

	at      int            // the read whose reply is to be appended
	tail    []byte         // what is replied behind the last
	then    eventloop.Next // what is next then
	claimed int64          // bytes of its documents, of the budget
}

// A Read is one command of a batch. It has memory of its own.
type Read struct {
	Name   string   // of the command, for the access log
	Keys   [][]byte // that it is for
	Before []byte   // what is replied before it

	Found  []Found // what there is under the keys
	Missed bool    // some of it was not in memory
	At     int     // where Append goes on; it is Append's
	Ends   bool    // the connection is closed in place of the reply; it is Append's

	// Loaded is called by the goroutine that has loaded what memory did not have. nil: nothing
	// is.
	Loaded func(ctx context.Context, r *Read)

	// Append appends the reply, or as much of it as makes out PieceSize long. It reports
	// whether the reply is whole; if not, it has appended something and is called again.
	Append func(out []byte, r *Read) (grown []byte, whole bool)
}

// Full reports whether no more reads belong into the batch.
func (b *Batch) Full() bool { return b.keys >= front.BatchKeys || b.bytes >= front.BatchBytes }

// Missing reports whether something has to be loaded.
func (b *Batch) Missing() bool { return len(b.misses) > 0 }

// Add adds a read by a reader. What memory has is taken now.
func (b *Batch) Add(s *Scope, by Reader, r *Read) {
	r.Found = make([]Found, len(r.Keys))
	for i, key := range r.Keys {
		f := &r.Found[i]
		if !s.Get(by, key, f) {
			b.misses = append(b.misses, s.Miss(&by, key, f))
			r.Missed = true
			continue
		}
		s.Count(r.Found[i : i+1])
		if f.Doc != nil {
			b.bytes += len(f.Doc.Body())
		}
	}
	Keep(r.Found)
	b.keys += len(r.Keys)
	b.reads = append(b.reads, r)
}

// Append appends the replies of a batch whose documents are there, and its tail behind
// them, or as much of it as makes out PieceSize long.
func (b *Batch) Append(out []byte) (grown []byte, whole bool) {
	for ; b.at < len(b.reads); b.at++ {
		if len(out) >= PieceSize {
			return out, false
		}
		r := b.reads[b.at]
		out, r.Before = append(out, r.Before...), nil
		if out, whole = r.Append(out, r); !whole {
			return out, false
		}
		if r.Ends {
			b.then = eventloop.Close
			return out, true
		}
		b.reads[b.at] = nil
	}
	return append(out, b.tail...), true
}

// Answer appends the replies of a batch that memory has answered, and tail behind them, to
// out. It says what is next: then, or eventloop.Again when GoOn makes the rest.
func (c *Session) Answer(
	b *Batch, out, tail []byte, then eventloop.Next,
) ([]byte, eventloop.Next) {
	b.tail, b.then = tail, then
	out, whole := b.Append(out)
	if whole {
		return out, b.then
	}
	c.rest = b
	for _, r := range b.reads[b.at:] {
		b.claimed += pinned(r.Found)
	}
	c.Peer.Add(b.claimed)
	return out, eventloop.Again
}

// Load loads what b misses, and then resumes the connection with the replies, tail and
// next. w says the rest.
func (c *Session) Load(b *Batch, tail []byte, next eventloop.Next, w Work) {
	b.began, w.Size = time.Now(), c.store.Size(b.misses)
	w.Run = func(ctx context.Context) ([]byte, eventloop.Next) {
		c.store.Load(ctx, b.misses)
		b.misses = nil
		for _, r := range b.reads {
			if r.Loaded != nil {
				r.Loaded(ctx, r)
			}
		}
		c.logBatch(b)
		return c.Answer(b, nil, tail, next)
	}
	c.Do(w)
}
