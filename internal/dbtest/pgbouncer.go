package dbtest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/waittest"
)

// PgBouncer starts a pooler in front of what a URL leads to, and returns the URL through it.
// settings are lines of its file. Whoever connects is the URL's user.
func PgBouncer(t testing.TB, rawURL string, settings ...string) string {
	t.Helper()
	program := Program(t, "pgbouncer", "pgbouncer", "/usr/sbin")
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	port := mustPort(t)
	dir, err := os.MkdirTemp("", "hotrow-pooler-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "pgbouncer.ini")
	ini := fmt.Sprintf("[databases]\n* = host=%s port=%s user=%s\n[pgbouncer]\n"+
		"listen_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = any\n%s\n",
		u.Hostname(), u.Port(), u.User.Username(), port, strings.Join(settings, "\n"))
	if err := os.WriteFile(file, []byte(ini), 0o644); err != nil { // another user reads it
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-u", "postgres", file)
	if os.Getuid() != 0 {
		cmd = exec.Command(program, file)
	}
	dieWithParent(cmd)
	said := new(strings.Builder)
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it says that it was killed
		if t.Failed() {
			t.Logf("the pooler said:\n%s", said)
		}
	})
	u.Host = fmt.Sprintf("127.0.0.1:%d", port)
	waittest.Until(t, "the pooler listens", func() bool {
		c, err := net.Dial("tcp", u.Host)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return u.String()
}
