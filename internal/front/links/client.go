package linksfront

import (
	"bytes"
	"net"
	"net/netip"

	"github.com/hotrow/hotrow/internal/row"
)

// peerAddr returns the address at the other end of a socket; the zero Addr when
// it has none, as a unix socket.
func peerAddr(a net.Addr) netip.Addr {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	ip, _ := netip.AddrFromSlice(t.IP)
	return ip.Unmap()
}

// A proxyList is whom the server believes when it says for whom it asks.
type proxyList []netip.Prefix

// has reports whether an address is trusted. A unix socket is nobody's whom
// its permissions keep out.
func (l proxyList) has(a netip.Addr) bool {
	if !a.IsValid() {
		return len(l) > 0
	}
	for _, p := range l {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// client returns whose request it is: the peer's, or that of the rightmost
// address in X-Forwarded-For that is not trusted. What stands further left was
// written by who is not trusted, and may be anything.
func (l proxyList) client(peer netip.Addr, forwarded []byte) netip.Addr {
	if len(l) == 0 || len(forwarded) == 0 || !l.has(peer) {
		return peer
	}
	client := peer
	for len(forwarded) > 0 {
		i := bytes.LastIndexByte(forwarded, ',')
		one := bytes.TrimSpace(forwarded[i+1:])
		if i < 0 {
			i = 0
		}
		forwarded = forwarded[:i]
		a, ok := parseAddr(one)
		if !ok {
			return client
		}
		if client = a; !l.has(a) {
			return client
		}
	}
	return client
}

// parseAddr reads an address, which may have brackets and a port.
func parseAddr(b []byte) (netip.Addr, bool) {
	if len(b) == 0 || len(b) > 64 {
		return netip.Addr{}, false
	}
	text := row.Alias(b) // without its zone an address keeps nothing of it
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().WithZone(""), true
	}
	if p, err := netip.ParseAddrPort(text); err == nil {
		return p.Addr().Unmap().WithZone(""), true
	}
	if len(text) > 2 && text[0] == '[' && text[len(text)-1] == ']' {
		a, err := netip.ParseAddr(text[1 : len(text)-1])
		return a.Unmap().WithZone(""), err == nil
	}
	return netip.Addr{}, false
}
