package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/client/wire"
	wirehttp "github.com/hotrow/hotrow/internal/wire/exchange"
)

// A remote is the other end of the wire: a hotrow that has the upstreams near it,
// or is the upstream. A few connections to it carry all requests.
type remote struct {
	srv     *Server
	name    string // for logs
	slots   []*slot
	unnamed *target // for requests that name no upstream
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	requests, streams, opened, failed atomic.Int64

	mu      sync.Mutex    // guards what follows
	changed chan struct{} // closed when a slot has got a connection, or none
	why     error         // the last try has failed so; nil: one is under way
	lost    time.Time     // when a connection was there last; zero: never
}

// A slot is the place of one connection, which is made again when it is lost.
type slot struct {
	address string
	tls     *tls.Config
	conn    atomic.Pointer[wire.Conn]
	busy    atomic.Int64 // exchanges
	next    chan struct{}
}

// The bounds of what is waited for between two tries to connect.
const (
	firstBackOff = 50 * time.Millisecond
	lastBackOff  = 5 * time.Second
)

// wireAddress takes wire:// or wire+tls:// off.
func wireAddress(upstream string) (address string, secure, ok bool) {
	if address, ok = strings.CutPrefix(upstream, "wire://"); ok {
		return strings.TrimSuffix(address, "/"), false, true
	}
	address, ok = strings.CutPrefix(upstream, "wire+tls://")
	return strings.TrimSuffix(address, "/"), true, ok
}

// newRemote returns the far end that is at any of the upstreams, and begins to
// connect.
func newRemote(s *Server, upstreams []string) (*remote, error) {
	f := &remote{srv: s, name: strings.Join(upstreams, ","), changed: make(chan struct{})}
	for i := range max(s.opts.WireConns, len(upstreams)) {
		text := upstreams[i%len(upstreams)]
		address, secure, ok := wireAddress(text)
		host, port, err := net.SplitHostPort(address)
		if !ok || err != nil || port == "" || host == "" {
			return nil, fmt.Errorf("upstream %q: want wire://host:port or wire+tls://host:port, "+
				"and nothing else beside it", text)
		}
		one := &slot{address: address, next: make(chan struct{}, 1)}
		if secure {
			one.tls = s.tls.Clone()
			if one.tls.ServerName == "" {
				one.tls.ServerName = host
			}
		}
		f.slots = append(f.slots, one)
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.unnamed = &target{srv: s, key: f.name, passHost: true, trusted: true, remote: f}
	f.unnamed.queue.max = s.opts.MaxConns
	f.unnamed.list.Store(f.addresses(f.unnamed, origin{}))
	for _, one := range f.slots {
		f.running.Go(func() { f.keep(one) })
	}
	return f, nil
}

// addresses returns the one backend of a target that is reached through f.
func (f *remote) addresses(t *target, o origin) *addresses {
	return &addresses{all: []*backend{{target: t, origin: o, name: f.name}}, fixed: true}
}

// keep keeps a slot connected until f is closed.
func (f *remote) keep(one *slot) {
	wait := firstBackOff
	for f.ctx.Err() == nil {
		conn, err := f.dial(one)
		if err != nil {
			f.failed.Add(1)
			f.note(err)
			if wait == firstBackOff && f.ctx.Err() == nil {
				f.srv.log.Warn("the far end cannot be reached", "upstream", one.address, "err", err)
			}
			select { // half of the time is chance, so that slots do not come together
			case <-f.ctx.Done():
			case <-time.After(wait/2 + rand.N(wait/2)):
			}
			wait = min(2*wait, lastBackOff)
			continue
		}
		wait = firstBackOff
		f.opened.Add(1)
		select { // what was meant for an earlier connection
		case <-one.next:
		default:
		}
		one.conn.Store(conn)
		f.note(nil)
		select {
		case <-conn.Done():
		case <-one.next:
		case <-f.ctx.Done():
		}
		f.lose()
		one.conn.Store(nil)
		f.retire(conn)
	}
}

// retire lets a connection end when what is open on it has ended.
func (f *remote) retire(conn *wire.Conn) {
	f.running.Go(func() { _ = conn.Shutdown(f.ctx) }) // closed in either case
}

// dial makes a connection.
func (f *remote) dial(one *slot) (*wire.Conn, error) {
	o := &f.srv.opts
	ctx, cancel := context.WithTimeout(f.ctx, o.Dial)
	defer cancel()
	return wire.Dial(ctx, one.address, wire.Options{
		Name: "hotrow proxy", Token: o.Token, TLS: one.tls, HandshakeTimeout: o.Dial,
		MaxMessage: maxAnswer,
	})
}

// maxAnswer is the longest answer in one message that is accepted: serve sends
// documents and lists so.
const maxAnswer = 9 << 20

// note tells those who wait how the last try has ended.
func (f *remote) note(why error) {
	f.mu.Lock()
	f.why = why
	close(f.changed)
	f.changed = make(chan struct{})
	f.mu.Unlock()
}

// lose notes that a connection is about to be there no more.
func (f *remote) lose() {
	f.mu.Lock()
	f.lost = time.Now()
	f.mu.Unlock()
}

// take returns a connection, the less busy of two taken at random. Who takes it
// calls done. One that there is not is waited for, for as long as a far end has to
// accept, since the last one was there: an exit that is started anew costs no request,
// and one that stays away, or never was there, is not waited for by each.
func (f *remote) take(ctx *stopper) (*slot, *wire.Conn, error) {
	began := time.Now()
	for {
		f.mu.Lock()
		changed, why, from := f.changed, f.why, f.lost
		f.mu.Unlock()
		if one, conn := f.pick(); conn != nil {
			one.busy.Add(1)
			return one, conn, nil
		}
		if why == nil {
			from = began
		}
		left := time.Until(from.Add(f.srv.opts.Dial))
		if left <= 0 {
			return nil, nil, awayError(why, errSlowRemote)
		}
		timer := time.NewTimer(left)
		select {
		case <-changed:
		case <-ctx.Done():
			timer.Stop()
			return nil, nil, awayError(why, ctx.Err())
		case <-timer.C:
		}
		timer.Stop()
	}
}

// awayError says why there is no connection; other is for when nothing is known.
func awayError(why, other error) error {
	if why == nil {
		return other
	}
	return &statusError{503, "the far end is away: " + why.Error()}
}

// pick returns the less busy of two slots that have a connection.
func (f *remote) pick() (best *slot, conn *wire.Conn) {
	at := rand.IntN(len(f.slots))
	seen := 0
	for i := range f.slots {
		one := f.slots[(at+i)%len(f.slots)]
		c := one.conn.Load()
		if c == nil {
			continue
		}
		if best == nil || one.busy.Load() < best.busy.Load() {
			best, conn = one, c
		}
		if seen++; seen == 2 {
			break
		}
	}
	return best, conn
}

// leave has a connection whose far end goes away be replaced.
func (f *remote) leave(one *slot, conn *wire.Conn) {
	f.lose() // before others can see it
	if one.conn.CompareAndSwap(conn, nil) {
		select {
		case one.next <- struct{}{}:
		default:
		}
	}
}

// look replaces the connections whose far end goes away.
func (f *remote) look() {
	for _, one := range f.slots {
		if c := one.conn.Load(); c != nil && c.GoingAway() {
			f.leave(one, c)
		}
	}
}

// stats returns the counts.
func (f *remote) stats() *RemoteStats {
	st := &RemoteStats{
		Opened: f.opened.Load(), Failed: f.failed.Load(), Requests: f.requests.Load(),
		Streams: f.streams.Load(),
	}
	for _, one := range f.slots {
		if one.conn.Load() != nil {
			st.Connections++
		}
	}
	return st
}

// close ends the connections.
func (f *remote) close() {
	f.cancel()
	f.running.Wait()
}

// What can go wrong with the far end besides.
var (
	errSlowRemote = &statusError{504, "the far end did not accept a connection in time"}
	errLostRemote = &statusError{502, "the connection to the far end was lost before the answer"}
	errBadRemote  = &statusError{502, "the far end sent an invalid answer"}
)

// target returns the target of a name that is reached through f.
func (f *remote) target(o origin, secure bool) *target {
	t := newTarget(f.srv, []origin{o}, secure)
	t.remote, t.scheme, t.transport = f, wirehttp.HTTP, nil
	if secure {
		t.scheme = wirehttp.HTTPS
	}
	t.list.Store(f.addresses(t, o))
	return t
}
