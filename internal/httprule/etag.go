package httprule

import (
	"iter"
	"net/http"
	"slices"
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
	list := strings.Join(lines, ",")
	return Tags(list), IsTagList(list)
}

// Tags returns the entity tags of a list; nil if it is none.
func Tags(list string) []string {
	if !IsTagList(list) {
		return nil
	}
	return slices.Collect(EachTag(list))
}

// IsTagList reports whether list is "*", or a list of entity tags that is not empty.
func IsTagList(list string) bool {
	if isAny(list) {
		return true
	}
	for n := 0; ; n++ {
		tag, rest, ok := cutTag(list)
		if !ok || tag == "" {
			return ok && n > 0
		}
		list = rest
	}
}

// EachTag goes through the entity tags of a list, which is one (see IsTagList). The
// star is one of its own.
func EachTag(list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if isAny(list) {
			yield("*")
			return
		}
		for {
			tag, rest, ok := cutTag(list)
			if !ok || tag == "" || !yield(tag) {
				return
			}
			list = rest
		}
	}
}

func isAny(list string) bool { return strings.TrimSpace(list) == "*" }

// cutTag returns the first tag of a list, "" behind the last one, and what follows it.
func cutTag(list string) (tag, rest string, ok bool) {
	list = strings.TrimLeft(list, " \t,")
	if list == "" {
		return "", "", true
	}
	n := TagLength(list)
	rest = strings.TrimLeft(list[n:], " \t")
	if n == 0 || rest != "" && rest[0] != ',' {
		return "", "", false
	}
	return list[:n], rest, true
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

// WeakTags returns tags without the W/ of the weak ones: If-None-Match compares weakly, and
// a weak tag matches the strong one (RFC 9110, 13.1.2). It writes to tags.
func WeakTags(tags []string) []string {
	for i, t := range tags {
		tags[i] = strings.TrimPrefix(t, "W/")
	}
	return tags
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
