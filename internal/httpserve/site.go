package httpserve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httpserve/h2"
	"github.com/hotrow/hotrow/internal/wire/http1"
	"github.com/hotrow/hotrow/internal/wire/http2"
)

// A Site is a listener that is served: by the event loop, and what that hands over by a
// handler on net/http.
type Site struct {
	server   *eventloop.Server
	two      *h2.Protocol
	messages *eventloop.MessageServer
}

// Options say how a listener is served.
type Options struct {
	Timeouts
	TLS        *tls.Config  // which agrees on one of ALPN; nil: plain
	Goroutines bool         // one per connection even where loops are possible
	Log        *slog.Logger // nil: discard
	Admit      admit.Bounds // of the connections; zero: what is usual

	// Amend returns an answer that neither the protocol nor the handler has made as it is to
	// be sent, with what all answers of the listener have in common, say. nil: as it is.
	Amend func(answer []byte) []byte
}

// Serve serves the connections of l by the protocol of c, a form of HTTP/1.1,
// and what that hands over by h, until Shutdown or Close. It owns l from now on,
// and fills in what of c net/http and f decide.
func Serve(l net.Listener, h http.Handler, f Options, c eventloop.Config) (*Site, error) {
	s := &Site{
		two:      h2.New(c.Proto),
		messages: eventloop.NewMessageServer(Server(h, f.Timeouts, f.Log), http1.Frame),
	}
	c.HandedOver, c.HTTP2 = s.messages.Serve, s.two
	c.Header, c.Idle, c.Write = f.Header, cmp.Or(f.Idle, front.HTTPIdle), f.Write
	c.Goroutines, c.Log = f.Goroutines, f.Log
	s.amend(&f, &c)
	if f.TLS != nil {
		c.TLS = f.TLS
	} else {
		c.Preface = http2.Preface // who begins so speaks HTTP/2
	}
	var err error
	s.server, err = eventloop.Serve(l, c)
	if err != nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.messages.Shutdown(ctx) // nothing was handed over
		return nil, fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return s, nil
}

// amend has every answer that others make amended.
func (s *Site) amend(f *Options, c *eventloop.Config) {
	c.NotTLS = notTLS
	if f.Amend == nil {
		return
	}
	s.two.Amend, s.messages.Amend = f.Amend, f.Amend
	c.NotTLS = func(begin [5]byte) []byte { return f.Amend(notTLS(begin)) }
	if refusal := c.Refusal; refusal != nil {
		c.Refusal = func() []byte { return f.Amend(refusal()) }
	}
}

// Stats returns the counts of the site's connections.
func (s *Site) Stats() eventloop.Stats { return s.server.Stats() }

// Refused returns the counts of what is one too many.
func (s *Site) Refused() admit.Refused { return s.server.Refused() }

// HTTP2 returns the counts of those that speak HTTP/2.
func (s *Site) HTTP2() h2.Stats { return s.two.Stats() }

// Shutdown stops taking connections and lets every request under way have its
// answer. When ctx ends first, what is left is cut, and its error returned.
func (s *Site) Shutdown(ctx context.Context) error {
	return errors.Join(s.server.Shutdown(ctx), s.messages.Shutdown(ctx))
}

// Close cuts every connection at once.
func (s *Site) Close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.server.Close()
	_ = s.messages.Shutdown(ctx) // its error is that of ctx
}
