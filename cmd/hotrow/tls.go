package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/hotrow/hotrow/internal/config"
)

// setCertificate makes the certificate that cfg names the one that is shown.
func (s *server) setCertificate(cfg *config.Config) error {
	cert, err := cfg.Certificate()
	if cert == nil || err != nil {
		return err
	}
	s.cert.Set(cert, cfg.HTTP.TLS.Oldest())
	log := s.log.Info
	if now := time.Now(); now.After(cert.Leaf.NotAfter) || now.Before(cert.Leaf.NotBefore) {
		log = s.log.Warn
	}
	log("certificate", "subject", cert.Leaf.Subject.String(),
		"from", cert.Leaf.NotBefore, "to", cert.Leaf.NotAfter)
	return nil
}

// renewCertificate is setCertificate while hotrow serves: what cannot be read
// leaves the old certificate.
func (s *server) renewCertificate(cfg *config.Config) {
	if err := s.setCertificate(cfg); err != nil {
		s.log.Error("certificate not renewed, the old one stays", "err", err)
	}
}

// trustFlags say which servers a client trusts.
type trustFlags struct {
	CA       string
	Insecure bool
}

// add adds them to those of a command.
func (f *trustFlags) add(to *pflag.FlagSet) {
	to.StringVar(&f.CA, "ca", "", "Trust the certificate in this `FILE` too (PEM).")
	to.BoolVar(&f.Insecure, "insecure", false, "Do not check the server's certificate.")
}

// client returns the HTTP client that the flags ask for.
func (f *trustFlags) client() (*http.Client, error) {
	if f.CA == "" && !f.Insecure {
		return http.DefaultClient, nil
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{InsecureSkipVerify: f.Insecure}
	if f.CA != "" {
		text, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, usageError{fmt.Errorf("--ca: %w", err)}
		}
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool() // a machine without any: the file's alone
		}
		if !roots.AppendCertsFromPEM(text) {
			return nil, usageError{fmt.Errorf("--ca: %s has no certificate in PEM form", f.CA)}
		}
		t.TLSClientConfig.RootCAs = roots
	}
	return &http.Client{Transport: t}, nil
}

// trustHint says how to mend a certificate that is not trusted; else it returns
// otherwise.
func trustHint(err error, otherwise string) string {
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return "if this is your server: --ca FILE with its certificate, or --insecure"
	}
	return otherwise
}
