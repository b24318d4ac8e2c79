package main

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// TestServe_CountsRefusedConnections of every listener.
func TestServe_CountsRefusedConnections(t *testing.T) {
	t.Parallel()
	r := start(t, []string{"HOTROW_KV_MAX_CLIENTS=1"}, "demo", "--file", t.TempDir()+"/demo.db")
	until(t, r.log, r.complete)
	dial := func() net.Conn {
		nc, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", r.respPort()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		_ = nc.SetReadDeadline(waittest.Deadline(time.Minute))
		return nc
	}
	first := dial()
	if _, err := io.WriteString(first, "PING\r\n"); err != nil {
		t.Fatal(err)
	}
	if b := make([]byte, 7); !strings.HasPrefix(readFull(t, first, b), "+PONG") {
		t.Errorf("the first hears %q", b)
	}
	if said, err := io.ReadAll(dial()); string(said) != "-ERR max number of clients reached\r\n" {
		t.Errorf("the second hears %q, %v", said, err)
	}
	_, metrics := get(t, r.ops+"/metrics")
	for _, listener := range []string{"http", "links", "wire", "resp", "memcache", "ops"} {
		for _, why := range []string{"connections", "address", "handshakes"} {
			line := `hotrow_connections_refused_total{listener="` + listener + `",why="` + why + `"} `
			if listener == "resp" && why == "connections" {
				line += "1\n"
			}
			if !strings.Contains(metrics, line) {
				t.Errorf("/metrics has no %q", line)
			}
		}
	}
	if !strings.Contains(metrics, "hotrow_resp_rejected_total 1\n") {
		t.Error("the counter of Redis clients does not count it")
	}
	if !strings.Contains(r.log.String(), "a connection was refused: there are too many") {
		t.Errorf("the log does not say it:\n%s", r.log)
	}
}

func readFull(t *testing.T, nc net.Conn, b []byte) string {
	t.Helper()
	if _, err := io.ReadFull(nc, b); err != nil {
		t.Error(err)
	}
	return string(b)
}
