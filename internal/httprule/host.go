// Package httprule has the rules of HTTP that all who answer it keep alike: which
// Host names are theirs, whose token a request carries, which representation it
// accepts, what an entity tag is. It knows no resource, and sends nothing.
package httprule

import (
	"net"
	"net/netip"
	"strings"

	"github.com/hotrow/hotrow/internal/front"
)

// Hosts is the set of Host names that a listener answers. A page of a foreign
// site can point its own name at 127.0.0.1 (DNS rebinding) and then reads us
// with the visitor's browser; it cannot make the browser send another Host.
type Hosts struct {
	names map[string]bool
	all   bool
}

// NewHosts returns the set of hosts, localhost and the loopback addresses; "*"
// among hosts stands for all.
func NewHosts(hosts []string) Hosts {
	l := Hosts{names: map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true}}
	for _, h := range hosts {
		if h == "*" {
			l.all = true
		} else if name, ok := hostName(h); ok {
			l.names[name] = true
		}
	}
	return l
}

// Allow reports whether host, a Host header, is one of the set or the address
// own, at which the connection arrived.
func (l Hosts) Allow(host string, own net.Addr) bool {
	if l.all {
		return true
	}
	name, ok := hostName(host)
	return ok && (l.names[name] || isOwnAddress(name, own))
}

// isOwnAddress reports whether name is the IP address own.
func isOwnAddress(name string, own net.Addr) bool {
	ip, ok := front.AddrIP(own)
	if !ok {
		return false
	}
	asked, err := netip.ParseAddr(name)
	return err == nil && asked.Unmap() == ip.WithZone("")
}

// hostName returns the host of a Host header in its canonical form: without
// port, brackets or final dot, in lower case.
func hostName(host string) (string, bool) {
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		if end < 0 || !isPort(host[end+1:]) {
			return "", false
		}
		ip, err := netip.ParseAddr(host[1:end])
		return ip.WithZone("").String(), err == nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.String(), true // an IPv6 address in the configuration, without brackets
	}
	if i := strings.IndexByte(host, ':'); i >= 0 {
		if !isPort(host[i:]) {
			return "", false
		}
		host = host[:i]
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || len(host) > 253 {
		return "", false
	}
	for i := range len(host) {
		b := host[i]
		if !(b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '-' || b == '.' || b == '_') {
			return "", false
		}
	}
	return host, true
}

// isPort reports whether s is nothing or a colon with at most five digits.
func isPort(s string) bool {
	if s == "" {
		return true
	}
	if s[0] != ':' || len(s) > 6 {
		return false
	}
	for i := 1; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
