package sourcetest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A recorder is a handler that remembers what it was told.
type recorder struct {
	mu       sync.Mutex // guards what follows
	origin   string
	attached int
	before   uint64 // what the last Attached left to be settled
	last     source.Position
	backward bool // a position was less than one before it
	txs      []*source.Tx
	schema   []string
}

var _ source.Handler = (*recorder)(nil)

// Attached notes that the feed follows.
func (r *recorder) Attached(origin string, pos source.Position, before uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.origin, r.last, r.before = origin, pos, before
	r.attached++
}

// Apply notes a transaction.
func (r *recorder) Apply(tx *source.Tx) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.txs = append(r.txs, tx)
	r.backward = r.backward || tx.Pos < r.last
	r.last = tx.Pos
}

// Advance notes a position.
func (r *recorder) Advance(pos source.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = max(r.last, pos)
}

// SchemaChanged notes tables.
func (r *recorder) SchemaChanged(tables []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.schema = append(r.schema, tables...)
}

// take returns the transactions since it was called last.
func (r *recorder) take() []*source.Tx {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.txs
	r.txs = nil
	return out
}

// isAttached reports whether the feed follows.
func (r *recorder) isAttached() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attached > 0
}

// beginnings returns how often the feed has begun.
func (r *recorder) beginnings() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attached
}

// wentBack reports whether positions were out of order.
func (r *recorder) wentBack() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.backward
}

// sawSchema reports whether the definition of a table was said to have changed.
func (r *recorder) sawSchema(table string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.schema, table)
}

// follow runs a feed until the test ends.
func (s *suite) follow(mode source.FeedMode, tables []source.Watched) (source.Feed, *recorder) {
	s.t.Helper()
	feed, why, err := s.src.OpenFeed(s.ctx, mode, tables)
	if err != nil || feed == nil {
		s.t.Fatalf("OpenFeed(%s) = %v, %q, %v", mode, feed, why, err)
	}
	if why == "" {
		s.t.Error("OpenFeed does not say why")
	}
	r := &recorder{}
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan error, 1)
	go func() { done <- feed.Run(ctx, r) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && ctx.Err() == nil {
			s.t.Errorf("Run: %v", err)
		}
		if err := feed.Close(); err != nil {
			s.t.Errorf("Close: %v", err)
		}
	})
	s.eventually("the feed is attached", r.isAttached)
	s.eventually("the feed can be asked", func() bool { // it is a moment after it is attached
		_, err := feed.Fence(s.ctx)
		return !errors.Is(err, source.ErrDetached)
	})
	if r.origin == "" {
		s.t.Error("Attached has no origin")
	}
	return feed, r
}

// whole reports whether txs say that all of a table may have changed.
func whole(txs []*source.Tx, table string) bool {
	for _, tx := range txs {
		if tx.All || slices.Contains(tx.Tables, table) {
			return true
		}
	}
	return false
}

// named reports whether txs name the row whose columns make key.
func named(txs []*source.Tx, table string, columns []string, key row.Key) bool {
	for _, tx := range txs {
		if touches(tx.Changes, table, columns, key) {
			return true
		}
	}
	return false
}
