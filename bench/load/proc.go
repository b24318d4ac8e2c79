package load

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// tick is the unit of CPU times in /proc: USER_HZ is 100 on every Linux that Go
// runs on.
const tick = 10 * time.Millisecond

// usage is what a process has used.
type usage struct {
	user, system time.Duration
	peak         int64 // bytes of resident memory
}

// plus returns the sum of two usages.
func (u usage) plus(v usage) usage {
	return usage{user: u.user + v.user, system: u.system + v.system, peak: u.peak + v.peak}
}

// Used returns the CPU time that a process and those below it have used; ok is
// false where there is no /proc or no such process.
func Used(pid int) (user, system time.Duration, ok bool) {
	u, ok := processTree(pid)
	return u.user, u.system, ok
}

// UsedByTask returns the CPU time of each thread of a process and of those below it, by the
// thread's number; ok is false where there is no such process or no such figure.
func UsedByTask(pid int) (used map[int]time.Duration, ok bool) {
	used = make(map[int]time.Duration)
	for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
		dir := filepath.Join("/proc", strconv.Itoa(todo[0]), "task")
		threads, _ := os.ReadDir(dir) // none: it has ended
		for _, thread := range threads {
			text, err := os.ReadFile(filepath.Join(dir, thread.Name(), "schedstat"))
			if fields := bytes.Fields(text); err == nil && len(fields) > 0 {
				used[int(number([]byte(thread.Name())))] = time.Duration(number(fields[0]))
			}
		}
		below, _ := childrenOf(todo[0])
		todo = append(todo, below...)
	}
	return used, len(used) > 0
}

// process reads the usage of one process; ok is false where there is no /proc
// or no such process.
func process(pid int) (u usage, ok bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	fields, ok := statFields(dir)
	if !ok {
		return usage{}, false
	}
	u.user = time.Duration(number(fields[11])) * tick
	u.system = time.Duration(number(fields[12])) * tick
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return usage{}, false
	}
	if _, rest, found := bytes.Cut(status, []byte("VmHWM:")); found {
		line, _, _ := bytes.Cut(rest, []byte("kB"))
		u.peak = number(bytes.TrimSpace(line)) << 10
	}
	return u, true
}

// processTree reads the usage of a process and those below it: servers of
// several processes share their work out. It reads no more than it needs, for it
// does so while answers are timed.
func processTree(pid int) (u usage, ok bool) {
	u, ok = process(pid)
	if !ok {
		return usage{}, false
	}
	todo, ok := childrenOf(pid)
	for ; len(todo) > 0; todo = todo[1:] {
		if child, ok := process(todo[0]); ok { // it may have ended
			u = u.plus(child)
		}
		below, _ := childrenOf(todo[0])
		todo = append(todo, below...)
	}
	return u, ok
}

// childrenOf returns the children that the threads of a process have; ok is false
// where the kernel does not say, or there is no such process.
func childrenOf(pid int) (children []int, ok bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "task")
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil, false
	}
	for _, thread := range threads {
		text, err := os.ReadFile(filepath.Join(dir, thread.Name(), "children"))
		if err != nil {
			continue // it has ended
		}
		ok = true
		for _, child := range bytes.Fields(text) {
			children = append(children, int(number(child)))
		}
	}
	return children, ok
}

// statFields returns the fields of /proc/PID/stat behind the name, which may
// itself hold spaces and brackets: the first is the state.
func statFields(dir string) ([][]byte, bool) {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return nil, false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	return fields, len(fields) > 13
}

// number reads a decimal number, 0 if it is none.
func number(b []byte) int64 {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
