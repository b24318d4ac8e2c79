package config

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// TLS makes a listener an HTTPS one: with a certificate it speaks TLS and
// nothing else, without one plain HTTP.
type TLS struct {
	Cert       string `yaml:"cert" empty:"plain"` // a PEM file: the certificate, then its issuers
	Key        string `yaml:"key" empty:"plain"`  // a PEM file
	MinVersion string `yaml:"min_version" oneof:"1.2 1.3"`
	HSTS       bool   `yaml:"hsts"`
}

// On reports whether TLS is spoken.
func (t TLS) On() bool { return t.Cert != "" || t.Key != "" }

// Oldest returns the oldest version of TLS that is spoken, as package
// crypto/tls numbers them.
func (t TLS) Oldest() uint16 {
	if t.MinVersion == "1.3" {
		return tls.VersionTLS13
	}
	return tls.VersionTLS12
}

// Certificate reads the certificate of http.tls and its key, nil when there is
// none. Paths in the file are relative to the file.
func (c *Config) Certificate() (*tls.Certificate, error) {
	if !c.HTTP.TLS.On() {
		return nil, nil
	}
	cert, path, err := c.keyPair()
	if err != nil {
		return nil, Problems{c.Problem(path, err.Error())}
	}
	return cert, nil
}

const (
	pathCert = "http.tls.cert"
	pathKey  = "http.tls.key"
)

// keyPair reads the two files. path is the key of the one that is wrong.
func (c *Config) keyPair() (cert *tls.Certificate, path string, err error) {
	certFile := c.relative(pathCert, c.HTTP.TLS.Cert)
	certPEM, err := readSmall("certificate file", certFile, false)
	if err != nil {
		return nil, pathCert, err
	}
	if !hasBlock(certPEM, "CERTIFICATE") {
		return nil, pathCert, fmt.Errorf("%s has no certificate in PEM form, a block that begins "+
			"with -----BEGIN CERTIFICATE-----", certFile)
	}
	keyFile := c.relative(pathKey, c.HTTP.TLS.Key)
	keyPEM, err := readSmall("key file", keyFile, true)
	if err != nil {
		return nil, pathKey, err
	}
	if strings.Contains(string(keyPEM), "ENCRYPTED") {
		return nil, pathKey, fmt.Errorf("%s is encrypted, and hotrow cannot ask for its "+
			"passphrase: openssl pkey -in %s -out PLAIN", keyFile, keyFile)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, pathKey, fmt.Errorf("%s is not the key of %s: %w: name the two files that "+
			"were issued together", keyFile, certFile, err)
	}
	return &pair, "", nil
}

// hasBlock reports whether a PEM file has a block of a type.
func hasBlock(b []byte, kind string) bool {
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			return false
		}
		if block.Type == kind {
			return true
		}
	}
}

// relative returns the path that the value of a key means: relative to the
// file that says it, or to where we are when a variable does.
func (c *Config) relative(key, path string) string {
	if filepath.IsAbs(path) || c.doc == nil || c.doc.set[key].variable != "" {
		return path
	}
	return filepath.Join(c.doc.dir, path)
}

// tls checks http.tls, and the files that it names.
func (v *validator) tls() {
	t := v.c.HTTP.TLS
	switch {
	case !t.On():
		if t.HSTS {
			v.addf("http.tls.hsts", "needs a certificate: set %s and %s", pathCert, pathKey)
		}
		return
	case t.Cert == "":
		v.addf(pathKey, "needs %s, too: the PEM file of the certificate", pathCert)
		return
	case t.Key == "":
		v.addf(pathCert, "needs %s, too: the PEM file of the private key", pathKey)
		return
	}
	cert, path, err := v.c.keyPair()
	if err != nil {
		v.addf(path, "%v", err)
		return
	}
	const format = "2006-01-02 15:04 MST"
	switch now := time.Now(); {
	case now.After(cert.Leaf.NotAfter):
		v.warnf(pathCert, "the certificate has expired on %s, and clients refuse it: renew it, "+
			"then reload (SIGHUP)", cert.Leaf.NotAfter.Format(format))
	case now.Before(cert.Leaf.NotBefore):
		v.warnf(pathCert, "the certificate is not valid before %s, and clients refuse it: check "+
			"this machine's clock", cert.Leaf.NotBefore.Format(format))
	}
}
