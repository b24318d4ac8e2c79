package linksfront

import (
	"log/slog"
	"net"

	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/lane"
)

// Serve serves the connections of l until Shutdown or Close. It owns l from now
// on.
func (f *Front) Serve(
	l net.Listener, t httpfront.Timeouts, log *slog.Logger,
) (*httpfront.Site, error) {
	return f.serveAs(l, t, log, false)
}

// serveAs is Serve, with a goroutine for each connection if goroutines says so,
// which every system has.
func (f *Front) serveAs(
	l net.Listener, t httpfront.Timeouts, log *slog.Logger, goroutines bool,
) (*httpfront.Site, error) {
	return httpfront.ServeLane(l, f, t, lane.Config{
		Proto: &Lane{f}, Scope: f.newScope, Goroutines: goroutines, Loops: f.Loops, Log: log,
	})
}
