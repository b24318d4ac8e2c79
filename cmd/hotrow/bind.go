package main

import (
	"context"
	"net"
	"net/netip"
	"os"

	"github.com/hotrow/hotrow/internal/config"
)

// bind opens a listener of any command. An IPv4 address is that of IPv4 alone: for the network
// "tcp" package net takes 0.0.0.0 for every address of IPv6, too.
func bind(ctx context.Context, l config.Listener, how net.ListenConfig) (net.Listener, error) {
	network := l.Network
	switch at, err := netip.ParseAddrPort(l.Address); {
	case network == "unix":
		removeStaleSocket(l.Address)
	case err == nil && at.Addr().Unmap().Is4():
		network = "tcp4"
	}
	return how.Listen(ctx, network, l.Address)
}

// removeStaleSocket removes a unix socket that nobody listens on any more.
func removeStaleSocket(path string) {
	if c, err := net.Dial("unix", path); err == nil {
		_ = c.Close()
		return
	}
	if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		_ = os.Remove(path)
	}
}
