package eventloop

import (
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// TestAdmit_CountsAddresses: one address has its part, this machine's programs have all.
func TestAdmit_CountsAddresses(t *testing.T) {
	a := newAdmission(&Config{MaxConns: 5, MaxConnsOf: 2})
	one, two := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	self := netip.MustParseAddr("127.0.0.1")
	for i, c := range []struct {
		from netip.Addr
		want bool
	}{{one, true}, {one, true}, {one, false}, {two, true}, {self, true}, {self, true}, {self, false},
		{two, false}} {
		if got := a.enter(c.from); got != c.want {
			t.Errorf("connection %d, from %v: %v", i, c.from, got)
		}
	}
	a.leave(one)
	if a.enter(two) != true || a.enter(one) != false {
		t.Error("a place is not given again")
	}
	for _, from := range []netip.Addr{one, two, two, self, self} {
		a.leave(from)
	}
	if a.open != 0 || len(a.byAddr) != 0 {
		t.Errorf("%d are open, %v, when all have left", a.open, a.byAddr)
	}
}

// TestAdmit_RefusesWhoIsOneTooMany in every form, and takes the next when one has left.
func TestAdmit_RefusesWhoIsOneTooMany(t *testing.T) {
	c := Config{MaxConns: 2, MaxConnsOf: 2, Refusal: []byte("too many")}
	each(t, loopForms, c, func(t *testing.T, s *site) {
		first, second := s.dial(t), s.dial(t)
		for _, c := range []*client{first, second} {
			c.send(get("/hit/1"))
			c.want(200, "hit 1")
		}
		nc, err := net.Dial(s.server.Addr().Network(), s.server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = nc.Close() }()
		_ = nc.SetReadDeadline(waittest.Deadline(time.Minute))
		said, err := io.ReadAll(nc)
		if want := s.tls == nil; (string(said) == "too many") != want || err != nil {
			t.Errorf("the third hears %q, %v", said, err)
		}
		if n := s.server.Stats(); n.Refused != 1 || n.Open != 2 {
			t.Errorf("%+v", n)
		}
		_ = first.Close()
		eventually(t, "the first has left", func() bool { return s.server.Stats().Open == 1 })
		next := s.dial(t)
		next.send(get("/hit/2"))
		next.want(200, "hit 2")
	})
}

// TestAdmit_HandshakesWaitForTheirTurn: peers that say nothing keep others only until their
// time is over.
func TestAdmit_HandshakesWaitForTheirTurn(t *testing.T) {
	c := Config{MaxHandshakes: 1, Header: time.Second}
	each(t, []string{"tls", "tlsloop"}, c, func(t *testing.T, s *site) {
		silent, err := net.Dial("tcp", s.server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = silent.Close() }()
		eventually(t, "a handshake is under way", func() bool { return len(s.server.admit.handshakes) == 1 })
		waits, err := net.Dial("tcp", s.server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = waits.Close() }()
		eventually(t, "another handshake is done", func() bool {
			c := tls.Client(waits, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // it is ours
			if c.Handshake() == nil {
				return true
			}
			_ = waits.Close()
			waits, _ = net.Dial("tcp", s.server.Addr().String())
			return false
		})
	})
}
