package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rsa"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// An algorithm is one of RFC 7518 3.1 or RFC 8037.
type algorithm struct {
	name string
	kind kind
	hash crypto.Hash // 0: of EdDSA
}

// A kind is what keys of an algorithm are like.
type kind uint8

const (
	symmetric kind = iota // HS
	pkcs1                 // RS
	pss                   // PS
	p256                  // ES, by its curve
	p384
	p521
	edwards // EdDSA with Ed25519
)

// algorithms are those that are known, by name. There is no "none".
var algorithms = func() map[string]*algorithm {
	byName := make(map[string]*algorithm)
	for _, a := range []algorithm{
		{"HS256", symmetric, crypto.SHA256}, {"HS384", symmetric, crypto.SHA384},
		{"HS512", symmetric, crypto.SHA512},
		{"RS256", pkcs1, crypto.SHA256}, {"RS384", pkcs1, crypto.SHA384},
		{"RS512", pkcs1, crypto.SHA512},
		{"PS256", pss, crypto.SHA256}, {"PS384", pss, crypto.SHA384}, {"PS512", pss, crypto.SHA512},
		{"ES256", p256, crypto.SHA256}, {"ES384", p384, crypto.SHA384},
		{"ES512", p521, crypto.SHA512}, {"EdDSA", edwards, 0},
	} {
		byName[a.name] = &a
	}
	return byName
}()

// Algorithms returns the names of those that are known.
func Algorithms() []string { return slices.Sorted(maps.Keys(algorithms)) }

// A Key verifies tokens by the algorithms that it is bound to. It never changes.
type Key struct {
	kid     string // "": none
	any     bool   // it is of the configuration, and without kid: it fits tokens of any
	fetched bool   // it came from a URL, and is good only for as long as that is asked
	algs    []*algorithm
	secret  []byte           // of HS alone
	public  crypto.PublicKey // of all others
}

// bind sets which algorithms a key is used with. alg is what it says itself; without that it
// is allowed, those of the configuration, and without them the usual one of its kind.
func (k *Key) bind(alg string, allowed []string, usual string, kinds ...kind) error {
	fits := func(name string) bool {
		a := algorithms[name]
		return a != nil && slices.Contains(kinds, a.kind)
	}
	names := []string{usual}
	switch {
	case alg != "" && !fits(alg):
		return fmt.Errorf("its alg is not one of such keys")
	case alg != "" && len(allowed) > 0 && !slices.Contains(allowed, alg):
		return fmt.Errorf("its alg %s is not among algorithms", alg)
	case alg != "":
		names = []string{alg}
	case len(allowed) > 0:
		names = slices.DeleteFunc(slices.Clone(allowed), func(n string) bool { return !fits(n) })
	}
	if len(names) == 0 {
		return fmt.Errorf("none of algorithms is one of such keys: want %s, say", usual)
	}
	for _, n := range names {
		a := algorithms[n]
		if least := max(a.hashSize(), minSecret); a.kind == symmetric && len(k.secret) < least {
			return fmt.Errorf("%s needs a secret of at least %d bytes, this one has %d",
				n, least, len(k.secret))
		}
		k.algs = append(k.algs, a)
	}
	return nil
}

func (a *algorithm) hashSize() int {
	if a.hash == 0 {
		return 0
	}
	return a.hash.Size()
}

// NewSecret returns the key of HS algorithms that is a text.
func NewSecret(secret string, allowed []string) (Key, error) {
	if strings.Contains(secret, "-----BEGIN") {
		return Key{}, errors.New("is in PEM form, so it is no secret: a public key is auth.jwt.key")
	}
	k := Key{secret: []byte(secret), any: true}
	err := k.bind("", allowed, "HS256", symmetric)
	return k, err
}

// newPublic returns the key that is a public one, with what it says of its alg.
func newPublic(public crypto.PublicKey, alg string, allowed []string) (Key, error) {
	k := Key{public: public}
	switch p := public.(type) {
	case *rsa.PublicKey:
		if bits := p.N.BitLen(); bits < minRSA || bits > maxRSA {
			return k, fmt.Errorf("it is an RSA key of %d bits: want %d to %d", bits, minRSA, maxRSA)
		}
		if p.E < 3 || p.E%2 == 0 {
			return k, errors.New("it is an RSA key with a bad exponent")
		}
		return k, k.bind(alg, allowed, "RS256", pkcs1, pss)
	case *ecdsa.PublicKey:
		switch p.Curve {
		case elliptic.P256():
			return k, k.bind(alg, allowed, "ES256", p256)
		case elliptic.P384():
			return k, k.bind(alg, allowed, "ES384", p384)
		case elliptic.P521():
			return k, k.bind(alg, allowed, "ES512", p521)
		}
	case ed25519.PublicKey:
		return k, k.bind(alg, allowed, "EdDSA", edwards)
	}
	return k, errors.New("it is no key of RSA, of P-256, P-384 or P-521, or of Ed25519")
}

// verifies reports whether the key has made the signature of t. The algorithm of t is one of
// the key's.
func (k *Key) verifies(t *token) bool {
	a := t.alg
	if a.kind == symmetric {
		mac := hmac.New(a.hash.New, k.secret)
		mac.Write([]byte(t.signed))
		return hmac.Equal(mac.Sum(nil), t.sig)
	}
	if a.kind == edwards {
		p, ok := k.public.(ed25519.PublicKey)
		return ok && ed25519.Verify(p, []byte(t.signed), t.sig)
	}
	h := a.hash.New()
	h.Write([]byte(t.signed))
	sum := h.Sum(nil)
	switch p := k.public.(type) {
	case *rsa.PublicKey:
		if a.kind == pss {
			o := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}
			return rsa.VerifyPSS(p, a.hash, sum, t.sig, o) == nil
		}
		return rsa.VerifyPKCS1v15(p, a.hash, sum, t.sig) == nil
	case *ecdsa.PublicKey:
		size := (p.Curve.Params().BitSize + 7) / 8
		if len(t.sig) != 2*size {
			return false
		}
		r, s := new(big.Int).SetBytes(t.sig[:size]), new(big.Int).SetBytes(t.sig[size:])
		return ecdsa.Verify(p, sum, r, s)
	}
	return false
}

// same reports whether two keys verify the same tokens.
func (k *Key) same(o *Key) bool {
	if k.kid != o.kid || k.any != o.any || !slices.Equal(k.algs, o.algs) ||
		!hmac.Equal(k.secret, o.secret) {
		return false
	}
	if k.public == nil || o.public == nil {
		return k.public == nil && o.public == nil
	}
	p, ok := k.public.(interface{ Equal(crypto.PublicKey) bool })
	return ok && p.Equal(o.public)
}
