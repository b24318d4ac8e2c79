package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/tlstest"
)

// secureServer serves over HTTPS, with its files in a directory of its own.
type secureServer struct {
	*running
	file   string // the configuration
	client *http.Client
}

func serveTLS(t *testing.T, made tlstest.Certificate) *secureServer {
	t.Helper()
	db := database(t, deptSQL)
	s := &secureServer{file: configFile(t, tlsConfig(db, "1.2"))}
	made.Write(t, filepath.Dir(s.file))
	s.running = serve(t, "-c", s.file)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: made.Pool()}}
	t.Cleanup(transport.CloseIdleConnections)
	s.client = &http.Client{Transport: transport}
	return s
}

func tlsConfig(db, oldest string) string {
	return fmt.Sprintf("version: 1\nhttp: {tls: {cert: cert.pem, key: key.pem, "+
		"min_version: %q, hsts: true}}\nsources: {main: {url: \"sqlite:%s\"}}\n"+
		"resources: {dept: {table: dept}}\n", oldest, db)
}

// shown returns the certificate that a new connection sees.
func (s *secureServer) shown() string {
	s.t.Helper()
	c, err := tls.Dial("tcp", strings.TrimPrefix(s.http, "https://"),
		&tls.Config{InsecureSkipVerify: true})
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	return c.ConnectionState().PeerCertificates[0].Subject.CommonName
}

func TestServe_HTTPS(t *testing.T) {
	s := serveTLS(t, tlstest.New(t, "first"))
	if !strings.HasPrefix(s.http, "https://") {
		t.Fatalf("listening at %s:\n%s", s.http, s.log)
	}
	resp, err := s.client.Get(s.http + "/dept/10")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	until(t, s.log, func() bool { return strings.Contains(s.out.String(), s.http+"/dept/10\n") })
	if plain, err := http.Get("http" + strings.TrimPrefix(s.http, "https") + "/dept/10"); err != nil {
		t.Error(err)
	} else if _ = plain.Body.Close(); plain.StatusCode != 400 {
		t.Errorf("plain HTTP: %d, want 400", plain.StatusCode)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("exit %d:\n%s", code, s.log)
	}
}

// TestServe_RenewsTheCertificate: a SIGHUP reads it again; one that is wrong
// leaves the old one.
func TestServe_RenewsTheCertificate(t *testing.T) {
	s := serveTLS(t, tlstest.New(t, "first"))
	dir := filepath.Dir(s.file)
	if got := s.shown(); got != "first" {
		t.Fatalf("the certificate is %q", got)
	}
	tlstest.New(t, "second").Write(t, dir)
	hangUp(t, s.running, "configuration reloaded")
	if got := s.shown(); got != "second" {
		t.Errorf("after the renewal: %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), tlstest.New(t, "x").Key, 0o600); err != nil {
		t.Fatal(err)
	}
	hangUp(t, s.running, "not reloaded")
	if got := s.shown(); got != "second" || !strings.Contains(s.log.String(), "is not the key of") {
		t.Errorf("after a wrong key: %q\n%s", got, s.log)
	}
	now := time.Now()
	tlstest.NewFor(t, "old", now.Add(-2*time.Hour), now.Add(-time.Hour)).Write(t, dir)
	hangUp(t, s.running, "configuration reloaded")
	if got := s.shown(); got != "old" || !strings.Contains(s.log.String(), "has expired") {
		t.Errorf("after an expired one: %q\n%s", got, s.log)
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, s.file, strings.Replace(string(text), "http: {tls:", "log: {level: info}\n#", 1))
	hangUp(t, s.running, "http.tls")
	if got := s.shown(); got != "old" {
		t.Errorf("after TLS was taken away, which needs a restart: %q", got)
	}
}

// TestServe_RenewsWithoutAConfiguration: the certificate may be named by
// variables alone.
func TestServe_RenewsWithoutAConfiguration(t *testing.T) {
	dir := t.TempDir()
	cert, key := tlstest.New(t, "first").Write(t, dir)
	env := []string{"HOTROW_HTTP_TLS_CERT=" + cert, "HOTROW_HTTP_TLS_KEY=" + key}
	r := start(t, env, database(t, deptSQL))
	until(t, r.log, r.complete)
	s := &secureServer{running: r}
	tlstest.New(t, "second").Write(t, dir)
	hangUp(t, r, "discovered again")
	if got := s.shown(); got != "second" {
		t.Errorf("after the renewal: %q", got)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	hangUp(t, r, "certificate not renewed")
	if got := s.shown(); got != "second" {
		t.Errorf("without a key: %q", got)
	}
}

func TestServe_RefusesBadTLS(t *testing.T) {
	file := configFile(t, tlsConfig(database(t, deptSQL), "1.2"))
	code, _, stderr := command(t, "serve", "-c", file)
	if code != 2 || !strings.Contains(stderr, "http.tls.cert: certificate file") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestGet_TrustsWhatItIsTold(t *testing.T) {
	t.Parallel()
	s := serveTLS(t, tlstest.New(t, "first"))
	ca := filepath.Join(filepath.Dir(s.file), "cert.pem")
	for _, args := range [][]string{{"--ca", ca}, {"--insecure"}} {
		out := mustCommand(t, append([]string{"get", "dept/10", "--server", s.http}, args...)...)
		if !strings.Contains(out, "ACCOUNTING") {
			t.Errorf("%v: %s", args, out)
		}
	}
	code, _, stderr := command(t, "get", "dept/10", "--server", s.http)
	if code != 1 || !strings.Contains(stderr, "--ca FILE") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	code, _, stderr = command(t, "get", "dept/10", "--server", s.http, "--ca", s.file)
	if code != 2 || !strings.Contains(stderr, "no certificate in PEM form") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	code, _, stderr = command(t, "invalidate", "dept", "--ops", s.http, "--ca", ca)
	if code != 1 || !strings.Contains(stderr, "404") { // it is not the operator's listener
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// TestServe_HTTPSToCurl has a client that is not Go's.
func TestServe_HTTPSToCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("needs curl")
	}
	s := serveTLS(t, tlstest.New(t, "first"))
	ca := filepath.Join(filepath.Dir(s.file), "cert.pem")
	for _, version := range []string{"--http1.1", "--http2"} {
		cmd := exec.CommandContext(t.Context(), curl, "-sS", "--noproxy", "*", "--cacert", ca, version,
			"-w", " %{http_version} %{http_code}\n", s.http+"/dept/10", "-o", "-", s.http+"/dept/10")
		out, err := cmd.CombinedOutput()
		want := " 1.1 200\n"
		if version == "--http2" {
			want = " 2 200\n"
		}
		if err != nil || strings.Count(string(out), want) != 2 ||
			strings.Count(string(out), "ACCOUNTING") != 2 {
			t.Errorf("%s: %v\n%s", version, err, out)
		}
	}
}
