package ops

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// checkHost answers 421 to a Host that is not ours. A page on a foreign site
// can make its own name resolve to this machine (DNS rebinding) and then read
// what we answer, but it cannot make the browser send another Host.
func checkHost(hosts func() []string, next http.Handler) http.Handler {
	if hosts == nil {
		hosts = func() []string { return nil }
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := hostName(r.Host)
		known := name == "localhost" || ownAddress(r, name) ||
			slices.ContainsFunc(hosts(), func(h string) bool { return hostName(h) == name })
		if !known {
			writeText(w, http.StatusMisdirectedRequest, fmt.Sprintf(
				"this port does not answer for host %q: use localhost or its address, "+
					"or add the name to ops.hosts in the configuration\n", name))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostName returns the name in a Host header, without port, brackets, case and
// final dot.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// ownAddress reports whether name is an address of the loopback, or the one
// that the client has connected to. An address is no name that could be made
// to resolve to another one.
func ownAddress(r *http.Request, name string) bool {
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	addr = addr.Unmap().WithZone("")
	if addr.IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && local.AddrPort().Addr().Unmap().WithZone("") == addr
}
