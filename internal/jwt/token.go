package jwt

import (
	"encoding/base64"
	"strings"
)

// A token is one in compact form, taken apart. Nothing in it is proved.
type token struct {
	alg     *algorithm
	kid     string // "": none
	signed  string // what the signature covers
	payload []byte
	sig     []byte
}

// parse takes a token apart.
func parse(text string) (t token, err error) {
	if len(text) > maxToken || strings.Count(text, ".") != 2 {
		return t, Malformed
	}
	head, rest, _ := strings.Cut(text, ".")
	body, sig, _ := strings.Cut(rest, ".")
	t.signed = text[:len(head)+1+len(body)]
	header, err := decode(head)
	if err != nil {
		return t, err
	}
	if t.payload, err = decode(body); err != nil {
		return t, err
	}
	if t.sig, err = decode(sig); err != nil {
		return t, err
	}
	return t, t.readHeader(header)
}

// decode reads base64url as RFC 7515 2 has it: no padding, no ends of lines, and no bits
// that are not used. There is one text for some bytes, and it is not empty.
func decode(text string) ([]byte, error) {
	if text == "" || strings.ContainsAny(text, "\r\n") {
		return nil, Malformed
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, Malformed
	}
	return b, nil
}

// readHeader reads what the header says of the signature.
func (t *token) readHeader(text []byte) error {
	h, err := parseObject(text)
	if err != nil {
		return Malformed
	}
	// Both change what has to be checked; we know no extension (RFC 7515 4.1.11, RFC 7797).
	for _, name := range []string{"crit", "b64"} {
		if _, has := h[name]; has {
			return Malformed
		}
	}
	if typ, has := h["typ"]; has && !isType(typ) {
		return Malformed
	}
	if kid, has := h["kid"]; has {
		text, ok := kid.(string)
		if !ok || text == "" || len(text) > maxKid {
			return Malformed
		}
		t.kid = text
	}
	name, ok := h["alg"].(string)
	if !ok {
		return Malformed
	}
	if t.alg = algorithms[name]; t.alg == nil { // none, too
		return Algorithm
	}
	return nil
}

// isType reports whether a typ is that of a token that says who somebody is (RFC 7519 5.1,
// RFC 9068 2.1). That of an ID token, say, is not.
func isType(typ any) bool {
	text, ok := typ.(string)
	text = strings.ToLower(text)
	text = strings.TrimPrefix(text, "application/")
	return ok && (text == "jwt" || text == "at+jwt")
}
