package httpserve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/hotrow/hotrow/internal/httpserve/h2"
	"github.com/hotrow/hotrow/internal/lane"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// A Site is a listener that is served: by the event loop, and what that hands over by a
// handler on net/http.
type Site struct {
	lane   *lane.Server
	visits *lane.Visits
}

// Serve serves the connections of l by the protocol of c, a form of HTTP/1.1,
// and what that hands over by h, until Shutdown or Close. It owns l from now on,
// and fills in what of c the visits to net/http and t decide.
func Serve(l net.Listener, h http.Handler, t Timeouts, c lane.Config) (*Site, error) {
	s := &Site{visits: lane.NewVisits(Server(h, t, c.Log), http1.Frame)}
	c.Full, c.HTTP2 = s.visits.Full, h2.New(c.Proto)
	c.Header, c.Idle, c.Write = t.Header, t.Idle, t.Write
	if c.TLS != nil {
		c.NotTLS = notTLS
	}
	var err error
	s.lane, err = lane.Serve(l, c)
	if err != nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.visits.Shutdown(ctx) // nobody has visited
		return nil, fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return s, nil
}

// Stats returns the counts of the site's connections.
func (s *Site) Stats() lane.Stats { return s.lane.Stats() }

// Shutdown stops taking connections and lets every request under way have its
// answer. When ctx ends first, what is left is cut, and its error returned.
func (s *Site) Shutdown(ctx context.Context) error {
	return errors.Join(s.lane.Shutdown(ctx), s.visits.Shutdown(ctx))
}

// Close cuts every connection at once.
func (s *Site) Close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.lane.Close()
	_ = s.visits.Shutdown(ctx) // its error is that of ctx
}
