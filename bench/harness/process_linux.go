package harness

import (
	"math"
	"syscall"
)

// ChildAttributes makes a process end with this one, and be the first of a
// group, so that it can be ended with its children.
func ChildAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// AsUser makes a process that of another user.
func AsUser(a *syscall.SysProcAttr, uid, gid uint32) {
	a.Credential = &syscall.Credential{Uid: uid, Gid: gid}
}

// spareFiles is how many files a server has open besides its connections.
const spareFiles = 200

// maxConnections is how many connections a process may have: as many as it may
// open files.
func maxConnections() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt
	}
	return int(min(limit.Max, math.MaxInt32)) - spareFiles
}

// wantedFiles is how many files a process of the bench may open, if it may say
// so itself.
const wantedFiles = 65_536

// RaiseFiles raises the limit of open files, also for what is started here.
func RaiseFiles() {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return
	}
	raised := syscall.Rlimit{Cur: max(limit.Max, wantedFiles), Max: max(limit.Max, wantedFiles)}
	if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised) != nil { // only root may
		limit.Cur = limit.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	}
}

// endGroup tells a process and its children to end.
func endGroup(pid int, force bool) error {
	if force {
		return syscall.Kill(-pid, syscall.SIGKILL)
	}
	return syscall.Kill(-pid, syscall.SIGTERM)
}
