package front

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// IsLocal reports whether only this machine can reach a listener at a. It says nothing
// of who asks, nor does who asks change it: behind a proxy on this machine everybody's
// connection ends at a loopback address. That is what FromHere is for.
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

// FromHere reports whether nothing speaks against it that a program on this
// machine has made r: both ends of the connection are on the loopback, or it is a
// unix socket; the Host is a name of the loopback, so that no page of a foreign
// site has made it; and no proxy has written that it asks for somebody else.
//
// A proxy need not write that. So a true answer may open only what is not open
// where a configuration speaks of other machines.
func FromHere(r *http.Request) bool {
	own, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !IsLocal(own) || own.Network() != "unix" && !isLoopbackPeer(r.RemoteAddr) {
		return false
	}
	for name := range r.Header {
		if isForwarding(name) {
			return false
		}
	}
	return isLoopbackHost(r.Host)
}

// isLoopbackPeer reports whether the other end of a TCP connection is on the
// loopback.
func isLoopbackPeer(addr string) bool {
	at, err := netip.ParseAddrPort(addr)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// isLoopbackHost reports whether a Host header names the loopback.
func isLoopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// isForwarding reports whether a header, in its canonical form, is one that
// proxies, balancers, meshes and content networks add to what they pass on.
func isForwarding(name string) bool {
	switch name {
	case "Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "Client-Ip",
		"True-Client-Ip", "Fastly-Client-Ip", "Cdn-Loop", "Cdn-Src-Ip", "X-Proxyuser-Ip",
		"X-Chocon-Id", "X-Chocon-Ver":
		return true
	}
	for _, prefix := range []string{"X-Forwarded", "X-Original-", "X-Envoy-", "X-Appengine-",
		"X-Amzn-", "Cf-", "X-Arr-", "X-Azure-", "X-Cloud-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
