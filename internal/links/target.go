package links

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxTarget is the longest target, in bytes, as it is stored.
const maxTarget = 8192

// A target is an absolute URL taken apart, as little as it must be: what is
// behind the authority is sent as it is.
type target struct {
	scheme   string // in lower case
	userinfo string // with the "@"
	host     string // ASCII, in lower case, an IPv6 address without brackets
	port     string // without the colon
	rest     string // path, query and fragment
	literal  bool   // the host is an IPv6 address
}

// Target returns a target in the form in which it is stored: ASCII, with
// scheme and host in lower case, its host as punycode, what is not ASCII behind
// it percent-encoded, and all else as it was. The error is a *FieldError. No
// name is looked up, and nothing is fetched.
func (r *Rules) Target(field, raw string) (string, error) {
	if len(raw) > maxTarget {
		return "", refuse(field, "it is longer than %d bytes", maxTarget)
	}
	t, err := splitTarget(raw)
	if err != nil {
		return "", refuse(field, "%s", err)
	}
	switch {
	case !slices.Contains(r.schemes, t.scheme):
		return "", refuse(field, "its scheme is %s; allowed are %s", strconv.QuoteToASCII(t.scheme),
			strings.Join(r.schemes, ", "))
	case t.userinfo != "":
		return "", refuse(field, "it has a user name; what stands before the @ is often taken "+
			"for the host")
	case r.o.DenyPrivate && isPrivate(t.host):
		return "", refuse(field, "its host is in a private network")
	case slices.Contains(r.own, t.endpoint()):
		return "", &FieldError{Field: field, Loop: true,
			Detail: "it leads back to this shortener"}
	}
	out := t.String()
	if len(out) > maxTarget {
		return "", refuse(field, "it is longer than %d bytes once it is ASCII", maxTarget)
	}
	return out, nil
}

// A reason says in one sentence what is wrong with a target.
type reason string

func (r reason) Error() string { return string(r) }

// The reasons for which a target is refused by its form.
const (
	errEmpty    = reason("it is empty")
	errBytes    = reason("it has a space, a backslash or a control character; percent-encode it")
	errUTF8     = reason("it is not UTF-8")
	errRelative = reason("it has no scheme; write https:// in front")
	errSlashes  = reason("it has no :// behind its scheme, as https://example.com has")
	errNoHost   = reason("it has no host")
	errHost     = reason("its host is not valid")
	errPort     = reason("its port is not valid")
)

// splitTarget takes an absolute URL apart. It is stricter than browsers are:
// what they would mend is refused, for two programs may mend it in two ways.
func splitTarget(raw string) (*target, error) {
	if raw == "" {
		return nil, errEmpty
	}
	if !utf8.ValidString(raw) {
		return nil, errUTF8
	}
	for i := range len(raw) {
		if c := raw[i]; c <= ' ' || c == 0x7f || c == '\\' {
			return nil, errBytes
		}
	}
	n := schemeLength(raw)
	if n == 0 {
		return nil, errRelative
	}
	t := &target{scheme: strings.ToLower(raw[:n])}
	rest, ok := strings.CutPrefix(raw[n:], "://")
	switch {
	case !ok && isPort(raw[n+1:]):
		return nil, errRelative // example.com:8080/page
	case !ok && t.scheme != "http" && t.scheme != "https":
		return nil, reason("a link cannot lead to " + t.scheme + ":")
	case !ok:
		return nil, errSlashes
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	t.rest = encodeRest(rest[end:])
	return t, t.authority(rest[:end])
}

// isPort reports whether what stands behind a colon begins with a port.
func isPort(s string) bool {
	end := strings.IndexAny(s, "/?#")
	if end < 0 {
		end = len(s)
	}
	_, err := strconv.ParseUint(s[:end], 10, 16)
	return err == nil
}

// schemeLength returns the length of the scheme in front of a colon, or 0.
func schemeLength(s string) int {
	for i := range len(s) {
		c := s[i]
		switch {
		case c == ':':
			return i
		case isAlpha(c), i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return 0
		}
	}
	return 0
}

// authority reads user name, host and port.
func (t *target) authority(s string) error {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		t.userinfo, s = encodeRest(s[:i+1]), s[i+1:]
		if strings.ContainsAny(t.userinfo, "[]") || strings.Count(t.userinfo, "@") > 1 {
			return errHost
		}
	}
	if s == "" || s[0] == ':' {
		return errNoHost
	}
	host, port := s, ""
	if s[0] == '[' {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return errHost
		}
		host, port, t.literal = s[1:end], s[end+1:], true
	} else if i := strings.IndexByte(s, ':'); i >= 0 {
		host, port = s[:i], s[i:]
	}
	if err := t.setPort(port); err != nil {
		return err
	}
	return t.setHost(host)
}

// setPort reads the port with its colon, or nothing.
func (t *target) setPort(port string) error {
	if port == "" {
		return nil
	}
	n, err := strconv.ParseUint(port[1:], 10, 16)
	if port[0] != ':' || err != nil || n == 0 || port[1] == '+' {
		return errPort
	}
	t.port = strconv.FormatUint(n, 10)
	return nil
}

// setHost reads the host: a name, an IPv4 address, or an IPv6 address.
func (t *target) setHost(host string) error {
	if t.literal {
		ip, err := netip.ParseAddr(host)
		if err != nil || !ip.Is6() || ip.Zone() != "" {
			return errHost
		}
		t.host = strings.ToLower(host)
		return nil
	}
	ascii, err := hostASCII(host)
	if err != nil || !isHostName(ascii) {
		return errHost
	}
	t.host = ascii
	return nil
}

// isHostName reports whether s, in lower case, can be a host: labels of letters,
// digits, hyphens and underscores, perhaps with a dot behind the last.
func isHostName(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if !isAlnum(c) && c != '-' && c != '_' || c >= 'A' && c <= 'Z' {
				return false
			}
		}
	}
	return true
}

// encodeRest percent-encodes what cannot stand in a URL and has no meaning in
// one. What is encoded already stays as it is.
func encodeRest(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 0x80 || c == '"' || c == '<' || c == '>' || c == '`' {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// String returns the target as it is stored.
func (t *target) String() string {
	var b strings.Builder
	b.WriteString(t.scheme + "://" + t.userinfo)
	if t.literal {
		b.WriteString("[" + t.host + "]")
	} else {
		b.WriteString(t.host)
	}
	if t.port != "" {
		b.WriteString(":" + t.port)
	}
	b.WriteString(t.rest)
	return b.String()
}

// endpoint returns where the target leads, in its one form.
func (t *target) endpoint() endpoint {
	e := endpoint{strings.TrimSuffix(t.host, "."), t.port}
	if ip, ok := literalIP(e.host); ok {
		e.host = ip.String()
	}
	if e.port == "" {
		e.port = "443"
		if t.scheme == "http" {
			e.port = "80"
		}
	}
	return e
}

// isPrivate reports whether a host is an address of this machine or of a
// private network, or a name that never leads anywhere else.
func isPrivate(host string) bool {
	host = strings.TrimSuffix(host, ".")
	if ip, ok := literalIP(host); ok {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsMulticast() ||
			ip.IsUnspecified() || carrierNAT.Contains(ip) || thisNetwork.Contains(ip)
	}
	for _, name := range []string{"localhost", "local", "internal", "lan", "home.arpa"} {
		if host == name || strings.HasSuffix(host, "."+name) {
			return true
		}
	}
	return false
}

// Networks that netip has no method for (RFC 6598, RFC 1122).
var (
	carrierNAT  = netip.MustParsePrefix("100.64.0.0/10")
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
)

// literalIP returns the address that a host is, in any of the forms that
// browsers take: 127.0.0.1, ::ffff:127.0.0.1, 2130706433, 0x7f.1, 0177.1.
func literalIP(host string) (netip.Addr, bool) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap(), true
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, p := range parts {
		base := 10
		if len(p) > 1 && p[0] == '0' {
			base, p = 8, p[1:]
			if p[0] == 'x' {
				base, p = 16, p[1:]
			}
		}
		n, err := strconv.ParseUint(p, base, 32)
		bits := 8 // the last part has what the others have left
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if err != nil || n>>bits != 0 {
			return netip.Addr{}, false
		}
		sum = sum<<bits | n
	}
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(sum)))), true
}
