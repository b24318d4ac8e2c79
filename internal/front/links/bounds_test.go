package linksfront

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/front/fronttest"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/httpserve"
)

// TestBounds_OfTheListener, over TCP, TLS and unix sockets.
func TestBounds_OfTheListener(t *testing.T) {
	b := newBed(t, databases()[0], nil)
	fronttest.Bounds(t, httprule.TooMany, func(l net.Listener, secure *tls.Config, most admit.Bounds) (
		fronttest.Served, error,
	) {
		return b.front.Serve(l, httpserve.Options{TLS: secure, Admit: most})
	})
}
