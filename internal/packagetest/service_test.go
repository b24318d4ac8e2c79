//go:build linux

package packagetest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// serviceUser is of the range that systemd takes dynamic users from.
const serviceUser = 61999

// A service is a process of the installed unit.
type service struct {
	s    *system
	cmd  *exec.Cmd
	log  string // its file
	told chan string
	done chan error
}

// start does what systemd would: the user's directories, the environment's file, and then
// ExecStart, with nothing to write to but those directories.
func (s *system) start() *service {
	s.t.Helper()
	for _, dir := range []string{"var/lib/hotrow", "var/log/hotrow", "run/hotrow"} {
		s.make(dir)
		must(s.t, exec.Command("chown", "-R", fmt.Sprintf("%d:%d", serviceUser, serviceUser),
			s.at(dir)))
	}
	p := &service{s: s, log: filepath.Join(s.t.TempDir(), "log"), told: s.notify(),
		done: make(chan error, 1)}
	log, err := os.Create(p.log)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	const confine = `set -e
		mount --make-rprivate /
		mount --bind "$ROOT" "$ROOT"
		for dir in var/lib/hotrow var/log/hotrow run/hotrow; do
			mount --bind "$ROOT/$dir" "$ROOT/$dir"
		done
		mount -o remount,ro,bind "$ROOT"
		exec setpriv --no-new-privs env -i NOTIFY_SOCKET=/run/notify WATCHDOG_USEC=2000000 \
			$(grep -v '^#' "$ROOT/etc/default/hotrow") \
			/usr/sbin/chroot --userspec=$USER_ID:$USER_ID "$ROOT" "$@"`
	p.cmd = exec.Command("sh", append([]string{"-c", confine, "sh"},
		strings.Fields(s.unit("ExecStart"))...)...)
	p.cmd.Env = append(os.Environ(), "ROOT="+s.root, fmt.Sprint("USER_ID=", serviceUser))
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	s.t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	p.hears("READY=1")
	return p
}

func (p *service) said() string {
	text, _ := os.ReadFile(p.log)
	return string(text)
}

// ask asks the listener of a protocol, with a body as JSON if there is one. A redirect is
// not followed.
func (p *service) ask(proto, path, body string) (answer string, header http.Header) {
	p.s.t.Helper()
	m := regexp.MustCompile(`proto=` + proto + ` addr=(\S+)`).FindStringSubmatch(p.said())
	if m == nil {
		p.s.t.Fatalf("no listener of %s; the log:\n%s", proto, p.said())
	}
	method := "GET"
	if body != "" {
		method = "POST"
	}
	req, err := http.NewRequest(method, "http://"+m[1]+path, strings.NewReader(body))
	if err != nil {
		p.s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		p.s.t.Fatalf("%v; the log:\n%s", err, p.said())
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 400 {
		p.s.t.Fatalf("%s %s: %d %s %v; the log:\n%s", method, path, resp.StatusCode, text, err, p.said())
	}
	return string(text), resp.Header
}

// notify opens the socket to which the service tells how it is.
func (s *system) notify() chan string {
	s.t.Helper()
	path := s.at("run/notify")
	_ = os.Remove(path)
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = l.Close() })
	if err := os.Chmod(path, 0o777); err != nil {
		s.t.Fatal(err)
	}
	told := make(chan string, 1000)
	go func() {
		for buf := make([]byte, 4096); ; {
			n, err := l.Read(buf)
			if err != nil {
				return
			}
			told <- string(buf[:n])
		}
	}()
	return told
}

// hears waits until the service has told something that begins so.
func (p *service) hears(want string) {
	p.s.t.Helper()
	for deadline := time.After(waittest.Limit(30 * time.Second)); ; {
		select {
		case told := <-p.told:
			if strings.HasPrefix(told, want) {
				return
			}
		case err := <-p.done:
			p.done <- err
			p.s.t.Fatalf("it has ended (%v); the log:\n%s", err, p.said())
		case <-deadline:
			p.s.t.Fatalf("systemd was not told %q; the log:\n%s", want, p.said())
		}
	}
}

func (p *service) signal(s syscall.Signal) {
	p.s.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.s.t.Fatal(err)
	}
}

// ends waits for the process, no longer than systemd would.
func (p *service) ends() error {
	p.s.t.Helper()
	limit, err := time.ParseDuration(p.s.unit("TimeoutStopSec"))
	if err != nil {
		p.s.t.Fatal(err)
	}
	select {
	case err := <-p.done:
		return err
	case <-time.After(limit):
		p.s.t.Fatalf("it has not ended within %v; the log:\n%s", limit, p.said())
		return nil
	}
}

// confined looks at what the process may do.
func (p *service) confined() {
	p.s.t.Helper()
	proc := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		p.s.t.Fatal(err)
	}
	for _, want := range []string{fmt.Sprintf("\nUid:\t%d", serviceUser), "\nNoNewPrivs:\t1",
		"\nCapEff:\t0000000000000000"} {
		if !strings.Contains(string(status), want) {
			p.s.t.Errorf("the process has not %q:\n%s", want, status)
		}
	}
	mounts, err := os.ReadFile(proc + "mountinfo")
	if err != nil || !regexp.MustCompile(`(?m)^\d+ \d+ \S+ \S+ / ro[, ]`).Match(mounts) {
		p.s.t.Errorf("its file system is not read-only: %v\n%s", err, mounts)
	}
}

// until waits for ok.
func (p *service) until(ok func() bool) {
	p.s.t.Helper()
	waittest.UntilEvery(p.s.t, 10*time.Millisecond, "waited in vain; the log", ok, p.said)
}
