package main

import (
	"context"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// h2cClient returns a client that speaks HTTP/2 without TLS, over the unix socket if there
// is one.
func h2cClient(t *testing.T, socket string) *http.Client {
	t.Helper()
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	if socket != "" {
		tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// TestServe_H2C: with each way to start it, over each listener that has no TLS.
func TestServe_H2C(t *testing.T) {
	t.Parallel()
	db, socket := database(t, deptSQL), filepath.Join(t.TempDir(), "s")
	file := configFile(t, "version: 1\nsources: {main: {url: \"sqlite:"+db+
		"\"}}\nresources: {dept: {table: dept}}\n")
	demo := filepath.Join(t.TempDir(), "demo.db")
	for name, r := range map[string]*running{
		"a file":              serve(t, "-c", file),
		"a TARGET":            serve(t, db),
		"a unix socket":       start(t, []string{"HOTROW_HTTP_LISTEN=unix:" + socket}, db),
		"the demo, its links": serve(t, "demo", "--file", demo),
	} {
		until(t, r.log, r.complete)
		url, path := r.http+"/dept/10", ""
		switch {
		case strings.Contains(name, "socket"):
			url, path = "http://localhost/dept/10", socket
		case strings.Contains(name, "links"):
			url = r.linksAddr() + "/api/v1/health"
		}
		for range 3 {
			a, err := h2cClient(t, path).Get(url)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _ = a.Body.Close(); a.StatusCode != 200 || a.ProtoMajor != 2 {
				t.Errorf("%s: %d over %s", name, a.StatusCode, a.Proto)
			}
		}
	}
}

// TestServe_H2CIsSeen in metrics and in the access log, whoever answers.
func TestServe_H2CIsSeen(t *testing.T) {
	r := start(t, []string{"HOTROW_LOG_ACCESS=all"},
		database(t, deptSQL), "--writable")
	until(t, r.log, r.complete)
	c := h2cClient(t, "")
	for range 3 {
		a, err := c.Get(r.http + "/dept/10") // a miss, then hits
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
	}
	if a, err := c.Get(r.http + "/"); err != nil { // net/http
		t.Fatal(err)
	} else {
		_ = a.Body.Close()
	}
	if code, _ := get(t, r.http+"/dept/10"); code != 200 {
		t.Errorf("over HTTP/1.1: %d", code)
	}
	until(t, r.log, func() bool { return strings.Count(r.out.String(), `"protocol":"HTTP/2.0"`) == 4 })
	until(t, r.log, func() bool { return strings.Count(r.out.String(), `"protocol":"HTTP/1.1"`) == 1 })
	_, metrics := get(t, r.ops+"/metrics")
	for _, want := range []string{
		`hotrow_http_connections{listener="http",version="2"} 1`,
		`hotrow_http2_streams_total{listener="http"} 4`,
		`hotrow_http2_canceled_total{listener="http"} 0`,
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
}

// TestServe_H2CToCurl has a client that is not Go's; --http2 asks for an upgrade. It asks
// once: curl 7.88 fails when it uses such a connection again, with any server.
func TestServe_H2CToCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("needs curl")
	}
	r := serve(t, database(t, deptSQL))
	for _, c := range []struct{ version, want string }{
		{"--http2-prior-knowledge", " 2 200\n"}, {"--http1.1", " 1.1 200\n"},
		{"--http2", " 1.1 200\n"},
	} {
		cmd := exec.CommandContext(t.Context(), curl, "-sS", "--noproxy", "*", c.version,
			"-w", " %{http_version} %{http_code}\n", r.http+"/dept/10")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), c.want) {
			t.Errorf("%s: %v\n%s", c.version, err, out)
		}
	}
}
