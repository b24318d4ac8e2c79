package sqlite

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/source"
)

// A pool is the connections that read. They are opened when they are first
// needed and cannot write.
type pool struct {
	dsn    string
	free   chan *conn    // as many places as connections; nil: not opened yet
	done   chan struct{} // closed by close
	closed atomic.Bool
	size   int

	waiting, acquired, timeouts, opened atomic.Int64
}

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
		dsn:  dsn(path, mode, "busy_timeout(5000)", "query_only(1)") + noQuotedTexts,
		size: o.Readers,
		free: make(chan *conn, o.Readers), done: make(chan struct{}),
	}
	for range o.Readers {
		p.free <- nil
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
		p.opened.Add(1)
	}
	err = fn(c)
	if err != nil && c.broken() {
		p.opened.Add(-1)
		// The connection is of no use any more: its error is the one to tell.
		_ = c.close()
		c = nil
	}
	return err
}

// acquire waits for a connection, nil standing for one to be opened.
func (p *pool) acquire(ctx context.Context) (*conn, error) {
	select {
	case c := <-p.free:
		p.acquired.Add(1)
		return c, nil
	case <-p.done:
		return nil, unavailable(errClosed)
	default:
	}
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	select {
	case c := <-p.free:
		p.acquired.Add(1)
		return c, nil
	case <-p.done:
		return nil, unavailable(errClosed)
	case <-ctx.Done():
		p.timeouts.Add(1)
		return nil, wrap(ctx.Err())
	}
}

// release gives a connection back, or closes it when the pool is closed.
func (p *pool) release(c *conn) {
	p.free <- c
	if p.closed.Load() {
		p.drain()
	}
}

// drain closes the connections that are free.
func (p *pool) drain() {
	for {
		select {
		case c := <-p.free:
			if c != nil {
				_ = c.close() // a connection that only reads has nothing to lose
			}
		default:
			return
		}
	}
}

// close closes the pool: connections in use are closed when they come back.
func (p *pool) close() {
	if p.closed.Swap(true) {
		return
	}
	close(p.done)
	p.drain() // what is in use is closed when it is released
}

// stats returns a snapshot.
func (p *pool) stats() source.PoolStats {
	free := len(p.free)
	inUse := p.size - free
	return source.PoolStats{
		Max: p.size, InUse: inUse, Idle: max(0, int(p.opened.Load())-inUse),
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
