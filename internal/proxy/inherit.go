package proxy

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// Inherited returns the listeners that whoever started the process has opened
// for it: Server::Starter (SERVER_STARTER_PORT, "addr=fd;addr=fd") or systemd
// (LISTEN_FDS, for the process LISTEN_PID). None is no error.
func Inherited(env []string, pid int) ([]net.Listener, error) {
	if list := lookup(env, "SERVER_STARTER_PORT"); list != "" {
		return starterListeners(list)
	}
	n, err := strconv.Atoi(lookup(env, "LISTEN_FDS"))
	if err != nil || n <= 0 {
		return nil, nil
	}
	if owner := lookup(env, "LISTEN_PID"); owner != "" && owner != strconv.Itoa(pid) {
		return nil, nil // they are meant for our parent
	}
	const first = 3 // sd_listen_fds(3)
	var all []net.Listener
	for fd := first; fd < first+n; fd++ {
		if all, err = inherit(all, fd, "LISTEN_FDS"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// starterListeners returns those of Server::Starter.
func starterListeners(list string) (all []net.Listener, err error) {
	for _, entry := range strings.Split(list, ";") {
		i := strings.LastIndexByte(entry, '=')
		fd, err := strconv.Atoi(entry[i+1:])
		if i < 0 || err != nil {
			return nil, fmt.Errorf("SERVER_STARTER_PORT: %q is not ADDRESS=FD", entry)
		}
		if all, err = inherit(all, fd, "SERVER_STARTER_PORT"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// inherit appends the listener that has a descriptor.
func inherit(all []net.Listener, fd int, from string) ([]net.Listener, error) {
	f := os.NewFile(uintptr(fd), from)
	if f == nil {
		return nil, fmt.Errorf("%s: no file has the descriptor %d", from, fd)
	}
	l, err := net.FileListener(f)
	_ = f.Close() // the listener has a descriptor of its own
	if err != nil {
		return nil, fmt.Errorf("%s: descriptor %d: %w", from, fd, err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // our successor listens there
	}
	return append(all, l), nil
}

// lookup returns a variable of an environment.
func lookup(env []string, name string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}
