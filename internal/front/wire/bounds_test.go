package wirefront

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/front/fronttest"
)

// TestBounds_OfTheListener, over TCP, TLS and unix sockets.
func TestBounds_OfTheListener(t *testing.T) {
	s := newSite(t)
	fronttest.Bounds(t, "", func(l net.Listener, secure *tls.Config, b admit.Bounds) (
		fronttest.Served, error,
	) {
		return s.f.Serve(l, Listen{TLS: secure, Admit: b})
	})
}
