package linksfront

import (
	"log/slog"
	"net"

	"github.com/hotrow/hotrow/internal/httpserve"
	"github.com/hotrow/hotrow/internal/lane"
)

// Serve serves the connections of l until Shutdown or Close. It owns l from now
// on.
func (f *Front) Serve(
	l net.Listener, t httpserve.Timeouts, log *slog.Logger,
) (*httpserve.Site, error) {
	return f.serveAs(l, t, log, false)
}

// serveAs is Serve, with a goroutine for each connection if goroutines says so,
// which every system has.
func (f *Front) serveAs(
	l net.Listener, t httpserve.Timeouts, log *slog.Logger, goroutines bool,
) (*httpserve.Site, error) {
	return httpserve.Serve(l, f, t, lane.Config{
		Proto: &Lane{f}, Scope: f.newScope, Goroutines: goroutines, Loops: f.Loops, Log: log,
	})
}
