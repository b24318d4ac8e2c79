package row

import (
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Hash returns the hash of a row: XXH64, seed 0, of its canonical document,
// which is what AppendJSON makes. It is the same in every process and release,
// so that an entity tag outlives a restart. It is no defence against somebody
// who looks for two documents with one hash.
func Hash(canonical []byte) uint64 { return xxhash.Sum64(canonical) }

// ETag returns the strong entity tag of one representation of the document with
// this hash: 13 characters of base32hex in lower case, then "-j" for JSON, "-m" for
// MessagePack or "-c" for CBOR, in quotes: "k3f9a1c27e0v4-j".
func ETag(hash uint64, f Format) string {
	return string(appendETag(make([]byte, 0, maxETag), hash, f, Identity))
}

// SameETag reports whether two entity tags, with their quotes, are of the same
// document: what follows the first hyphen, the representation, does not count,
// so that a document read as JSON can be written as MessagePack under If-Match.
// A weak tag (W/) is never the same as any: the comparison is the strong one of
// RFC 9110 8.8.3.2.
func SameETag(a, b string) bool {
	x, ok := opaque(a)
	if !ok {
		return false
	}
	y, ok := opaque(b)
	return ok && x == y
}

// opaque returns the part of a strong entity tag that tells documents apart.
func opaque(tag string) (string, bool) {
	if len(tag) < 3 || tag[0] != '"' || tag[len(tag)-1] != '"' {
		return "", false
	}
	document, _, _ := strings.Cut(tag[1:len(tag)-1], "-")
	return document, document != ""
}

// TagHash returns the hash that an entity tag made by ETag is of. It reports false for
// every other text, and allocates nothing.
func TagHash(tag string) (hash uint64, ok bool) {
	const n = 13 // digits of five bits: the last has four
	if len(tag) < 1+n || tag[0] != '"' {
		return 0, false
	}
	for i, c := range []byte(tag[1 : 1+n]) {
		var bits uint64
		switch {
		case '0' <= c && c <= '9':
			bits = uint64(c - '0')
		case 'a' <= c && c <= 'v':
			bits = uint64(c-'a') + 10
		default:
			return 0, false
		}
		if i == n-1 {
			return hash<<4 | bits>>1, true
		}
		hash = hash<<5 | bits
	}
	return 0, false
}
