package robust

import (
	"bufio"
	"bytes"
	"context"
	"errors"
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

	"github.com/hotrow/hotrow/internal/waittest"
)

// patience bounds every wait.
var patience = waittest.Limit(2 * time.Minute)

// A program is hotrow as a process.
type program struct {
	t         testing.TB
	cmd       *exec.Cmd
	dead      chan struct{} // closed when it has ended
	http, ops string        // addresses
	resp      string        // "" unless it is told to listen
	file      string        // its configuration; "": it was started by a URL
	started   time.Time

	mu  sync.Mutex // guards log
	log bytes.Buffer
}

// byURL reports whether the row starts hotrow with the URL of its database, as those do
// who have no file yet; else with a configuration. The name of the row says so.
func byURL(t testing.TB) bool { return strings.HasSuffix(t.Name(), "_by_URL") }

// serve starts hotrow with a configuration, in the row's form; env is added to the
// environment. It waits until hotrow listens.
func serve(t testing.TB, c config, env ...string) *program {
	t.Helper()
	return launch(t, c, env...).awaitListeners()
}

// awaitListeners waits until hotrow listens.
func (p *program) awaitListeners() *program {
	p.t.Helper()
	until(p.t, p.text, "listeners", func() bool { return p.listens() || p.ended() })
	if p.ended() {
		p.t.Fatalf("hotrow has ended:\n%s", p.text())
	}
	return p
}

// launch is serve that does not wait.
func launch(t testing.TB, c config, env ...string) *program {
	t.Helper()
	return launchBy(t, []string{binary}, c, env...)
}

// launchBy is launch by a command that begins with these words, and becomes hotrow.
func launchBy(t testing.TB, words []string, c config, env ...string) *program {
	t.Helper()
	p := &program{t: t, dead: make(chan struct{}), started: time.Now()}
	words = append(words, "serve")
	switch {
	case !byURL(t):
		p.file = filepath.Join(t.TempDir(), "hotrow.yaml")
		if err := os.WriteFile(p.file, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		words = append(words, "-c", p.file)
	case c.args == nil:
		t.Fatal("only a file can say what this row needs: its line must say so (file)")
	default:
		words, env = append(words, c.args...), append(c.env, env...)
	}
	p.cmd = exec.Command(words[0], words[1:]...)
	p.cmd.Env = append(append(os.Environ(), "HOTROW_HTTP_LISTEN=127.0.0.1:0",
		"HOTROW_OPS_LISTEN=127.0.0.1:0", "HOTROW_WIRE_LISTEN=off"), env...)
	out, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// The kernel watches the thread that starts the process: it must not end.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.read(out)
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("hotrow said:\n%s", p.text())
		}
	})
	return p
}

var listening = regexp.MustCompile(`msg=listening proto=(\w+) addr=(\S+)`)

// read takes what hotrow logs until it ends.
func (p *program) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		p.mu.Lock()
		fmt.Fprintln(&p.log, lines.Text())
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			switch m[1] {
			case "http":
				p.http = m[2]
			case "ops":
				p.ops = m[2]
			case "resp":
				p.resp = m[2]
			}
		}
		p.mu.Unlock()
	}
	_ = p.cmd.Wait() // how it ended is in ProcessState
	close(p.dead)
}

func (p *program) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *program) ended() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

func (p *program) signal(sig os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// kill ends the process at once.
func (p *program) kill() {
	p.signal(syscall.SIGKILL)
	<-p.dead
}

// ready reports whether /readyz says so, and that all feeds are complete.
func (p *program) ready() bool {
	code, _, body, err := fetch(client, "http://"+p.ops+"/readyz")
	return err == nil && code == http.StatusOK && !strings.Contains(body, "the feed has not")
}

// awaitReady waits for that and returns how long after the start it was.
func (p *program) awaitReady() time.Duration {
	p.t.Helper()
	until(p.t, p.text, "readiness", func() bool { return p.ready() || p.ended() })
	if p.ended() {
		p.t.Fatalf("hotrow has ended:\n%s", p.text())
	}
	return time.Since(p.started)
}

// metric returns the sum of a metric's samples whose line has all of parts.
func (p *program) metric(name string, parts ...string) float64 {
	_, _, body, err := fetch(client, "http://"+p.ops+"/metrics")
	if err != nil {
		return 0
	}
	sum := 0.0
next:
	for line := range strings.SplitSeq(body, "\n") {
		rest, is := strings.CutPrefix(line, name)
		if !is || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		for _, part := range parts {
			if !strings.Contains(rest, part) {
				continue next
			}
		}
		v := 0.0
		if _, err := fmt.Sscan(rest[strings.LastIndexByte(rest, ' ')+1:], &v); err == nil {
			sum += v
		}
	}
	return sum
}

// client is for questions that are none of the readers'.
var client = &http.Client{Timeout: 30 * time.Second}

// answer asks for a URL and reads the body of the answer.
func answer(c *http.Client, url string) (res *http.Response, body string, err error) {
	if res, err = c.Get(url); err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res, string(b), err
}

// fetch returns the code, the Cache-Status and the body of an answer.
func fetch(c *http.Client, url string) (code int, status, body string, err error) {
	res, body, err := answer(c, url)
	if err != nil {
		return 0, "", "", err
	}
	return res.StatusCode, res.Header.Get("Cache-Status"), body, nil
}

// get asks hotrow for a path.
func (p *program) get(path string) (code int, status, body string) {
	p.t.Helper()
	code, status, body, err := fetch(client, "http://"+p.http+path)
	if err != nil {
		p.t.Fatalf("GET %s: %v", path, err)
	}
	return code, status, body
}

// until waits for ok.
func until(t testing.TB, say func() string, what string, ok func() bool) {
	t.Helper()
	waittest.UntilEvery(t, 2*time.Millisecond, what, ok, say)
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (p *program) listens() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.http != "" && p.ops != ""
}
