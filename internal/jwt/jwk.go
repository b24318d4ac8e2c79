package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// ParseSet returns the keys of a set in JSON (RFC 7517 5). refused names those that are not
// used, with the reason. trusted says that the set is the configuration's: it may hold
// secrets, and a key without kid fits any token.
func ParseSet(text []byte, allowed []string, trusted bool) (
	keys []Key, refused []string, err error,
) {
	o, err := parseObject(text)
	if err != nil {
		return nil, nil, err
	}
	list, ok := o["keys"].([]any)
	switch {
	case !ok:
		return nil, nil, errors.New("want a set of keys: a JSON object with the list keys")
	case len(list) > maxKeys:
		return nil, nil, fmt.Errorf("has more than %d keys", maxKeys)
	}
	count := make(map[string]int)
	for _, v := range list {
		count[textOf(v, "kid")]++
	}
	for i, v := range list {
		kid := textOf(v, "kid")
		k, err := parseJWK(v, allowed, trusted)
		if err == nil && kid != "" && count[kid] > 1 {
			err = errors.New("another key has this kid, too")
		}
		if err != nil {
			refused = append(refused, fmt.Sprintf("key %d (kid %.60q): %v", i+1, kid, err))
			continue
		}
		k.kid, k.any = kid, trusted && kid == ""
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, refused, errors.New("has no key that verifies tokens")
	}
	return keys, refused, nil
}

// textOf returns a member of an object that is a text, "" for none.
func textOf(object any, name string) string {
	o, _ := object.(map[string]any)
	text, _ := o[name].(string)
	return text
}

// parseJWK reads a key (RFC 7517 4).
func parseJWK(v any, allowed []string, trusted bool) (k Key, err error) {
	o, ok := v.(map[string]any)
	if !ok {
		return k, errors.New("it is no JSON object")
	}
	for _, name := range []string{"kid", "alg", "use", "kty"} {
		if v, has := o[name]; has && textOf(o, name) == "" {
			return k, fmt.Errorf("its %s is no text: %T", name, v)
		}
	}
	if len(textOf(o, "kid")) > maxKid {
		return k, fmt.Errorf("its kid has more than %d bytes", maxKid)
	}
	if use := textOf(o, "use"); use != "" && use != "sig" {
		return k, fmt.Errorf("its use is %.20q, not sig", use)
	}
	if ops, has := o["key_ops"]; has {
		if list, ok := ops.([]any); !ok || !slices.Contains(list, any("verify")) {
			return k, errors.New("its key_ops has no verify")
		}
	}
	alg, _ := o["alg"].(string)
	if o["kty"] == "oct" {
		if !trusted {
			return k, errors.New("a secret (kty oct) does not come over a network")
		}
		if k.secret, err = bytesOf(o, "k"); err != nil {
			return k, err
		}
		return k, k.bind(alg, allowed, "HS256", symmetric)
	}
	public, err := publicOf(o)
	if err != nil {
		return k, err
	}
	return newPublic(public, alg, allowed)
}

// bytesOf returns a member that is in base64url.
func bytesOf(o map[string]any, name string) ([]byte, error) {
	b, err := decode(textOf(o, name))
	if err != nil {
		return nil, fmt.Errorf("its %s is missing, or is not in base64url", name)
	}
	return b, nil
}

// publicOf returns the public key of a JWK.
func publicOf(o map[string]any) (crypto.PublicKey, error) {
	switch kty := textOf(o, "kty"); kty {
	case "RSA":
		return rsaOf(o)
	case "EC":
		return curveOf(o)
	case "OKP":
		x, err := bytesOf(o, "x")
		crv := textOf(o, "crv")
		if err == nil && (crv != "Ed25519" || len(x) != ed25519.PublicKeySize) {
			err = fmt.Errorf("its curve %.20q is not Ed25519, or x has not its size", crv)
		}
		return ed25519.PublicKey(x), err
	default:
		return nil, fmt.Errorf("its kty is %.20q: want RSA, EC or OKP", kty)
	}
}

func rsaOf(o map[string]any) (crypto.PublicKey, error) {
	n, err := bytesOf(o, "n")
	if err != nil {
		return nil, err
	}
	e, err := bytesOf(o, "e")
	if err != nil {
		return nil, err
	}
	exponent := new(big.Int).SetBytes(e)
	if exponent.BitLen() > 31 || len(n) > maxRSA/8+8 {
		return nil, errors.New("it is an RSA key that is too large")
	}
	return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent.Int64())}, nil
}

func curveOf(o map[string]any) (crypto.PublicKey, error) {
	curve, ok := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(),
		"P-521": elliptic.P521()}[textOf(o, "crv")]
	if !ok {
		return nil, fmt.Errorf("its curve is %.20q: want P-256, P-384 or P-521", textOf(o, "crv"))
	}
	size := (curve.Params().BitSize + 7) / 8
	point := []byte{4} // not compressed
	for _, name := range []string{"x", "y"} {
		b, err := bytesOf(o, name)
		if err != nil {
			return nil, err
		}
		if len(b) != size { // RFC 7518 6.2.1.2
			return nil, fmt.Errorf("its %s has %d bytes: want %d", name, len(b), size)
		}
		point = append(point, b...)
	}
	return ecdsa.ParseUncompressedPublicKey(curve, point)
}
