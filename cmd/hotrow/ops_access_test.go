package main

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
)

// tokenLine returns the line of the configuration for a token of a role.
func tokenLine(name, secret, role string) string {
	sum := sha256.Sum256([]byte(secret))
	return "  - {name: " + name + ", role: " + role + ", sha256: " + hex.EncodeToString(sum[:]) + "}\n"
}

// asked returns the status of a request, and whether it asks for a token.
func asked(t *testing.T, method, url string, headers ...string) (status int, challenge string) {
	t.Helper()
	resp := answerTo(t, method, url, headers...)
	_ = resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("WWW-Authenticate")
}

// TestServe_OpsBeyondTheLoopbackAsksForTheOperator: a token of any role starts the
// port there no more, and only that of the operator opens it.
func TestServe_OpsBeyondTheLoopbackAsksForTheOperator(t *testing.T) {
	db := database(t, deptSQL)
	config := func(tokens, ops string) string {
		return configFile(t, "version: 1\nsources: {main: {url: 'sqlite:"+db+"'}}\n"+
			"resources: {depts: {table: dept}}\nauth:\n  tokens:\n"+tokens+ops)
	}
	env := []string{"HOTROW_OPS_LISTEN=0.0.0.0:0"}
	reader := tokenLine("r", "reader", "reader")
	t.Setenv("HOTROW_HTTP_LISTEN", "off")
	t.Setenv("HOTROW_WIRE_LISTEN", "off")
	t.Setenv("HOTROW_OPS_LISTEN", "0.0.0.0:0")
	for _, flag := range []string{"--open=false", "--open"} {
		code, _, stderr := command(t, "serve", flag, "-c", config(reader, ""))
		if code == 0 || !strings.Contains(stderr, "role: operator") {
			t.Errorf("%s, with a token of another role: %d %s", flag, code, stderr)
		}
	}
	for _, metrics := range []string{"", "ops: {public_metrics: true}\n"} {
		r := start(t, env, "-c", config(reader+tokenLine("o", "operator", "operator"), metrics))
		m := regexp.MustCompile(`proto=ops addr=\S+:(\d+)`).FindStringSubmatch(r.log.String())
		if m == nil {
			t.Fatalf("no operator's port:\n%s", r.log)
		}
		base := "http://127.0.0.1:" + m[1]
		for _, p := range []struct{ method, path string }{
			{"GET", "/metrics"}, {"GET", "/debug/pprof/"}, {"GET", "/debug/pprof/heap"},
			{"GET", "/-/cache"}, {"GET", "/-/feed"}, {"POST", "/-/invalidate?resource=depts"},
			{"GET", "/gofast/memstats"},
		} {
			open := p.path == "/metrics" && metrics != ""
			for token, want := range map[string]int{"": 401, "wrong": 401, "reader": 403, "operator": 200} {
				var headers []string
				if token != "" {
					headers = []string{"Authorization", "Bearer " + token}
				}
				got, challenge := asked(t, p.method, base+p.path, headers...)
				if got == 404 && token == "operator" && strings.HasPrefix(p.path, "/gofast") {
					continue // the wire is off
				}
				if got == 204 {
					got = 200
				}
				if open {
					want = 200
				}
				if got != want || (got >= 400) != strings.HasPrefix(challenge, "Bearer") {
					t.Errorf("%s %s with %q = %d %q, want %d", p.method, p.path, token, got, challenge, want)
				}
			}
		}
		for _, path := range []string{"/livez", "/readyz"} {
			if got, _ := asked(t, "GET", base+path); got != 200 {
				t.Errorf("%s = %d: a probe has no token", path, got)
			}
		}
		if code, _, stderr := command(t, "invalidate", "depts", "--ops="+base); code == 0 ||
			!strings.Contains(stderr, "HOTROW_TOKEN") {
			t.Errorf("invalidate without a token: %d %s", code, stderr)
		}
		mustCommand(t, "invalidate", "depts", "--ops="+base, "--token=operator")
		r.stop()
	}
}
