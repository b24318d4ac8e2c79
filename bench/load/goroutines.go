package load

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// reconnectPause is how long a connection that was never answered waits before
// it is made again.
const reconnectPause = 20 * time.Millisecond

// A caller is a connection with a goroutine: the form for other systems and TLS.
type caller struct {
	session
	shard *shard
	pace  pace
	conn  net.Conn
	in    *bufio.Reader
	out   []byte
	began int64 // when the flights at hand were sent
}

// A shard is a worker that several callers share: a histogram for each of
// thousands of connections would fill the memory.
type shard struct {
	*worker
	mu sync.Mutex // guards worker, which is for one goroutine
}

// runGoroutines runs a goroutine for each connection until the run is over.
func runGoroutines(ctx context.Context, r *run) error {
	shards := make([]*shard, r.cfg.Loops)
	for i := range shards {
		shards[i] = &shard{worker: newWorker(r, i, len(shards))}
		r.workers = append(r.workers, shards[i].worker)
	}
	var done sync.WaitGroup
	for i := range r.cfg.Connections {
		c := &caller{session: newSession(r), shard: shards[i%len(shards)]}
		if r.cfg.Rate > 0 {
			c.pace = newPace(r.cfg.Rate, i, r.cfg.Connections)
		}
		done.Go(func() { c.run(ctx) })
	}
	r.conduct(ctx)
	done.Wait()
	return nil
}

// run keeps one connection busy until the run is over.
func (c *caller) run(ctx context.Context) {
	r := c.shard.run
	for !r.over() {
		kind, err := c.connection(ctx)
		if err == nil {
			continue
		}
		c.locked(func() {
			if lost := max(c.reset(), btoi(kind == connectError)); lost > 0 {
				c.shard.tally.fail(kind, lost, err)
			}
		})
		if kind == connectError {
			pause(ctx, reconnectPause)
		}
	}
	c.locked(func() {
		now := r.now()
		for ; r.cfg.Rate > 0 && c.n > 0; c.n-- {
			c.shard.unfinished(c.oldest().start, now)
			c.at = (c.at + 1) % len(c.flights)
		}
		if r.cfg.Rate > 0 {
			c.pace.overdue(c.shard.worker, now)
		}
	})
}

// btoi returns 1 for true.
func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// locked calls f while it owns the shard, and publishes what f counted.
func (c *caller) locked(f func()) {
	c.shard.mu.Lock()
	defer c.shard.mu.Unlock()
	f()
	c.shard.publish()
}

// connection makes a connection and asks on it until it ends. A nil error means
// that nothing was lost.
func (c *caller) connection(ctx context.Context) (errorKind, error) {
	r := c.shard.run
	conn, err := dial(ctx, r)
	if err != nil {
		return connectError, err
	}
	defer func() { _ = conn.Close() }()
	c.conn, c.in, c.written = conn, bufio.NewReaderSize(conn, 16<<10), false
	for !r.over() {
		more, kind, err := c.exchange(ctx)
		if err != nil || !more {
			return kind, err
		}
	}
	return 0, nil
}

// dial connects to the server, with TLS if its URL says so. Certificates are
// not verified: what is measured is a server that its owner has started.
func dial(ctx context.Context, r *run) (net.Conn, error) {
	d := net.Dialer{Timeout: r.cfg.Timeout}
	conn, err := d.DialContext(ctx, "tcp", r.to.network)
	if err != nil || !r.to.tls {
		return conn, err
	}
	name, _, err := net.SplitHostPort(r.to.network)
	if err != nil {
		name = r.to.host
	}
	secured := tls.Client(conn, &tls.Config{
		ServerName: name, InsecureSkipVerify: true, NextProtos: []string{"http/1.1"},
	})
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secured, nil
}

// exchange sends a batch of requests and reads its answers. more is whether the
// connection is good for another one.
func (c *caller) exchange(ctx context.Context) (more bool, kind errorKind, err error) {
	r := c.shard.run
	if r.cfg.Rate > 0 && !c.await(ctx) {
		return true, 0, nil
	}
	c.locked(c.askAll)
	if c.n == 0 {
		return true, 0, nil
	}
	// An answer that is late counts as lost, in an open loop at its end too.
	deadline := r.began.Add(time.Duration(c.began) + r.cfg.Timeout)
	if err := c.conn.SetDeadline(deadline); err != nil {
		return false, closedError, err
	}
	if _, err := c.conn.Write(c.out); err != nil {
		return false, closedError, err
	}
	for c.n > 0 {
		more, kind, err := c.read()
		if err != nil || !more {
			return false, kind, err
		}
	}
	return true, 0, nil
}

// await waits until a request of an open loop is due, and reports whether one
// is: not at the end of the run.
func (c *caller) await(ctx context.Context) bool {
	r := c.shard.run
	due := c.pace.due()
	if due >= r.closes {
		pause(ctx, reconnectPause)
		return false
	}
	pause(ctx, time.Duration(due-r.now()))
	return ctx.Err() == nil
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// askAll fills c.out with what may be asked now.
func (c *caller) askAll() {
	w := c.shard.worker
	now := w.run.now()
	c.out, c.began = c.out[:0], now
	for c.n < len(c.flights) {
		start := now
		if w.run.cfg.Rate > 0 {
			if start = c.pace.due(); start > now || start >= w.run.closes {
				return
			}
			c.pace.next++
		}
		c.out = c.ask(w, c.out, start, now)
	}
}

// read reads once and takes the answers that have come.
func (c *caller) read() (more bool, kind errorKind, err error) {
	// Peek of one byte more than there is reads from the connection once.
	if _, err = c.in.Peek(min(c.in.Buffered()+1, c.in.Size())); err != nil {
		return c.readFailed(err)
	}
	data, _ := c.in.Peek(c.in.Buffered())
	now, closes := c.shard.run.now(), false
	c.locked(func() {
		var rest []byte
		rest, closes, err = c.take(c.shard.worker, data, now)
		_, _ = c.in.Discard(len(data) - len(rest))
	})
	switch {
	case err != nil:
		return false, framingError, err
	case closes && c.n > 0:
		return false, closedError, errClosed
	case c.in.Buffered() == c.in.Size():
		return false, framingError, errHeadTooLong
	}
	return !closes, 0, nil
}

// readFailed says what the error of a read means for what was asked.
func (c *caller) readFailed(err error) (more bool, kind errorKind, _ error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, timeoutError, err
	}
	c.locked(func() { c.session.ended(c.shard.worker, c.shard.run.now()) })
	if c.n == 0 {
		return false, 0, nil
	}
	return false, closedError, errClosed
}
