package httpfront

import (
	"context"
	"fmt"
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
	Idle   time.Duration // between requests: 60 s
}

// maxHeader is the most bytes of a request's header, less the 4 KiB that
// net/http allows on top of what it is told.
const maxHeader = 12 << 10

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
	var withPeer func(context.Context, net.Conn) context.Context
	if own, ok := h.(*Handler); ok {
		withPeer = own.withPeer
	}
	return &http.Server{
		Handler:           h,
		ConnContext:       withPeer,
		ReadHeaderTimeout: pick(t.Header, 5*time.Second),
		ReadTimeout:       pick(t.Read, time.Minute),
		WriteTimeout:      pick(t.Write, time.Minute),
		IdleTimeout:       pick(t.Idle, time.Minute),
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// CheckListen returns an error when a listener at a would offer the resources
// to other machines although nobody said so: there are no tokens, and open is
// not set.
func CheckListen(a net.Addr, tokens, open bool) error {
	if tokens || open || front.IsLocal(a) {
		return nil
	}
	return fmt.Errorf("listen on %s: without tokens hotrow answers this machine only; listen on "+
		"127.0.0.1, add a token (hotrow token NAME), or say --open to let anybody read", a)
}
