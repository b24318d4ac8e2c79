package httpfront

import (
	"net"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/httpserve"
)

// Serve serves the connections of l by h until Shutdown or Close. It owns l from now on.
func Serve(l net.Listener, h *Handler, f httpserve.Options) (*httpserve.Site, error) {
	on := newProtocol(h)
	f.Amend = h.amend
	return httpserve.Serve(l, h, f, front.Limited(eventloop.Config{
		Proto: on, Scope: on.newScope, Admit: f.Admit,
		Meter: func() eventloop.Meter { return h.unsent.NewShare() },
	}, httprule.TooMany))
}
