package main

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/config"
	sqlfront "github.com/hotrow/hotrow/internal/front/sql"
	wirefront "github.com/hotrow/hotrow/internal/front/wire"
	"github.com/hotrow/hotrow/internal/ops"
)

// A protocolServer serves a protocol other than HTTP on a listener of its own.
type protocolServer struct {
	name  string // of the listener
	front protocolFront
	site  protocolSite
}

// A protocolFront is what differs between the protocols.
type protocolFront interface {
	// serve serves the connections of a listener, which the front owns from now on; secure
	// is nil without TLS.
	serve(l net.Listener, secure *tls.Config) (protocolSite, error)
	configure(cfg *config.Config) // has cfg count for the next command
	addTo(snap *ops.Snapshot)     // adds what is counted
	Close()                       // ends what is left; the site comes first
}

// A protocolSite is a listener that is served.
type protocolSite interface {
	Shutdown(ctx context.Context) error // gently
	Refused() admit.Refused
	Close()
}

// protocols are how fronts are made, by the names of their listeners.
var protocols = map[string]struct {
	alpn []string // in a TLS handshake
	open func(s *server) protocolFront
}{
	"wire":     {[]string{wirefront.ALPN}, openWire},
	"resp":     {nil, openRESP},
	"memcache": {nil, openMemcache},
	"sql":      {[]string{sqlfront.ALPN}, openSQL},
}

// serveProtocols starts the protocols whose listeners are on.
func (s *server) serveProtocols() error {
	for _, l := range s.cfg().Listeners() {
		p, known := protocols[l.Name]
		ln := s.listeners[l.Name]
		if !known || ln == nil {
			continue
		}
		var secure *tls.Config
		if l.TLS {
			secure = s.cert.Config(p.alpn...)
		}
		front := p.open(s)
		site, err := front.serve(ln, secure)
		if err != nil {
			front.Close()
			return err
		}
		s.protocols = append(s.protocols, protocolServer{l.Name, front, site})
	}
	return nil
}
