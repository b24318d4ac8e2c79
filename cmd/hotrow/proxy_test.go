//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// startProxy starts hotrow proxy on a free port and returns its URL, what it
// prints, and what ends it.
func startProxy(t *testing.T, args ...string) (url string, log *output, stop func() int) {
	t.Helper()
	return startProxyAs(t, "proxy", args...)
}

// startProxyAs is startProxy for one that says it listens for proto.
func startProxyAs(t *testing.T, proto string, args ...string) (url string, log *output, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	log = new(output)
	done := make(chan int, 1)
	args = append([]string{"proxy", "--port", "0"}, args...)
	go func() { done <- run(ctx, args, log, log, nil) }()
	stopped := false
	stop = func() int {
		cancel()
		stopped = true
		select {
		case code := <-done:
			return code
		case <-time.After(waittest.Limit(20 * time.Second)):
			t.Errorf("hotrow did not stop:\n%s", log)
			return -1
		}
	}
	t.Cleanup(func() {
		if !stopped {
			stop()
		}
	})
	listening := regexp.MustCompile(`"proto":"` + proto + `","addr":"([^"]+)"`)
	until(t, log, func() bool { return listening.MatchString(log.String()) })
	return "http://" + listening.FindStringSubmatch(log.String())[1], log, stop
}

// hello is an upstream.
func hello(t *testing.T) string {
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello ", r.Host, r.URL.Path)
	}))
	t.Cleanup(ts.Close)
	return ts.URL
}

func TestProxy_TakesTheFlagsOfChocon(t *testing.T) {
	dir := t.TempDir()
	pid, logs := filepath.Join(dir, "pid"), filepath.Join(dir, "log")
	url, out, stop := startProxy(t, "-l", "127.0.0.1", "-c", "128", "--max-conns-per-host", "10",
		"--read-timeout", "30", "--write-timeout", "90", "--proxy-read-timeout", "60",
		"--shutdown-timeout", "1h", "--upstream", hello(t)+"/ignored", "--stsize", "100", "--spfactor", "1",
		"--access-log-dir", logs, "--access-log-rotate", "3", "--access-log-rotate-time", "1440", "--pid-file", pid)
	resp, err := http.Get(url + "/x?secret")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("X-Chocon-Id") == "" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if text, err := os.ReadFile(pid); err != nil || strings.TrimSpace(string(text)) != strconv.Itoa(os.Getpid()) {
		t.Errorf("pid %q, %v", text, err)
	}
	current := filepath.Join(logs, "current")
	var line map[string]any
	until(t, out, func() bool {
		text, _ := os.ReadFile(current)
		return json.Unmarshal(text, &line) == nil
	})
	for name, want := range map[string]any{
		"method": "GET", "uri": "/x", "status": 200.0, "chocon_req": resp.Header.Get("X-Chocon-Id"),
	} {
		if line[name] != want {
			t.Errorf("%s is %v, want %v", name, line[name], want)
		}
	}
	if to, err := os.Readlink(current); err != nil || !regexp.MustCompile(`^access_log\.\d{12}$`).MatchString(to) {
		t.Errorf("current is %q, %v", to, err)
	}
	if code := stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestProxy_OpensItsLogAgainAtSIGHUP(t *testing.T) {
	dir := t.TempDir()
	mask := syscall.Umask(0o022)
	url, out, _ := startProxy(t, "--upstream", hello(t), "--access-log-dir", dir)
	syscall.Umask(mask)
	ask := func() {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	file, err := filepath.EvalSymlinks(filepath.Join(dir, "current"))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the log is %v, %v: others cannot read it, as they can chocon's", info, err)
	}
	if err := os.Rename(file, filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	until(t, out, func() bool {
		ask()
		text, _ := os.ReadFile(file)
		return strings.Contains(string(text), "\n")
	})
}

func TestProxy_RefusesToBeOpenByAccident(t *testing.T) {
	tests := map[string]struct {
		args []string
		says string
	}{
		"all interfaces": {[]string{"-l", "0.0.0.0"}, "--allow"},
		"bad address":    {[]string{"-l", "a b"}, "--listen"},
		"bad port":       {[]string{"--allow", "a", "--ops", "9000"}, "127.0.0.1:9000"},
		"bad pattern":    {[]string{"--allow", "a b"}, "--allow"},
		"bad network":    {[]string{"--allow-address", "x"}, "--allow-address"},
		"bad upstream":   {[]string{"--upstream", "ftp://x"}, "unix:/path"},
		"bad time":       {[]string{"--read-timeout", "0"}, "more than 0"},
		"mixed":          {[]string{"--upstream", "http://a", "--upstream", "https://b"}, "TLS"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := command(t, append([]string{"proxy", "-p", "0"}, tt.args...)...)
			if code != 2 || !strings.Contains(stderr, tt.says) {
				t.Errorf("exit %d: %s", code, stderr)
			}
		})
	}
}
