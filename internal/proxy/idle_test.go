package proxy

import (
	"io"
	"net"
	"runtime"
	"testing"
)

// An idle client costs its goroutine, its socket and little else.
func TestIdle_ClientsTakeLittleMemory(t *testing.T) {
	up := echo(t)
	s, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	n := 4000
	if limit := openFiles(); int64(2*n+200) > limit {
		n = int(limit-200) / 3
	}
	callers := make([]net.Conn, 0, n)
	defer func() {
		for _, nc := range callers {
			_ = nc.Close()
		}
	}()
	c := call(t, addr)
	c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
	c.answer("GET")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		callers = append(callers, nc)
		if _, err := io.WriteString(nc, "GET / HTTP/1.1\r\nHost: up\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all have been answered", func() bool { return s.Stats().Statuses[200] == int64(n+1) })
	runtime.GC()
	runtime.GC() // pools forget in two steps
	runtime.ReadMemStats(&after)
	each := (after.HeapInuse + after.StackInuse - before.HeapInuse - before.StackInuse) / uint64(n)
	t.Logf("%d idle clients take %d bytes each, both ends together", n, each)
	if each > 24<<10 {
		t.Errorf("an idle client takes %d bytes, at most 24 KiB", each)
	}
}
