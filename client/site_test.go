package client

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// limit bounds everything that a test waits for.
const limit = time.Minute

// within returns a context that ends with the test, or after limit.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// A site is hotrow, a process of its own, over an SQLite file.
type site struct {
	db, wireURL, httpURL string

	process *exec.Cmd
	said    *bytes.Buffer // what it has logged, to be read when it has ended
	ended   chan struct{} // closed when it has ended and all is read
}

// program builds hotrow once: the tests of this module are for its own repository.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programDir, "hotrow")
	build := exec.Command("go", "build", "-o", path, "./cmd/hotrow")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build hotrow in the repository around this module: %w: %s", err, out)
	}
	return path, nil
})

// programDir is where program builds.
var programDir string

// TestMain starts a site for the examples: they read HOTROW_URL.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if programDir, err = os.MkdirTemp("", "hotrow"); err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(programDir) }()
		s, err := openSite(programDir)
		if err != nil {
			panic(err)
		}
		defer s.kill()
		for name, value := range map[string]string{
			"HOTROW_URL": s.wireURL, "HOTROW_TOKEN": secret, "HOTROW_HTTP_URL": s.httpURL,
		} {
			if err := os.Setenv(name, value); err != nil {
				panic(err)
			}
		}
		code := m.Run()
		s.kill()
		if err := goleak.Find(); err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		return code
	}())
}

// secret is the token of whoever may read and write everything.
const secret = "hrt_test"

// newSite starts a server over an SQLite file of its own.
func newSite(t testing.TB) *site {
	t.Helper()
	s, err := openSite(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	return s
}

// openSite starts a server over an SQLite file in dir.
func openSite(dir string) (*site, error) {
	s := &site{db: filepath.Join(dir, "site.db"), wireURL: "hotrow://127.0.0.1:0",
		httpURL: "http://127.0.0.1:0"}
	tables, err := os.ReadFile(filepath.Join("testdata", "site.sql"))
	if err != nil {
		return nil, err
	}
	shell := exec.Command("sqlite3", s.db)
	shell.Stdin = bytes.NewReader(tables)
	if out, err := shell.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("sqlite3: %w: %s", err, out)
	}
	return s, s.start()
}

// start starts the server, at the addresses that it had before, and waits until its
// feed is fresh.
func (s *site) start() error {
	path, err := program()
	if err != nil {
		return err
	}
	s.process = exec.Command(path, "serve", "-c", filepath.Join("testdata", "site.yaml"))
	s.process.Env = append(os.Environ(), "SITE="+s.db,
		"HOTROW_WIRE_LISTEN="+s.wireURL[len("hotrow://"):],
		"HOTROW_HTTP_LISTEN="+s.httpURL[len("http://"):])
	out, err := s.process.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		return err
	}
	s.said, s.ended = new(bytes.Buffer), make(chan struct{})
	found := make(chan map[string]string, 1)
	go s.watch(out, found)
	select {
	case at := <-found:
		s.wireURL, s.httpURL = "hotrow://"+at["wire"], "http://"+at["http"]
		return s.fresh("http://" + at["ops"] + "/readyz?strict")
	case <-s.ended:
		return fmt.Errorf("hotrow has ended: %s", s.said)
	case <-time.After(limit):
		s.kill()
		return fmt.Errorf("hotrow does not listen: %s", s.said)
	}
}

// fresh waits until the feed is.
func (s *site) fresh(url string) error {
	defer http.DefaultClient.CloseIdleConnections()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		answer, err := http.Get(url)
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	s.kill()
	return fmt.Errorf("the feed is never fresh: %s", s.said)
}

var listening = regexp.MustCompile(`msg=listening proto=(wire|http|ops) addr=(\S+)`)

// watch reads the server's log, and tells where it listens.
func (s *site) watch(log io.Reader, found chan<- map[string]string) {
	defer close(s.ended)
	at := make(map[string]string)
	for lines := bufio.NewScanner(log); lines.Scan(); {
		_, _ = fmt.Fprintln(s.said, lines.Text())
		m := listening.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		if at[m[1]] = m[2]; len(at) == 3 {
			found <- at
		}
	}
	_ = s.process.Wait()
}

// stop asks the server to end, and waits until it has.
func (s *site) stop(t testing.TB) {
	t.Helper()
	if err := s.process.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.ended:
	case <-time.After(limit):
		t.Fatal("hotrow does not end")
	}
}

func (s *site) kill() {
	_ = s.process.Process.Kill()
	<-s.ended
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// open opens a client.
func open(t testing.TB, url string, opts ...Option) *Client {
	t.Helper()
	c, err := Open(url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// bothWays runs a test over the wire and over HTTP.
func bothWays(t *testing.T, f func(t *testing.T, s *site, url string)) {
	s := newSite(t)
	for _, url := range []string{s.wireURL, s.httpURL} {
		t.Run(url[:4], func(t *testing.T) { f(t, s, url) })
	}
}

// poll waits until f reports true.
func poll(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !f(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, limit)
		}
		time.Sleep(time.Millisecond)
	}
}
