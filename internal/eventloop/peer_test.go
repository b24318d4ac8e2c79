package eventloop

import (
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// small makes the buffers of a connection small, so that little fills them.
func (c *client) small() {
	nc := c.Conn
	if under, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = under.NetConn()
	}
	if b, ok := nc.(interface{ SetReadBuffer(int) error }); ok {
		_ = b.SetReadBuffer(128 << 10) // less than a segment of the loopback crawls
	}
}

func TestLoop_SendsThroughASmallWindow(t *testing.T) {
	each(t, forms, Config{}, func(t *testing.T, s *site) {
		for _, path := range []string{"/big", "/hit/8388608:x"} {
			c := s.dial(t)
			c.small()
			c.send(get(path) + get("/hit/1"))
			a, err := http.ReadResponse(c.r, nil)
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, a.Body)
			if n != 8<<20 || err != nil {
				t.Fatalf("%s: %d bytes, %v", path, n, err)
			}
			c.want(200, "hit 1")
		}
	})
}

// TestLoop_CutsPeersThatDoNotRead: a peer that asks and does not read is not
// read from either, so that what it costs is bounded; then it is cut.
func TestLoop_CutsPeersThatDoNotRead(t *testing.T) {
	c := Config{Write: 400 * time.Millisecond, Idle: time.Minute}
	each(t, loopForms, c, func(t *testing.T, s *site) {
		other := s.dial(t)
		before := heap()
		var clients []*client
		for range 4 {
			c := s.dial(t)
			c.small()
			go func() {
				// 30 GB of answers, if anybody were to make them.
				_, _ = io.WriteString(c, strings.Repeat(get("/hit/100000:x"), 300_000))
			}()
			clients = append(clients, c)
		}
		most := uint64(0)
		eventually(t, "the peers are cut", func() bool {
			other.send(get("/hit/1"))
			other.want(200, "hit 1")
			most = max(most, heap())
			return s.server.Stats().TimedOut == int64(len(clients))
		})
		// The requests themselves are 14 MB each, in this process.
		if most > before+200<<20 {
			t.Errorf("%d MB of heap, %d MB before", most>>20, before>>20)
		}
	})
}

// heap returns the bytes of live and dead objects.
func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestLoop_ServesSlowPeersThatRead: progress puts the write deadline off.
func TestLoop_ServesSlowPeersThatRead(t *testing.T) {
	c := Config{Write: 2 * time.Second}
	eachAtOnce(t, loopForms, c, func(t *testing.T, s *site) {
		c := s.dial(t)
		c.small()
		c.send(get("/hit/6000000:x"))
		beat := time.NewTicker(2 * time.Millisecond)
		defer beat.Stop()
		buf := make([]byte, 4_000)
		total, start := 0, time.Now()
		for total < 6_000_000 {
			for time.Since(start).Seconds() < float64(total)/2e6 {
				<-beat.C // 2 MB/s: longer than Write altogether
			}
			n, err := c.r.Read(buf)
			if err != nil {
				t.Fatalf("cut after %d bytes and %v: %v", total, time.Since(start), err)
			}
			total += n
		}
	})
}

// TestLoop_IdleConnectionsAreSmall: no buffer and no goroutine, in a loop.
func TestLoop_IdleConnectionsAreSmall(t *testing.T) {
	const n = 400
	each(t, []string{"epoll"}, Config{Loops: 2}, func(t *testing.T, s *site) {
		conns := make([]*client, n)
		runtime.GC()
		before, goroutines := heap(), runtime.NumGoroutine()
		for i := range conns {
			conns[i] = s.dial(t)
			conns[i].send(get("/hit/1"))
			conns[i].want(200, "hit 1")
			conns[i].r = nil
		}
		runtime.GC()
		// Ours and what package net has for the client's end.
		per := (int64(heap()) - int64(before)) / n
		if per > 4<<10 {
			t.Errorf("%d bytes for each connection", per)
		}
		t.Logf("%d bytes for each connection, the client's end included", per)
		if now := runtime.NumGoroutine(); now > goroutines+4 {
			t.Errorf("%d goroutines, %d with %d connections", goroutines, now, n)
		}
	})
}
