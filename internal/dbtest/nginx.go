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
	p, err := start(exec.Command(program, "-c", file, "-p", dir, "-e", log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.stop(10*time.Second, syscall.SIGTERM, syscall.SIGKILL) })
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
			return addr
		}
		if p.ended() || time.Now().After(deadline) {
			said, _ := os.ReadFile(log)
			t.Fatal(fmt.Errorf("nginx does not listen: %w\n%s", err, said))
		}
	}
}
