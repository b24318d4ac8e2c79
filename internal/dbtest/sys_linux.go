package dbtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// dieWithParent makes the kernel end cmd's process with the thread that
// starts it. SIGQUIT is PostgreSQL's immediate shutdown: it takes its children
// and its shared memory with it.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT
}

// An account is who runs a server: nobody in particular, or, when the tests
// run as root, whom database servers refuse, the user that its package made.
type account struct{ credential *syscall.Credential }

// serverAccount returns the account that a server is to run under: name is
// the user for tests that run as root.
func serverAccount(name string) (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, fmt.Errorf("root may not run a database server: %w", err)
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return account{}, fmt.Errorf("user %s: %w", name, err)
	}
	return account{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// apply makes cmd run under the account.
func (a account) apply(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential}
}

// own gives the account a file or directory.
func (a account) own(path string) error {
	if a.credential == nil {
		return nil
	}
	return os.Chown(path, int(a.credential.Uid), int(a.credential.Gid))
}

// family returns the process pid and its children, pid first.
func family(pid int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	pids := []int{pid}
	for _, path := range stats {
		child, parent, ok := parseStat(path)
		if ok && parent == pid {
			pids = append(pids, child)
		}
	}
	return pids, nil
}

// parseStat reads pid and parent from a /proc/PID/stat. The command's name
// stands between them in parentheses and may hold anything.
func parseStat(path string) (pid, parent int, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil { // it has ended in the meantime
		return 0, 0, false
	}
	open, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
	if open < 0 || end < 0 {
		return 0, 0, false
	}
	pid, pidErr := strconv.Atoi(strings.TrimSpace(string(text[:open])))
	rest := strings.Fields(string(text[end+1:]))
	if pidErr != nil || len(rest) < 2 {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(rest[1])
	return pid, parent, err == nil
}

// pause stops processes, and returns when each of their threads stands still: the
// signal alone is only a wish. If it cannot they go on, so that the end of the test does not
// wait for them.
func pause(pids []int) error {
	if err := signal(pids, syscall.SIGSTOP); err != nil {
		return errors.Join(err, resume(pids))
	}
	for begin := time.Now(); !stopped(pids); time.Sleep(time.Millisecond) {
		if since := time.Since(begin); since > waittest.Limit(10*time.Second) {
			err := fmt.Errorf("the processes run on, %v after SIGSTOP", since)
			return errors.Join(err, resume(pids))
		}
	}
	return nil
}

// stopped reports whether every thread of the processes that still are there is
// stopped.
func stopped(pids []int) bool {
	for _, pid := range pids {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, file := range threads {
			text, err := os.ReadFile(file)
			_, state, ok := bytes.Cut(text, []byte(") ")) // behind the name
			if err == nil && ok && state[0] != 'T' && state[0] != 'Z' {
				return false
			}
		}
	}
	return true
}

// resume lets processes go on.
func resume(pids []int) error { return signal(pids, syscall.SIGCONT) }

// kill ends processes at once.
func kill(pids []int) error { return signal(pids, syscall.SIGKILL) }

// signal sends sig to each process that still is there.
func signal(pids []int, sig syscall.Signal) error {
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal %v to %d: %w", sig, pid, err)
		}
	}
	return nil
}

// alive reports whether there is a process pid.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// within returns the processes whose working directory is dir or below it.
func within(dir string) []int {
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return nil
	}
	var pids []int
	for _, link := range links {
		cwd, err := os.Readlink(link)
		if err != nil || (cwd != dir && !strings.HasPrefix(cwd, dir+"/")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
