package config

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/tlstest"
)

// tlsFile writes a configuration beside a certificate, and returns its path.
func tlsFile(t *testing.T, c tlstest.Certificate, more string) string {
	t.Helper()
	dir := t.TempDir()
	c.Write(t, dir)
	file := filepath.Join(dir, "hotrow.yaml")
	text := fmt.Sprintf("http: {tls: {cert: cert.pem, key: key.pem%s}}\n", more)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTLS_IsReadBesideTheFile(t *testing.T) {
	made := tlstest.New(t, "hotrow")
	file := tlsFile(t, made, `, min_version: "1.3", hsts: true`)
	c, warnings, err := Load(file, nil)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	cert, err := c.Certificate()
	if err != nil || cert.Leaf.Subject.CommonName != "hotrow" {
		t.Errorf("Certificate() = %v, %v", cert, err)
	}
	if s := c.HTTP.TLS; !s.On() || !s.HSTS || s.Oldest() != tls.VersionTLS13 {
		t.Errorf("got %+v", s)
	}
	// A variable's path is relative to where we are.
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	rel := func(name string) string {
		path, err := filepath.Rel(wd, filepath.Join(filepath.Dir(file), name))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	c, _, err = FromURL("app.db", []string{"HOTROW_HTTP_TLS_CERT=" + rel("cert.pem"),
		"HOTROW_HTTP_TLS_KEY=" + rel("key.pem")})
	if err != nil || c.HTTP.TLS.Oldest() != tls.VersionTLS12 {
		t.Errorf("by variables: %+v, %v", c, err)
	}
	// No certificate is no error.
	if cert, err := Default().Certificate(); cert != nil || err != nil {
		t.Errorf("without TLS: %v, %v", cert, err)
	}
}

func TestTLS_SaysWhichFileIsWrong(t *testing.T) {
	good, other := tlstest.New(t, "a"), tlstest.New(t, "b")
	tests := []struct {
		name       string
		cert       tlstest.Certificate
		mode       os.FileMode
		key, wants string
	}{
		{"another key", tlstest.Certificate{Cert: good.Cert, Key: other.Key}, 0o600,
			"http.tls.key", "is not the key of"},
		{"swapped", tlstest.Certificate{Cert: good.Key, Key: good.Cert}, 0o600,
			"http.tls.cert", "no certificate in PEM form"},
		{"no key", tlstest.Certificate{Cert: good.Cert, Key: good.Cert}, 0o600,
			"http.tls.key", "found a certificate rather than a key"},
		{"encrypted", tlstest.Certificate{Cert: good.Cert,
			Key: []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\n")}, 0o600,
			"http.tls.key", "openssl pkey"},
		{"for everybody", good, 0o644, "http.tls.key", "chmod o-r"},
		{"empty", tlstest.Certificate{Key: good.Key}, 0o600, "http.tls.cert", "no certificate"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := tlsFile(t, tt.cert, "")
			key := filepath.Join(filepath.Dir(file), "key.pem")
			if err := os.Chmod(key, tt.mode); err != nil {
				t.Fatal(err)
			}
			_, _, err := Load(file, nil)
			if err == nil || !strings.Contains(err.Error(), tt.key+": ") ||
				!strings.Contains(err.Error(), tt.wants) {
				t.Errorf("got %v, want %s and %q", err, tt.key, tt.wants)
			}
			if err != nil && strings.Contains(err.Error(), "BEGIN PRIVATE") {
				t.Error("the key is in the message")
			}
		})
	}
}

func TestTLS_WarnsOfDates(t *testing.T) {
	now := time.Now()
	tests := []struct {
		from, to time.Time
		want     string
	}{
		{now.Add(-2 * time.Hour), now.Add(-time.Hour), "has expired"},
		{now.Add(time.Hour), now.Add(2 * time.Hour), "not valid before"},
	}
	for _, tt := range tests {
		file := tlsFile(t, tlstest.NewFor(t, "a", tt.from, tt.to), "")
		_, warnings, err := Load(file, nil)
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].String(), tt.want) {
			t.Errorf("got %v, %v, want a warning that it %s", warnings, err, tt.want)
		}
	}
}

func TestNeedsRestart_OnlyToBeginOrEndTLS(t *testing.T) {
	with := func(cert string) *Config {
		c := Default()
		c.HTTP.TLS.Cert, c.HTTP.TLS.Key = cert, cert
		return c
	}
	if got := NeedsRestart(with("a"), with("b")); got != nil {
		t.Errorf("another certificate: %v", got)
	}
	for _, c := range [][2]*Config{{with(""), with("a")}, {with("a"), with("")}} {
		if got := NeedsRestart(c[0], c[1]); len(got) != 1 || got[0] != "http.tls" {
			t.Errorf("to or from plain HTTP: %v", got)
		}
	}
}
