package apps

import (
	"bufio"
	"bytes"
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
var patience = waittest.Limit(time.Minute)

// A server is hotrow as a process, and what the tests write to its database by.
type server struct {
	t     *testing.T
	cmd   *exec.Cmd
	write func(statement string) // commits a write

	serial, beats int

	mu   sync.Mutex // guards what follows
	log  bytes.Buffer
	addr string // "" until it listens
}

// serve starts hotrow in front of the database at url with these resources. write commits
// a statement; nil: writes go through hotrow.
func serve(t *testing.T, url, resources string, write func(statement string)) *server {
	t.Helper()
	s := &server{t: t, write: write, serial: 600}
	file := filepath.Join(t.TempDir(), "hotrow.yaml")
	config := "version: 1\nsources: {main: {url: \"" + url + "\"}}\nresources:\n" +
		"  beat: {table: beat, access: {write: public}}\n" + resources
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command(binary, "serve", "-c", file)
	s.cmd.Env = append(os.Environ(), "HOTROW_HTTP_LISTEN=127.0.0.1:0", "HOTROW_OPS_LISTEN=off",
		"HOTROW_WIRE_LISTEN=off")
	out, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the kernel watches the thread that starts the process
	err = s.cmd.Start()
	if err != nil {
		t.Fatal(err)
	}
	dead := make(chan struct{})
	go func() {
		defer close(dead)
		s.read(out)
		_ = s.cmd.Wait() // it is killed
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it may have ended
		<-dead
		runtime.UnlockOSThread()
		if t.Failed() {
			t.Logf("hotrow said:\n%s", s.text())
		}
	})
	s.until("listen", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.addr != "" })
	s.until("answer", func() bool { return s.get("/beat/1").code == http.StatusOK })
	return s
}

var listening = regexp.MustCompile(`msg=listening proto=http addr=(\S+)`)

// read takes what hotrow logs until it ends.
func (s *server) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		s.mu.Lock()
		fmt.Fprintln(&s.log, lines.Text())
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			s.addr = m[1]
		}
		s.mu.Unlock()
	}
}

func (s *server) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// until waits for ok.
func (s *server) until(what string, ok func() bool) {
	s.t.Helper()
	waittest.Until(s.t, what, ok)
}

// An answer is what hotrow says to a request.
type answer struct {
	code int
	body string
	hit  bool   // it is from memory
	next string // the path of the page that follows; "" without one
}

var client = &http.Client{Timeout: patience}

// get asks for a path. A header is "Name: value".
func (s *server) get(path string, headers ...string) answer {
	return s.send(http.MethodGet, path, "", headers...)
}

var nextPage = regexp.MustCompile(`<([^>]*)>; rel="next"`)

// send makes a request. The body, if any, is JSON.
func (s *server) send(method, path, body string, headers ...string) answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.addr+path,
		strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	a := answer{code: res.StatusCode, body: string(b),
		hit: strings.Contains(res.Header.Get("Cache-Status"), "; hit")}
	if m := nextPage.FindStringSubmatch(res.Header.Get("Link")); m != nil {
		a.next = m[1]
	}
	return a
}

// commit makes a write: "PATCH /albums/1 {...}" goes through hotrow, all else is SQL. %d
// stands for a number that no other write has.
func (s *server) commit(statement string) {
	s.t.Helper()
	s.serial++
	statement = strings.ReplaceAll(statement, "%d", fmt.Sprint(s.serial))
	method, rest, _ := strings.Cut(statement, " ")
	if !strings.HasPrefix(rest, "/") {
		s.write(statement)
		return
	}
	path, body, _ := strings.Cut(rest, " ")
	if a := s.send(method, path, body); a.code >= http.StatusMultipleChoices {
		s.t.Fatalf("%s: %d %s", statement, a.code, a.body)
	}
}

// applied waits until hotrow knows of all that was committed before: its document of
// another table, which is in memory, has changed after it.
func (s *server) applied() {
	s.t.Helper()
	s.until("keep a document", func() bool { return s.get("/beat/1").hit })
	s.beats++
	if s.write == nil {
		s.commit(fmt.Sprintf(`PATCH /beat/1 {"n":%d}`, s.beats))
	} else {
		s.commit(fmt.Sprintf("UPDATE beat SET n = %d", s.beats))
	}
	want := fmt.Sprintf(`"n":%d}`, s.beats)
	s.until("see a write", func() bool { return strings.Contains(s.get("/beat/1").body, want) })
}
