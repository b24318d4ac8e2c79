package linksfront

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/lane"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// A Site is a listener that is served: redirects by the lane, all else by the
// Front on net/http.
type Site struct {
	lane   *lane.Server
	visits *lane.Visits
}

// Serve serves the connections of l until Shutdown or Close. It owns l from now
// on.
func (f *Front) Serve(l net.Listener, t httpfront.Timeouts, log *slog.Logger) (*Site, error) {
	return f.serveAs(l, t, log, false)
}

// serveAs is Serve, with a goroutine for each connection if goroutines says so,
// which every system has.
func (f *Front) serveAs(
	l net.Listener, t httpfront.Timeouts, log *slog.Logger, goroutines bool,
) (*Site, error) {
	s := &Site{visits: lane.NewVisits(httpfront.Server(f, t, log), http1.Frame)}
	var err error
	s.lane, err = lane.Serve(l, lane.Config{
		Proto: &Lane{f}, Full: s.visits.Full, HTTP2: s.visits.HTTP2, Scope: f.newScope,
		Goroutines: goroutines, Loops: f.Loops, Header: t.Header, Idle: t.Idle, Write: t.Write,
		Log: log,
	})
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
