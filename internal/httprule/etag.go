package httprule

import (
	"net/http"
	"strings"
)

// EntityTags reads If-Match or If-None-Match: nil if the header is not there,
// {"*"}, or the tags with their quotes and, where they are weak, their W/. It
// reports false for anything else (RFC 9110 8.8.3).
func EntityTags(h http.Header, name string) ([]string, bool) {
	lines := h.Values(name)
	if len(lines) == 0 {
		return nil, true
	}
	s := strings.TrimSpace(strings.Join(lines, ","))
	if s == "*" {
		return []string{"*"}, true
	}
	var tags []string
	for {
		s = strings.TrimLeft(s, " \t,")
		if s == "" {
			return tags, len(tags) > 0
		}
		n := TagLength(s)
		if n == 0 {
			return nil, false
		}
		tags = append(tags, s[:n])
		s = strings.TrimLeft(s[n:], " \t")
		if s != "" && s[0] != ',' {
			return nil, false
		}
	}
}

// TagLength returns the length of the entity tag at the beginning of s, or 0.
func TagLength(s string) int {
	i := 0
	if strings.HasPrefix(s, "W/") {
		i = 2
	}
	if i >= len(s) || s[i] != '"' {
		return 0
	}
	for i++; i < len(s); i++ {
		switch b := s[i]; {
		case b == '"':
			return i + 1
		case b < 0x21 || b == 0x7f:
			return 0
		}
	}
	return 0
}

// StrongTags returns tags without the weak ones, which If-Match never matches.
func StrongTags(tags []string) []string {
	var strong []string
	for _, t := range tags {
		if !strings.HasPrefix(t, "W/") {
			strong = append(strong, t)
		}
	}
	return strong
}
