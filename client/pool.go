package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/client/wire"
)

// A pool is a few connections to one server. A request takes the less busy of
// two random ones, and the first when both are idle; one that is broken, or going
// away, is replaced by the request that meets it.
type pool struct {
	address string
	options wire.Options
	slots   []slot

	mu      sync.Mutex // guards closed, and orders it before running's Wait
	closed  bool
	running sync.WaitGroup // connections that are drained
}

// A slot holds one connection.
type slot struct {
	busy atomic.Int32 // requests under way
	conn atomic.Pointer[wire.Conn]

	mu       sync.Mutex // guards what follows
	dialing  chan struct{}
	failures int
	notUntil time.Time // when to dial again at the earliest
	err      error     // of the last dial
}

// The pauses between attempts to connect.
const (
	firstRedial = 10 * time.Millisecond
	maxRedial   = 2 * time.Second
)

// newPool returns a pool of n connections, none of which is made yet.
func newPool(address string, n int, o wire.Options) *pool {
	return &pool{address: address, options: o, slots: make([]slot, n)}
}

// pick returns a connection, and the slot whose busy is to be counted down when
// the request has ended.
func (p *pool) pick(ctx context.Context) (*wire.Conn, *slot, error) {
	s := p.lighter()
	s.busy.Add(1)
	if c := s.conn.Load(); c != nil && !c.GoingAway() {
		return c, s, nil // Fast path: no lock of ours is taken.
	}
	// Slow path: there is none yet, or it has ended.
	c, err := p.dial(ctx, s)
	if err != nil {
		s.busy.Add(-1)
		if c, other := p.any(); c != nil {
			return c, other, nil
		}
		return nil, nil, err
	}
	return c, s, nil
}

// lighter returns the slot with fewer requests of two random ones.
func (p *pool) lighter() *slot {
	n := len(p.slots)
	i := rand.IntN(n)
	s := &p.slots[i]
	if n == 1 {
		return s
	}
	other := &p.slots[(i+1+rand.IntN(n-1))%n]
	busy, others := s.busy.Load(), other.busy.Load()
	if busy == 0 && others == 0 {
		return &p.slots[0] // who is alone stays on one connection, see wire's turns
	}
	if others < busy {
		return other
	}
	return s
}

// any returns any connection that works, for a request whose own could not be
// made.
func (p *pool) any() (*wire.Conn, *slot) {
	for i := range p.slots {
		s := &p.slots[i]
		if c := s.conn.Load(); c != nil && !c.GoingAway() {
			s.busy.Add(1)
			return c, s
		}
	}
	return nil, nil
}

// dial connects a slot. Whoever else wants that waits for the same attempt.
func (p *pool) dial(ctx context.Context, s *slot) (*wire.Conn, error) {
	s.mu.Lock()
	for {
		if c := s.conn.Load(); c != nil && !c.GoingAway() {
			s.mu.Unlock()
			return c, nil
		}
		if s.dialing == nil {
			break
		}
		dialing := s.dialing
		s.mu.Unlock()
		select {
		case <-dialing:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		s.mu.Lock()
	}
	if wait := time.Until(s.notUntil); wait > 0 {
		err := s.err
		s.mu.Unlock()
		return nil, err
	}
	s.dialing = make(chan struct{})
	s.mu.Unlock()
	return p.dialNow(ctx, s)
}

// dialNow connects a slot that nobody else is connecting.
func (p *pool) dialNow(ctx context.Context, s *slot) (*wire.Conn, error) {
	c, err := wire.Dial(ctx, p.address, p.options)
	var old *wire.Conn
	if err == nil {
		p.mu.Lock()
		if p.closed {
			err = wire.ErrClosed
		} else {
			old = s.conn.Swap(c)
			p.retire(old)
		}
		p.mu.Unlock()
		if err != nil {
			_ = c.Close()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.dialing)
	s.dialing, s.err = nil, err
	if err == nil {
		s.failures = 0
		return c, nil
	}
	if ctx.Err() == nil { // the server's failure, not the caller's impatience
		pause := min(firstRedial<<min(s.failures, 16), maxRedial)
		s.failures++
		s.notUntil = time.Now().Add(pause/2 + rand.N(pause))
	}
	return nil, err
}

// retire lets what is open on a connection end, and closes it. p.mu is held.
func (p *pool) retire(c *wire.Conn) {
	if c == nil {
		return
	}
	p.running.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), defaultTimeout)
		defer cancel()
		_ = c.Shutdown(ctx)
	})
}

// close closes the connections, and waits for all goroutines.
func (p *pool) close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	var errs []error
	for i := range p.slots {
		if c := p.slots[i].conn.Load(); c != nil {
			errs = append(errs, c.Close())
		}
	}
	p.running.Wait()
	return errors.Join(errs...)
}

// defaultWirePort is that of the server.
const defaultWirePort = "9900"

// withPort returns an address with the default port if it has none.
func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(host, defaultWirePort)
}
