package respfront

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/hotrow/hotrow/internal/lane"
)

// A Listen says how connections are served. The zero value of every field is usable.
type Listen struct {
	TLS        *tls.Config   // nil: plain
	Idle       time.Duration // that a connection may be silent: for ever
	Goroutines bool          // a goroutine for each connection even where loops are possible
	Log        *slog.Logger
}

// TLS returns the configuration of a listener that shows what of returns for the
// configuration of now. Clients of Redis agree on no protocol in the handshake.
func TLS(of func() *tls.Config) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c := of().Clone()
			c.NextProtos = nil
			return c, nil
		},
	}
}

const (
	forEver   = 10 * 365 * 24 * time.Hour
	maxOutput = 1 << 20
	tickEvery = time.Second
)

// A Site is a listener that is served.
type Site struct {
	f    *Front
	lane *lane.Server
}

// Serve serves the connections of l until Shutdown or Close. It owns l from now on.
func (f *Front) Serve(l net.Listener, o Listen) (*Site, error) {
	if o.Idle <= 0 {
		o.Idle = forEver // pools keep connections
	}
	server, err := lane.Serve(l, lane.Config{
		Proto: f, Scope: f.NewScope, TLS: o.TLS, Goroutines: o.Goroutines, Log: o.Log,
		Header: time.Minute, Idle: o.Idle, Tick: tickEvery,
		MaxInput: 2<<20 + f.limits.Arg, MaxOutput: maxOutput,
	})
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return &Site{f, server}, nil
}

// Addr returns the address of the listener.
func (s *Site) Addr() net.Addr { return s.lane.Addr() }

// Stats returns the counts of the site's connections.
func (s *Site) Stats() lane.Stats { return s.lane.Stats() }

// Shutdown lets every command under way have its reply, and then ends the connections.
// When ctx ends first, what is left is cut, and its error returned.
func (s *Site) Shutdown(ctx context.Context) error { return s.lane.Shutdown(ctx) }

// Close cuts every connection at once.
func (s *Site) Close() { s.lane.Close() }
