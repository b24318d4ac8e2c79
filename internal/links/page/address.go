package page

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/a-h/templ"
)

// The addresses that pages lead to, or send forms to, and that hold a text of somebody's come
// from these functions alone: nothing else makes a templ.SafeURL.

// pathOf returns the path of something that belongs to a link: its page (rest is "+"), its QR
// code (".svg"). The code is one segment, whatever it holds.
func pathOf(code, rest string) templ.SafeURL {
	return templ.SafeURL("/" + url.PathEscape(code) + rest)
}

// withValue returns an address that ends with a value in its query, and what follows that:
// before is "/+?tag=".
func withValue(before, value, rest string) templ.SafeURL {
	return templ.SafeURL(before + url.QueryEscape(value) + rest)
}

// unsafeURL stands for an address that is not led to. html/template has the same.
const unsafeURL templ.SafeURL = "#ZgotmplZ"

// wholeURL returns an address that was made elsewhere, if it is relative or one of http, https
// and mailto. What may not stand in a URL is percent-encoded.
func wholeURL(address string) templ.SafeURL {
	scheme, _, found := strings.Cut(address, ":")
	if found && !strings.Contains(scheme, "/") {
		switch strings.ToLower(scheme) {
		case "http", "https", "mailto":
		default:
			return unsafeURL
		}
	}
	var b strings.Builder
	for i := range len(address) {
		if isURLByte(address[i]) || isEncoded(address[i:]) {
			b.WriteByte(address[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", address[i])
		}
	}
	return templ.SafeURL(b.String())
}

// isURLByte reports whether a byte may stand in a URL: RFC 3986's reserved and unreserved
// ones but for quotes and parentheses, which end a URL in other texts.
func isURLByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		strings.IndexByte("-._~!#$&*+,/:;=?@[]", c) >= 0
}

// isEncoded reports whether a text begins with a byte that is percent-encoded.
func isEncoded(text string) bool {
	return len(text) > 2 && text[0] == '%' && isHex(text[1]) && isHex(text[2])
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
