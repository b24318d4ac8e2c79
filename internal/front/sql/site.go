package sqlfront

import (
	"context"
	"crypto/tls"
	"net"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
)

// Listen says how a listener is served.
type Listen struct {
	TLS *tls.Config // what clients get who ask for TLS; nil: none do

	// Certificate returns the one that TLS shows, in DER.
	Certificate func() []byte

	Admit      admit.Bounds // of its connections; the zero value: front.Admit
	Goroutines bool         // pass sessions on by goroutines even where loops are possible
}

// A Site is a listener that is served.
type Site struct {
	f       *Front
	addr    net.Addr
	server  *eventloop.Server
	secure  *tls.Config
	cert    func() []byte
	keys    keys
	logins  chan struct{} // holds one for each that is under way
	cancels chan struct{} // the same of requests to cancel

	ctx      context.Context // ends with Close
	stop     context.CancelFunc
	draining atomic.Bool
	running  sync.WaitGroup // the sessions

	mu       sync.Mutex // guards sessions, and the phases of them
	sessions map[*session]struct{}
	closed   bool
}

// loops is how many event loops pass sessions on. A statement costs the database more than the
// relay, so that one for two processors keeps up. A loop that has more to do sleeps less: with
// two loops on two processors a statement took a quarter more of their time.
func loops() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// Serve serves the connections of l, which it owns from now on, even when it fails.
func (f *Front) Serve(l net.Listener, how Listen) (*Site, error) {
	s := &Site{f: f, addr: l.Addr(), secure: how.TLS, cert: how.Certificate,
		logins:   make(chan struct{}, front.SQLLogins),
		cancels:  make(chan struct{}, front.SQLCancels),
		sessions: make(map[*session]struct{})}
	s.ctx, s.stop = context.WithCancel(context.Background())
	c := front.Limited(eventloop.Config{
		Proto: relay{}, HandedOver: s.begin, Loops: loops(), Goroutines: how.Goroutines,
		Header: front.SQLLogin, Idle: front.SQLLogin, Write: front.KeyValueIdle,
		MaxUnread: front.SQLChunk, Admit: how.Admit, Log: f.opts.Load().Log,
		Meter: func() eventloop.Meter { return f.opts.Load().Unsent.NewShare() },
	}, "") // it knows no error before the peer has said who it is
	s.mu.Lock() // the first session begins when there is a server
	defer s.mu.Unlock()
	var err error
	if s.server, err = eventloop.Serve(l, c); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// Refused returns the counts of what was one too many.
func (s *Site) Refused() admit.Refused { return s.server.Refused() }

// begin begins a session, whose first bytes have come. It is called by loops.
func (s *Site) begin(nc eventloop.Borrowed) {
	one := &session{site: s, from: admit.AddrOf(nc.RemoteAddr()), legs: &legs{conn: nc}}
	s.mu.Lock()
	stopping := s.closed || s.draining.Load()
	if !stopping {
		s.sessions[one] = struct{}{}
		s.running.Add(1)
	}
	s.mu.Unlock()
	if stopping {
		_ = nc.Close()
		return
	}
	go one.run()
}

// forget ends a session that has begun.
func (s *Site) forget(one *session) {
	s.mu.Lock()
	phase := one.phase
	delete(s.sessions, one)
	s.mu.Unlock()
	if one.ours != nil {
		s.keys.remove(one.ours)
	}
	if phase != starting {
		s.f.count.open.Add(-1)
	}
	s.running.Done()
}

// enter waits for the turn of a log-in.
func (s *Site) enter(ctx context.Context) error {
	select {
	case s.logins <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &fault{state: stateTooMany, text: "too many clients log in at the same time"}
	}
}

func (s *Site) leaveLogin() { <-s.logins }

// reserve counts a session, and reports false when it is one too many.
func (s *Site) reserve(one *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int(s.f.count.open.Load()) >= s.f.opts.Load().MaxClients {
		return false
	}
	one.phase = loggingIn
	s.f.count.open.Add(1)
	return true
}

// attach gives a session its connection to the database, and reports false when hotrow has
// begun to stop meanwhile.
func (s *Site) attach(one *session, nc net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.draining.Load() {
		_ = nc.Close()
		return false
	}
	one.database = nc
	return true
}

// setLegs says how far a session has come, and who has its connections. It returns what had them.
func (s *Site) setLegs(one *session, p phase, by *legs) *legs {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := one.legs
	one.phase, one.legs = p, by
	return had
}

// open says that a session is passed on by goroutines, and wakes it if hotrow stops.
func (s *Site) open(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.phase = open
	if s.draining.Load() {
		one.server.wake()
	}
}

// shown returns the certificate that clients see, in DER.
func (s *Site) shown() []byte {
	if s.cert == nil {
		return nil
	}
	return s.cert()
}

// Shutdown accepts nothing more, and ends each session when no transaction and no statement is
// under way in it. When ctx ends first, the others are closed and its error is returned.
func (s *Site) Shutdown(ctx context.Context) error {
	s.drain()
	err := s.server.Shutdown(ctx)
	if err != nil {
		s.Close()
	}
	s.running.Wait()
	return err
}

// drain tells the sessions that hotrow stops. A loop tells those that it has.
func (s *Site) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining.Store(true)
	for one := range s.sessions {
		switch one.phase {
		case starting:
			_ = one.conn.Close()
		case loggingIn, linked: // it is told when it is there
		case open:
			one.server.wake()
		}
	}
}

// Close closes every connection at once, and waits until all is closed.
func (s *Site) Close() {
	s.stop()
	s.mu.Lock()
	s.closed = true
	for one := range s.sessions {
		if one.legs != nil && one.database != nil {
			_ = one.database.Close()
		}
	}
	s.mu.Unlock()
	s.server.Close()
	s.running.Wait()
}
