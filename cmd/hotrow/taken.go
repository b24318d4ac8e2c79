package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"syscall"

	"github.com/hotrow/hotrow/internal/config"
)

// nearPorts is how many ports after a taken one are tried before any that is free.
const nearPorts = 20

// bindNear opens a listener at the next free port if that of l is taken. others are
// addresses that are wanted for something else.
func bindNear(
	ctx context.Context, l config.Listener, how net.ListenConfig, others []string,
) (net.Listener, error) {
	ln, err := bind(ctx, l, how)
	if l.Network == "unix" || !errors.Is(err, syscall.EADDRINUSE) {
		return ln, err
	}
	host, text, _ := net.SplitHostPort(l.Address) // it was bound to
	port, _ := strconv.Atoi(text)
	for next := port + 1; next <= min(port+nearPorts, 65535); next++ {
		near := l
		near.Address = net.JoinHostPort(host, strconv.Itoa(next))
		if slices.Contains(others, near.Address) {
			continue
		}
		if ln, err := bind(ctx, near, how); err == nil {
			return ln, nil
		}
	}
	l.Address = net.JoinHostPort(host, "0")
	return bind(ctx, l, how)
}

// sayMoved says which address a listener has in place of one that is taken.
func sayMoved(log *slog.Logger, what string, wanted config.Listener, got net.Listener) {
	if at := got.Addr().String(); at != wanted.Address && wanted.Network == "tcp" {
		log.Warn(fmt.Sprintf("%s is taken%s: %s listens at %s instead", wanted.Address,
			holderOf(wanted.Address), what, at))
	}
}

// holderOf names the process that listens at an address, as ", by nginx (pid 7)", if the
// system says it.
func holderOf(address string) string {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return ""
	}
	if pid, name := listenerAt(uint16(port)); pid != 0 {
		return fmt.Sprintf(", by %s (pid %d)", name, pid)
	}
	return ""
}
