package eventloop

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/admit"
)

// A Server serves the connections of one listener.
type Server struct {
	cfg     Config
	start   time.Time
	addr    net.Addr
	overTCP bool // and not over a unix socket

	draining atomic.Bool
	reaping  atomic.Bool   // the grace is over: close what is idle
	aborted  chan struct{} // closed when everything must end at once
	done     chan struct{} // closed when every connection has ended
	abort    sync.Once
	drain    sync.Once

	engine engine
	gate   *admit.Gate
	count  counters
}

// An engine is how connections are served: by loops or by goroutines.
type engine interface {
	drain() // stop accepting
	reap()  // close what is idle, now and later
	abort() // close everything
}

// counters are what Stats adds up. Nothing on the path of a hit counts here.
type counters struct {
	refusedAt atomic.Int64 // when acceptErrors were logged last, since Server.start; 0: never

	accepted, ended, handedOver, returned, timedOut, cut, panics, acceptErrors atomic.Int64
}

// Stats are counts since the server was started, except Open.
type Stats struct {
	Open         int64 // connections now
	Accepted     int64
	HandedOver   int64 // to Config.HandedOver
	Returned     int64 // and given back
	TimedOut     int64 // closed because of Header, Idle or Write
	Cut          int64 // closed because the peer took too little, or sent too much
	Panics       int64 // closed because the protocol panicked
	AcceptErrors int64 // out of file descriptors or memory
}

// Serve serves the connections of l until Shutdown or Close. It owns l from now
// on, even when it fails.
func Serve(l net.Listener, c Config) (*Server, error) {
	s := &Server{
		cfg: c.withDefaults(), start: time.Now(), addr: l.Addr(),
		aborted: make(chan struct{}), done: make(chan struct{}),
	}
	keepAlive(l)
	s.gate = admit.New(s.cfg.Admit, s.addr, s.cfg.Log)
	s.overTCP = s.addr.Network() == "tcp"
	if !c.Goroutines {
		loops, err := startLoops(s, l)
		if err != nil {
			_ = l.Close() // the first error says more
			return nil, fmt.Errorf("serve %s: %w", s.addr, err)
		}
		if loops != nil {
			s.engine = loops
			return s, nil
		}
	}
	s.engine = startStreams(s, l)
	return s, nil
}

// Addr returns the address of the listener.
func (s *Server) Addr() net.Addr { return s.addr }

// Stats returns the counts up to now.
func (s *Server) Stats() Stats {
	c := &s.count
	ended := c.ended.Load() // before accepted, so that Open is not negative
	accepted := c.accepted.Load()
	return Stats{
		Open: accepted - ended, Accepted: accepted, HandedOver: c.handedOver.Load(),
		Returned: c.returned.Load(), TimedOut: c.timedOut.Load(), Cut: c.cut.Load(),
		Panics: c.panics.Load(), AcceptErrors: c.acceptErrors.Load(),
	}
}

// Refused returns the counts of what is one too many.
func (s *Server) Refused() admit.Refused { return s.gate.Refused() }

// BeginHandshake waits for the turn of a handshake of TLS that a protocol begins by itself, as
// Config.Admit bounds them. It reports false when ctx has ended before.
func (s *Server) BeginHandshake(ctx context.Context) (end func(), ok bool) {
	return s.gate.BeginHandshake(ctx)
}

// refusedEvery is how often the log says that the system gives no connections.
const refusedEvery = 10 * time.Second

// refused counts a connection that the system did not give us, and says so: those
// who wait for it see nothing but silence.
func (s *Server) refused(err error) {
	n := s.count.acceptErrors.Add(1)
	now, last := int64(time.Since(s.start))+1, s.count.refusedAt.Load()
	if last != 0 && now-last < int64(refusedEvery) || !s.count.refusedAt.CompareAndSwap(last, now) {
		return
	}
	s.cfg.Log.Warn("new connections wait: the system gives none", "addr", s.addr.String(),
		"err", err, "times", n, "hint", "raise the limit of open files (ulimit -n, LimitNOFILE=)"+
			" or close connections")
}

// Shutdown stops accepting and lets every connection finish what it has begun.
// For Config.Grace clients may still send requests on connections that they
// hold, and learn from the answers that these end; then what is idle is closed.
// When ctx ends first, everything is closed and its error returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.beginDrain()
	grace := time.NewTimer(s.cfg.Grace)
	defer grace.Stop()
	select {
	case <-s.done:
		return nil
	case <-grace.C:
		s.reaping.Store(true)
		s.engine.reap()
	case <-ctx.Done():
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		s.Close()
		return fmt.Errorf("shut down %s: %w", s.addr, ctx.Err())
	}
}

// Close closes every connection at once, and waits until they are closed.
func (s *Server) Close() {
	s.beginDrain()
	s.abort.Do(func() {
		close(s.aborted)
		s.engine.abort()
	})
	<-s.done
}

func (s *Server) beginDrain() {
	s.drain.Do(func() {
		s.draining.Store(true)
		s.engine.drain()
	})
}

// isAborted reports whether everything must end at once.
func (s *Server) isAborted() bool {
	select {
	case <-s.aborted:
		return true
	default:
		return false
	}
}

// newMeter returns what is told of the output of a new connection.
func (s *Server) newMeter() Meter {
	if s.cfg.Meter == nil {
		return nil
	}
	return s.cfg.Meter()
}

// newScope returns the state of a new loop.
func (s *Server) newScope() Scope {
	if s.cfg.Scope == nil {
		return nil
	}
	return s.cfg.Scope()
}

// end tells the protocol that c has ended, if it knows of it.
func (s *Server) end(c *Conn, opened bool) {
	s.count.ended.Add(1)
	if e, ok := c.proto.(Ender); ok && opened {
		e.End(c)
	}
	c.closeMeter()
	s.gate.Leave(c.from)
}
