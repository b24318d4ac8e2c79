package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// A Listener is where connections are taken: host:port, :port (every address of
// this machine), :0 (any free port of the loopback), unix:PATH, or off.
type Listener struct {
	Network string // "tcp", "unix"; "" is off
	Address string // as net.Listen wants it
}

// maxUnixPath is what sun_path holds on Linux, without its end.
const maxUnixPath = 107

// hostName is one or more labels of RFC 1123, with the underscore that names in
// practice have.
var hostName = regexp.MustCompile(`^(?:` + hostLabel + `\.)*` + hostLabel + `$`)

const hostLabel = `[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?`

// ParseListener reads the text of a listener.
func ParseListener(s string) (Listener, error) {
	if s == "off" {
		return Listener{}, nil
	}
	if path, ok := strings.CutPrefix(s, "unix:"); ok {
		switch {
		case path == "" || strings.ContainsRune(path, 0):
			return Listener{}, errors.New("unix: needs a path, such as unix:/run/hotrow.sock")
		case len(path) > maxUnixPath:
			return Listener{}, fmt.Errorf("the path of a unix socket has at most %d bytes",
				maxUnixPath)
		}
		return Listener{Network: "unix", Address: path}, nil
	}
	return parseTCP(s)
}

// parseTCP reads host:port.
func parseTCP(s string) (Listener, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		hint := ""
		if onlyDigits.MatchString(s) {
			hint = fmt.Sprintf("; did you mean %q?", "127.0.0.1:"+s)
		}
		return Listener{}, fmt.Errorf("want host:port, :port, unix:PATH or off, found %q%s",
			s, hint)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || !onlyDigits.MatchString(port) {
		return Listener{}, fmt.Errorf("want a port from 0 to 65535, found %q", port)
	}
	_, ipErr := netip.ParseAddr(host)
	if host != "" && ipErr != nil && !hostName.MatchString(host) {
		return Listener{}, fmt.Errorf("%q is neither an address nor the name of a host", host)
	}
	if host == "" && n == 0 {
		host = "127.0.0.1" // nobody means to open a port that nobody knows
	}
	return Listener{Network: "tcp", Address: net.JoinHostPort(host, strconv.Itoa(int(n)))}, nil
}

// setText reads the text of a listener.
func (l *Listener) setText(s string) error {
	v, err := ParseListener(s)
	if err == nil {
		*l = v
	}
	return err
}

// Off reports whether nothing is listened to.
func (l Listener) Off() bool { return l.Network == "" }

// Local reports whether only this machine can connect.
func (l Listener) Local() bool {
	if l.Network != "tcp" {
		return true
	}
	host, _, err := net.SplitHostPort(l.Address)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// String returns the text.
func (l Listener) String() string {
	switch l.Network {
	case "":
		return "off"
	case "unix":
		return "unix:" + l.Address
	default:
		return l.Address
	}
}

// MarshalYAML writes the text.
func (l Listener) MarshalYAML() (any, error) { return l.String(), nil }
