package kv

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
)

// A Listen says how connections are served. The zero value of every field is usable.
type Listen struct {
	TLS        *tls.Config // nil: plain
	Goroutines bool        // a goroutine for each connection even where loops are possible
	Log        *slog.Logger
	Admit      admit.Bounds // of the connections; zero: Options.MaxClients, and what is usual
}

const tickEvery = time.Second

// A Site is a listener that is served.
type Site = eventloop.Server

// Serve serves the connections of l by proto until Shutdown or Close. It owns l from now
// on. maxInput bounds the bytes of one command.
func (s *Store) Serve(
	l net.Listener, o Listen, proto eventloop.Protocol, scope func() eventloop.Scope, maxInput int,
) (*Site, error) {
	if o.Admit.Connections == nil {
		o.Admit = front.Admit(func() int { return s.Live().MaxClients })
	}
	server, err := eventloop.Serve(l, front.Limited(eventloop.Config{
		Proto: proto, Scope: scope, TLS: o.TLS, Goroutines: o.Goroutines, Log: o.Log,
		Header: front.KeyValueWait, Idle: front.KeyValueIdle, Tick: tickEvery,
		MaxInput: maxInput, MaxOutput: front.OutputBytes, Meter: s.newMeter,
		Admit: o.Admit,
	}, s.Live().Refusal))
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sites = append(s.sites, server)
	return server, nil
}
