package kv

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
)

// A Listen says how connections are served. The zero value of every field is usable.
type Listen struct {
	TLS        *tls.Config // nil: plain
	Goroutines bool        // a goroutine for each connection even where loops are possible
	Log        *slog.Logger
}

const (
	forEver   = 10 * 365 * 24 * time.Hour // pools keep connections
	maxOutput = 1 << 20
	tickEvery = time.Second
)

// A Site is a listener that is served.
type Site = eventloop.Server

// Serve serves the connections of l by proto until Shutdown or Close. It owns l from now
// on. maxInput bounds the bytes of one command.
func (s *Store) Serve(
	l net.Listener, o Listen, proto eventloop.Protocol, scope func() eventloop.Scope, maxInput int,
) (*Site, error) {
	server, err := eventloop.Serve(l, eventloop.Config{
		Proto: proto, Scope: scope, TLS: o.TLS, Goroutines: o.Goroutines, Log: o.Log,
		Header: time.Minute, Idle: forEver, Tick: tickEvery,
		MaxInput: maxInput, MaxOutput: maxOutput, Meter: s.newMeter,
		MaxHandshakes: front.Handshakes, // connections: kv.max_clients
	})
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return server, nil
}
