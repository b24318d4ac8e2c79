package dbtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// Bounds on what a server may take before the test fails: to start, on a quiet machine.
const (
	startTimeout = 60 * time.Second
	stopTimeout  = 10 * time.Second
)

// A cluster is one PostgreSQL data directory and the server on it. It is for
// one goroutine at a time.
type cluster struct {
	bin      string // directory of the programs
	dir      string // holds data, the socket and the log
	port     int
	who      account
	settings map[string]string
	proc     *process // nil: never started
}

// newCluster makes a data directory and starts a server there.
func newCluster(bin string, settings map[string]string) (*cluster, error) {
	who, err := serverAccount("postgres")
	if err != nil {
		return nil, err
	}
	dir, err := newDir()
	if err != nil {
		return nil, err
	}
	c := &cluster{bin: bin, dir: dir, who: who, settings: settings}
	if err := errors.Join(os.Chmod(dir, 0o755), who.own(dir)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.initialize(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.startAnywhere(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

// initialize makes the data directory, by initdb or as a copy of what that has made before.
func (c *cluster) initialize() error {
	locale := "C"
	if runtime.GOOS == "linux" {
		locale = "C.UTF-8"
	}
	command := []string{filepath.Join(c.bin, "initdb"), "-U", "postgres",
		"--auth=trust", "--encoding=UTF8", "--locale=" + locale, "--no-sync", "--no-instructions"}
	installed := modelOf("postgres", command)
	if installed.copyTo(c.data()) {
		return renew(c.data())
	}
	cmd := exec.Command(command[0], append(command[1:], "-D", c.data())...)
	c.who.apply(cmd)
	cmd.Dir = c.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	installed.keep(c.data())
	return nil
}

// startAnywhere starts the server on a free port. Another process may take the
// port between the choice and the start, so it tries a few.
func (c *cluster) startAnywhere() error {
	var err error
	for range 3 {
		if c.port, err = freePort(); err != nil {
			return err
		}
		if err = c.start(); err == nil || !strings.Contains(err.Error(), "could not bind") {
			return err
		}
	}
	return err
}

// start starts the server on its port and waits until it takes connections.
func (c *cluster) start() error {
	if c.running() {
		return errors.New("the server is running already")
	}
	logFile, err := os.OpenFile(c.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer logFile.Close() // the child has a descriptor of its own
	cmd := exec.Command(filepath.Join(c.bin, "postgres"), c.args()...)
	c.who.apply(cmd)
	cmd.Dir = c.dir
	cmd.Stdout, cmd.Stderr = logFile, logFile
	if c.proc, err = start(cmd); err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	if err := c.waitReady(); err != nil {
		return errors.Join(err, c.stop(syscall.SIGQUIT))
	}
	return nil
}

// args returns the arguments of postgres: ours first, so that a test's
// settings override them.
func (c *cluster) args() []string {
	args := []string{"-D", c.data(), "-p", fmt.Sprint(c.port)}
	settings := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": c.dir,
		"fsync":                   "off", // a test kills servers, not kernels
		"full_page_writes":        "off",
	}
	if len(c.dir) > 80 { // a socket's path has at most 107 bytes
		settings["unix_socket_directories"] = ""
	}
	for _, set := range []map[string]string{settings, c.settings} {
		for name, value := range set {
			args = append(args, "-c", name+"="+value)
		}
	}
	return args
}

// waitReady waits until the server says that it is ready: the eighth line of
// postmaster.pid, which is what pg_ctl reads. Its first line tells this server
// from the one that a crash ended. Asking by TCP could reach a stranger.
func (c *cluster) waitReady() error {
	pid := fmt.Sprint(c.proc.cmd.Process.Pid)
	for begin := time.Now(); !waittest.Late(time.Since(begin), startTimeout); {
		if c.proc.ended() {
			return fmt.Errorf("postgres ended: %v\n%s", c.proc.err, c.logTail())
		}
		text, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
		lines := strings.Split(string(text), "\n")
		if err == nil && len(lines) >= 8 && lines[0] == pid &&
			strings.TrimSpace(lines[7]) == "ready" {
			return nil
		}
		select {
		case <-c.proc.done:
		case <-time.After(5 * time.Millisecond):
		}
	}
	return fmt.Errorf("postgres is not ready in time\n%s", c.logTail())
}

// running reports whether the server runs.
func (c *cluster) running() bool { return c.proc != nil && !c.proc.ended() }

// stop ends the server with sig, and if that does not do with harder ones.
// Frozen processes are let go first: they could not take the signal.
func (c *cluster) stop(sig syscall.Signal) error {
	if !c.running() {
		return nil
	}
	if pids, err := c.pids(); err == nil {
		if err := resume(pids); err != nil {
			return err
		}
	}
	return c.proc.stop(stopTimeout, sig, syscall.SIGQUIT, syscall.SIGKILL)
}

// remove stops the server and removes its directory.
func (c *cluster) remove() error {
	return errors.Join(c.stop(syscall.SIGQUIT), os.RemoveAll(c.dir))
}

// pids returns the server's processes, the postmaster first.
func (c *cluster) pids() ([]int, error) {
	if !c.running() {
		return nil, errors.New("the server does not run")
	}
	return family(c.proc.cmd.Process.Pid)
}

// url returns the URL of a database of this server.
func (c *cluster) url(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", c.port, database)
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *cluster) logPath() string { return filepath.Join(c.dir, "log") }

// logTail returns the last lines of the server's log.
func (c *cluster) logTail() string {
	const most = 8 << 10
	text, err := os.ReadFile(c.logPath())
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		text = text[len(text)-most:]
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
	}
	return string(text)
}
