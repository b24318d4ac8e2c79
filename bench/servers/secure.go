package servers

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
)

// certify writes a certificate of its own for 127.0.0.1, with a P-256 key, and its
// key.
func certify(dir string) (cert, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	return certifyKey(dir, private)
}

// certifyKey is certify with a key that is given.
func certifyKey(dir string, private crypto.Signer) (cert, key string, err error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		Subject:  pkix.Name{CommonName: "hotrow bench"}, // curl wants one
		NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return "", "", err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", err
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			return "", "", err
		}
	}
	return cert, key, nil
}

// startSecure starts hotrow with TLS.
func startSecure(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	cert, key, err := certify(dir)
	if err != nil {
		return nil, err
	}
	return startHotrowWith(ctx, w, on, dir, flavour{
		scheme: "https", http: fmt.Sprintf(", tls: {cert: %q, key: %q}", cert, key),
	})
}

// startSecurePeer starts net/http with TLS over ready documents.
func startSecurePeer(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	cert, key, err := certify(dir)
	if err != nil {
		return nil, err
	}
	return goPeer("nethttp-tls", "nethttp", "-mode", "ready", "-cert", cert, "-key", key)(ctx, w,
		on, dir)
}
