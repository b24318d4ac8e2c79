package eventloop

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/admit"
)

// drainAccept is how long clients that have connected already may wait to be
// accepted when a shutdown begins.
const drainAccept = 20 * time.Millisecond

// streams is the form of one goroutine for each connection.
type streams struct {
	srv      *Server
	listener net.Listener

	mu   sync.Mutex // guards open
	open map[*stream]struct{}

	running sync.WaitGroup
	scopes  spares    // a stream uses one for as long as it steps
	outputs sync.Pool // of *output
}

// startStreams starts to serve l.
func startStreams(srv *Server, l net.Listener) engine {
	all := &streams{srv: srv, listener: l, open: map[*stream]struct{}{}}
	all.running.Go(all.accept)
	go func() {
		all.running.Wait()
		close(srv.done)
	}()
	return all
}

// accept serves connections until the listener ends.
func (all *streams) accept() {
	const longest = time.Second
	pause := 5 * time.Millisecond
	for {
		nc, err := all.listener.Accept()
		if err == nil {
			pause = 5 * time.Millisecond
			all.start(nc)
			continue
		}
		if all.srv.draining.Load() || errors.Is(err, net.ErrClosed) {
			break
		}
		// Descriptors or memory ran out: those who wait will be accepted when
		// some are free again.
		all.srv.refused(err)
		select {
		case <-time.After(pause):
		case <-all.srv.aborted:
		}
		pause = min(2*pause, longest)
	}
	_ = all.listener.Close()
}

// start serves one connection.
func (all *streams) start(nc net.Conn) {
	from := admit.AddrOf(nc.RemoteAddr())
	if !all.srv.gate.Enter(from) {
		if refusal := all.srv.cfg.Refusal; refusal != nil && all.srv.cfg.TLS == nil {
			_ = nc.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = nc.Write(refusal()) // a new socket has room for it
		}
		_ = nc.Close()
		return
	}
	all.srv.count.accepted.Add(1)
	tuneConn(nc)
	if c := all.srv.cfg.TLS; c != nil {
		nc = tls.Server(nc, c)
	}
	s := newStream(all, nc)
	s.from = from
	all.mu.Lock()
	all.open[s] = struct{}{}
	all.mu.Unlock()
	all.running.Go(s.run)
	if all.srv.isAborted() { // it may have come too late for abort
		s.cut()
	}
}

// forget removes a connection that has ended.
func (all *streams) forget(s *stream) {
	all.mu.Lock()
	delete(all.open, s)
	all.mu.Unlock()
	all.srv.count.ended.Add(1)
}

// drain stops accepting: soon if the listener can wait so long, else now.
func (all *streams) drain() {
	all.each(func(s *stream) {
		if s.http2.Load() { // it says so by itself
			s.poke()
		}
	})
	l, ok := all.listener.(interface{ SetDeadline(time.Time) error })
	if !ok || l.SetDeadline(time.Now().Add(drainAccept)) != nil {
		_ = all.listener.Close()
	}
}

// reap ends the streams that wait for a request. Those that begin to wait later
// look at Server.reaping after they have set their deadline.
func (all *streams) reap() {
	all.each(func(s *stream) {
		if s.idle.Load() {
			_ = s.nc.SetReadDeadline(longAgo)
		}
	})
}

// abort closes every connection.
func (all *streams) abort() {
	_ = all.listener.Close()
	all.each((*stream).cut)
}

// each calls f for every open connection.
func (all *streams) each(f func(*stream)) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for s := range all.open {
		f(s)
	}
}

// getScope returns a Scope that nobody else uses, after its wake-up.
func (all *streams) getScope() Scope {
	if all.srv.cfg.Scope == nil {
		return nil
	}
	scope := all.scopes.get()
	if scope == nil {
		scope = all.srv.newScope()
	}
	scope.BeginTurn(time.Now())
	return scope
}

func (all *streams) putScope(s Scope) {
	if s != nil {
		rest(s)
		all.scopes.put(s)
	}
}

// An output is a buffer for answers.
type output struct{ b []byte }

// getOutput returns an empty buffer.
func (all *streams) getOutput() *output {
	if o, ok := all.outputs.Get().(*output); ok {
		o.b = o.b[:0]
		return o
	}
	return &output{make([]byte, 0, firstInput)}
}

// putOutput takes a buffer back, unless it has become very large.
func (all *streams) putOutput(o *output) {
	release(o.b)
	if cap(o.b) <= keptOutput {
		all.outputs.Put(o)
	}
}
