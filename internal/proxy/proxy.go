// Package proxy relays HTTP/1.1 requests to upstreams over connections that
// stay open, so that programs which connect anew for each request do not.
//
// It relays bytes: a head is parsed once, strictly, what is for one hop only is
// taken out, and all else goes on in its own spelling and order; bodies are
// followed byte by byte and flushed as they come. One goroutine serves a client
// connection. It takes the flags, the Host rule and the headers of chocon
// (https://github.com/kazeburo/chocon).
//
// It caches nothing, and opens no listener: it serves those that it is given.
package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/trace"
)

// Options say how a Server works. A zero field takes its default.
type Options struct {
	// Upstreams get every request: http://host:port, https://host:port or
	// unix:/path. Without them a request names its upstream.
	Upstreams []string

	Admit admit.Bounds // of the connections of each listener

	IdleConns int // kept for each address of an upstream: 256
	MaxConns  int // in use for each upstream; more wait in line; 0: no bound

	Idle      time.Duration // of a client between requests: 60 s
	Header    time.Duration // for a client to send a head: 10 s
	Read      time.Duration // without progress of a request's body: 30 s
	Write     time.Duration // without progress in taking what is written: 90 s
	ProxyRead time.Duration // for an upstream to begin its answer: 60 s
	Dial      time.Duration // for an upstream to accept: 30 s
	Grace     time.Duration // for clients to notice a shutdown: 500 ms

	MaxAge     time.Duration // of an upstream connection: 15 min
	DNSRefresh time.Duration // after which addresses are looked up again: 5 s

	// Suffixes are the domains that may follow the label ccnproxy in a Host,
	// besides those that nobody can register.
	Suffixes []string

	Allow          []Pattern      // upstreams that clients may name; none: any
	AllowAddresses []netip.Prefix // addresses that are refused otherwise
	DenyPrivate    bool           // refuse the addresses of private networks
	Connect        bool           // tunnel CONNECT
	NoInterim      bool           // keep 1xx answers back
	HTTP2          bool           // offer it to upstreams that speak TLS

	TLS      *tls.Config   // for upstreams; nil: the system's authorities
	Resolver *net.Resolver // nil: the system's

	StatsSize   int // response times kept for percentiles: 1000
	StatsFactor int // one of so many is kept: 3

	Version string
	Access  func(*Entry)  // is told of every request; nil: nobody
	Trace   *trace.Tracer // gets a span of those whose trace is recorded; nil: none
	Log     *slog.Logger  // nil: discard
}

// withDefaults returns o with its zero fields filled in.
func (o Options) withDefaults() Options {
	o.IdleConns = cmp.Or(o.IdleConns, 256)
	o.Idle = cmp.Or(o.Idle, time.Minute)
	o.Header = cmp.Or(o.Header, 10*time.Second)
	o.Read = cmp.Or(o.Read, 30*time.Second)
	o.Write = cmp.Or(o.Write, 90*time.Second)
	o.ProxyRead = cmp.Or(o.ProxyRead, time.Minute)
	o.Dial = cmp.Or(o.Dial, 30*time.Second)
	o.Grace = cmp.Or(o.Grace, 500*time.Millisecond)
	o.MaxAge = cmp.Or(o.MaxAge, 15*time.Minute)
	o.DNSRefresh = cmp.Or(o.DNSRefresh, 5*time.Second)
	o.StatsSize = cmp.Or(max(o.StatsSize, 0), 1000)
	o.StatsFactor = cmp.Or(max(o.StatsFactor, 0), 3)
	o.Version = cmp.Or(o.Version, "devel")
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// A Server is the proxy on any number of listeners.
type Server struct {
	opts       Options
	log        *slog.Logger
	fixed      *target // of Options.Upstreams
	ids        ids
	pseudonym  []byte // our name in Via
	signature  []byte // the fields that every request gets, and the end of its head
	tls        *tls.Config
	roundTrips sync.Pool
	start      time.Time
	now        atomic.Int64 // ns since start, at the last tick
	files      int64        // that may be open at most
	count      counters
	times      times

	names atomic.Pointer[map[string]*target] // by what requests call them; never written to

	mu        sync.Mutex // guards what follows
	targets   map[string]*target
	clients   map[*client]struct{}
	listeners map[net.Listener]struct{}
	gates     []*admit.Gate // of those that are, or were, served
	closed    bool

	draining atomic.Bool
	drained  time.Time // since when; written before draining is set
	quit     chan struct{}
	ended    sync.WaitGroup // the sweeper and the clients
}

// New returns a server that serves nothing yet. Close ends it.
func New(o Options) (*Server, error) {
	s := &Server{
		opts: o.withDefaults(), start: time.Now(), quit: make(chan struct{}),
		targets: map[string]*target{}, clients: map[*client]struct{}{},
		listeners: map[net.Listener]struct{}{},
		files:     openFiles(),
	}
	s.log = s.opts.Log
	s.names.Store(&map[string]*target{})
	s.ids.init()
	s.times.init(s.opts.StatsSize, s.opts.StatsFactor)
	s.pseudonym = append([]byte("hotrow-"), s.ids.append(nil, s.start)[8:16]...)
	s.signature = []byte("X-Chocon-Ver: hotrow/" + s.opts.Version + "\r\nVia: 1.1 " +
		string(s.pseudonym) + "\r\n\r\n")
	s.tls = s.opts.TLS.Clone()
	if s.tls == nil {
		s.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	s.tls.ClientSessionCache = tls.NewLRUClientSessionCache(1024)
	s.tick()
	if err := s.fix(o.Upstreams); err != nil {
		return nil, err
	}
	s.ended.Go(s.sweepAll)
	return s, nil
}

// fix takes the upstreams that get every request, if there are any.
func (s *Server) fix(upstreams []string) (err error) {
	if len(upstreams) == 0 {
		return nil
	}
	if s.fixed, err = fixedTarget(s, upstreams); err == nil {
		s.targets[s.fixed.key] = s.fixed
	}
	return err
}

// tlsConfig returns the configuration for an upstream with a name.
func (s *Server) tlsConfig(name string, http2 bool) *tls.Config {
	config := s.tls.Clone()
	if config.ServerName == "" {
		config.ServerName = name
	}
	config.NextProtos = []string{"http/1.1"}
	if http2 {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	return config
}

// after returns the time that is d from now, on the server's clock.
func (s *Server) after(d time.Duration) int64 { return s.now.Load() + int64(d) }

// Serve accepts connections from l, which it owns from now on, until Shutdown
// or Close. It returns nil then.
func (s *Server) Serve(l net.Listener) error {
	l, err := newDeferredListener(l)
	if err != nil {
		return err
	}
	return s.serve(l, false)
}

// ServeOps is Serve for a listener that answers what the proxy tells of itself,
// and nothing else.
func (s *Server) ServeOps(l net.Listener) error {
	return s.serve(l, true)
}

// serve accepts connections from l, which it owns from now on, until Shutdown or Close.
func (s *Server) serve(l net.Listener, ops bool) error {
	s.mu.Lock()
	if s.closed || s.draining.Load() {
		s.mu.Unlock()
		return l.Close()
	}
	gate := admit.New(s.opts.Admit, l.Addr(), s.log)
	s.listeners[l] = struct{}{}
	s.gates = append(s.gates, gate)
	s.mu.Unlock()
	defer func() { _ = l.Close() }()
	for wait := time.Duration(0); ; {
		nc, err := l.Accept()
		if err == nil {
			wait = 0
			from := peerOf(nc)
			if !gate.Enter(from) {
				_ = nc.Close()
				continue
			}
			c := newClient(s, nc)
			c.ops = ops
			s.accept(c, place{gate, from})
			continue
		}
		if s.draining.Load() || errors.Is(err, net.ErrClosed) {
			return nil
		}
		if ne, ok := err.(interface{ Temporary() bool }); !ok || !ne.Temporary() {
			return err
		}
		s.makeRoom() // too many open files
		wait = min(max(2*wait, 5*time.Millisecond), time.Second)
		select {
		case <-time.After(wait):
		case <-s.quit:
		}
	}
}

// A place is that of a connection among those of its listener.
type place struct {
	gate *admit.Gate
	from netip.Addr
}

// leave gives the place back.
func (p place) leave() { p.gate.Leave(p.from) }

// peerOf returns the address that a connection comes from. One that is accepted by a
// deferredListener knows it without an allocation.
func peerOf(nc net.Conn) netip.Addr {
	if c, ok := nc.(interface{ peer() netip.Addr }); ok {
		return c.peer()
	}
	return admit.AddrOf(nc.RemoteAddr())
}

// accept starts to serve a connection, whose place is p.
func (s *Server) accept(c *client, p place) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		c.sock.close()
		p.leave()
		return
	}
	s.clients[c] = struct{}{}
	s.ended.Add(1)
	s.mu.Unlock()
	s.count.accepted.Add(1)
	go func() {
		defer s.ended.Done()
		c.serve()
		p.leave()
		s.mu.Lock()
		delete(s.clients, c)
		s.mu.Unlock()
	}()
}

// Shutdown stops accepting and lets every request under way have its answer,
// which says that the connection ends. When ctx ends first, the rest is cut and
// its error returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.drained = time.Now()
	s.draining.Store(true)
	for l := range s.listeners {
		_ = l.Close()
	}
	s.mu.Unlock()
	for {
		s.mu.Lock()
		left := len(s.clients)
		s.mu.Unlock()
		if left == 0 || ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(sweepEvery / 4):
		}
	}
	s.Close()
	return ctx.Err()
}

// Close cuts every connection at once, and waits until all has ended.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.quit)
	}
	for l := range s.listeners {
		_ = l.Close()
	}
	for c := range s.clients {
		c.cutOff()
	}
	for _, t := range s.targets {
		t.close()
	}
	s.mu.Unlock()
	s.ended.Wait()
}

// isListening reports whether a listener has this address.
func (s *Server) isListening(a netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.listeners {
		if t, ok := l.Addr().(*net.TCPAddr); ok && t.AddrPort().Addr().Unmap() == a.Unmap() {
			return true
		}
	}
	return false
}
