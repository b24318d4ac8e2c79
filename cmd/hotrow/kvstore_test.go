//go:build unix

package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

// storeConfig writes a configuration of a database of items and nothing else.
func storeConfig(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	text := "http: {listen: 127.0.0.1:0}\nops: {listen: 127.0.0.1:0}\nwire: {listen: off}\n" +
		"memcache: {listen: 127.0.0.1:0}\nkv: {store: 'sqlite:" + filepath.Join(dir, "kv.db") + "', default: kv}\n"
	file := filepath.Join(dir, "hotrow.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// startStore starts a server in a process of its own and returns it with a connection.
func startStore(t *testing.T, file string) (*child, net.Conn) {
	t.Helper()
	c := &child{log: new(output)}
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), childConfig+"="+file)
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	listening := regexp.MustCompile(`proto=memcache addr=(\S+)`)
	for deadline := waittest.Deadline(30 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		m := listening.FindStringSubmatch(c.log.String())
		if m == nil {
			continue
		}
		nc, err := net.Dial("tcp", m[1])
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = nc.Close() })
		_ = nc.SetDeadline(waittest.Deadline(30 * time.Second))
		if _, err = nc.Write([]byte("mn\r\n")); err == nil {
			b := make([]byte, 4)
			if _, err = nc.Read(b); err == nil && string(b) == "MN\r\n" {
				return c, nc
			}
		}
	}
	t.Fatalf("the server does not answer:\n%s", c.log)
	return nil, nil
}

// TestStore_KilledServerLosesNothing kills a server again and again while a client sets
// items: what was answered with STORED is there, with its flags, its time and a new unique.
func TestStore_KilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	file := storeConfig(t)
	next, uniques := 0, make(map[string]bool)
	for round := range 3 {
		c, nc := startStore(t, file)
		time.AfterFunc(300*time.Millisecond, func() { c.end(syscall.SIGKILL) })
		r := bufio.NewReader(nc)
		for {
			value := strconv.Itoa(next)
			fmt.Fprintf(nc, "set k%d %d 3600 %d\r\n%s\r\n", next, next%1000, len(value), value)
			line, err := r.ReadString('\n')
			if err != nil {
				break
			}
			if line != "STORED\r\n" {
				t.Fatalf("set = %q", line)
			}
			next++
		}
		if next == 0 {
			t.Fatal("nothing was stored")
		}
		after, nc := startStore(t, file)
		r = bufio.NewReader(nc)
		for i := range next {
			value := strconv.Itoa(i)
			fmt.Fprintf(nc, "mg k%d v f c t\r\n", i)
			head, err := r.ReadString('\n')
			body, _ := r.ReadString('\n')
			var size, flags, left int
			var unique string
			_, scanned := fmt.Sscanf(head, "VA %d f%d c%s t%d\r\n", &size, &flags, &unique, &left)
			if err != nil || scanned != nil || body != value+"\r\n" || flags != i%1000 || left < 3000 {
				t.Fatalf("round %d: k%d of %d = %q %q, %v, %v", round, i, next, head, body, err, scanned)
			}
			if round == 2 && uniques[unique] {
				t.Fatalf("two items have unique %s", unique)
			}
			if round == 2 {
				uniques[unique] = true
			}
		}
		after.end(syscall.SIGTERM)
	}
}

// TestStore_IsAResourceToo: what clients set is there over HTTP, and what other programs
// change in the file shows.
func TestStore_IsAResourceToo(t *testing.T) {
	file := storeConfig(t)
	r := start(t, nil, "-c", file)
	until(t, r.log, r.complete)
	c := r.dialMemcache()
	if got := c.do("set greeting 3 0 5\r\nhello"); got != "STORED\r\n" {
		t.Fatalf("set = %q", got)
	}
	if got := r.get("/kv/greeting").body; !strings.Contains(got, `"value":"aGVsbG8=","flags":3,"expires":0,`) {
		t.Errorf("over HTTP = %s", got)
	}
	dbtest.SQLiteShell(t, filepath.Join(filepath.Dir(file), "kv.db"),
		"UPDATE kv SET value=x'6279' WHERE key='greeting'")
	for deadline := waittest.Deadline(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		got := c.do("get greeting")
		if got == "VALUE greeting 3 2\r\nby\r\nEND\r\n" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the change of another program does not show: %q", got)
		}
	}
}

// However many items have expired, one sweep deletes them.
func TestStore_SweepsAllThatExpired(t *testing.T) {
	_, src := openURL(t, "sqlite:"+filepath.Join(t.TempDir(), "items.db"))
	store := src.(source.Store)
	for _, sql := range []string{kv.StoreTable, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL" +
		" SELECT i + 1 FROM n WHERE i < 2500) INSERT INTO kv (key, value, expires)" +
		" SELECT i, x'00', i FROM n"} {
		if _, err := storeExec(t.Context(), store, sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := sweep(t.Context(), store, 2400); err != nil {
		t.Fatal(err)
	}
	if left, err := storeExec(t.Context(), store, "DELETE FROM kv"); err != nil || left != 100 {
		t.Errorf("%d items are left: %v", left, err)
	}
}
