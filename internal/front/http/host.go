package httpfront

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// A hostList is the set of Host names that are answered. A page of a foreign
// site can point its own name at 127.0.0.1 (DNS rebinding) and then reads us
// with the visitor's browser; it cannot make the browser send another Host.
type hostList struct {
	names map[string]bool
	all   bool
}

func newHostList(hosts []string) hostList {
	l := hostList{names: map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true}}
	for _, h := range hosts {
		if h == "*" {
			l.all = true
		} else if name, ok := hostName(h); ok {
			l.names[name] = true
		}
	}
	return l
}

// allows reports whether r's Host is one of the list or the address at which
// the connection arrived.
func (l hostList) allows(r *http.Request) bool {
	own, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return l.allowsName(r.Host, own)
}

// allowsName is allows for a Host that arrived at the address own.
func (l hostList) allowsName(host string, own net.Addr) bool {
	if l.all {
		return true
	}
	name, ok := hostName(host)
	return ok && (l.names[name] || isOwnAddress(name, own))
}

// isOwnAddress reports whether name is the IP address own.
func isOwnAddress(name string, own net.Addr) bool {
	ip, ok := addrIP(own)
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
