package wiretest

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/hotrow/hotrow/client/wire"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestConn_ServerOfGofast talks to gofast's own server, and compares its
// counters with ours.
func TestConn_ServerOfGofast(t *testing.T) {
	const (
		posts, requests, messages        = 1000, 1000, 5000
		idPost, idRequest, idSend, idGet = 111, 112, 113, 114
	)
	server := Serve(t, "-stream", "5000", "-payload", "100")
	nc, err := server.Dial()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Limit(time.Minute))
	defer cancel()
	c, err := wire.Client(ctx, nc, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	message := perfData(64)
	for range posts {
		must(c.Post(ctx, idPost, message))
	}
	for range requests {
		answer, err := c.Request(ctx, idRequest, message, nil)
		if must(err); !bytes.Equal(answer, message) {
			t.Fatalf("another answer: %x", answer)
		}
	}
	up, err := c.Stream(ctx, idSend, message)
	must(err)
	for range messages {
		must(up.Send(ctx, message))
	}
	must(up.Finish())
	if _, err := up.Recv(ctx, nil); err != io.EOF {
		t.Errorf("a stream to the server ends with %v", err)
	}
	down, err := c.Stream(ctx, idGet, message)
	must(err)
	n := 0
	for {
		m, err := down.Recv(ctx, nil)
		if err == io.EOF {
			break
		}
		if must(err); len(m) != 108 {
			t.Fatalf("a message of %d bytes", len(m))
		}
		n++
	}
	must(down.Close())
	echo, err := c.Ping(ctx, []byte("hello"))
	if must(err); string(echo) != "hello" || n != messages {
		t.Errorf("echo %q, %d messages, want %d", echo, n, messages)
	}
	must(c.Barrier(ctx))
	must(c.Close())
	stats := server.Stop()
	for name, want := range map[string]uint64{"n_rxreq": requests + 3, "n_rxstart": 2,
		"n_rxstream": messages, "n_rxfin": 2, "n_txfin": 2, "n_mdrops": 0} {
		if stats[name] != want {
			t.Errorf("perf's %s = %d, want %d", name, stats[name], want)
		}
	}
	if got := stats["n_rxpost"] - stats["n_rxbeats"]; got != posts {
		t.Errorf("%d posts arrive, want %d", got, posts)
	}
}
