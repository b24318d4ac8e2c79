package jwt

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// ParsePEM returns the public keys of a text in PEM form: those of PUBLIC KEY, RSA PUBLIC KEY
// and CERTIFICATE. Of a certificate nothing but its key is looked at: whoever can write the
// configuration vouches for it.
func ParsePEM(text string, allowed []string) (keys []Key, err error) {
	rest := []byte(text)
	for {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		public, err := parseBlock(b)
		if err != nil {
			return nil, err
		}
		k, err := newPublic(public, "", allowed)
		if err != nil {
			return nil, err
		}
		k.any = true
		if keys = append(keys, k); len(keys) > maxTried {
			return nil, fmt.Errorf("has more than %d keys", maxTried)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("has no public key in PEM form, a block that begins with " +
			"-----BEGIN PUBLIC KEY-----")
	}
	return keys, nil
}

// parseBlock returns the public key of a block.
func parseBlock(b *pem.Block) (crypto.PublicKey, error) {
	switch {
	case b.Type == "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(b.Bytes)
	case b.Type == "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(b.Bytes)
	case b.Type == "CERTIFICATE":
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, err
		}
		return c.PublicKey, nil
	case strings.Contains(b.Type, "PRIVATE KEY"):
		return nil, errors.New("is a private key, which signs tokens and has no place here: " +
			"openssl pkey -in FILE -pubout prints the public one")
	}
	return nil, fmt.Errorf("has a block that is no public key: %.40q", b.Type)
}
