package pictures

import (
	"bytes"
	"fmt"
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

// committed is where the pictures are kept.
const committed = "../../docs/pictures"

// write says that the pictures are to be written there.
var write = os.Getenv("HOTROW_PICTURES") == "write"

// binary is hotrow, built once for all tests.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hotrow-pictures-")
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

// A server is hotrow under way, with the base URLs of its listeners.
type server struct {
	t                *testing.T
	http, ops, links string
	sql              string // its address
	log              *text
}

// text collects what a program prints.
type text struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (o *text) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *text) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// start starts hotrow on free ports and waits until it has greeted.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	s := &server{t: t, log: new(text)}
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "HOTROW_HTTP_LISTEN=127.0.0.1:0", "HOTROW_OPS_LISTEN=127.0.0.1:0",
		"HOTROW_LINKS_LISTEN=127.0.0.1:0", "HOTROW_WIRE_LISTEN=off", "HOTROW_RESP_LISTEN=off",
		"HOTROW_MEMCACHE_LISTEN=off")
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // ended by a signal
	})
	waittest.UntilEvery(t, 5*time.Millisecond, "the greeting; the log", func() bool {
		return strings.Contains(s.log.String(), "Stop with Ctrl-C.")
	}, s.log.String)
	for _, m := range regexp.MustCompile(`listening proto=(\w+) addr=(\S+)`).FindAllStringSubmatch(s.log.String(), -1) {
		switch url := "http://" + m[2]; m[1] {
		case "http":
			s.http = url
		case "ops":
			s.ops = url
		case "links":
			s.links = url
		case "sql":
			s.sql = m[2]
		}
	}
	return s
}
