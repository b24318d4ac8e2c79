package eventloop

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
)

// waitingMessages is how many connections may wait for net/http to accept them
// before each costs a goroutine.
const waitingMessages = 1024

// MessageServer is an http.Server for what the event loop hands over, one message at a time.
type MessageServer struct {
	// Amend returns an answer that net/http makes without its handler, to a request that it
	// cannot read, say, as it is to be sent. It is set before the first message; nil: as it is.
	Amend func(answer []byte) []byte

	srv    *http.Server
	frame  func(head []byte) (n int64, certain bool)
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	ended  chan struct{} // Serve has returned
	err    error         // of Serve
}

// NewMessageServer starts srv, which is its own from now on. Its timeouts hold for
// each messageConn, and so do ConnState, which is no way to count connections, and
// ConnContext. It must not have been started, nor be given ReadTimeout and the
// like afterwards.
//
// frame returns the length of the message that begins with head, if that is
// certain. A message of which it is not keeps its connection from the event loop for
// good: it is closed after the answer, unless that begins another protocol.
func NewMessageServer(
	srv *http.Server, frame func(head []byte) (n int64, certain bool),
) *MessageServer {
	m := &MessageServer{
		srv: srv, frame: frame, conns: make(chan net.Conn, waitingMessages),
		closed: make(chan struct{}), ended: make(chan struct{}),
	}
	if srv.Handler == nil {
		srv.Handler = http.DefaultServeMux
	}
	srv.Handler = oneMessage(srv.Handler)
	srv.ConnState = withState(srv.ConnState)
	srv.ConnContext = withMessageConn(srv.ConnContext)
	go func() {
		defer close(m.ended)
		m.err = srv.Serve(channelListener{m})
	}()
	return m
}

// Serve gives net/http a connection for one message. It is for Config.HandedOver.
func (m *MessageServer) Serve(l Borrowed) {
	mc := newMessageConn(l, m.frame)
	mc.amend = m.Amend
	if secure, ok := l.(interface{ ConnectionState() tls.ConnectionState }); ok {
		m.give(tlsMessageConn{mc, secure})
		return
	}
	m.give(mc)
}

// give does not block: it is called by loops.
func (m *MessageServer) give(c net.Conn) {
	select {
	case m.conns <- c:
	default:
		go func() {
			select {
			case m.conns <- c:
			case <-m.closed:
				_ = c.Close()
			}
		}()
	}
}

// Shutdown ends the server as http.Server.Shutdown does. It is called after
// that of the event loop, which waits for what it has handed over.
func (m *MessageServer) Shutdown(ctx context.Context) error {
	err := m.srv.Shutdown(ctx)
	if err != nil {
		_ = m.srv.Close() // the first error says why
	}
	<-m.ended
	m.throwAway()
	if err == nil && !errors.Is(m.err, http.ErrServerClosed) {
		err = m.err
	}
	return err
}

// throwAway closes connections that came too late.
func (m *MessageServer) throwAway() {
	for {
		select {
		case c := <-m.conns:
			_ = c.Close()
		default:
			return
		}
	}
}

// channelListener is the net.Listener of connections that are given.
type channelListener struct{ m *MessageServer }

// Accept implements net.Listener.
func (l channelListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.m.conns:
		return c, nil
	case <-l.m.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l channelListener) Close() error {
	l.m.once.Do(func() { close(l.m.closed) })
	return nil
}

// Addr implements net.Listener.
func (channelListener) Addr() net.Addr { return channelAddr{} }

type channelAddr struct{}

func (channelAddr) Network() string { return "eventloop" }
func (channelAddr) String() string  { return "eventloop" }

// anyMessageConn is a messageConn, under TLS or not.
type anyMessageConn interface {
	net.Conn
	setState(http.ConnState)
	last() bool
	stream() bool
	detach(*http.Request) (*http.Request, context.CancelFunc)
}

// last reports whether the next answer is the connection's last.
func (m *messageConn) last() bool { return m.plain || m.Draining() }

// withState tells messageConns what net/http thinks of them, and then hook.
func withState(hook func(net.Conn, http.ConnState)) func(net.Conn, http.ConnState) {
	return func(c net.Conn, s http.ConnState) {
		if m, ok := c.(anyMessageConn); ok {
			m.setState(s)
		}
		if hook != nil {
			hook(c, s)
		}
	}
}

// messageConnKey is the key of a request's anyMessageConn in its context.
type messageConnKey struct{}

// withMessageConn lets the handler find its messageConn.
func withMessageConn(hook func(context.Context, net.Conn) context.Context,
) func(context.Context, net.Conn) context.Context {
	return func(ctx context.Context, c net.Conn) context.Context {
		if hook != nil {
			ctx = hook(ctx, c)
		}
		if m, ok := c.(anyMessageConn); ok {
			ctx = context.WithValue(ctx, messageConnKey{}, m)
		}
		return ctx
	}
}

// oneMessage returns h for requests that came over messageConns.
//
// The last answer of a connection says that it is the last; a handler that
// upgrades writes an answer of its own. A handler that writes no answer, because
// its client has gone, say, gets its connection cut:
// net/http would answer 200 with an empty body, which nobody has said.
func oneMessage(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		growStack()
		if m, ok := r.Context().Value(messageConnKey{}).(anyMessageConn); ok {
			if m.last() {
				w.Header().Set("Connection", "close")
			}
			var done context.CancelFunc
			r, done = m.detach(r)
			defer done()
			if m.stream() { // its own connection is a pipe of HTTP/1.1
				r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
			}
		}
		a := &answering{ResponseWriter: w}
		h.ServeHTTP(a, r)
		if !a.begun {
			panic(http.ErrAbortHandler)
		}
	})
}

// An answering notes whether an answer was begun.
type answering struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (a *answering) WriteHeader(code int) {
	a.begun = a.begun || code >= 200 || code == http.StatusSwitchingProtocols
	a.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (a *answering) Write(p []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(p)
}

// FlushError is for http.ResponseController: it sends the header.
func (a *answering) FlushError() error {
	a.begun = true
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Hijack implements http.Hijacker.
func (a *answering) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	a.begun = true
	return http.NewResponseController(a.ResponseWriter).Hijack()
}

// Unwrap gives http.ResponseController what is beneath.
func (a *answering) Unwrap() http.ResponseWriter { return a.ResponseWriter }
