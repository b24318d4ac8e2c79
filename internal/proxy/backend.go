package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A backend is one address of a target, with the connections to it.
type backend struct {
	target *target
	origin origin
	addr   netip.AddrPort
	name   string // for logs
	key    string // of its connections at net/http; no other has it

	mu      sync.Mutex  // guards idle and retired
	idle    []*upstream // the last one was used last
	retired bool

	inflight atomic.Int64
	opened   atomic.Int64
	latency  atomic.Int64 // moving average, ns

	failures  atomic.Int32 // in a row
	ejections atomic.Int32 // ejections in a row
	until     atomic.Int64 // ejected until then; 0: not
}

// lastBackend numbers the backends.
var lastBackend atomic.Uint64

// newBackend returns a backend without connections.
func newBackend(t *target, o origin, addr netip.AddrPort) *backend {
	b := &backend{target: t, origin: o, addr: addr, name: addr.String()}
	b.key = "backend-" + strconv.FormatUint(lastBackend.Add(1), 10) + ".invalid:443"
	if o.path != "" {
		b.name = o.String()
	}
	return b
}

// An upstream is a connection to a backend. It is one client's, or idle.
type upstream struct {
	*socket
	backend *backend
	born    int64
	idle    int64         // since when
	keep    time.Duration // how long it may be idle
	uses    int
}

// take returns an idle connection that is fit to be used, or nil.
func (b *backend) take() *upstream {
	now := b.target.srv.now.Load()
	for {
		b.mu.Lock()
		n := len(b.idle)
		if n == 0 {
			b.mu.Unlock()
			return nil
		}
		up := b.idle[n-1]
		b.idle[n-1] = nil
		b.idle = b.idle[:n-1]
		b.mu.Unlock()
		// An idle connection that has something to say is at its end, or
		// holds an answer that nobody has asked for. A plain one is looked at
		// when it is asked (see socket.ask).
		if !up.stale(now) && (up.plain() || up.lookOnce() == peekNothing) {
			up.uses++
			b.inflight.Add(1)
			return up
		}
		up.end()
	}
}

// stale reports whether a connection has been idle for too long, or is too old.
func (up *upstream) stale(now int64) bool {
	o := &up.backend.target.srv.opts
	return now-up.idle >= int64(up.keep) || now-up.born >= int64(o.MaxAge)
}

// release makes the connection idle. keep is how long the upstream says that
// it keeps it: 0 says nothing, less that it does not.
func (up *upstream) release(keep time.Duration) {
	b := up.backend
	s := b.target.srv
	up.keep = idleConn
	if keep > 0 {
		up.keep = min(up.keep, keep)
	}
	up.idle = s.now.Load()
	b.mu.Lock()
	fits := keep >= 0 && !b.retired && len(b.idle) < s.opts.IdleConns
	if fits {
		b.idle = append(b.idle, up)
	}
	b.mu.Unlock()
	if !fits {
		up.end()
	}
	b.inflight.Add(-1)
	b.target.queue.leave()
}

// discard closes a connection that is in use.
func (up *upstream) discard() {
	up.end()
	up.backend.inflight.Add(-1)
	up.backend.target.queue.leave()
}

// end closes the connection.
func (up *upstream) end() {
	up.close()
	up.backend.target.srv.count.upstreams.Add(-1)
}

// retire closes what is idle, and what becomes so.
func (b *backend) retire() {
	b.mu.Lock()
	idle := b.idle
	b.idle, b.retired = nil, true
	b.mu.Unlock()
	for _, up := range idle {
		up.end()
	}
}

// reap closes the connections that have been idle for too long, and at most n
// besides, the oldest first. It returns how many it has closed.
func (b *backend) reap(now int64, n int) (closed int) {
	b.mu.Lock()
	for closed < len(b.idle) && (b.idle[closed].stale(now) || closed < n) {
		closed++
	}
	old := append([]*upstream(nil), b.idle[:closed]...)
	b.idle = append(b.idle[:0], b.idle[closed:]...)
	b.mu.Unlock()
	for _, up := range old {
		up.end()
	}
	return closed
}

// open connects. hurried says that another address can be tried.
func (b *backend) open(c *client, hurried bool) (*upstream, error) {
	s := b.target.srv
	if !b.target.trusted && b.origin.path == "" && !s.opts.permits(b.addr.Addr()) {
		return nil, fmt.Errorf("%s is %s: %w", b.origin.name, b.addr.Addr(), errDenied)
	}
	s.makeRoom()
	limit := s.opts.Dial
	if hurried {
		limit = min(limit, hurriedDial)
	}
	ctx, done := c.cancellable(limit)
	defer done()
	conn, under, err := b.dial(ctx)
	if err != nil {
		return nil, err
	}
	s.count.upstreams.Add(1)
	b.opened.Add(1)
	b.inflight.Add(1)
	return &upstream{
		socket: newSocket(conn, under), backend: b, born: s.now.Load(), uses: 1,
	}, nil
}

// hurriedDial is how long one of several addresses has to accept.
const hurriedDial = 2 * time.Second

// keepAlive asks a silent peer whether it is there.
const keepAlive = 15 * time.Second

// dial connects and, where the target wants it, agrees on TLS. The name that is
// verified is that of the origin, whatever its address.
func (b *backend) dial(ctx context.Context) (conn, under net.Conn, err error) {
	d := net.Dialer{KeepAlive: keepAlive}
	network, address := "tcp", b.addr.String()
	if b.origin.path != "" {
		network, address = "unix", b.origin.path
	}
	under, err = d.DialContext(ctx, network, address)
	if err != nil || !b.target.secure {
		return under, under, err
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	// HTTP/2 is offered while it is not known what the upstream speaks (see learn): where
	// it is, only Upgrade is left for these connections, and needs HTTP/1.
	of := b.target
	learning := of.transport != nil && !of.http2.Load() && !of.protocolKnown.Load()
	config := b.target.srv.tlsConfig(b.origin.name, learning)
	t := tls.Client(under, config)
	if err := t.HandshakeContext(ctx); err != nil {
		_ = under.Close()
		return nil, nil, fmt.Errorf("TLS with %s: %w", b.origin.name, err)
	}
	if t.ConnectionState().NegotiatedProtocol == "h2" {
		_ = t.Close()
		b.target.http2.Store(true)
		return nil, nil, errUseHTTP2
	}
	return t, under, nil
}

const handshakeTimeout = 10 * time.Second

// idleConn is how long an upstream connection is kept that nobody uses.
const idleConn = 55 * time.Second

// cancellable returns a context that ends when the client leaves, and after a
// time. done must be called.
func (c *client) cancellable(limit time.Duration) (ctx context.Context, done func()) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	c.onCancel(cancel)
	c.due.Store(0)
	c.since.Store(c.srv.now.Load())
	return ctx, func() {
		c.since.Store(0)
		c.onCancel(nil)
		cancel()
	}
}
