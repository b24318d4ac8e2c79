package pages

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
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// binary is hotrow, built once for all tests.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	waittest.SideBySide(4)
	dir, err := os.MkdirTemp("", "hotrow-pages-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "hotrow")
	build := exec.Command("go", "build", "-o", binary, "../../cmd/hotrow")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build hotrow: %v\n%s", err, out)
		return 1
	}
	return dbtest.Wrap(m).Run()
}

// output collects what a program prints.
type output struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// A running is hotrow serve under way.
type running struct {
	t         *testing.T
	http, ops string // base URLs
	log       *output
}

// serve starts hotrow serve on free ports and waits until it is ready and all feeds are complete.
func serve(t *testing.T, args ...string) *running {
	t.Helper()
	r := start(t, nil, args...)
	until(t, r.log, r.complete)
	return r
}

// start starts hotrow serve with more environment, and waits until it listens. It ends with
// the test.
func start(t *testing.T, env []string, args ...string) *running {
	t.Helper()
	r := &running{t: t, log: new(output)}
	cmd := exec.Command(binary, append([]string{"serve"}, args...)...)
	cmd.Env = append(append(os.Environ(), "HOTROW_HTTP_LISTEN=127.0.0.1:0",
		"HOTROW_OPS_LISTEN=127.0.0.1:0", "HOTROW_WIRE_LISTEN=127.0.0.1:0",
		"HOTROW_LINKS_LISTEN=127.0.0.1:0", "HOTROW_RESP_LISTEN=127.0.0.1:0",
		"HOTROW_MEMCACHE_LISTEN=127.0.0.1:0"), env...)
	cmd.Stdout, cmd.Stderr = r.log, r.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // the kernel watches the thread that starts the process
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			err = cmd.Wait()
		}
		if err != nil {
			fmt.Fprintln(r.log, err)
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-ended:
		case <-time.After(waittest.Limit(20 * time.Second)):
			t.Errorf("hotrow did not stop:\n%s", r.log)
			_ = cmd.Process.Kill()
		}
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("hotrow ended with %d:\n%s", code, r.log)
		}
	})
	until(t, r.log, func() bool {
		select {
		case <-ended:
			t.Fatalf("hotrow has ended:\n%s", r.log)
		default:
		}
		r.http, r.ops = r.listening("http"), r.listening("ops")
		return r.http != "" && r.ops != ""
	})
	return r
}

// listening returns the base URL of a listener, "" before it is there.
func (r *running) listening(proto string) string {
	m := regexp.MustCompile(`proto=(` + proto + `s?) addr=(\S+)`).FindStringSubmatch(r.log.String())
	switch {
	case m == nil:
		return ""
	case m[1] == "https":
		return "https://" + m[2]
	}
	return "http://" + m[2]
}

// complete reports whether hotrow is ready and all feeds are complete.
func (r *running) complete() bool {
	a := r.ask("GET", r.ops+"/readyz", "")
	return a.code == 200 && !strings.Contains(a.body, "the feed has not")
}

// until waits for ok.
func until(t *testing.T, log *output, ok func() bool) {
	t.Helper()
	waittest.UntilEvery(t, time.Millisecond, "waited in vain; the log", ok, log.String)
}

// An answer is what a request got.
type answer struct {
	code   int
	header http.Header
	body   string
}

// ask sends one request to a URL; headers are "Name: value".
func (r *running) ask(method, url, body string, headers ...string) answer {
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
	return answer{resp.StatusCode, resp.Header, string(text)}
}

func (r *running) do(method, path, body string, headers ...string) answer {
	r.t.Helper()
	return r.ask(method, r.http+path, body, headers...)
}

func (r *running) get(path string) answer { r.t.Helper(); return r.do("GET", path, "") }

// hit reads path until the answer comes from memory.
func (r *running) hit(path string) {
	r.t.Helper()
	until(r.t, r.log, func() bool {
		return strings.Contains(r.get(path).header.Get("Cache-Status"), "hit")
	})
}

// shows waits until path has part in its answer. An older answer to a question that is asked
// after bound must say that it may be out of date, and none may be asked after so long that the
// database itself is read because the feed lags (max_stale).
func (r *running) shows(path, part string, bound time.Duration) {
	r.t.Helper()
	for begin := time.Now(); ; {
		asked := time.Since(begin)
		a := r.get(path)
		if a.code == 200 && strings.Contains(a.body, part) {
			return
		}
		late := asked > bound && !strings.Contains(a.header.Get("Cache-Status"), "fwd=stale")
		if late || waittest.Late(asked, 5*time.Second) {
			r.t.Fatalf("GET %s is %d %s %v after %v, want %q", path, a.code, a.body, a.header, asked, part)
		}
	}
}

// mustCommand runs one command line, which must succeed, and returns what it prints.
func mustCommand(t *testing.T, args ...string) string {
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

// tokenLine is a token of a role in a configuration.
func tokenLine(name, secret, role string) string {
	sum := sha256.Sum256([]byte(secret))
	return "  - {name: " + name + ", role: " + role + ", sha256: " + hex.EncodeToString(sum[:]) + "}\n"
}
