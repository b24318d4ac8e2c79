package memcachefront

import (
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// turns give commands that make an item of what it was their turns at it. Of those that
// read at the same time all but one would have read in vain: with 64 clients of a counter
// some lost a hundred races in a row. Only other programs, and other fronts, are raced with.
//
// It is no matter of correctness: a change says of what it was made.
type turns struct {
	mu sync.Mutex // guards of; innermost
	of map[rowName]*rowTurns
}

// A rowName is a row, whichever resource and spelling of its key names it.
type rowName struct {
	source, table string
	key           row.Key
}

// rowTurns are the turns at one row.
type rowTurns struct {
	free  *semaphore.Weighted
	users int // who have it, or wait
}

// all is the weight of a turn that nobody shares.
const all = 1 << 20

// nameOf returns the row that a key of res names.
func nameOf(res *resource.Resource, key row.Key) rowName {
	if canonical, err := res.KeyType().Parse(key); err == nil {
		key = canonical
	}
	n := rowName{source: res.Source(), key: row.Key(strings.Clone(string(key)))}
	if table := res.Spec().Table; table != nil {
		n.table = table.Table
	}
	return n
}

// take waits for a turn at a row, no longer than limit: whoever has it may wait for a
// database that does not answer. done ends it. Who takes no notice of what the row was
// shares its turn with others who do not.
func (t *turns) take(
	ctx context.Context, n rowName, shared bool, limit time.Duration,
) (done func()) {
	t.mu.Lock()
	r := t.of[n]
	if r == nil {
		r = &rowTurns{free: semaphore.NewWeighted(all)}
		if t.of == nil {
			t.of = make(map[rowName]*rowTurns)
		}
		t.of[n] = r
	}
	r.users++
	t.mu.Unlock()
	weight := int64(all)
	if shared {
		weight = 1
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	err := r.free.Acquire(ctx, weight)
	cancel()
	return func() {
		if err == nil {
			r.free.Release(weight)
		}
		t.mu.Lock()
		if r.users--; r.users == 0 {
			delete(t.of, n)
		}
		t.mu.Unlock()
	}
}

// turn waits for the command's turn at the item of a key; done ends it.
func (w *writing) turn(key []byte) (done func()) {
	live := w.c.f.store.Live()
	res, of := live.Find(key)
	if res == nil {
		return func() {}
	}
	return w.c.f.turns.take(w.ctx, nameOf(res, of), w.blind(), live.WriteTimeout)
}
