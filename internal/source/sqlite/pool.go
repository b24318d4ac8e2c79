package sqlite

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// A pool is the connections that read. They cannot write. One is opened when all that are open
// are used, and is closed when it has been of no use for spareAfter: each has the schema of the
// whole database in memory, and pages of it.
type pool struct {
	dsn    string
	places chan struct{} // has an element for each connection that is used
	done   chan struct{} // closed by close

	mu     sync.Mutex // guards what follows
	idle   []*conn    // which was used last comes last, and is used next
	spare  int        // how many of the first nobody has used since shrink was called
	tick   *time.Timer
	closed bool

	waiting, acquired, timeouts atomic.Int64
}

// spareAfter is how long connections are kept that nobody uses; one always is.
const spareAfter = time.Minute

// errClosed is the cause when the source has been closed.
var errClosed = errors.New("the source is closed")

// openPool opens the reading side of path and one connection, to see that it
// is a database.
func openPool(ctx context.Context, path string, o Options) (*pool, error) {
	mode := "rw" // SQLite itself falls back to read-only where it may not write
	if o.Own {
		mode = "rwc"
	}
	p := &pool{
		dsn:    dsn(path, mode, "busy_timeout(5000)", "query_only(1)", readerCache) + noQuotedTexts,
		places: make(chan struct{}, o.Readers), done: make(chan struct{}),
	}
	err := p.use(ctx, func(c *conn) error {
		if err := checkVersion(ctx, c); err != nil {
			return err
		}
		_, err := c.integer(ctx, "SELECT count(*) FROM sqlite_schema")
		return err
	})
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// use runs fn with a connection that nobody else has meanwhile.
func (p *pool) use(ctx context.Context, fn func(*conn) error) error {
	c, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer func() { p.release(c) }()
	if c == nil {
		if c, err = newConn(ctx, p.dsn); err != nil {
			return wrap(err)
		}
	}
	err = fn(c)
	if err != nil && c.broken() {
		// The connection is of no use any more: its error is the one to tell.
		_ = c.close()
		c = nil
	}
	return err
}

// acquire waits for a connection, nil standing for one to be opened.
func (p *pool) acquire(ctx context.Context) (*conn, error) {
	// Fast path: there is a place.
	select {
	case p.places <- struct{}{}:
		return p.take()
	default:
	}

	// Slow path.
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	select {
	case p.places <- struct{}{}:
		return p.take()
	case <-p.done:
		return nil, unavailable(errClosed)
	case <-ctx.Done():
		p.timeouts.Add(1)
		return nil, wrap(ctx.Err())
	}
}

// take returns the connection of a place that was taken.
func (p *pool) take() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		<-p.places
		return nil, unavailable(errClosed)
	}
	p.acquired.Add(1)
	n := len(p.idle) - 1
	p.spare = min(p.spare, max(n, 0))
	if n < 0 {
		return nil, nil
	}
	c := p.idle[n]
	p.idle = slices.Delete(p.idle, n, n+1)
	return c, nil
}

// release gives a connection back, or closes it when the pool is closed. nil: there is none.
func (p *pool) release(c *conn) {
	defer func() { <-p.places }()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case c == nil:
	case p.closed:
		_ = c.close() // a connection that only reads has nothing to lose
	default:
		p.idle = append(p.idle, c)
		if len(p.idle) > 1 && p.tick == nil {
			p.tick = time.AfterFunc(spareAfter, p.shrink)
		}
	}
}

// shrink closes the connections that nobody has used since it was called last, but for one.
func (p *pool) shrink() {
	for _, c := range p.spared() {
		_ = c.close()
	}
}

// spared takes out what shrink closes.
func (p *pool) spared() []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := max(0, min(p.spare, len(p.idle)-1))
	out := slices.Clone(p.idle[:n])
	p.idle = slices.Delete(p.idle, 0, n)
	p.spare = len(p.idle)
	if p.tick = nil; len(p.idle) > 1 {
		p.tick = time.AfterFunc(spareAfter, p.shrink)
	}
	return out
}

// close closes the pool: connections in use are closed when they come back.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	close(p.done)
	if p.tick != nil {
		p.tick.Stop()
	}
	for _, c := range p.idle {
		_ = c.close()
	}
	p.idle = nil
}

// stats returns a snapshot.
func (p *pool) stats() source.PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return source.PoolStats{
		Max: cap(p.places), InUse: len(p.places), Idle: len(p.idle),
		Waiting: int(p.waiting.Load()), Acquired: uint64(p.acquired.Load()),
		Timeouts: uint64(p.timeouts.Load()),
	}
}

// broken reports whether the connection cannot be used again: it is closed, or
// no transaction can be begun on it.
func (c *conn) broken() bool {
	ctx := context.Background()
	// There is usually no transaction to end, which is an error to SQLite.
	_ = c.execOnce(ctx, "ROLLBACK")
	return c.execOnce(ctx, "BEGIN") != nil || c.execOnce(ctx, "ROLLBACK") != nil
}
