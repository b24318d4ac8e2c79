package eventloop

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// crowded makes this test binary a server of many connections.
const crowded = "LANE_TEST_CROWDED"

// TestLoop_IdleConnectionsTakeLittle runs itself, so that what is measured is
// the server's alone: heap, stacks and what the kernel counts as resident.
func TestLoop_IdleConnectionsTakeLittle(t *testing.T) {
	if os.Getenv(crowded) != "" {
		serveCrowded(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=TestLoop_IdleConnectionsTakeLittle")
	cmd.Env = append(os.Environ(), crowded+"=1")
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	var address string
	if _, err := fmt.Fscanf(out, "address %s\n", &address); err != nil {
		t.Fatal(err)
	}
	held := func() (inUse, resident, goroutines int) {
		_, _ = io.WriteString(in, "?\n")
		if _, err := fmt.Fscanf(out, "held %d %d %d\n", &inUse, &resident, &goroutines); err != nil {
			t.Fatal(err)
		}
		return inUse, resident, goroutines
	}
	n := crowd(t)
	conns := make([]net.Conn, 0, n)
	connect := func(count int) {
		request, answer := put("abc")
		for range count {
			nc, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, nc)
			c := &client{nc, t, bufio.NewReaderSize(nc, 512)}
			c.send(get("/hit/1") + request + get("/miss/2"))
			c.want(200, "hit 1")
			c.want(200, answer)
			c.want(200, "miss 2")
		}
	}
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	connect(100) // what is made once
	beforeUse, beforeRSS, beforeGo := held()
	connect(n - 100)
	inUse, rss, goroutines := held()
	per, perRSS := (inUse-beforeUse)/(n-100), (rss-beforeRSS)/(n-100)
	t.Logf("%d connections: %d bytes each of heap and stacks, %d resident", n, per, perRSS)
	if per > 1<<10 || perRSS > 4<<10 && !raceDetector() {
		t.Errorf("an idle connection takes %d bytes, %d resident", per, perRSS)
	}
	if goroutines > beforeGo+10 {
		t.Errorf("%d goroutines, %d before", goroutines, beforeGo)
	}
}

// raceDetector reports whether it is on: its shadow memory is resident, too.
func raceDetector() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// crowd returns how many connections this process may hold, 2,000 at most.
func crowd(t *testing.T) int {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	n := min(2000, int(min(limit.Cur, 1<<20))-100)
	if n < 500 {
		t.Skip("needs 600 descriptors: ulimit -n")
	}
	return n
}

// serveCrowded serves until its input ends, and answers every line of it with
// what it holds.
func serveCrowded(t *testing.T) {
	s := open(t, "epoll", Config{Loops: 2})
	fmt.Println("address", s.addr)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		eventually(t, "every connection has come back", func() bool {
			n := s.server.Stats()
			return n.HandedOver == n.Returned
		})
		runtime.GC()
		debug.FreeOSMemory()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Println("held", m.HeapAlloc+m.StackInuse, resident(t), runtime.NumGoroutine())
	}
	s.server.Close()
}

// resident returns the bytes of this process that are in memory and its own.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(text), "RssAnon:")
	var kB int
	if _, err := fmt.Sscan(line, &kB); err != nil {
		t.Fatal(err)
	}
	return kB << 10
}
