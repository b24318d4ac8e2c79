package dbtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nginxConfig is a configuration in a directory, for a user, around what the test
// wants within http.
const nginxConfig = `daemon off; master_process off; DIR_USER pid DIR/pid; error_log DIR/error;
events {}
http {
access_log off; client_body_temp_path DIR/b; proxy_temp_path DIR/p;
fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
HTTP_BLOCK
}
`

// Nginx starts nginx, which ends with the test, and returns where it listens,
// HOST:PORT. block returns what stands within http { } for that address.
func Nginx(t testing.TB, block func(addr string) string) string {
	t.Helper()
	program := Program(t, "nginx", "nginx-light", "/usr/sbin")
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	addr, dir, user := "127.0.0.1:"+strconv.Itoa(port), t.TempDir(), ""
	if os.Getuid() == 0 {
		user = "user root;"
	}
	text := strings.NewReplacer("DIR_USER", user, "DIR", dir, "HTTP_BLOCK", block(addr)).
		Replace(nginxConfig)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "error")
	serveAt(t, addr, log, exec.Command(program, "-c", file, "-p", dir, "-e", log))
	return addr
}

// HAProxy starts HAProxy, which ends with the test, and returns where it listens. config
// returns its configuration for that address.
func HAProxy(t testing.TB, config func(addr string) string) string {
	t.Helper()
	program := Program(t, "haproxy", "haproxy", "/usr/sbin")
	return configured(t, config, func(file string) *exec.Cmd {
		return exec.Command(program, "-db", "-f", file)
	})
}

// Caddy does so with Caddy and a Caddyfile.
func Caddy(t testing.TB, config func(addr string) string) string {
	t.Helper()
	program := Program(t, "caddy", "caddy")
	return configured(t, config, func(file string) *exec.Cmd {
		cmd := exec.Command(program, "run", "--adapter", "caddyfile", "--config", file)
		home := filepath.Dir(file)
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+home, "XDG_CONFIG_HOME="+home)
		return cmd
	})
}

// configured starts a program with a configuration in a file, on a free port.
func configured(
	t testing.TB, config func(addr string) string, command func(file string) *exec.Cmd,
) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	addr, dir := "127.0.0.1:"+strconv.Itoa(port), t.TempDir()
	file, log := filepath.Join(dir, "config"), filepath.Join(dir, "log")
	if err := os.WriteFile(file, []byte(config(addr)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	cmd := command(file)
	cmd.Stdout, cmd.Stderr = out, out
	serveAt(t, addr, log, cmd)
	return addr
}

// serveAt starts a program that ends with the test, and waits until it listens at addr.
// The file log has what it says.
func serveAt(t testing.TB, addr, log string, cmd *exec.Cmd) {
	t.Helper()
	p, err := start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.stop(10*time.Second, syscall.SIGTERM, syscall.SIGKILL) })
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
			return
		}
		if p.ended() || time.Now().After(deadline) {
			said, _ := os.ReadFile(log)
			t.Fatal(fmt.Errorf("%s does not listen: %w\n%s", filepath.Base(cmd.Path), err, said))
		}
	}
}
