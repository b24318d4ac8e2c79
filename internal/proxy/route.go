package proxy

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// maxTargets bounds the upstreams that are remembered: who may name any can
// name many.
const maxTargets = 4096

// prefixTarget begins a path that names its upstream: /_/https/host/path.
const prefixTarget = "/_/"

// route returns the target of a request.
func (s *Server) route(x *roundTrip) (*target, error) {
	r := &x.req
	switch {
	case x.looped:
		return nil, errLoop
	case r.Connect:
		return s.routeConnect(r)
	case x.twice:
		return nil, errTwoNames
	case s.fixed != nil:
		return s.fixed, nil
	case x.named != nil:
		if x.isForeign() {
			return nil, errForeign
		}
		return s.named(x.named, false)
	}
	if rest, ok := bytes.CutPrefix(r.Target, []byte(prefixTarget)); ok && s.isOwnHost(r.Host) {
		if x.isForeign() {
			return nil, errForeign
		}
		return s.prefixed(x, rest)
	}
	// An Origin says nothing here: programs pass on that of their own visitors.
	if x.cross {
		return nil, errForeign
	}
	return s.named(r.Host, true)
}

// isForeign reports whether a browser asks for a page of another site than the
// proxy itself: one that does not say so sends the Origin with what it writes.
func (x *roundTrip) isForeign() bool {
	_, own, found := bytes.Cut(x.origin, []byte("://"))
	return x.cross || x.origin != nil && (!found || !bytes.EqualFold(own, x.req.Host))
}

// routeConnect returns the target of a CONNECT, if that is allowed.
func (s *Server) routeConnect(r *http1.RequestHead) (*target, error) {
	if !s.opts.Connect {
		return nil, errConnect
	}
	return s.named([]byte("http://"+string(r.Host)), false)
}

// prefixed finds the target that a path names, and cuts it off.
func (s *Server) prefixed(x *roundTrip, rest []byte) (*target, error) {
	scheme, rest, ok := bytes.Cut(rest, []byte("/"))
	if !ok || !isName(scheme, "http") && !isName(scheme, "https") {
		return nil, errUpstreamName
	}
	host := rest
	if i := bytes.IndexAny(rest, "/?"); i >= 0 {
		host = rest[:i]
	}
	if len(rest) == len(host) || rest[len(host)] != '/' {
		return nil, errUpstreamName // it is a directory: relative links need the slash
	}
	x.cut = len(x.req.Target) - len(rest) + len(host)
	return s.named([]byte(string(scheme)+"://"+string(host)), false)
}

// named returns the target of a name: what Host says, by the rule of chocon, or
// a URL. Names that have been seen cost a look into a map.
func (s *Server) named(name []byte, byHost bool) (*target, error) {
	if t := (*s.names.Load())[string(name)]; t != nil {
		return t, nil
	}
	var o origin
	var secure, ok bool
	if byHost {
		o, secure, ok = hostRule(string(name), s.opts.Suffixes)
	} else {
		o, secure, ok = parseOrigin(string(name))
	}
	switch {
	case !ok && byHost:
		return nil, errHostRule
	case !ok || o.path != "":
		return nil, errUpstreamName
	case !s.opts.allows(o.name, o.port):
		return nil, errNotAllowed
	}
	return s.remember(name, newTarget(s, []origin{o}, secure)), nil
}

// remember returns t, or the target that is as t, for requests that say name.
func (s *Server) remember(name []byte, t *target) *target {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.targets) >= maxTargets {
		s.forgetTargets()
	}
	if old := s.targets[t.key]; old != nil {
		t = old
	} else {
		s.targets[t.key] = t
	}
	names := maps.Clone(*s.names.Load())
	if len(names) >= maxTargets {
		clear(names)
	}
	names[string(name)] = t
	s.names.Store(&names)
	return t
}

// forgetTargets drops the targets that nobody uses. The caller holds mu.
func (s *Server) forgetTargets() {
	s.names.Store(&map[string]*target{})
	for key, t := range s.targets {
		if t.active() == 0 {
			t.close()
			delete(s.targets, key)
		}
	}
}

// An origin is where an upstream is, by name.
type origin struct {
	name string // of the host
	port uint16
	path string // of a unix socket; then there is no name
	bare bool   // the port was not written
}

// authority returns what Host says to the upstream.
func (o origin) authority() string {
	if o.path != "" {
		return "localhost"
	}
	name := o.name
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if o.bare {
		return name
	}
	return name + ":" + strconv.Itoa(int(o.port))
}

// String returns the origin's address.
func (o origin) String() string {
	if o.path != "" {
		return "unix:" + o.path
	}
	return net.JoinHostPort(o.name, strconv.Itoa(int(o.port)))
}

// reserved are the domains that may follow ccnproxy: nobody can register a name
// in them (RFC 6761, 6762, 8375; .internal by ICANN), so no page of a foreign site
// can have one that it makes resolve to this machine.
var reserved = []string{"", "local", "localhost", "internal", "test", "example", "invalid",
	"home.arpa"}

// isSuffix reports whether a domain may follow ccnproxy.
func isSuffix(domain string, more []string) bool {
	domain = strings.ToLower(strings.TrimSuffix(domain, "."))
	for _, list := range [][]string{reserved, more} {
		for _, s := range list {
			s = strings.ToLower(s)
			if domain == s || s != "" && strings.HasSuffix(domain, "."+s) {
				return true
			}
		}
	}
	return false
}

// hostRule finds the upstream in a Host: what stands before the last label that
// is ccnproxy or, for TLS, ccnproxy-ssl, ccnproxy-secure or ccnproxy-https. What
// follows is a reserved domain, or one of suffixes.
func hostRule(host string, suffixes []string) (o origin, secure, ok bool) {
	name, port, _ := strings.Cut(host, ":")
	labels := strings.Split(name, ".")
	last := 0
	for i, label := range labels {
		switch strings.ToLower(label) {
		case "ccnproxy":
			last, secure = i, false
		case "ccnproxy-ssl", "ccnproxy-secure", "ccnproxy-https":
			last, secure = i, true
		}
	}
	if last == 0 || !isSuffix(strings.Join(labels[last+1:], "."), suffixes) {
		return o, false, false
	}
	o, ok = makeOrigin(strings.Join(labels[:last], "."), port, secure)
	return o, secure, ok
}

// makeOrigin checks a name and a port. No port is the scheme's own.
func makeOrigin(name, port string, secure bool) (o origin, ok bool) {
	o = origin{name: strings.ToLower(name), port: 80}
	if secure {
		o.port = 443
	}
	if o.bare = port == ""; !o.bare {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || port[0] == '+' {
			return o, false
		}
		o.port = uint16(n)
	}
	return o, validName(o.name)
}

// validName reports whether a name can be one of a host, or is an address.
func validName(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return !strings.Contains(name, "%")
	}
	if name == "" || len(name) > 253 || name[0] == '.' || strings.Contains(name, "..") {
		return false
	}
	for _, c := range []byte(name) {
		if c != '-' && c != '.' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// parseOrigin reads http://host:port, https://host or unix:/path. A path is
// ignored, as chocon does.
func parseOrigin(text string) (o origin, secure, ok bool) {
	if path, is := strings.CutPrefix(text, "unix:"); is {
		return origin{path: path}, false, path != ""
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.Host == "" {
		return o, false, false
	}
	secure = u.Scheme == "https"
	if !secure && u.Scheme != "http" {
		return o, false, false
	}
	o, ok = makeOrigin(u.Hostname(), u.Port(), secure)
	return o, secure, ok
}

// fixedTarget returns the target of --upstream, which every request goes to.
func fixedTarget(s *Server, upstreams []string) (*target, error) {
	var origins []origin
	first := false
	for i, text := range upstreams {
		o, secure, ok := parseOrigin(text)
		if !ok {
			return nil, fmt.Errorf("upstream %q: want http://host:port, https://host:port or "+
				"unix:/path", text)
		}
		if i == 0 {
			first = secure
		}
		if secure != first {
			return nil, fmt.Errorf("upstream %q: all upstreams speak TLS, or none", text)
		}
		origins = append(origins, o)
	}
	t := newTarget(s, origins, first)
	t.passHost, t.trusted = true, true
	return t, nil
}

// isOwnHost reports whether a Host names the proxy itself.
func (s *Server) isOwnHost(host []byte) bool {
	name := string(host)
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && (addr.IsLoopback() || s.isListening(addr))
}
