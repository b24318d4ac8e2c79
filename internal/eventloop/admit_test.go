package eventloop

import (
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestAdmit_RefusesWhoIsOneTooMany in every form, and takes the next when one has left.
func TestAdmit_RefusesWhoIsOneTooMany(t *testing.T) {
	c := Config{Admit: admit.Bounds{Connections: func() (int, int) { return 2, 2 }},
		Refusal: func() []byte { return []byte("too many") }}
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
		if n := s.server.Stats().Open; n != 2 || s.server.Refused() != (admit.Refused{Connections: 1}) {
			t.Errorf("%d are open, %+v", n, s.server.Refused())
		}
		_ = first.Close()
		eventually(t, "the first has left", func() bool { return s.server.Stats().Open == 1 })
		next := s.dial(t)
		next.send(get("/hit/2"))
		next.want(200, "hit 2")
	})
}

// TestAdmit_CountsAddressesOfPeers: loops ask the system who has connected. This machine's own
// address is another's when it is not of the loopback.
func TestAdmit_CountsAddressesOfPeers(t *testing.T) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Serve(l, Config{Proto: &hits{}, Admit: admit.Bounds{
		Connections: func() (int, int) { return 1000, 1 }}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, port, err := net.SplitHostPort(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[netip.Prefix]bool) // networks of IPv6, addresses of IPv4
	var open, refused int64
	for _, a := range all {
		ip, ok := netip.AddrFromSlice(a.(*net.IPNet).IP)
		if ip = ip.Unmap(); !ok || ip.IsLinkLocalUnicast() {
			continue // it would need its zone
		}
		bits := 32
		if ip.Is6() {
			bits = 64
		}
		by, _ := ip.Prefix(bits)
		for range 2 {
			nc, err := net.Dial("tcp", net.JoinHostPort(ip.String(), port))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = nc.Close() }()
			if seen[by] && !ip.IsLoopback() {
				refused++
			} else {
				open++
			}
			seen[by] = true
		}
	}
	eventually(t, "all have come", func() bool {
		return s.Stats().Open == open && s.Refused() == admit.Refused{OfOne: refused}
	})
}

// TestAdmit_HandshakesWaitForTheirTurn: peers that say nothing keep others only until their
// time is over.
func TestAdmit_HandshakesWaitForTheirTurn(t *testing.T) {
	c := Config{Admit: admit.Bounds{Handshakes: 1}, Header: time.Second}
	each(t, []string{"tls", "tlsloop"}, c, func(t *testing.T, s *site) {
		silent, err := net.Dial("tcp", s.server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = silent.Close() }()
		eventually(t, "a handshake is under way", func() bool { return s.server.gate.Handshakes() == 1 })
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
