package wiretest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"
)

// A Server is a running perf -s.
type Server struct {
	// Addr is where it listens, in its own network namespace: use Dial.
	Addr string

	t      testing.TB
	stdin  io.WriteCloser
	out    output
	done   chan struct{}      // closed when it has ended; err is set before
	err    error              // of the process
	dials  chan chan<- dialed // to the thread that is in the namespace
	closed sync.Once
}

type dialed struct {
	conn net.Conn
	err  error
}

// An output collects what a program prints.
type output struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) bytes() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Clone(o.b.Bytes())
}

// Serve starts perf -s, which ends with the test.
func Serve(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{
		Addr: "127.0.0.1:9998", t: t, done: make(chan struct{}),
		dials: make(chan chan<- dialed),
	}
	cmd := exec.Command(Perf(t), append([]string{"-s", "-addr", s.Addr}, args...)...)
	cmd.Stdout, cmd.Stderr = &s.out, &s.out
	var err error
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	started := make(chan error)
	go s.run(cmd, started)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.end() })
	s.await()
	return s
}

// run starts cmd and dials for others, all in one thread, which is in a network
// namespace of its own when the user may make one. The thread ends with it: a
// goroutine that returns locked takes its thread along.
func (s *Server) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	if err := ownNamespace(cmd); err != nil {
		started <- err
		return
	}
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	go func() {
		s.err = cmd.Wait()
		close(s.done)
	}()
	for {
		select {
		case reply := <-s.dials:
			conn, err := net.Dial("tcp", s.Addr)
			reply <- dialed{conn, err}
		case <-s.done:
			return
		}
	}
}

// await waits until the server accepts connections. That costs it one, which
// is closed at once: it takes that for an error and lives on.
func (s *Server) await() {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if bytes.Contains(s.out.bytes(), []byte("listening on")) {
			return
		}
		select {
		case <-s.done:
			s.t.Fatalf("perf -s has ended: %v\n%s", s.err, tail(s.out.bytes()))
		case <-time.After(10 * time.Millisecond):
		}
	}
	s.t.Fatalf("perf -s does not listen\n%s", tail(s.out.bytes()))
}

var errEnded = errors.New("perf -s has ended")

// Dial connects to the server.
func (s *Server) Dial() (net.Conn, error) {
	reply := make(chan dialed, 1)
	select {
	case s.dials <- reply:
	case <-s.done:
		return nil, errEnded
	}
	select {
	case d := <-reply:
		return d.conn, d.err
	case <-s.done:
		return nil, errEnded
	}
}

// Stop ends the server and returns its counters. They are those of all
// connections.
func (s *Server) Stop() map[string]uint64 {
	s.t.Helper()
	s.end()
	stats, err := parseStats(s.out.bytes())
	if err != nil {
		s.t.Fatalf("perf -s: %v\n%s", err, tail(s.out.bytes()))
	}
	return stats
}

// end closes the server's input, which is how it is asked to end.
func (s *Server) end() {
	s.closed.Do(func() {
		if err := s.stdin.Close(); err != nil {
			s.t.Errorf("perf -s: %v", err)
		}
		select {
		case <-s.done:
		case <-time.After(patience):
			s.t.Errorf("perf -s does not end\n%s", tail(s.out.bytes()))
		}
	})
}
