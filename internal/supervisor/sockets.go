// Package supervisor speaks with the program that has started this process and
// watches it: systemd, or Server::Starter. It takes the sockets that the supervisor
// has opened, and tells it when the process is ready, reloads, stops, and is alive.
package supervisor

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// A Socket is a listener that the supervisor has opened for this process. The
// supervisor keeps it open, so that clients may connect while no process accepts.
type Socket struct {
	net.Listener
	Name string // FileDescriptorName= of systemd's socket unit; "" if it has none
}

// Sockets returns the listeners that whoever started the process has opened
// for it: Server::Starter (SERVER_STARTER_PORT, "addr=fd;addr=fd") or systemd
// (LISTEN_FDS and LISTEN_FDNAMES, for the process LISTEN_PID). None is no error.
func Sockets(env []string, pid int) ([]Socket, error) {
	if list := lookup(env, "SERVER_STARTER_PORT"); list != "" {
		return starterSockets(list)
	}
	n, err := strconv.Atoi(lookup(env, "LISTEN_FDS"))
	if err != nil || n <= 0 {
		return nil, nil
	}
	if owner := lookup(env, "LISTEN_PID"); owner != "" && owner != strconv.Itoa(pid) {
		return nil, nil // they are meant for our parent
	}
	names := strings.Split(lookup(env, "LISTEN_FDNAMES"), ":")
	const first = 3 // sd_listen_fds(3)
	var all []Socket
	for i := range n {
		name := ""
		if i < len(names) {
			name = names[i]
		}
		if all, err = inherit(all, first+i, name, "LISTEN_FDS"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// starterSockets returns those of Server::Starter.
func starterSockets(list string) (all []Socket, err error) {
	for _, entry := range strings.Split(list, ";") {
		i := strings.LastIndexByte(entry, '=')
		fd, err := strconv.Atoi(entry[i+1:])
		if i < 0 || err != nil {
			return nil, fmt.Errorf("SERVER_STARTER_PORT: %q is not ADDRESS=FD", entry)
		}
		if all, err = inherit(all, fd, "", "SERVER_STARTER_PORT"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// inherit appends the listener that has a descriptor.
func inherit(all []Socket, fd int, name, from string) ([]Socket, error) {
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
	return append(all, Socket{Listener: l, Name: name}), nil
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
