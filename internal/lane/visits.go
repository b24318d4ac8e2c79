package lane

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
)

// waitingVisits is how many connections may wait for net/http to accept them
// before each costs a goroutine.
const waitingVisits = 1024

// Visits is an http.Server for what the lane hands over, one message at a time.
type Visits struct {
	srv    *http.Server
	frame  func(head []byte) (n int64, certain bool)
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	ended  chan struct{} // Serve has returned
	err    error         // of Serve
}

// NewVisits starts srv, which is its own from now on. Its timeouts hold for
// each visit, and so do ConnState, which is no way to count connections, and
// ConnContext. It must not have been started, nor be given ReadTimeout and the
// like afterwards.
//
// frame returns the length of the message that begins with head, if that is
// certain. A message of which it is not keeps its connection from the lane for
// good: it is closed after the answer, unless that begins another protocol.
func NewVisits(srv *http.Server, frame func(head []byte) (n int64, certain bool)) *Visits {
	v := &Visits{
		srv: srv, frame: frame, conns: make(chan net.Conn, waitingVisits),
		closed: make(chan struct{}), ended: make(chan struct{}),
	}
	if srv.Handler == nil {
		srv.Handler = http.DefaultServeMux
	}
	srv.Handler = visiting(srv.Handler)
	srv.ConnState = withState(srv.ConnState)
	srv.ConnContext = withVisit(srv.ConnContext)
	go func() {
		defer close(v.ended)
		v.err = srv.Serve(channelListener{v})
	}()
	return v
}

// Full gives net/http a connection for one message. It is for Config.Full.
func (v *Visits) Full(l Lent) {
	vis := newVisit(l, v.frame)
	if secure, ok := l.(interface{ ConnectionState() tls.ConnectionState }); ok {
		v.give(tlsVisit{vis, secure})
		return
	}
	v.give(vis)
}

// give does not block: it is called by loops.
func (v *Visits) give(c net.Conn) {
	select {
	case v.conns <- c:
	default:
		go func() {
			select {
			case v.conns <- c:
			case <-v.closed:
				_ = c.Close()
			}
		}()
	}
}

// Shutdown ends the server as http.Server.Shutdown does. It is called after
// that of the lane, which waits for its visits.
func (v *Visits) Shutdown(ctx context.Context) error {
	err := v.srv.Shutdown(ctx)
	if err != nil {
		_ = v.srv.Close() // the first error says why
	}
	<-v.ended
	v.throwAway()
	if err == nil && !errors.Is(v.err, http.ErrServerClosed) {
		err = v.err
	}
	return err
}

// throwAway closes connections that came too late.
func (v *Visits) throwAway() {
	for {
		select {
		case c := <-v.conns:
			_ = c.Close()
		default:
			return
		}
	}
}

// channelListener is the net.Listener of connections that are given.
type channelListener struct{ v *Visits }

// Accept implements net.Listener.
func (l channelListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.v.conns:
		return c, nil
	case <-l.v.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l channelListener) Close() error {
	l.v.once.Do(func() { close(l.v.closed) })
	return nil
}

// Addr implements net.Listener.
func (channelListener) Addr() net.Addr { return channelAddr{} }

type channelAddr struct{}

func (channelAddr) Network() string { return "lane" }
func (channelAddr) String() string  { return "lane" }

// visitor is a visit, under TLS or not.
type visitor interface {
	net.Conn
	setState(http.ConnState)
	last() bool
	stream() bool
	detach(*http.Request) (*http.Request, context.CancelFunc)
}

// last reports whether the next answer is the connection's last.
func (v *visit) last() bool { return v.plain || v.Draining() }

// withState tells visits what net/http thinks of them, and then hook.
func withState(hook func(net.Conn, http.ConnState)) func(net.Conn, http.ConnState) {
	return func(c net.Conn, s http.ConnState) {
		if v, ok := c.(visitor); ok {
			v.setState(s)
		}
		if hook != nil {
			hook(c, s)
		}
	}
}

// visitKey is the key of a request's visitor in its context.
type visitKey struct{}

// withVisit lets the handler find its visit.
func withVisit(hook func(context.Context, net.Conn) context.Context,
) func(context.Context, net.Conn) context.Context {
	return func(ctx context.Context, c net.Conn) context.Context {
		if hook != nil {
			ctx = hook(ctx, c)
		}
		if v, ok := c.(visitor); ok {
			ctx = context.WithValue(ctx, visitKey{}, v)
		}
		return ctx
	}
}

// visiting returns h for the requests of visits.
//
// The last answer of a connection says that it is the last; a handler that
// upgrades writes an answer of its own. A handler that writes no answer, because
// its client has gone, say, gets its connection cut:
// net/http would answer 200 with an empty body, which nobody has said.
func visiting(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		growStack()
		if v, ok := r.Context().Value(visitKey{}).(visitor); ok {
			if v.last() {
				w.Header().Set("Connection", "close")
			}
			var done context.CancelFunc
			r, done = v.detach(r)
			defer done()
			if v.stream() { // its own connection is a pipe of HTTP/1.1
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
