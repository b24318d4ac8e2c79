package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
)

// measureIdle connects clients that ask once and then keep still, and measures
// what the server's memory has grown by. The kernel's memory for the sockets is
// not in it.
func measureIdle(ctx context.Context, w *workshop, a *attempt) ([]figure, error) {
	n := a.connections
	if limit := maxConnections(); n > limit {
		return nil, fmt.Errorf("%d connections: a process may open %d files here", n, limit)
	}
	wait(ctx, w.opts.warmup)
	before, err := resident(a.peer.main.pid())
	if err != nil {
		return nil, err
	}
	g, err := gather(ctx, a.on, crowd{Kind: idle, Connections: n, Address: a.peer.address()})
	if err != nil {
		return nil, err
	}
	wait(ctx, w.opts.duration)
	after, err := resident(a.peer.main.pid())
	again, leaveErr := g.leave()
	if err != nil || leaveErr != nil {
		return nil, fmt.Errorf("after %d connections: %w, %w", n, err, leaveErr)
	}
	return []figure{
		{"bytes a connection", float64(after-before) / float64(n)},
		{"RSS MB before", float64(before) / 1e6},
		{"closed by the server", float64(again)},
	}, nil
}

// resident returns how many bytes of memory a process has now.
func resident(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(text, []byte("VmRSS:"))
	number, _, found := bytes.Cut(bytes.TrimSpace(rest), []byte(" kB"))
	kb, err := strconv.ParseInt(string(number), 10, 64)
	if !found || err != nil {
		return 0, fmt.Errorf("/proc/%d/status has no VmRSS", pid)
	}
	return kb << 10, nil
}
