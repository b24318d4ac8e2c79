//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// startExit starts hotrow proxy --exit on a free port and returns its address.
func startExit(t *testing.T, args ...string) (addr string, log *output, stop func() int) {
	t.Helper()
	_, log, stop = startProxyAs(t, "wire", append([]string{"--exit"}, args...)...)
	return regexp.MustCompile(`"proto":"wire","addr":"([^"]+)"`).FindStringSubmatch(log.String())[1], log, stop
}

func TestProxyWire_ThroughAnExit(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("# of the near end\nsecret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	addr, exitLog, stop := startExit(t, "--upstream", hello(t), "--token-file", tokens, "--ops", "127.0.0.1:0")
	url, log, _ := startProxy(t, "--upstream", "wire://"+addr, "--token-file", tokens)
	if code, body := get(t, url+"/x"); code != 200 || !strings.HasPrefix(body, "hello ") {
		t.Errorf("%d %q", code, body)
	}
	until(t, log, func() bool { return strings.Contains(log.String(), `"upstream_addr":"wire://`+addr) })
	until(t, exitLog, func() bool { return strings.Contains(exitLog.String(), `"proto":"wire","upstream_addr"`) })
	ops := regexp.MustCompile(`"proto":"ops","addr":"([^"]+)"`).FindStringSubmatch(exitLog.String())[1]
	if code, body := get(t, "http://"+ops+"/metrics"); code != 200 ||
		!strings.Contains(body, "hotrow_proxy_exit_exchanges_total 1\n") {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := get(t, "http://"+ops+"/elsewhere"); code != 404 {
		t.Errorf("the port for operators relays: %d", code)
	}
	stranger, _, _ := startProxy(t, "--upstream", "wire://"+addr)
	if code, body := get(t, stranger); code != 502 || !strings.Contains(body, "token") {
		t.Errorf("without a token: %d %q", code, body)
	}
	hasty, _, _ := startProxy(t, "--upstream", "wire://"+addr, "--token-file", tokens,
		"--proxy-read-timeout", "1")
	if code, _ := get(t, hasty+"/x"); code != 200 {
		t.Errorf("before: %d", code)
	}
	if code := stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, exitLog)
	}
	if code, body := get(t, hasty); code != 503 || !strings.Contains(body, "far end is away") {
		t.Errorf("%d %q", code, body)
	}
}

func TestProxyWire_ToServe(t *testing.T) {
	r := serve(t)
	addr := regexp.MustCompile(`proto=wire addr=(\S+)`).FindStringSubmatch(r.log.String())
	if addr == nil {
		t.Fatalf("the wire protocol is not served:\n%s", r.log)
	}
	url, _, _ := startProxy(t, "--upstream", "wire://"+addr[1])
	code, body := get(t, url+"/depts/10")
	if code != 200 || !strings.Contains(body, `"deptName":"ACCOUNTING"`) {
		t.Errorf("%d %q", code, body)
	}
	if code, _ := get(t, url+"/depts/999999"); code != 404 {
		t.Errorf("no row: %d", code)
	}
	if code, body := get(t, url+"/depts?limit=3"); code != 200 || body == "" {
		t.Errorf("a list: %d", code)
	}
}

func TestProxyWire_RefusesFlagsThatDoNotFit(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{
		"--tls-key":     {"--exit", "--tls-cert", "x"},
		"only --exit":   {"--tls-cert", "x", "--tls-key", "y"},
		"want --exit":   {"--token-file", empty},
		"no token":      {"--exit", "--token-file", empty},
		"far end":       {"--exit", "--upstream", "wire://a:1"},
		"want 1 to 64":  {"--wire-conns", "0"},
		"wire://host":   {"--upstream", "wire://a"},
		"beside it":     {"--upstream", "wire://a:1", "--upstream", "http://b"},
		"other machine": {"--exit", "-l", "0.0.0.0"},
	}
	for says, args := range tests {
		t.Run(says, func(t *testing.T) {
			code, _, stderr := command(t, append([]string{"proxy", "-p", "0"}, args...)...)
			if code != 2 || !strings.Contains(stderr, says) {
				t.Errorf("exit %d: %s", code, stderr)
			}
		})
	}
}
