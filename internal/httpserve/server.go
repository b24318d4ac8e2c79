// Package httpserve serves the connections of a listener by an event loop, a
// form of HTTP/1.1, and lends what this hands over to net/http: the bounds of
// both, TLS and its certificates. It knows nothing of what is served.
package httpserve

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// Timeouts bound how long a connection may keep the server. A zero field takes
// its default.
type Timeouts struct {
	Header time.Duration // to send a request's header: 5 s
	Read   time.Duration // to send the whole request: 60 s
	Write  time.Duration // to take the answer: 60 s
	Idle   time.Duration // between requests: front.HTTPIdle
}

// A Connecter is a handler whose requests have something of their connection in
// their context.
type Connecter interface {
	// WithConn returns the context of the requests of a connection.
	WithConn(ctx context.Context, c net.Conn) context.Context
}

// Server returns a server for h with every bound set. What net/http has to say
// (bad handshakes, accept errors) goes to log at the level of warnings.
func Server(h http.Handler, t Timeouts, log *slog.Logger) *http.Server {
	pick := func(d, byDefault time.Duration) time.Duration {
		if d > 0 {
			return d
		}
		return byDefault
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: pick(t.Header, front.HTTPHeaderWait),
		ReadTimeout:       pick(t.Read, front.HTTPReadWait),
		WriteTimeout:      pick(t.Write, front.HTTPWriteWait),
		IdleTimeout:       pick(t.Idle, front.HTTPIdle),
		MaxHeaderBytes:    front.HTTPHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	if c, ok := h.(Connecter); ok {
		s.ConnContext = c.WithConn
	}
	return s
}
