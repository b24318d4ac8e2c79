package memcached

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// defaultPort is the port of a URL that names none.
const defaultPort = "11211"

// A target is where a server is, and who wants to be let in.
type target struct {
	network        string // "tcp" or "unix"
	address        string
	user, password string // "": the server asks for none
}

// String returns the address without the password.
func (t *target) String() string {
	if t.network == "unix" {
		return "unix:" + t.address
	}
	return t.address
}

// parseURL reads memcached://HOST:PORT, memcached://USER:PASSWORD@HOST:PORT for
// a server with an authentication file (memcached -Y), and, for a unix socket,
// memcached:///PATH or memcached://unix:/PATH. Errors do not show the URL, which
// may hold a password.
func parseURL(raw string) (target, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "memcached" || u.Opaque != "" {
		return target{}, errors.New("memcached url: want memcached://HOST:PORT, or " +
			"memcached:///PATH for a unix socket")
	}
	t := target{network: "tcp"}
	host, port := u.Hostname(), u.Port()
	switch {
	case u.RawQuery != "" || u.Fragment != "":
		return target{}, errors.New("memcached url: it has no parameters")
	case host == "" && port == "" || host == "unix" && port == "" && u.Path != "":
		if strings.Trim(u.Path, "/") == "" {
			return target{}, errors.New("memcached url: needs a host, or the path of a socket")
		}
		t.network, t.address = "unix", u.Path
	case u.Path != "" && u.Path != "/":
		return target{}, fmt.Errorf("memcached url: there are no databases: remove %q", u.Path)
	case host == "":
		return target{}, errors.New("memcached url: needs a host")
	default:
		if port == "" {
			port = defaultPort
		}
		t.address = net.JoinHostPort(host, port)
	}
	t.user = u.User.Username()
	t.password, _ = u.User.Password()
	if u.User != nil && (t.user == "" || t.password == "") {
		return target{}, errors.New("memcached url: needs a user and a password, or neither")
	}
	if strings.ContainsAny(t.user+t.password, " \r\n") {
		return target{}, errors.New("memcached url: a user or password has no blanks")
	}
	return t, nil
}
