package proxy

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/hotrow/hotrow/client/wire"
	wirehttp "github.com/hotrow/hotrow/internal/wire/exchange"
)

// An Exit says how the far end of the wire accepts connections.
type Exit struct {
	TLS *tls.Config // nil: plain
	// Tokens are those of which a peer must have sent one; none: it need not.
	Tokens [][]byte
}

// A link is a connection of the wire that was accepted.
type link struct {
	srv     *Server
	nc      net.Conn
	remote  string
	ready   chan struct{} // closed when it is known whether the peer is welcome
	welcome bool          // when ready
	ctx     context.Context

	mu   sync.Mutex // guards what follows
	rest map[uint64]*tunnelClient
	last uint64
	conn *wire.Conn // nil: not yet
	cut  bool
}

// ServeExit is Serve for a listener whose peers are proxies that relay through
// this one: they speak the wire protocol.
func (s *Server) ServeExit(l net.Listener, e Exit) error {
	return s.serveListener(l, func(nc net.Conn) { s.acceptLink(nc, e) })
}

// acceptLink starts to serve a connection of the wire.
func (s *Server) acceptLink(nc net.Conn, e Exit) {
	k := &link{
		srv: s, nc: nc, remote: nc.RemoteAddr().String(), ready: make(chan struct{}),
		rest: map[uint64]*tunnelClient{},
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		_ = nc.Close()
		return
	}
	s.links[k] = struct{}{}
	s.ended.Add(1)
	s.mu.Unlock()
	s.count.links.Add(1)
	go func() {
		defer s.ended.Done()
		k.serve(e)
		s.mu.Lock()
		delete(s.links, k)
		s.mu.Unlock()
		s.count.links.Add(-1)
	}()
}

// serve serves the link until it ends.
func (k *link) serve(e Exit) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	k.ctx = ctx
	var h wire.Handlers
	h.Reply(wirehttp.ID, k.request)
	h.Stream(wirehttp.ID, k.stream)
	conn, err := wire.Accept(ctx, k.nc, wire.Options{
		Name: "hotrow proxy", Handlers: &h, TLS: e.TLS, MaxExchanges: maxTunnelClients,
		HandshakeTimeout: k.srv.opts.Header, StuckTimeout: k.srv.opts.Write,
	})
	if err != nil {
		k.srv.log.Info("no connection of the wire", "peer", k.remote, "err", err)
		return
	}
	k.welcome = e.accepts(conn.Peer().Token)
	if !k.welcome {
		k.srv.log.Warn("a peer without a token that is known", "peer", k.remote)
	}
	close(k.ready)
	k.mu.Lock()
	k.conn = conn
	cut := k.cut
	k.mu.Unlock()
	if k.srv.draining.Load() || cut {
		k.goAway()
	}
	<-conn.Done()
	cancel()
	_ = conn.Close() // waits for the handlers
}

// maxTunnelClients is how many exchanges a link may have open.
const maxTunnelClients = 4096

// accepts reports whether a peer with a token may relay through us.
func (e *Exit) accepts(token []byte) bool {
	if len(e.Tokens) == 0 {
		return true
	}
	sum := sha256.Sum256(token)
	found := 0
	for _, t := range e.Tokens {
		want := sha256.Sum256(t)
		found |= subtle.ConstantTimeCompare(sum[:], want[:])
	}
	return found == 1
}

// goAway tells the peer that nothing new is taken, and ends the link when what
// is open has ended.
func (k *link) goAway() {
	k.mu.Lock()
	conn := k.conn
	k.mu.Unlock()
	if conn != nil {
		go func() { _ = conn.Shutdown(k.ctx) }() // ends with the link
	}
}

// cutOff ends the link at once.
func (k *link) cutOff() {
	k.mu.Lock()
	k.cut = true
	k.mu.Unlock()
	_ = k.nc.Close()
}

// What a peer is told that may not relay.
var (
	errUnwelcome = &wire.Error{Code: wire.Unauthenticated,
		Text: "a token is needed that is known here: see --token-file"}
	errMalformed = &wire.Error{Code: wire.InvalidArgument, Text: "malformed exchange"}
	errCut       = &wire.Error{Code: wire.Aborted, Text: "the exchange was cut short"}
	errNoRest    = &wire.Error{Code: wire.NotFound, Text: "no answer goes on under this number"}
)

// admits reports whether the peer may relay, when that is known.
func (k *link) admits(ctx context.Context) bool {
	select {
	case <-k.ready:
		return k.welcome
	case <-ctx.Done():
		return false
	}
}

// request answers an exchange that has come in one message.
func (k *link) request(ctx context.Context, data []byte, r *wire.Reply) error {
	if !k.admits(ctx) {
		return errUnwelcome
	}
	g := newTunnelClient(k)
	g.reply = r
	if g.ask.Decode(data) != nil || g.ask.Streamed {
		return errMalformed
	}
	k.srv.count.exchanges.Add(1)
	return g.run(ctx)
}

// stream serves a stream of the peer: an exchange, or the rest of one.
func (k *link) stream(ctx context.Context, st *wire.Stream) error {
	if !k.admits(ctx) {
		return errUnwelcome
	}
	first, err := st.Recv(ctx, nil)
	if err != nil {
		return err
	}
	var p wirehttp.Part
	if p.Decode(first) == nil && p.Kind == wirehttp.Number {
		return k.resume(ctx, st, p.Number)
	}
	g := newTunnelClient(k)
	g.st = st
	if g.ask.Decode(first) != nil || !g.ask.Streamed {
		return errMalformed
	}
	k.srv.count.exchanges.Add(1)
	return g.run(ctx)
}

// resume gives a tunnel client the stream for the rest of its answer, and waits until it
// has sent it.
func (k *link) resume(ctx context.Context, st *wire.Stream, number uint64) error {
	k.mu.Lock()
	g := k.rest[number]
	delete(k.rest, number)
	k.mu.Unlock()
	if g == nil {
		return errNoRest
	}
	stop := context.AfterFunc(ctx, g.client.cutOff)
	defer stop()
	g.opened <- st
	<-g.ended
	return g.err
}

// register gives a tunnel client whose answer goes on in a stream its number.
func (k *link) register(g *tunnelClient) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last++
	k.rest[k.last] = g
	return k.last
}

// forget takes the number back of a tunnel client that nobody has asked for.
func (k *link) forget(number uint64) {
	k.mu.Lock()
	delete(k.rest, number)
	k.mu.Unlock()
}

// errHalfClose keeps a relay from waiting for the rest of a request.
var errHalfClose = errors.New("the exchange has one end")

// serveListener accepts connections from l, which it owns from now on, until
// Shutdown or Close.
func (s *Server) serveListener(l net.Listener, accept func(net.Conn)) error {
	s.mu.Lock()
	if s.closed || s.draining.Load() {
		s.mu.Unlock()
		return l.Close()
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer func() { _ = l.Close() }()
	for wait := time.Duration(0); ; {
		nc, err := l.Accept()
		if err == nil {
			wait = 0
			accept(nc)
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
