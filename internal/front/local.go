package front

import (
	"net"
	"net/netip"
)

// IsLocal reports whether only this machine can reach a.
func IsLocal(a net.Addr) bool {
	if a == nil {
		return false
	}
	if a.Network() == "unix" {
		return true
	}
	ip, ok := AddrIP(a)
	return ok && ip.IsLoopback()
}

// AddrIP returns the address of a TCP endpoint, without its zone, and false for
// another endpoint.
func AddrIP(a net.Addr) (netip.Addr, bool) {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	ip, ok := netip.AddrFromSlice(t.IP)
	return ip.Unmap(), ok
}
