package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// idleClients is how many clients are idle, if as many files may be open.
const idleClients = 10_000

// idleOrder tells a test process to be the clients: it names a proxy and how many.
const idleOrder = "HOTROW_TEST_IDLE_CLIENTS"

// An idle client costs its goroutine, its socket and little else. The clients are
// a process of their own, so that their memory is not counted, nor their files.
func TestIdle_TenThousandClientsTakeLittleMemory(t *testing.T) {
	if order := os.Getenv(idleOrder); order != "" {
		beIdle(t, order)
		return
	}
	n := idleClients
	if limit := openFiles(); int64(n+1000) > limit {
		n = int(limit - 1000)
		t.Logf("only %d clients: %d files may be open", n, limit)
	}
	up := echo(t)
	s, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
	c.answer("GET")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	clients := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	clients.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", idleOrder, addr, n))
	in, err := clients.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	clients.Stdout, clients.Stderr = &said, &said
	if err := clients.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all have been answered", func() bool {
		return s.Stats().Statuses[http.StatusOK] == int64(n+1)
	})
	runtime.GC()
	runtime.GC() // pools forget in two steps
	runtime.ReadMemStats(&after)
	_ = in.Close()
	if err := clients.Wait(); err != nil {
		t.Errorf("the clients: %v\n%s", err, said.String())
	}
	each := (after.HeapInuse + after.StackInuse - before.HeapInuse - before.StackInuse) / uint64(n)
	t.Logf("%d idle clients take %d bytes each", n, each)
	if each > 24<<10 {
		t.Errorf("an idle client takes %d bytes, at most 24 KiB", each)
	}
}

// beIdle is the clients: each asks once, and all stay until the input ends.
func beIdle(t *testing.T, order string) {
	var addr string
	var n int
	if _, err := fmt.Sscan(order, &addr, &n); err != nil {
		t.Fatal(err)
	}
	for range n {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if _, err := io.WriteString(nc, "GET / HTTP/1.1\r\nHost: up\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReaderSize(nc, 16), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		_ = resp.Body.Close()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}
