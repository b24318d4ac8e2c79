package fallback

import (
	"net/http"
	"strings"
)

// Withheld reports whether no configuration lets a server have a header of a client's request:
// it says what hotrow alone knows, names another method, or belongs to the connection. Cookies
// know no ports: one of another service of this machine would go along.
func Withheld(name string) bool {
	name = http.CanonicalHeaderKey(name)
	switch name {
	case "Cookie", "Host", "Forwarded", "Origin", "Referer", "Content-Length", "User-Agent",
		"Accept-Encoding", "X-Http-Method-Override", "X-Http-Method", "X-Method-Override",
		"Expect", "Via":
		return true
	}
	for _, prefix := range [...]string{"X-Forwarded-", "Hotrow-", "Sec-", "Access-Control-",
		"X-Real-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return OfConnection(name)
}

// OfConnection reports whether a header, in its canonical form, says something of one
// connection (RFC 9110 7.6.1).
func OfConnection(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
		"Proxy-Connection", "Proxy-Authorization", "Proxy-Authenticate":
		return true
	}
	return false
}
