package clicks

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// maxValue is the length of a dimension's value in bytes.
const maxValue = 128

// clean returns text that every database takes: valid UTF-8 without NUL and
// other control characters, at most n bytes, cut between two runes. One bad byte
// in one header must not fail the batch of ten thousand others.
func clean(b []byte, n int) string {
	if isPlain(b) {
		return string(b[:min(len(b), n)])
	}
	b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, string(b))
	return cut(s, n)
}

// isPlain reports whether b is printable ASCII.
func isPlain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// cut returns at most n bytes of s, up to the end of a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// hostOf returns the host of a referrer in lower case: Direct without a referrer,
// DimOther for what is no address of a web page or app.
func hostOf(referrer string) string {
	if referrer == "" {
		return Direct
	}
	_, rest, ok := cutScheme(referrer)
	if !ok {
		return DimOther
	}
	host := authority(rest)
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host = host[:colon]
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" || len(host) > maxValue || strings.ContainsFunc(host, isNoHost) {
		return DimOther
	}
	return host
}

// isNoHost reports whether a rune is never part of a host.
func isNoHost(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune(".-_[]:", r)
}

// cutScheme splits off the scheme of an address whose host can be told.
func cutScheme(s string) (scheme, rest string, ok bool) {
	for _, scheme := range []string{"https://", "http://", "android-app://"} {
		if len(s) > len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
			return scheme, s[len(scheme):], true
		}
	}
	return "", s, false
}

// authority returns what is before the path, query or fragment.
func authority(rest string) string {
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return rest[:i]
	}
	return rest
}

// originOf returns a referrer without its path.
func originOf(referrer string) string {
	scheme, rest, ok := cutScheme(referrer)
	if !ok || hostOf(referrer) == DimOther {
		return ""
	}
	host := authority(rest)
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	return scheme + host + "/"
}
