package dbtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
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

// A MemcachedServer is a memcached server of one test's own: it starts within
// milliseconds and has no databases that tests could share it by. The test may
// stop, start and freeze it; its port stays the same.
type MemcachedServer struct {
	t       testing.TB
	program string
	args    []string
	who     account
	port    int
	proc    *process
	output  *bytes.Buffer // of proc; to be read when it has ended
}

// NewMemcached starts a server with further arguments, such as "-I", "4m".
func NewMemcached(t testing.TB, args ...string) *MemcachedServer {
	t.Helper()
	notShort(t)
	program, err := lookProgram("memcached", "/usr/bin", "/usr/local/bin")
	if err != nil {
		missing(t, "memcached", fmt.Errorf("%w; install the package memcached", err))
	}
	who, err := serverAccount("nobody")
	if err != nil {
		t.Fatal(err)
	}
	s := &MemcachedServer{t: t, program: program, args: args, who: who}
	t.Cleanup(func() { s.Stop() })
	for range 3 { // another process may take the port in the meantime
		if s.port, err = freePort(); err != nil {
			break
		}
		if err = s.start(); err == nil {
			return s
		}
	}
	t.Fatalf("start memcached: %v", err)
	return nil
}

// Addr returns HOST:PORT.
func (s *MemcachedServer) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// URL returns memcached://HOST:PORT.
func (s *MemcachedServer) URL() string { return "memcached://" + s.Addr() }

// start starts the server and waits until it takes connections.
func (s *MemcachedServer) start() error {
	args := append([]string{"-l", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "0"}, s.args...)
	cmd := exec.Command(s.program, args...)
	s.who.apply(cmd)
	s.output = new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = s.output, s.output
	var err error
	if s.proc, err = start(cmd); err != nil {
		return err
	}
	return s.proc.awaitListener("memcached", s.Addr(), s.output)
}

// Start starts a stopped server, which then holds nothing.
func (s *MemcachedServer) Start() {
	s.t.Helper()
	if err := s.start(); err != nil {
		s.t.Fatalf("start memcached: %v", err)
	}
}

// Stop stops the server, frozen or not, and waits for its end.
func (s *MemcachedServer) Stop() {
	s.t.Helper()
	if s.proc == nil {
		return
	}
	if err := s.proc.stop(startTimeout, syscall.SIGKILL); err != nil {
		s.t.Errorf("stop memcached: %v", err)
	}
	s.proc = nil
}

// Restart stops the server and starts it again.
func (s *MemcachedServer) Restart() {
	s.t.Helper()
	s.Stop()
	s.Start()
}

// Pause freezes the server: connections to it stay up and nothing answers. The
// threads that answer stop a little after the signal: it waits for them.
func (s *MemcachedServer) Pause() {
	s.t.Helper()
	s.signal("freeze", pause)
	for deadline := time.Now().Add(startTimeout); !s.frozen(); {
		if time.Now().After(deadline) {
			s.t.Fatal("memcached does not freeze")
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// frozen reports whether every thread of the server has stopped.
func (s *MemcachedServer) frozen() bool {
	pattern := fmt.Sprintf("/proc/%d/task/*/stat", s.proc.cmd.Process.Pid)
	stats, err := filepath.Glob(pattern)
	for _, path := range stats {
		text, readErr := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(text), ") ") // after the program's name
		if readErr != nil || !strings.HasPrefix(rest, "T") {
			return false
		}
	}
	return err == nil && len(stats) > 0
}

// Resume lets a frozen server go on.
func (s *MemcachedServer) Resume() {
	s.t.Helper()
	s.signal("resume", resume)
}

func (s *MemcachedServer) signal(what string, send func([]int) error) {
	s.t.Helper()
	if err := send([]int{s.proc.cmd.Process.Pid}); err != nil {
		s.t.Fatalf("%s memcached: %v", what, err)
	}
}

// Set stores a value as another program would.
func (s *MemcachedServer) Set(key, value string) {
	s.t.Helper()
	s.SetFor(key, value, 0, 0)
}

// SetFor stores a value with flags, for so many seconds.
func (s *MemcachedServer) SetFor(key, value string, flags, seconds int) {
	s.t.Helper()
	got, err := s.ask(fmt.Sprintf("set %s %d %d %d\r\n%s\r\n",
		key, flags, seconds, len(value), value))
	if err != nil || got != "STORED\r\n" {
		s.t.Fatalf("set %s: %q, %v", key, got, err)
	}
}

// Delete removes a value, if it is there.
func (s *MemcachedServer) Delete(key string) {
	s.t.Helper()
	got, err := s.ask("delete " + key + "\r\n")
	if err != nil || got != "DELETED\r\n" && got != "NOT_FOUND\r\n" {
		s.t.Fatalf("delete %s: %q, %v", key, got, err)
	}
}

// Get returns a value and its flags, and whether there is one.
func (s *MemcachedServer) Get(key string) (value string, flags int, ok bool) {
	s.t.Helper()
	got, err := s.ask("get " + key + "\r\n")
	if err == nil && got == "END\r\n" {
		return "", 0, false
	}
	head, rest, found := strings.Cut(got, "\r\n")
	var name string
	var size int
	if err == nil {
		_, err = fmt.Sscanf(head, "VALUE %s %d %d", &name, &flags, &size)
	}
	if err != nil || !found || name != key || len(rest) < size {
		s.t.Fatalf("get %s: %q, %v", key, got, err)
	}
	return rest[:size], flags, true
}

// ask sends one command on a connection of its own and returns all that the
// server answers.
func (s *MemcachedServer) ask(command string) (string, error) {
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(startTimeout)); err != nil {
		return "", err
	}
	_, err = io.WriteString(c, command+"quit\r\n") // the server closes after it
	if err != nil {
		return "", err
	}
	answer, err := io.ReadAll(bufio.NewReader(c))
	if errors.Is(err, syscall.ECONNRESET) { // it closed with some of the command unread
		err = nil
	}
	return string(answer), err
}
