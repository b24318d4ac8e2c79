package proxy

import (
	"context"
	"strconv"
	"strings"
	"testing"
)

// TestWire_RequestsWaitForTheNextExit: those that come when an exit has gone away, and
// before another has its place, are answered by that one.
func TestWire_RequestsWaitForTheNextExit(t *testing.T) {
	up := echo(t)
	exit := Options{Upstreams: []string{"http://" + up.addr}}
	first, at := startExit(t, exit, Exit{})
	near, addr := start(t, Options{Upstreams: []string{"wire://" + at}, WireConns: 1})
	for name, body := range map[string]string{"one message": "abc", "a stream": strings.Repeat("x", 100_000)} {
		ask := func(c *caller) {
			c.send("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
		}
		c := call(t, addr)
		ask(c)
		if resp, _ := c.answer("POST"); resp.StatusCode != 200 {
			t.Fatalf("%s, before: %d", name, resp.StatusCode)
		}
		failed := near.remote.failed.Load()
		if err := first.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is found away", func() bool { return near.remote.failed.Load() > failed })
		ask(c)
		failed = near.remote.failed.Load()
		eventually(t, "it is tried again", func() bool { return near.remote.failed.Load() > failed })
		first, _ = startExitAt(t, at, exit, Exit{})
		if resp, got := c.answer("POST"); resp.StatusCode != 200 || got != "POST /p "+body {
			t.Errorf("%s: %d %.80q", name, resp.StatusCode, got)
		}
	}
}
