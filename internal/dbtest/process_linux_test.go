package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

func TestPostgres_ServerCanBeFrozen(t *testing.T) {
	s := NewPostgres(t, nil)
	s.Pause()
	answer := make(chan string, 1)
	go func() {
		out, err := s.TryExec("SELECT 'awake';")
		if err != nil {
			out = err.Error()
		}
		answer <- out
	}()
	// A frozen server's sockets still take connections, so that only time can
	// show that no answer comes.
	select {
	case out := <-answer:
		t.Fatalf("a frozen server answers %q", out)
	case <-time.After(300 * time.Millisecond):
	}
	s.Resume()
	select {
	case out := <-answer:
		if out != "awake" {
			t.Errorf("the answer is %q, want awake", out)
		}
	case <-time.After(waittest.Limit(time.Minute)):
		t.Error("no answer after Resume")
	}
	s.Pause()
	s.Stop(Immediate) // must not need a Resume
}

func TestPostgres_WalSendersCanBeKilled(t *testing.T) {
	s := NewPostgres(t, nil)
	// pg_receivewal is a feed that every installation has.
	proc := startReceiver(t, s)
	eventually(t, "a walsender", func() bool { return len(s.WalSenders()) == 1 })
	pids := s.WalSenders()
	if !slices.Contains(s.Pids(), pids[0]) {
		t.Errorf("walsender %d is none of the server's processes %v", pids[0], s.Pids())
	}
	s.Pause(pids...)
	s.Resume(pids...)
	s.Kill(pids...)
	eventually(t, "the end of the receiver", proc.ended)
	eventually(t, "a server that has recovered", func() bool {
		_, err := s.TryExec("SELECT 1;")
		return err == nil
	})
}

// startReceiver starts a client of physical replication that gives up when
// its connection breaks.
func startReceiver(t *testing.T, s *Server) *process {
	t.Helper()
	cmd := exec.Command(filepath.Join(s.cluster.bin, "pg_receivewal"),
		"--no-loop", "-D", t.TempDir(), "-d", s.URL())
	p, err := start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(stopTimeout, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestSweep_RemovesWhatADeadProcessLeft(t *testing.T) {
	notShort(t)
	sleeper := exec.Command("sleep", "0")
	if err := sleeper.Run(); err != nil {
		t.Skipf("no process to outlive: %v", err)
	}
	temp := t.TempDir()
	dead := filepath.Join(temp, fmt.Sprintf("%s%d-1", dirPrefix, sleeper.Process.Pid))
	mine := filepath.Join(temp, fmt.Sprintf("%s%d-1", dirPrefix, os.Getpid()))
	other := filepath.Join(temp, dirPrefix+"x")
	for _, dir := range []string{dead, mine, other} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	left := exec.Command("sleep", "600")
	left.Dir = dead
	p, err := start(left)
	if err != nil {
		t.Fatal(err)
	}

	sweep(temp)
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("the directory of a dead process is left: %v", err)
	}
	for _, dir := range []string{mine, other} {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("a directory that is not left over is gone: %v", err)
		}
	}
	eventually(t, "the end of a process that was left", p.ended)
}

// childEnv makes TestDieWithParent_Child start a server and say so.
const childEnv = "HOTROW_DBTEST_CHILD"

func TestPostgres_DiesWithATestBinaryThatIsKilled(t *testing.T) {
	lookServer(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	said := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(self, "-test.run=^TestDieWithParent_Child$")
	cmd.Env = append(os.Environ(), childEnv+"="+said)
	child, err := start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	eventually(t, "the child's server", func() bool {
		text, err := os.ReadFile(said)
		if err != nil {
			return false
		}
		_, err = fmt.Sscanf(string(text), "%d\n", &pid)
		return err == nil
	})
	if err := child.stop(stopTimeout, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the server of a dead test binary", func() bool {
		return !alive(pid)
	})
	sweep(os.TempDir())
}

// TestDieWithParent_Child is the test binary that is killed.
func TestDieWithParent_Child(t *testing.T) {
	said := os.Getenv(childEnv)
	if said == "" {
		return // not the child: TestPostgres_DiesWithATestBinaryThatIsKilled runs it
	}
	s := NewPostgres(t, nil)
	if err := os.WriteFile(said, fmt.Appendf(nil, "%d\n", s.Pids()[0]), 0o644); err != nil {
		t.Fatal(err)
	}
	select {} // until it is killed
}
