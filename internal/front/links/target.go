package linksfront

import (
	"bytes"

	"github.com/hotrow/hotrow/internal/front"
)

// appendTarget appends the target of a link with what the request passes on to
// it: rest, a path, goes behind the target's path, and the query behind its
// query, less the keys that the target has already. Bytes stay as they were
// sent: what is decoded and encoded again is not what was meant. Only those that no
// URL has, and that readers take for different things, are escaped: a backslash is
// a slash to a browser. Nothing is ever appended to the host.
func appendTarget(dst, target, rest, query []byte) []byte {
	target, fragment := cut(target, '#')
	base, own := cut(target, '?')
	dst = append(dst, base...)
	if len(rest) > 0 {
		if !hasPath(base) || base[len(base)-1] != '/' {
			dst = append(dst, '/')
		}
		dst = appendSafe(dst, rest)
	}
	dst = append(dst, own...)
	dst = appendQuery(dst, own, query)
	return append(dst, fragment...)
}

// appendSafe appends b, with escapes for the bytes that no URL has.
func appendSafe(dst, b []byte) []byte {
	const hex = "0123456789ABCDEF"
	for _, c := range b {
		if c <= ' ' || c >= 0x7f || c == '\\' || c == '#' || c == '"' || c == '<' || c == '>' {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// cut cuts b in front of the first sep.
func cut(b []byte, sep byte) (before, from []byte) {
	if i := bytes.IndexByte(b, sep); i >= 0 {
		return b[:i], b[i:]
	}
	return b, nil
}

// hasPath reports whether an absolute URL has a path.
func hasPath(base []byte) bool {
	i := bytes.Index(base, []byte("://"))
	return i >= 0 && bytes.IndexByte(base[i+3:], '/') >= 0
}

// appendQuery appends the parameters of query whose keys are not in own, which
// is empty or begins with "?".
func appendQuery(dst, own, query []byte) []byte {
	sep := byte('?')
	if len(own) > 0 {
		sep, own = '&', own[1:]
		if len(own) == 0 {
			sep = 0 // the target ends with a bare "?"
		}
	}
	compare := bytes.Count(own, []byte{'&'})*bytes.Count(query, []byte{'&'}) <= front.ComparedKeys
	for len(query) > 0 {
		part, left := cut(query, '&')
		if query = left; len(query) > 0 {
			query = query[1:]
		}
		if len(part) == 0 || compare && len(own) > 0 && hasKey(own, part) {
			continue
		}
		if sep != 0 {
			dst = append(dst, sep)
		}
		dst, sep = appendSafe(dst, part), '&'
	}
	return dst
}

// hasKey reports whether a query has the key of a parameter.
func hasKey(query, part []byte) bool {
	key, _ := cut(part, '=')
	for len(query) > 0 {
		one, left := cut(query, '&')
		if k, _ := cut(one, '='); bytes.Equal(k, key) {
			return true
		}
		if query = left; len(query) > 0 {
			query = query[1:]
		}
	}
	return false
}
