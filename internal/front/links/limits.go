package linksfront

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// limits count the redirects of links that have only so many. A link's counter
// begins with what the database and the log say when it is first asked for, and
// until it is known nobody is redirected; from then on it is exact however many
// ask at once.
type limits struct {
	taken func(ctx context.Context, id int64) (int64, error)
	known sync.Map // of *atomic.Int64 by id

	mu      sync.Mutex // guards loading
	loading map[int64]*counting
}

// A counting is one look at what has been taken, for all who wait for it.
type counting struct {
	done chan struct{}
	err  error
}

func newLimits(taken func(context.Context, int64) (int64, error)) *limits {
	return &limits{taken: taken, loading: make(map[int64]*counting)}
}

// of returns the counter of a link, nil while it is not known.
func (l *limits) of(id int64) *atomic.Int64 {
	if c, ok := l.known.Load(id); ok {
		return c.(*atomic.Int64)
	}
	return nil
}

// take takes one redirect of the most that there are.
func take(taken *atomic.Int64, most int64) bool {
	for {
		n := taken.Load()
		if n >= most {
			return false
		}
		if taken.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// load makes the counter of a link known.
func (l *limits) load(ctx context.Context, id int64) error {
	l.mu.Lock()
	if l.of(id) != nil {
		l.mu.Unlock()
		return nil
	}
	c, waits := l.loading[id]
	if !waits {
		c = &counting{done: make(chan struct{})}
		l.loading[id] = c
	}
	l.mu.Unlock()
	if waits {
		select {
		case <-c.done:
			return c.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	n, err := l.taken(ctx, id)
	if err != nil {
		c.err = fmt.Errorf("count the redirects of link %d: %w", id, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.err == nil {
		counter := new(atomic.Int64)
		counter.Store(n)
		l.known.Store(id, counter)
	}
	delete(l.loading, id)
	close(c.done)
	return c.err
}
