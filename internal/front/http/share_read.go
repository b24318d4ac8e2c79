package httpfront

import (
	"net"
	"net/http"
)

// Negotiate returns which offer an Accept header likes best, the first one if
// there is no header, and false when it takes none of them.
func Negotiate(h http.Header, offers []string) (int, bool) {
	return negotiate(h.Values("Accept"), offers)
}

// EntityTags reads If-Match or If-None-Match: nil if it is not there, {"*"}, or
// the tags as they were sent. It reports false when it cannot be read.
func EntityTags(h http.Header, name string) ([]string, bool) { return entityTags(h, name) }

// StrongTags returns tags without the weak ones, which If-Match never matches.
func StrongTags(tags []string) []string { return strongTags(tags) }

// BearerToken returns the token of an Authorization header (RFC 6750 2.1).
func BearerToken(h http.Header) (string, bool) { return bearer(h) }

// IsLocal reports whether only this machine can reach a.
func IsLocal(a net.Addr) bool { return isLocal(a) }
