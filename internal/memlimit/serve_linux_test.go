package memlimit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/programtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A cgroup bounds the memory of the processes in it.
type cgroup struct {
	dir   string
	limit int64
	v2    bool
}

// newCgroup makes one below that of the test, which skips the test where that may not be
// done, unless make memory-limit has asked for it.
func newCgroup(t *testing.T, limit int64) *cgroup {
	t.Helper()
	skipf := t.Skipf
	if os.Getenv("HOTROW_TEST_CONNECTIONS") != "" {
		skipf = t.Fatalf
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip(err)
	}
	g := &cgroup{limit: limit}
	for line := range strings.Lines(string(own)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case f[1] == "memory":
			g.dir, g.v2 = filepath.Join("/sys/fs/cgroup/memory", f[2]), false
		case f[0] == "0" && g.dir == "":
			g.dir, g.v2 = filepath.Join("/sys/fs/cgroup", f[2]), true
		}
	}
	g.dir = filepath.Join(g.dir, fmt.Sprintf("hotrow-%s-%d", t.Name(), os.Getpid()))
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		skipf("no cgroup can be made: %v", err)
	}
	t.Cleanup(func() { // the last process leaves a moment after it has ended
		for deadline := waittest.Deadline(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			err := os.Remove(g.dir)
			if err == nil || time.Now().After(deadline) {
				if err != nil {
					t.Error(err)
				}
				return
			}
		}
	})
	file := "memory.limit_in_bytes"
	if g.v2 {
		file = "memory.max"
	}
	err = os.WriteFile(filepath.Join(g.dir, file), []byte(strconv.FormatInt(limit, 10)), 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		skipf("the cgroup cannot bound memory: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// kills returns how many of its processes the kernel has killed.
func (g *cgroup) kills(t *testing.T) string {
	t.Helper()
	file := "memory.oom_control"
	if g.v2 {
		file = "memory.events"
	}
	text, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			return strings.TrimSpace(n)
		}
	}
	return "unknown: " + string(text)
}

// A limited server is one whose memory a cgroup bounds.
type limited struct {
	*cgroup
	t    *testing.T
	log  *programtest.Output
	cmd  *exec.Cmd
	addr string // of HTTP
}

// serveLimited starts a server of a table docs with so many rows, whose bodies have so many random
// bytes in hexadecimal digits. The test ends it by stop.
func (g *cgroup) serveLimited(t *testing.T, rows, body int) *limited {
	t.Helper()
	dir := t.TempDir()
	db := filepath.Join(dir, "app.db")
	dbtest.SQLiteShell(t, db, fmt.Sprintf(`CREATE TABLE docs (id INTEGER PRIMARY KEY, body TEXT);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d)
		INSERT INTO docs SELECT i, hex(randomblob(%d)) FROM n`, rows, body))
	config := filepath.Join(dir, "hotrow.yaml")
	text := "version: 1\nsources: {db: {url: 'sqlite:" + db + "'}}\nhttp: {listen: '127.0.0.1:0'}\n" +
		"ops: {listen: off}\nwire: {listen: off}\n" +
		"resources: {docs: {table: docs, access: {read: public}}}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &limited{cgroup: g, t: t, log: new(programtest.Output)}
	l.cmd = exec.Command("sh", append([]string{"-c", `echo $$ > "$0"/cgroup.procs && exec "$@"`, g.dir},
		programtest.Command("serve", "-c", config).Args...)...)
	l.cmd.Stdout, l.cmd.Stderr = l.log, l.log
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.cmd.Process.Kill() })
	programtest.Until(t, l.log, func() bool {
		_, after, _ := strings.Cut(l.log.String(), "proto=http addr=")
		l.addr, _, _ = strings.Cut(after, "\n")
		return l.addr != "" && strings.Contains(l.log.String(), "feed attached")
	})
	if !strings.Contains(l.log.String(), fmt.Sprintf("msg=memory limit=%d", g.limit)) {
		t.Errorf("the log does not tell of the limit:\n%s", l.log)
	}
	return l
}

// ask asks for all documents, some at a time.
func (l *limited) ask(rows, together int) {
	l.t.Helper()
	if err := askAll(l.addr, rows, together); err != nil {
		l.t.Fatalf("%v; killed by the kernel: %s; the log:\n%s", err, l.kills(l.t), l.log)
	}
}

// most returns how many bytes of the process were in memory at once.
func (l *limited) most() int64 {
	l.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.cmd.Process.Pid))
	if err != nil {
		l.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	n, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	if err != nil {
		l.t.Fatal(err)
	}
	return n << 10
}

// stop ends the server, which nobody has killed.
func (l *limited) stop() {
	l.t.Helper()
	if n := l.kills(l.t); n != "0" {
		l.t.Errorf("killed by the kernel: %s", n)
	}
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		l.t.Fatal(err)
	}
	if err := l.cmd.Wait(); err != nil {
		l.t.Errorf("%v; the log:\n%s", err, l.log)
	}
}

// A process that may take 192 MiB and is asked for 200 MB of documents drops some, and
// goes on.
func TestServe_CacheTakesAShareOfALimitedMemory(t *testing.T) {
	t.Parallel()
	const rows = 12_000
	l := newCgroup(t, 192<<20).serveLimited(t, rows, 8500)
	for range 2 {
		l.ask(rows, 100)
	}
	l.stop()
}

// A process that may take 512 MiB, and is told of no cache.memory, is not killed by documents of
// a megabyte beside many connections, of which some have asked for one and read nothing.
func TestServe_MegabytesBesideManyConnections(t *testing.T) {
	t.Parallel() // most of it waits for the server to cut those who read nothing
	const rows, silent, limit = 320, 200, 512 << 20
	connections := 1000
	if n := os.Getenv("HOTROW_TEST_CONNECTIONS"); n != "" {
		var err error
		if connections, err = strconv.Atoi(n); err != nil {
			t.Fatal(err)
		}
	}
	l := newCgroup(t, limit).serveLimited(t, rows, 1<<19)
	open := make([]net.Conn, 0, connections)
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	for i := range connections {
		c, err := net.Dial("tcp", l.addr)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		open = append(open, c)
		path := "/docs?select=id&limit=1"
		if i < silent {
			path = fmt.Sprintf("/docs/%d", 1+i)
		}
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	for range 3 {
		l.ask(rows, 4)
	}
	t.Logf("%d connections: %d MiB at most, of %d", connections, l.most()>>20, limit>>20)
	if most := l.most(); most > limit-32<<20 {
		t.Errorf("the process took %d MiB of %d", most>>20, limit>>20)
	}
	l.stop()
}

// askAll asks for documents 1 to rows over one connection, some at a time. Those for which there
// is no room beside answers that nobody has read are asked for again.
func askAll(addr string, rows, together int) error {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	br, end := bufio.NewReader(nc), waittest.Deadline(2*time.Minute)
	for from := 1; from <= rows; {
		if err := nc.SetDeadline(waittest.Deadline(30 * time.Second)); err != nil {
			return err
		}
		refused, err := askSome(nc, br, from, together)
		switch {
		case err != nil:
			return err
		case refused == "":
			from += together
		case time.Now().After(end):
			return errors.New(refused)
		}
	}
	return nil
}

// askSome asks for some documents, and returns the last answer that says that there is no room.
func askSome(nc net.Conn, br *bufio.Reader, from, together int) (refused string, err error) {
	var ask strings.Builder
	for id := from; id < from+together; id++ {
		fmt.Fprintf(&ask, "GET /docs/%d HTTP/1.1\r\nHost: localhost\r\n\r\n", id)
	}
	if _, err := nc.Write([]byte(ask.String())); err != nil {
		return "", err
	}
	for id := from; id < from+together; id++ {
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			return "", err
		}
		body, err := io.ReadAll(resp.Body)
		switch want := fmt.Sprintf(`{"id":%d,`, id); {
		case err != nil:
			return "", err
		case resp.StatusCode == http.StatusServiceUnavailable && bytes.Contains(body, []byte("unread-answers")):
			refused = string(body)
		case !bytes.HasPrefix(body, []byte(want)):
			return "", fmt.Errorf("document %d: %s %.80s", id, resp.Status, body)
		}
	}
	return refused, nil
}
