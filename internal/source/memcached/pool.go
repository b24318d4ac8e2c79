package memcached

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// A pool bounds the connections to a server and keeps those that are idle.
type pool struct {
	places chan struct{} // one for each connection in use

	mu     sync.Mutex // guards idle and closed
	idle   []*conn    // the last one to come back is the first to go
	closed bool
}

// count returns how many connections are idle.
func (p *pool) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// take returns an idle connection that is not older than lifetime, or nil.
func (p *pool) take() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 {
		last := len(p.idle) - 1
		c := p.idle[last]
		p.idle[last] = nil
		p.idle = p.idle[:last]
		if time.Since(c.born) < lifetime {
			return c
		}
		c.close()
	}
	return nil
}

// put gives a connection back whose last answer was read to its end.
func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.close()
		return
	}
	p.idle = append(p.idle, c)
}

// empty closes the idle connections: the server that they lead to has gone.
func (p *pool) empty() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		c.close()
	}
	p.idle = nil
}

// close closes the idle connections, and every other when it comes back.
func (p *pool) close() {
	p.empty()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// acquire waits for a place. The caller gives it back.
func (s *Source) acquire(ctx context.Context) (release func(), err error) {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	wait := time.NewTimer(s.opts.AcquireTimeout)
	defer wait.Stop()
	select {
	case s.pool.places <- struct{}{}:
		s.acquired.Add(1)
		return func() { <-s.pool.places }, nil
	case <-wait.C:
		s.timeouts.Add(1)
		return nil, &source.Error{
			Class:   source.Unavailable,
			Message: fmt.Sprintf("no connection to memcached within %v", s.opts.AcquireTimeout),
			Hint:    "the server is slow or pool.max is too small",
			After:   retryAfter,
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// use runs fn on a connection, which has so many answers' time. It runs it
// again, once, on a new connection when an idle one turns out to be dead: that
// is how a server that has been restarted shows. fn says whether that is safe.
func (s *Source) use(
	ctx context.Context, answers int, fn func(*conn) error, again func() bool,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	release, err := s.acquire(ctx)
	if err != nil {
		return s.classify(ctx, err)
	}
	defer release()
	ctx, end := context.WithTimeout(ctx, time.Duration(answers)*s.opts.StatementTimeout)
	defer end()
	if c := s.pool.take(); c != nil {
		err = s.on(ctx, c, fn)
		if err == nil || ctx.Err() != nil || !lost(err) || !again() {
			return s.classify(ctx, err)
		}
		s.pool.empty()
	}
	c, err := s.dial(ctx)
	if err == nil {
		err = s.on(ctx, c, fn)
	}
	return s.classify(ctx, err)
}

// on runs fn on c, and gives c back if it can be used again: after an error
// nobody knows what else the server will send.
func (s *Source) on(ctx context.Context, c *conn, fn func(*conn) error) error {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	err := fn(c)
	if !stop() || err != nil || c.r.Buffered() > 0 {
		c.close()
		return err
	}
	s.pool.put(c)
	return nil
}

// dial makes a connection, shows who we are if the URL says so, and looks who
// answers.
func (s *Source) dial(ctx context.Context) (*conn, error) {
	d := net.Dialer{Timeout: s.opts.AcquireTimeout}
	nc, err := d.DialContext(ctx, s.at.network, s.at.address)
	if ctx.Err() != nil {
		if nc != nil {
			_ = nc.Close()
		}
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, &source.Error{
			Class: source.Unavailable, After: retryAfter, Err: err, Message: err.Error(),
			Hint: "is memcached running there? See sources.NAME.url",
		}
	}
	c := newConn(nc, s.opts.MaxValue)
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	if s.at.user != "" {
		err = c.login(s.at.user, s.at.password)
	}
	if err == nil {
		err = s.recognize(c)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}
