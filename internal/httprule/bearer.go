package httprule

import (
	"net/http"
	"strings"
)

// BearerToken returns the token of an Authorization header (RFC 6750 2.1). Two
// headers are as good as none: it is unclear which one is meant.
func BearerToken(h http.Header) (string, bool) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	return Bearer(values[0])
}

// Bearer is BearerToken of the value of the header.
func Bearer(authorization string) (string, bool) {
	scheme, token, ok := strings.Cut(authorization, " ")
	token = strings.TrimSpace(token)
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}
