// Package tlstest makes certificates for the tests of other packages: for
// 127.0.0.1, ::1 and localhost, signed by themselves, and good for nothing else.
package tlstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A Certificate is one and its key, in PEM form.
type Certificate struct{ Cert, Key []byte }

// New returns a certificate that is valid now. name tells it from others.
func New(tb testing.TB, name string) Certificate {
	tb.Helper()
	now := time.Now()
	return NewFor(tb, name, now.Add(-time.Hour), now.Add(time.Hour))
}

// NewFor returns a certificate that is valid for a time.
func NewFor(tb testing.TB, name string, from, to time.Time) Certificate {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(from.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: from, NotAfter: to,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		DNSNames:    []string{"localhost"},
		IsCA:        true, BasicConstraintsValid: true, // so that clients can be told to trust it
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		tb.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return Certificate{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}

// Pair returns the certificate as a server uses it.
func (c Certificate) Pair(tb testing.TB) *tls.Certificate {
	tb.Helper()
	pair, err := tls.X509KeyPair(c.Cert, c.Key)
	if err != nil {
		tb.Fatal(err)
	}
	return &pair
}

// Pool returns the roots of a client that trusts the certificate.
func (c Certificate) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.Cert)
	return pool
}

// Write writes cert.pem and key.pem into dir.
func (c Certificate) Write(tb testing.TB, dir string) (cert, key string) {
	tb.Helper()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, text := range map[string][]byte{cert: c.Cert, key: c.Key} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return cert, key
}
