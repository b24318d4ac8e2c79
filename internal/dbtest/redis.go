package dbtest

import (
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

// A RedisServer is a redis-server of one test's own, which keeps nothing on disk.
type RedisServer struct {
	port   int
	proc   *process
	output *bytes.Buffer // of proc; to be read when it has ended
}

// NewRedis starts a server with further arguments, such as "--requirepass", "secret".
func NewRedis(t testing.TB, args ...string) *RedisServer {
	t.Helper()
	notShort(t)
	program, err := lookProgram("redis-server", "/usr/bin", "/usr/local/bin")
	if err != nil {
		missing(t, "redis-server", fmt.Errorf("%w; install the package redis-server", err))
	}
	s := new(RedisServer)
	t.Cleanup(func() {
		if s.proc == nil {
			return
		}
		if err := s.proc.stop(startTimeout, syscall.SIGKILL); err != nil {
			t.Errorf("stop redis-server: %v", err)
		}
	})
	for range 3 { // another process may take the port in the meantime
		if s.port, err = freePort(); err != nil {
			break
		}
		if err = s.start(program, t.TempDir(), args); err == nil {
			return s
		}
	}
	t.Fatalf("start redis-server: %v", err)
	return nil
}

// Addr returns HOST:PORT.
func (s *RedisServer) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// start starts the server and waits until it takes connections.
func (s *RedisServer) start(program, dir string, more []string) error {
	args := append([]string{"--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--save", "",
		"--appendonly", "no", "--dir", dir}, more...)
	cmd := exec.Command(program, args...)
	s.output = new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = s.output, s.output
	var err error
	if s.proc, err = start(cmd); err != nil {
		return err
	}
	return s.proc.awaitListener("redis-server", s.Addr(), s.output)
}
