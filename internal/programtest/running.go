package programtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// binary is hotrow, built once for all tests of a package.
var binary string

// Main builds hotrow and runs the tests of a package.
func Main(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	waittest.SideBySide(4)
	dir, err := os.MkdirTemp("", "hotrow-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary, err = Build(dir, ".", "github.com/hotrow/hotrow/cmd/hotrow"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return dbtest.Wrap(m).Run()
}

// Build builds the package of a module, seen from a folder in the module, as an executable in dir.
func Build(dir, module, pkg string, env ...string) (string, error) {
	file := filepath.Join(dir, "hotrow")
	build := exec.Command("go", "-C", module, "build", "-o", file, pkg)
	build.Env = append(os.Environ(), env...)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return file, nil
}

// Output collects what a program prints.
type Output struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String returns all of it so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// A Running is hotrow serve under way.
type Running struct {
	t         *testing.T
	HTTP, Ops string // base URLs
	Log       *Output
}

// Serve starts hotrow serve, or hotrow demo if args begin so, on free ports, and waits until it
// is ready and all feeds are complete.
func Serve(t *testing.T, args ...string) *Running {
	t.Helper()
	r := Start(t, nil, args...)
	Until(t, r.Log, r.Complete)
	return r
}

// Start starts hotrow serve or demo with more environment, and waits until it listens. It ends with
// the test.
func Start(t *testing.T, env []string, args ...string) *Running {
	t.Helper()
	r := &Running{t: t, Log: new(Output)}
	if len(args) == 0 || args[0] != "demo" {
		args = append([]string{"serve"}, args...)
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = append(append(os.Environ(), "HOTROW_HTTP_LISTEN=127.0.0.1:0",
		"HOTROW_OPS_LISTEN=127.0.0.1:0", "HOTROW_WIRE_LISTEN=127.0.0.1:0",
		"HOTROW_LINKS_LISTEN=127.0.0.1:0", "HOTROW_RESP_LISTEN=127.0.0.1:0",
		"HOTROW_MEMCACHE_LISTEN=127.0.0.1:0"), env...)
	cmd.Stdout, cmd.Stderr = r.Log, r.Log
	ended, err := dbtest.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-ended:
		case <-time.After(waittest.Limit(20 * time.Second)):
			t.Errorf("hotrow did not stop:\n%s", r.Log)
			_ = cmd.Process.Kill()
		}
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("hotrow ended with %d:\n%s", code, r.Log)
		}
	})
	Until(t, r.Log, func() bool {
		select {
		case <-ended:
			t.Fatalf("hotrow has ended:\n%s", r.Log)
		default:
		}
		r.HTTP, r.Ops = r.Listening("http"), r.Listening("ops")
		return r.HTTP != "" && r.Ops != ""
	})
	return r
}

// Listening returns the base URL of a listener, "" before it is there.
func (r *Running) Listening(proto string) string {
	m := regexp.MustCompile(`proto=(` + proto + `s?) addr=(\S+)`).FindStringSubmatch(r.Log.String())
	switch {
	case m == nil:
		return ""
	case m[1] == "https":
		return "https://" + m[2]
	}
	return "http://" + m[2]
}

// Complete reports whether hotrow is ready and all feeds are complete.
func (r *Running) Complete() bool {
	a := r.ask("GET", r.Ops+"/readyz", "")
	return a.Code == 200 && !strings.Contains(a.Body, "the feed has not")
}

// Until waits for ok.
func Until(t *testing.T, log *Output, ok func() bool) {
	t.Helper()
	waittest.UntilEvery(t, time.Millisecond, "waited in vain; the log", ok, log.String)
}

// An Answer is what a request got.
type Answer struct {
	Code   int
	Header http.Header
	Body   string
}

// ask sends one request to a URL; headers are "Name: value".
func (r *Running) ask(method, url, body string, headers ...string) Answer {
	r.t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return Answer{resp.StatusCode, resp.Header, string(text)}
}

// Do sends one request for a path; headers are "Name: value".
func (r *Running) Do(method, path, body string, headers ...string) Answer {
	r.t.Helper()
	return r.ask(method, r.HTTP+path, body, headers...)
}

// Get asks for a path.
func (r *Running) Get(path string) Answer { r.t.Helper(); return r.Do("GET", path, "") }

// Hit reads path until the answer comes from memory.
func (r *Running) Hit(path string) {
	r.t.Helper()
	Until(r.t, r.Log, func() bool {
		return strings.Contains(r.Get(path).Header.Get("Cache-Status"), "hit")
	})
}

// Shows waits until path has part in its answer. An older answer to a question that is asked
// after bound must say that it may be out of date, and none may be asked after so long that the
// database itself is read because the feed lags (max_stale).
func (r *Running) Shows(path, part string, bound time.Duration) {
	r.t.Helper()
	for begin := time.Now(); ; {
		asked := time.Since(begin)
		a := r.Get(path)
		if a.Code == 200 && strings.Contains(a.Body, part) {
			return
		}
		late := asked > bound && !strings.Contains(a.Header.Get("Cache-Status"), "fwd=stale")
		if late || waittest.Late(asked, 5*time.Second) {
			r.t.Fatalf("GET %s is %d %s %v after %v, want %q",
				path, a.Code, a.Body, a.Header, asked, part)
		}
	}
}

// Command returns hotrow with a command line, which is not started.
func Command(args ...string) *exec.Cmd { return exec.Command(binary, args...) }

// MustCommand runs one command line, which must succeed, and returns what it prints.
func MustCommand(t *testing.T, args ...string) string {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("hotrow %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

// TokenLine is a token of a role in a configuration.
func TokenLine(name, secret, role string) string {
	sum := sha256.Sum256([]byte(secret))
	return "  - {name: " + name + ", role: " + role +
		", sha256: " + hex.EncodeToString(sum[:]) + "}\n"
}
