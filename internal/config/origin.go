package config

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// CORS says which pages of other origins a browser lets read answers.
type CORS struct {
	Origins []Origin `yaml:"origins" one:"true"`
}

// Names returns the origins as browsers write them.
func (c CORS) Names() []string {
	names := make([]string, 0, len(c.Origins))
	for _, o := range c.Origins {
		names = append(names, string(o))
	}
	return names
}

// An Origin is where a page comes from, scheme://host or scheme://host:port, as a browser
// writes it (RFC 6454 6.2): in lower case, without the port that the scheme implies. Or it is
// "*", which stands for every page.
type Origin string

const anyOrigin Origin = "*"

var (
	schemeText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)
	numberText = regexp.MustCompile(`^(?:[0-9]+|0[xX][0-9A-Fa-f]*)$`)
)

// impliedPorts are those that a browser leaves out.
var impliedPorts = map[string]uint64{"http": 80, "ws": 80, "https": 443, "wss": 443, "ftp": 21}

// setText reads the text of an origin.
func (o *Origin) setText(s string) error {
	v, err := ParseOrigin(s)
	if err == nil {
		*o = v
	}
	return err
}

// ParseOrigin reads the text of an origin, in any spelling of it.
func ParseOrigin(s string) (Origin, error) {
	switch {
	case s == string(anyOrigin):
		return anyOrigin, nil
	case strings.EqualFold(s, "null"):
		return "", errors.New("null is what any file and any sandboxed page sends: " +
			"it names nobody")
	case strings.Contains(s, "*"):
		return "", fmt.Errorf("wildcards are not supported, found %q: name each origin, "+
			"or \"*\" alone", s)
	}
	scheme, rest, ok := strings.Cut(s, "://")
	switch {
	case !ok || !schemeText.MatchString(scheme):
		return "", fmt.Errorf("want scheme://host or scheme://host:port, such as "+
			"https://app.example, found %q%s", s, originHint(s))
	case strings.EqualFold(scheme, "file"):
		return "", errors.New("a page of a file has no origin: serve it, by " +
			"python3 -m http.server, say")
	}
	scheme = strings.ToLower(scheme)
	if at := strings.IndexAny(rest, `/?#\@`); at >= 0 {
		hint := ""
		if rest[at:] == "/" {
			hint = fmt.Sprintf("; did you mean %q?", strings.TrimSuffix(s, "/"))
		}
		return "", fmt.Errorf("want an origin alone, without user and path, found %q%s", s, hint)
	}
	host, port, err := splitOrigin(rest)
	if err != nil {
		return "", err
	}
	if port != 0 && port != impliedPorts[scheme] {
		host += ":" + strconv.FormatUint(port, 10)
	}
	return Origin(scheme + "://" + host), nil
}

// originHint says what may be meant by a text without a scheme.
func originHint(s string) string {
	if strings.Contains(s, "/") {
		return ""
	}
	host, _, err := splitOrigin(s)
	switch {
	case err != nil:
		return ""
	case host == "localhost" || strings.HasPrefix(host, "127."):
		return fmt.Sprintf("; did you mean %q?", "http://"+s)
	}
	return fmt.Sprintf("; did you mean %q?", "https://"+s)
}

// splitOrigin returns the host of an origin as browsers write it, and its port, 0 for none.
func splitOrigin(s string) (host string, port uint64, err error) {
	host, portText, hasPort := strings.Cut(s, ":")
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		addr, err := netip.ParseAddr(s[1:max(end, 1)])
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return "", 0, fmt.Errorf("want an IPv6 address in brackets, found %q", s)
		}
		host, portText, hasPort = bracketed(addr), s[end+1:], end+1 < len(s)
		if hasPort && portText[0] != ':' {
			return "", 0, fmt.Errorf("want nothing but a port behind the address, found %q", s)
		}
		portText = strings.TrimPrefix(portText, ":")
	} else if host, err = originHost(host); err != nil {
		return "", 0, err
	}
	if !hasPort {
		return host, 0, nil
	}
	port, err = strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 || !onlyDigits.MatchString(portText) {
		return "", 0, fmt.Errorf("want a port from 1 to 65535, found %q", portText)
	}
	return host, port, nil
}

// originHost returns a name, or an address of IPv4, as browsers write it.
func originHost(host string) (string, error) {
	name := strings.TrimSuffix(host, ".")
	for _, r := range host {
		if r > '~' {
			return "", fmt.Errorf("want the name as browsers send it, in ASCII (xn--...), found %q",
				host)
		}
	}
	if name == "" || len(name) > 253 || !hostName.MatchString(name) {
		return "", fmt.Errorf("%q is not the name of a host", host)
	}
	// What ends in a number is an address to browsers, which write it in one way.
	last := name[strings.LastIndexByte(name, '.')+1:]
	if _, err := netip.ParseAddr(host); err != nil && numberText.MatchString(last) {
		return "", fmt.Errorf("%q is not an address as browsers write it, such as 127.0.0.1", host)
	}
	return strings.ToLower(host), nil
}

// bracketed returns an address as browsers write it (WHATWG URL, IPv6 serializer).
func bracketed(a netip.Addr) string {
	if a.Is4In6() {
		b := a.As16()
		return fmt.Sprintf("[::ffff:%x:%x]", uint(b[12])<<8|uint(b[13]), uint(b[14])<<8|uint(b[15]))
	}
	return "[" + a.String() + "]"
}

// origins checks that the origins fit each other.
func (v *validator) origins() {
	list := v.c.HTTP.CORS.Origins
	for i, o := range list {
		at := fmt.Sprintf("http.cors.origins[%d]", i)
		switch {
		case o == anyOrigin && len(list) > 1:
			v.addf(at, `"*" stands alone: it lets every page read, and no page write`)
		case slices.Index(list, o) < i:
			v.addf(at, "%q is there twice", o)
		}
	}
}
