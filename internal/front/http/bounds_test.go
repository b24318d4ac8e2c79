package httpfront

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
	s := newServer(t)
	fronttest.Bounds(t, httprule.TooMany, func(l net.Listener, secure *tls.Config, b admit.Bounds) (
		fronttest.Served, error,
	) {
		return Serve(l, s.h, httpserve.Options{TLS: secure, Admit: b})
	})
}
