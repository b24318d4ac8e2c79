package sqlfront

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/front"
)

// Listen says how a listener is served.
type Listen struct {
	TLS *tls.Config // what clients get who ask for TLS; nil: none do

	// Certificate returns the one that TLS shows, in DER.
	Certificate func() []byte

	Admit admit.Bounds // of its connections; the zero value: front.Admit
}

// A Site is a listener that is served.
type Site struct {
	f        *Front
	listener net.Listener
	secure   *tls.Config
	cert     func() []byte
	gate     *admit.Gate
	keys     keys
	logins   chan struct{} // holds one for each that is under way
	cancels  chan struct{} // the same of requests to cancel

	ctx      context.Context // ends with Close
	stop     context.CancelFunc
	draining atomic.Bool
	running  sync.WaitGroup // the acceptor and the sessions

	mu       sync.Mutex // guards sessions, and the phases of them
	sessions map[*session]struct{}
	closed   bool
}

// Serve serves the connections of l, which it owns from now on.
func (f *Front) Serve(l net.Listener, how Listen) *Site {
	if how.Admit.Connections == nil {
		how.Admit = front.Admit(nil)
	}
	s := &Site{f: f, listener: l, secure: how.TLS, cert: how.Certificate,
		gate:     admit.New(how.Admit, l.Addr(), f.opts.Load().Log),
		logins:   make(chan struct{}, front.SQLLogins),
		cancels:  make(chan struct{}, front.SQLCancels),
		sessions: make(map[*session]struct{})}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.running.Add(1)
	go s.accept()
	return s
}

// Refused returns the counts of what was one too many.
func (s *Site) Refused() admit.Refused { return s.gate.Refused() }

// acceptWait is how long nothing is accepted when the system has no more connections to give.
const acceptWait = 50 * time.Millisecond

func (s *Site) accept() {
	defer s.running.Done()
	for {
		nc, err := s.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			s.f.sayAccept(err)
			select {
			case <-time.After(acceptWait):
			case <-s.ctx.Done():
				return
			}
			continue
		}
		s.admit(nc)
	}
}

// admit begins a session, if there is room for it.
func (s *Site) admit(nc net.Conn) {
	from := admit.AddrOf(nc.RemoteAddr())
	if !s.gate.Enter(from) {
		_ = nc.Close()
		return
	}
	one := &session{site: s, from: from, conn: nc, share: s.f.opts.Load().Unsent.NewShare()}
	s.mu.Lock()
	stopping := s.closed || s.draining.Load()
	if !stopping {
		s.sessions[one] = struct{}{}
		s.running.Add(1)
	}
	s.mu.Unlock()
	if stopping {
		s.gate.Leave(from)
		_ = nc.Close()
		return
	}
	go one.run()
}

// forget ends a session that was admitted.
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
	one.share.Close()
	s.gate.Leave(one.from)
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

// setPhase says how far a session has come, and wakes it if hotrow stops.
func (s *Site) setPhase(one *session, p phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.phase = p
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
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		s.Close()
		return fmt.Errorf("shut down %s: %w", s.listener.Addr(), ctx.Err())
	}
}

// drain tells the sessions that hotrow stops.
func (s *Site) drain() {
	_ = s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining.Store(true)
	for one := range s.sessions {
		switch one.phase {
		case starting:
			_ = one.conn.Close()
		case loggingIn: // it is told when it is there
		case open:
			one.server.wake()
		}
	}
}

// Close closes every connection at once, and waits until all is closed.
func (s *Site) Close() {
	_ = s.listener.Close()
	s.stop()
	s.mu.Lock()
	s.closed = true
	for one := range s.sessions {
		_ = one.conn.Close()
		if one.database != nil {
			_ = one.database.Close()
		}
	}
	s.mu.Unlock()
	s.running.Wait()
}
