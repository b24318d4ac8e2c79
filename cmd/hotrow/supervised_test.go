//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/restart"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A unit is what systemd is to its services: it keeps their sockets, and hears what
// they tell it.
type unit struct {
	t      *testing.T
	config string
	env    []string
	socks  []*os.File
	told   chan string // what the process has told
}

// newUnit makes one for a SQLite file of a hundred rows, with more lines of its
// configuration.
func newUnit(t *testing.T, more string) *unit {
	t.Helper()
	dir := t.TempDir()
	db := filepath.Join(dir, "app.db")
	dbtest.SQLiteShell(t, db, `CREATE TABLE docs (id INTEGER PRIMARY KEY, name TEXT);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 100)
		INSERT INTO docs SELECT i, 'name '||i FROM n`)
	u := &unit{t: t, config: filepath.Join(dir, "hotrow.yaml"), told: make(chan string, 1000)}
	text := fmt.Sprintf("version: 1\nsources: {db: {url: 'sqlite:%s'}}\nwire: {listen: off}\n"+
		"ops: {listen: off}\nresources: {docs: {table: docs, access: {read: public}}}\n%s", db, more)
	if err := os.WriteFile(u.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	notify := filepath.Join(dir, "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for buf := make([]byte, 4096); ; {
			n, err := l.Read(buf)
			if err != nil {
				return
			}
			u.told <- string(buf[:n])
		}
	}()
	u.env = []string{"NOTIFY_SOCKET=" + notify}
	return u
}

// socket opens a socket for the unit and returns its address.
func (u *unit) socket(network, address string) string {
	u.t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		u.t.Fatal(err)
	}
	f, err := l.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		u.t.Fatal(err)
	}
	at := l.Addr().String()
	if unix, ok := l.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false)
	}
	_ = l.Close() // f is what systemd has
	u.t.Cleanup(func() { _ = f.Close() })
	u.socks = append(u.socks, f)
	return at
}

// start starts the service and returns its process and its log.
func (u *unit) start(env ...string) (*exec.Cmd, *output) {
	u.t.Helper()
	log := new(output)
	cmd := exec.Command(os.Args[0], "serve", "-c", u.config)
	cmd.Env = append(append(append(os.Environ(), u.env...),
		fmt.Sprintf("LISTEN_FDS=%d", len(u.socks))), env...)
	cmd.ExtraFiles = u.socks
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, log
}

// hears waits until the process has told something that begins with want, and returns
// what it has told before.
func (u *unit) hears(want string, log *output) (before []string) {
	u.t.Helper()
	for deadline := time.After(waittest.Limit(30 * time.Second)); ; {
		select {
		case told := <-u.told:
			if strings.HasPrefix(told, want) {
				return before
			}
			before = append(before, told)
		case <-deadline:
			u.t.Fatalf("systemd was not told %q, only %q; the log:\n%s", want, before, log)
		}
	}
}

// end has the process stop.
func (u *unit) end(cmd *exec.Cmd, log *output) {
	u.t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		u.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		u.t.Errorf("%v; the log:\n%s", err, log)
	}
}

func TestServe_TellsSystemd(t *testing.T) {
	t.Parallel()
	u := newUnit(t, "http: {listen: '127.0.0.1:0'}\n")
	cmd, log := u.start("WATCHDOG_USEC=2000000")
	u.hears("READY=1\nSTATUS=serves 1 resource", log)
	u.hears("WATCHDOG=1", log)
	u.hears("WATCHDOG=1", log)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	u.hears("RELOADING=1\nMONOTONIC_USEC=", log)
	u.hears("READY=1", log)
	u.end(cmd, log)
	u.hears("STOPPING=1", log)
	if !strings.Contains(log.String(), "configuration reloaded") {
		t.Errorf("the log:\n%s", log)
	}
}

func TestServe_ListensWhereSystemdDoes(t *testing.T) {
	t.Parallel()
	u := newUnit(t, "http: {listen: '127.0.0.1:1'}\n")
	web := u.socket("tcp", "127.0.0.1:0")
	path := filepath.Join(t.TempDir(), "ops")
	u.socket("unix", path)
	cmd, log := u.start("LISTEN_FDNAMES=http:ops")
	u.hears("READY=1", log)
	resp, err := http.Get("http://" + web + "/docs/7")
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != `{"id":7,"name":"name 7"}` {
		t.Errorf("%s, %v", body, err)
	}
	_ = resp.Body.Close()
	nc, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	if _, err := io.WriteString(nc, "GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if alive, err := io.ReadAll(nc); err != nil || !strings.HasSuffix(string(alive), "ok\n") {
		t.Errorf("%s, %v", alive, err)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	u.hears("RELOADING=1", log)
	u.hears("READY=1", log)
	u.end(cmd, log)
	if strings.Contains(log.String(), "only after a restart") {
		t.Errorf("a reload takes the sockets for a change:\n%s", log)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the socket's file has gone with the process: %v", err)
	}
}

func TestServe_RefusesSocketsItCannotPlace(t *testing.T) {
	tests := []struct{ names, address, want string }{
		{"web:ops", "127.0.0.1:0", `is called "web": FileDescriptorName= must be one of http, wire`},
		{"ops:ops", "127.0.0.1:0", `two sockets of systemd are called "ops"`},
		{"http:wire", "0.0.0.0:0", "--open"}, // nobody has said that others may read
	}
	for _, tt := range tests {
		u := newUnit(t, "")
		u.socket("tcp", tt.address)
		u.socket("tcp", "127.0.0.1:0")
		cmd, log := u.start("LISTEN_FDNAMES=" + tt.names)
		if err := cmd.Wait(); err == nil || !strings.Contains(log.String(), tt.want) {
			t.Errorf("%s: %v, want %q in:\n%s", tt.names, err, tt.want, log)
		}
	}
}

// TestProxy_RefusesASocketThatOthersReach: whoever has opened the listener, an open proxy
// for other machines is one that somebody has asked for.
func TestProxy_RefusesASocketThatOthersReach(t *testing.T) {
	u := newUnit(t, "")
	u.socket("tcp", "0.0.0.0:0")
	cmd := exec.Command(os.Args[0], "proxy", "--access-log-dir", "none")
	cmd.Env = append(os.Environ(), "LISTEN_FDS=1")
	cmd.ExtraFiles = u.socks
	log := new(output)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if err := cmd.Wait(); err == nil || !strings.Contains(log.String(), "--allow, or give --open") {
		t.Errorf("%v:\n%s", err, log)
	}
}

// The unit that docs/howto/systemd.md offers is one that systemd takes, and that gives
// the service nothing that it does not need.
func TestSystemd_UnitIsSound(t *testing.T) {
	t.Parallel()
	analyze := dbtest.Program(t, "systemd-analyze", "systemd")
	dir := t.TempDir()
	units := []string{"hotrow.service", "hotrow.socket", "hotrow-wire.socket", "hotrow-resp.socket"}
	for _, name := range units {
		text, err := os.ReadFile(filepath.Join("../../deploy/systemd", name))
		if err != nil {
			t.Fatal(err)
		}
		installed := strings.ReplaceAll(string(text), "/usr/bin/hotrow", os.Args[0])
		if err := os.WriteFile(filepath.Join(dir, name), []byte(installed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"verify", "./hotrow.service", "./hotrow.socket", "./hotrow-wire.socket", "./hotrow-resp.socket"},
		{"security", "--offline=true", "--threshold=20", "./hotrow.service"}, // in tenths
	} {
		cmd := exec.CommandContext(t.Context(), analyze, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", args[0], err, out)
		}
	}
}

// While a process follows the other, the sockets stay: clients wait a moment, and none
// is refused, whatever protocol it speaks.
func TestServe_RestartWithSystemdsSocketsFailsNoRequest(t *testing.T) {
	t.Parallel()
	u := newUnit(t, "")
	load := restart.Load{
		HTTP: u.socket("tcp", "127.0.0.1:0"), Wire: u.socket("tcp", "127.0.0.1:0"),
		RESP: u.socket("tcp", "127.0.0.1:0"), Resource: "docs", Keys: 100,
		Want: `{"id":{n},"name":"name {n}"}`, Clients: 4,
	}
	const names = "LISTEN_FDNAMES=http:wire:resp"
	answered := map[string]*atomic.Int64{"http": {}, "wire": {}, "resp": {}}
	load.Answered = func(protocol string) { answered[protocol].Add(1) }
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	answers := make(chan []restart.Count, 1)
	cmd, log := u.start(names)
	go func() { answers <- load.Run(ctx) }()
	for range 4 {
		for _, n := range answered {
			from := n.Load()
			until(t, log, func() bool { return n.Load() > from+100 })
		}
		u.end(cmd, log)
		cmd, log = u.start(names)
	}
	stop() // who waits still is answered
	for _, c := range <-answers {
		if c.Failed > 0 || c.Answers == 0 {
			t.Errorf("%+v; the last log:\n%s", c, log)
		}
		t.Logf("%+v", c)
	}
	u.end(cmd, log)
}
