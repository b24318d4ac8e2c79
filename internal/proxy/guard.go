package proxy

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// denied are the addresses that a client may not have the proxy connect to:
// this machine, its link, the clouds' metadata services, everybody, and nobody.
// The check is made on the very address that is connected to, so that a name
// that is resolved differently the second time gains nothing.
var denied = prefixes(
	"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4",
	"192.0.0.0/24", "100.100.100.200/32", "168.63.129.16/32",
	"::/128", "::1/128", "fe80::/10", "fec0::/10", "ff00::/8", "fd00:ec2::254/128",
	"100::/64", "2001::/32", "64:ff9b:1::/48",
)

// private are the addresses of networks of one's own; --deny-private refuses
// them as well.
var private = prefixes(
	"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15", "fc00::/7",
)

// prefixes parses networks.
func prefixes(list ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(list))
	for i, text := range list {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// embedding are the networks whose addresses hold an IPv4 address, and where.
var embedding = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	{netip.MustParsePrefix("::/96"), 12},        // IPv4-compatible
}

// contains reports whether one of the networks has an address.
func contains(list []netip.Prefix, a netip.Addr) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// permits reports whether clients may have the proxy connect to an address.
func (o *Options) permits(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if contains(o.AllowAddresses, a) {
		return true
	}
	if contains(denied, a) || o.DenyPrivate && contains(private, a) {
		return false
	}
	b := a.As16()
	for _, e := range embedding {
		if a.Is6() && e.prefix.Contains(a) {
			return o.permits(netip.AddrFrom4([4]byte(b[e.at : e.at+4])))
		}
	}
	return true
}

// A Pattern is an entry of an allow list: a host, or "*.example.com" for all
// names below it, and a port, 0 for any.
type Pattern struct {
	Host string
	Port uint16
}

// ParsePattern reads host, host:port, *.host or *.host:port.
func ParsePattern(text string) (Pattern, error) {
	p := Pattern{Host: strings.ToLower(text)}
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") &&
		(strings.Count(text, ":") == 1 || strings.Contains(text, "]:")) {
		port, err := strconv.ParseUint(text[i+1:], 10, 16)
		if err != nil || port == 0 {
			return p, fmt.Errorf("%q: the port must be a number from 1 to 65535", text)
		}
		p.Host, p.Port = p.Host[:i], uint16(port)
	}
	p.Host = strings.Trim(p.Host, "[]")
	name := strings.TrimPrefix(p.Host, "*.")
	if name != "*" && !validName(name) {
		return p, fmt.Errorf("%q: want host, host:port, *.host or *.host:port", text)
	}
	return p, nil
}

// matches reports whether a host in lower case and its port fit.
func (p Pattern) matches(host string, port uint16) bool {
	if p.Port != 0 && p.Port != port {
		return false
	}
	host = strings.TrimSuffix(host, ".")
	if suffix, ok := strings.CutPrefix(p.Host, "*"); ok {
		return strings.HasSuffix(host, suffix)
	}
	return host == p.Host
}

// allows reports whether clients may name an upstream. Without a list they may
// name any; what its address may be is another question.
func (o *Options) allows(host string, port uint16) bool {
	for _, p := range o.Allow {
		if p.matches(host, port) {
			return true
		}
	}
	return len(o.Allow) == 0
}
