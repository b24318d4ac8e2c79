package proxy

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A target is an upstream as requests name it: one or several origins, the
// addresses they have at present, and the connections to them.
type target struct {
	srv       *Server
	key       string
	secure    bool
	authority []byte
	passHost  bool // Host is the client's
	trusted   bool // named by the operator: any address will do
	origins   []origin

	list       atomic.Pointer[addresses]
	refreshing atomic.Bool
	resolving  sync.Mutex // held while names are resolved, so that one does it

	requests, retries    atomic.Int64
	queue                queue
	protocolKnown, http2 atomic.Bool // what it speaks; it has agreed on HTTP/2
	transport            *http.Transport
}

// named returns how requests name the target, with its port, and its scheme; of nil
// nothing.
func (t *target) named() (host, scheme string) {
	switch {
	case t == nil:
		return "", ""
	case t.secure:
		return string(t.authority), "https"
	}
	return string(t.authority), "http"
}

// addresses are the addresses of a target, as resolved at some time.
type addresses struct {
	all   []*backend
	at    int64
	fixed bool // nothing had to be resolved
}

// newTarget returns a target that has no connections yet.
func newTarget(s *Server, origins []origin, secure bool) *target {
	t := &target{srv: s, secure: secure, origins: origins}
	t.key = "http://"
	if secure {
		t.key = "https://"
	}
	for i, o := range origins {
		if i > 0 {
			t.key += ","
		}
		t.key += o.String()
	}
	t.authority = []byte(origins[0].authority())
	t.queue.max = s.opts.MaxConns
	if secure && s.opts.HTTP2 {
		t.transport = newTransport(t)
	}
	return t
}

// acquire returns a connection to the target: an idle one, unless fresh, or a
// new one. The caller gives it back by release or discard.
func (t *target) acquire(c *client, fresh bool) (*upstream, error) {
	t.requests.Add(1)
	if err := t.queue.enter(c); err != nil {
		return nil, err
	}
	up, err := t.connect(c, fresh)
	if err != nil {
		t.queue.leave()
	}
	return up, err
}

// connect is acquire without the queue.
func (t *target) connect(c *client, fresh bool) (*upstream, error) {
	list, err := t.resolved(c)
	if err != nil {
		return nil, err
	}
	var last *backend
	for tries := min(len(list), 3); ; tries-- {
		b := t.pick(list, last)
		if b == nil {
			return nil, errOpen
		}
		if !fresh {
			if up := b.take(); up != nil {
				return up, nil
			}
		}
		up, err := b.open(c, tries > 1)
		if err == nil {
			return up, nil
		}
		if c.reason.Load() == reasonGone {
			return nil, errClientGone
		}
		if errors.Is(err, errDenied) || errors.Is(err, errUseHTTP2) {
			return nil, err
		}
		b.failed(t.srv, true)
		if tries <= 1 || b == last {
			return nil, err
		}
		last = b
	}
}

// pick chooses the less busy of two addresses taken at random (Mitzenmacher,
// "The power of two choices"), leaving out those that are ejected and, when
// there is another, the one that has just failed.
func (t *target) pick(list []*backend, last *backend) *backend {
	if len(list) == 1 {
		if list[0].ejected(t.srv.now.Load()) {
			return nil
		}
		return list[0]
	}
	now := t.srv.now.Load()
	var best *backend
	for range 2 {
		at := rand.IntN(len(list))
		for i := range list {
			b := list[(at+i)%len(list)]
			if b.ejected(now) || b == last {
				continue
			}
			if best == nil || b != best && b.cost() < best.cost() {
				best = b
			}
			break
		}
	}
	if best == nil && last != nil && !last.ejected(now) {
		return last
	}
	return best
}

// budget reports whether a request may be sent again: of a hundred requests
// twenty may, so that an upstream in trouble is not given twice the load.
func (t *target) budget() bool {
	const free = 10
	n := t.retries.Add(1)
	if n > free+t.requests.Load()/5 {
		t.retries.Add(-1)
		return false
	}
	return true
}

// resolved returns the target's addresses. Those that are known are good while
// newer ones are looked up.
func (t *target) resolved(c *client) ([]*backend, error) {
	l := t.list.Load()
	if l == nil {
		return t.resolveFirst(c)
	}
	if !l.fixed && t.srv.now.Load()-l.at > int64(t.srv.opts.DNSRefresh) &&
		t.refreshing.CompareAndSwap(false, true) {
		go func() {
			defer t.refreshing.Store(false)
			if err := t.resolve(context.Background()); err != nil {
				t.srv.log.Warn("the old addresses are kept", "upstream", t.key, "err", err)
			}
		}()
	}
	return l.all, nil
}

// resolveFirst resolves the names for the first time.
func (t *target) resolveFirst(c *client) ([]*backend, error) {
	t.resolving.Lock()
	defer t.resolving.Unlock()
	if l := t.list.Load(); l != nil {
		return l.all, nil
	}
	ctx, done := c.cancellable(t.srv.opts.Dial)
	defer done()
	if err := t.resolve(ctx); err != nil {
		if c.reason.Load() == reasonGone {
			return nil, errClientGone
		}
		return nil, err
	}
	return t.list.Load().all, nil
}

// resolveTimeout bounds a refresh.
const resolveTimeout = 10 * time.Second

// resolve looks the origins up and keeps the connections to addresses that
// stay.
func (t *target) resolve(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	next := &addresses{fixed: true}
	var firstErr error
	for _, o := range t.origins {
		found, literal, err := t.srv.lookup(ctx, o)
		if err != nil {
			firstErr = errors.Join(firstErr, fmt.Errorf("resolve %s: %w", o.name, err))
			found = t.kept(o)
		}
		next.fixed = next.fixed && literal
		for _, a := range found {
			next.all = append(next.all, t.backend(o, a))
		}
	}
	old := t.list.Load()
	if len(next.all) == 0 {
		if old != nil {
			old := *old
			old.at = t.srv.now.Load()
			t.list.Store(&old)
		}
		if firstErr == nil {
			firstErr = errNoAddress
		}
		return firstErr
	}
	next.at = t.srv.now.Load()
	t.list.Store(next)
	if old != nil {
		for _, b := range old.all {
			if !slices.Contains(next.all, b) {
				b.retire()
			}
		}
	}
	return nil
}

// kept returns the addresses that an origin had.
func (t *target) kept(o origin) (found []netip.Addr) {
	if l := t.list.Load(); l != nil {
		for _, b := range l.all {
			if b.origin == o {
				found = append(found, b.addr.Addr())
			}
		}
	}
	return found
}

// backend returns the backend at an address, the present one if there is one.
func (t *target) backend(o origin, a netip.Addr) *backend {
	addr := netip.AddrPortFrom(a, o.port)
	if l := t.list.Load(); l != nil {
		for _, b := range l.all {
			if b.addr == addr && b.origin == o {
				return b
			}
		}
	}
	return newBackend(t, o, addr)
}

// backends returns the target's present backends.
func (t *target) backends() []*backend {
	if l := t.list.Load(); l != nil {
		return l.all
	}
	return nil
}

// several reports whether there is a choice of addresses.
func (t *target) several() bool { return len(t.backends()) > 1 }

// active returns how many connections are in use.
func (t *target) active() (n int64) {
	for _, b := range t.backends() {
		n += b.inflight.Load()
	}
	return n
}

// close closes what is idle.
func (t *target) close() {
	for _, b := range t.backends() {
		b.retire()
	}
	if t.transport != nil {
		t.transport.CloseIdleConnections()
	}
}
