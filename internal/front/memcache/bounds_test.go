package memcachefront

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/front/fronttest"
	"github.com/hotrow/hotrow/internal/front/kv"
)

// TestBounds_OfTheListener, over TCP, TLS and unix sockets.
func TestBounds_OfTheListener(t *testing.T) {
	s := newSite(t)
	const said = "ERROR Too many open connections\r\n"
	fronttest.Bounds(t, said, func(l net.Listener, secure *tls.Config, b admit.Bounds) (
		fronttest.Served, error,
	) {
		return s.f.Serve(l, kv.Listen{TLS: secure, Admit: b})
	})
}
