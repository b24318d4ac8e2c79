package httpfront

import (
	"log/slog"
	"net"

	"github.com/hotrow/hotrow/internal/httpserve"
	"github.com/hotrow/hotrow/internal/lane"
)

// Serve serves the connections of l by h until Shutdown or Close, over TLS if there is a
// certificate, which must have been set. It owns l from now on.
func Serve(
	l net.Listener, cert *httpserve.Certificate, h *Handler, t httpserve.Timeouts, log *slog.Logger,
) (*httpserve.Site, error) {
	var form lane.Config
	if cert != nil {
		form.TLS = cert.Config()
	}
	return serve(l, h, t, log, form)
}

// serve is Serve with connections of the form that form asks for: Goroutines,
// which every system has, or TLS.
func serve(
	l net.Listener, h *Handler, t httpserve.Timeouts, log *slog.Logger, form lane.Config,
) (*httpserve.Site, error) {
	on := newProtocol(h)
	return httpserve.Serve(l, h, t, lane.Config{
		Proto: on, Scope: on.newScope, Goroutines: form.Goroutines, TLS: form.TLS, Log: log,
	})
}
