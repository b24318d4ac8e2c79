package wirefront

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
)

// ALPN is the name of the protocol in a TLS handshake (RFC 7301).
const ALPN = "hotrow/1"

// A Listen says how connections are served. The zero value of every field is
// usable.
type Listen struct {
	TLS        *tls.Config   // nil: plain
	Write      time.Duration // that a peer may take nothing of what is sent: 30 s
	Goroutines bool          // a goroutine for each connection even where loops are possible
	Log        *slog.Logger
	Admit      admit.Bounds // of the connections; zero: what is usual
}

// A Site is a listener that is served.
type Site struct {
	*eventloop.Server
	f *Front
}

// Serve serves the connections of l until Shutdown or Close. It owns l from now
// on.
func (f *Front) Serve(l net.Listener, o Listen) (*Site, error) {
	server, err := eventloop.Serve(l, front.Limited(eventloop.Config{
		Proto: f, Scope: f.NewScope, TLS: o.TLS, Goroutines: o.Goroutines, Log: o.Log,
		Header: front.HeaderWait, Idle: front.WireIdle, Write: o.Write,
		Tick:     tickEvery,
		MaxInput: front.FrameBytes, MaxOutput: front.PushedLimit, MaxUnread: front.OutputBytes,
		Admit: o.Admit, Meter: func() eventloop.Meter { return f.unsent.NewShare() },
	}, "")) // it knows no error before the peer has said who it is
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return &Site{server, f}, nil
}

// Shutdown lets every request under way have its answer, and then ends the
// connections, whose peers have been told. When ctx ends first, what is left is
// cut, and its error returned.
func (s *Site) Shutdown(ctx context.Context) error {
	return errors.Join(s.f.Drain(ctx), s.Server.Shutdown(ctx))
}
