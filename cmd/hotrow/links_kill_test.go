package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// childConfig names the configuration that a process of this program serves in
// place of running tests: TestLinks_KilledServerLosesNothing kills it.
const childConfig = "HOTROW_TEST_CHILD_CONFIG"

func serveChild(file string) (code int) {
	ctx, stop := untilSignal()
	defer stop()
	return run(ctx, []string{"serve", "-c", file}, os.Stdout, os.Stderr, os.Environ())
}

// A child is a server in a process of its own.
type child struct {
	cmd  *exec.Cmd
	addr string // of links
	log  *output
}

// startChild starts a server and waits until it redirects.
func startChild(t *testing.T, file string) *child {
	t.Helper()
	c := &child{log: new(output)}
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), childConfig+"="+file)
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	listening := regexp.MustCompile(`proto=links addr=(\S+)`)
	for deadline := waittest.Deadline(30 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if m := listening.FindStringSubmatch(c.log.String()); m != nil {
			c.addr = m[1]
			if status("http://"+c.addr+"/robots.txt") == 200 {
				return c
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not answer:\n%s", c.log)
		}
	}
}

// end ends a server with a signal.
func (c *child) end(s syscall.Signal) {
	_ = c.cmd.Process.Signal(s)
	_ = c.cmd.Wait() // what it says about its end does not matter
}

// sums are what all clients have sent and got.
type sums struct{ sent, answered, limited atomic.Int64 }

// follow follows links over one connection until the server is gone.
func (s *sums) follow(addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for i := 0; ; i++ {
		code := "asdf"
		if i%8 == 7 {
			code = "few"
		}
		s.sent.Add(1)
		_, err := fmt.Fprintf(conn, "GET /%s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: f/%d\r\n\r\n",
			code, i%5)
		if err != nil {
			return
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return
		}
		switch {
		case resp.StatusCode == 302 && code == "few":
			s.limited.Add(1)
			s.answered.Add(1)
		case resp.StatusCode == 302:
			s.answered.Add(1)
		}
	}
}

// kills is how often the server is killed: HOTROW_TEST_KILLS, else as often as an
// ordinary run of the tests can wait for.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("HOTROW_TEST_KILLS")); err == nil {
		return n
	}
	return 20
}

// Whatever was answered is in the database once, and no more than was asked for;
// a link with so many redirects has never had one more.
func TestLinks_KilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := filepath.Join(dir, "links.db")
	file := configFile(t, "version: 1\nhttp: {listen: 'off'}\nops: {listen: 'off'}\n"+
		"wire: {listen: 'off'}\nlinks:\n  listen: 127.0.0.1:0\n  database: 'sqlite:"+db+"'\n"+
		"  log: {dir: '"+filepath.Join(dir, "clicks")+"', max: 64MiB}\n")
	first := startChild(t, file)
	const most = 700
	dbtest.SQLiteShell(t, db, `INSERT INTO links (id, code, url, url_hash, max_clicks, created_at,
		updated_at) VALUES (1, 'asdf', 'https://example.com/', X'00', NULL, 0, 0),
		(2, 'few', 'https://example.com/', X'00', `+strconv.Itoa(most)+`, 0, 0)`)
	first.end(syscall.SIGKILL)
	var all sums
	for range kills() {
		c := startChild(t, file)
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() { all.follow(c.addr) })
		}
		moment := all.answered.Load() + rand.Int64N(1500)
		until(t, c.log, func() bool { return all.answered.Load() > moment })
		c.end(syscall.SIGKILL)
		clients.Wait()
	}
	last := startChild(t, file)
	stored := int64(-1)
	count := func(sql string) int64 {
		n, err := strconv.ParseInt(strings.TrimSpace(dbtest.SQLiteShell(t, db, sql)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	until(t, last.log, func() bool { // the first batch makes the tables of its month
		return count("SELECT count(*) FROM sqlite_master WHERE name = 'clicks'") == 1
	})
	for deadline := waittest.Deadline(time.Minute); ; time.Sleep(300 * time.Millisecond) {
		before := stored // until it has drained what the dead have left
		stored = count("SELECT count(*) FROM clicks WHERE link_id > 0")
		if stored >= all.answered.Load() && stored == before || time.Now().After(deadline) {
			break
		}
	}
	last.end(syscall.SIGTERM)
	stored = count("SELECT count(*) FROM clicks WHERE link_id > 0")
	if strings.Contains(last.log.String(), "no room") {
		t.Errorf("the log was full: nothing is shown\n%s", last.log)
	}
	t.Logf("%d killed: %d sent, %d answered, %d stored; %d of %d of the limit", kills(),
		all.sent.Load(), all.answered.Load(), stored, all.limited.Load(), most)
	if stored < all.answered.Load() || stored > all.sent.Load() {
		t.Errorf("%d answered, %d stored, %d sent", all.answered.Load(), stored, all.sent.Load())
	}
	if n := count("SELECT count(DISTINCT seq) FROM clicks"); n != count("SELECT count(*) FROM clicks") {
		t.Errorf("only %d of the rows' seqs differ", n)
	}
	for _, link := range []int{1, 2} {
		raw := count(fmt.Sprintf("SELECT count(*) FROM clicks WHERE link_id = %d", link))
		for _, sum := range []string{
			"SELECT clicks + bots FROM link_stats WHERE link_id = %d",
			"SELECT sum(clicks + bots) FROM click_time WHERE unit = 'h' AND link_id = %d",
			"SELECT sum(clicks + bots) FROM click_time WHERE unit = 'd' AND link_id = %d",
		} {
			if n := count(fmt.Sprintf(sum, link)); n != raw {
				t.Errorf("%s: %d, raw %d", fmt.Sprintf(sum, link), n, raw)
			}
		}
		if link == 2 && raw > most || all.limited.Load() > most {
			t.Errorf("link 2: %d stored and %d answered of %d", raw, all.limited.Load(), most)
		}
	}
}
