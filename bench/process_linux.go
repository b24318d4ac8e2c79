package main

import (
	"math"
	"syscall"
)

// childAttributes makes a process end with this one, and be the first of a
// group, so that it can be ended with its children.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// asUser makes a process that of another user.
func asUser(a *syscall.SysProcAttr, uid, gid uint32) {
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

// endGroup tells a process and its children to end.
func endGroup(pid int, force bool) error {
	if force {
		return syscall.Kill(-pid, syscall.SIGKILL)
	}
	return syscall.Kill(-pid, syscall.SIGTERM)
}
