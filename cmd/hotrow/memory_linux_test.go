package main

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
	"github.com/hotrow/hotrow/internal/waittest"
)

// A cgroup bounds the memory of the processes in it.
type cgroup struct {
	dir   string
	limit int64
	v2    bool
}

// newCgroup makes one below that of the test, which skips the test where that may not be
// done.
func newCgroup(t *testing.T, limit int64) *cgroup {
	t.Helper()
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
	g.dir = filepath.Join(g.dir, fmt.Sprintf("hotrow-test-%d", os.Getpid()))
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		t.Skipf("no cgroup can be made: %v", err)
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
		t.Skipf("the cgroup cannot bound memory: %v", err)
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

// A process that may take 192 MiB and is asked for 200 MB of documents drops some, and
// goes on.
func TestServe_CacheTakesAShareOfALimitedMemory(t *testing.T) {
	t.Parallel()
	g := newCgroup(t, 192<<20)
	dir := t.TempDir()
	db := filepath.Join(dir, "app.db")
	const rows = 12_000
	dbtest.SQLiteShell(t, db, fmt.Sprintf(`CREATE TABLE docs (id INTEGER PRIMARY KEY, body TEXT);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d)
		INSERT INTO docs SELECT i, hex(randomblob(8500)) FROM n`, rows))
	config := filepath.Join(dir, "hotrow.yaml")
	text := "version: 1\nsources: {db: {url: 'sqlite:" + db + "'}}\nhttp: {listen: '127.0.0.1:0'}\n" +
		"ops: {listen: off}\nwire: {listen: off}\n" +
		"resources: {docs: {table: docs, access: {read: public}}}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log := new(output)
	cmd := exec.Command("sh", "-c", `echo $$ > "$0"/cgroup.procs && exec "$@"`, g.dir, os.Args[0],
		"serve", "-c", config)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	addr := ""
	until(t, log, func() bool {
		_, after, _ := strings.Cut(log.String(), "proto=http addr=")
		addr, _, _ = strings.Cut(after, "\n")
		return addr != "" && strings.Contains(log.String(), "feed attached")
	})
	if !strings.Contains(log.String(), fmt.Sprintf("msg=memory limit=%d", g.limit)) {
		t.Errorf("the log does not tell of the limit:\n%s", log)
	}
	for range 2 {
		if err := askAll(addr, rows); err != nil {
			t.Fatalf("%v; killed by the kernel: %s; the log:\n%s", err, g.kills(t), log)
		}
	}
	if n := g.kills(t); n != "0" {
		t.Errorf("killed by the kernel: %s", n)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("%v; the log:\n%s", err, log)
	}
}

// askAll asks for documents 1 to rows over one connection, a hundred at a time.
func askAll(addr string, rows int) error {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	br := bufio.NewReader(nc)
	for from := 1; from <= rows; from += 100 {
		var ask strings.Builder
		for id := from; id < from+100; id++ {
			fmt.Fprintf(&ask, "GET /docs/%d HTTP/1.1\r\nHost: localhost\r\n\r\n", id)
		}
		if err := nc.SetDeadline(waittest.Deadline(30 * time.Second)); err != nil {
			return err
		}
		if _, err := nc.Write([]byte(ask.String())); err != nil {
			return err
		}
		for id := from; id < from+100; id++ {
			resp, err := http.ReadResponse(br, nil)
			if err != nil {
				return err
			}
			body, err := io.ReadAll(resp.Body)
			if want := fmt.Sprintf(`{"id":%d,`, id); err != nil || !bytes.HasPrefix(body, []byte(want)) {
				return fmt.Errorf("document %d: %s %.80s, %v", id, resp.Status, body, err)
			}
		}
	}
	return nil
}
