package eventloop

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// TestWheel_LooksWhenDue compares the wheel with a list.
func TestWheel_LooksWhenDue(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var w wheel
	const n = 500
	conns := make([]conn, n)
	want := make([]int64, n) // when each is due; 0: never
	for i := range conns {
		conns[i].fd = i
	}
	now, fired, looked := int64(0), 0, 0
	for step := range 20_000 {
		c := rnd.IntN(n)
		switch rnd.IntN(8) {
		case 0:
			w.unlink(&conns[c])
			want[c] = 0
		case 1:
			want[c] = 0
			w.set(&conns[c], 0, now)
		default:
			want[c] = now + 1 + rnd.Int64N([]int64{5, 100, 2000}[rnd.IntN(3)])
			w.set(&conns[c], want[c], now)
		}
		if step%3 != 0 {
			continue
		}
		now += rnd.Int64N(3)
		if step%999 == 0 {
			now += 700 // more than a turn: the process was stopped
		}
		look := func(c *conn) bool {
			looked++
			i := c.fd
			if d := c.time.deadline; d != 0 && d <= now {
				if d != want[i] {
					t.Fatalf("tick %d: connection %d fires for %d, want %d", now, i, d, want[i])
				}
				want[i], c.time.deadline = 0, 0
				fired++
				return true
			}
			w.link(c, now)
			return false
		}
		for first := true; first || w.at < now; first = false {
			before, beforeLooked := fired, looked
			w.advance(now, 20, 7, look)
			n, looks := fired-before, looked-beforeLooked
			if n > 7 || looks > 20 || n < 7 && looks < 20 && w.at < now {
				t.Fatalf("tick %d: %d deadlines in %d looks, up to tick %d", now, n, looks, w.at)
			}
		}
		for i, at := range want {
			if at != 0 && at <= now-1 {
				t.Fatalf("tick %d: connection %d was due at %d", now, i, at)
			}
		}
	}
	if fired < 100 {
		t.Errorf("only %d deadlines", fired)
	}
}

// TestLoop_CanBeStopped stops the world under load. A turn that is nothing but
// raw system calls could not be stopped, and neither could the program.
func TestLoop_CanBeStopped(t *testing.T) {
	s := open(t, "epoll", Config{})
	defer s.server.Close()
	var stop atomic.Bool
	var running sync.WaitGroup
	for range 16 {
		c := s.dial(t)
		batch := strings.Repeat(get("/hit/1"), 8)
		size := 8 * len(appendAnswer(nil, new(http1.Request), "hit 1", false))
		running.Go(func() {
			for !stop.Load() {
				c.send(batch)
				if _, err := c.r.Discard(size); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var worst time.Duration
	var m runtime.MemStats
	for i := range 60 {
		start := time.Now()
		if i%2 == 0 {
			runtime.ReadMemStats(&m) // stops the world
		} else {
			runtime.GC()
		}
		worst = max(worst, time.Since(start))
	}
	stop.Store(true)
	running.Wait()
	t.Logf("the slowest took %v", worst)
	if worst > 2*time.Second {
		t.Errorf("stopping the world took %v", worst)
	}
}

// TestLoop_AnswersABatchInOneWrite counts segments at the client.
func TestLoop_AnswersABatchInOneWrite(t *testing.T) {
	each(t, []string{"epoll", "goroutine"}, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		segments := func() (n uint32) {
			raw, err := c.Conn.(*net.TCPConn).SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			err = raw.Control(func(fd uintptr) {
				info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
				if err != nil {
					t.Fatal(err)
				}
				n = info.Data_segs_in
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for range 50 {
			before := segments()
			c.send(strings.Repeat(get("/hit/1"), 16))
			for range 16 {
				c.want(200, "hit 1")
			}
			if n := segments() - before; n != 1 {
				t.Fatalf("16 pipelined answers came in %d segments", n)
			}
		}
	})
}

// TestLoop_HitAllocatesNothing: neither in the loop nor in a goroutine.
func TestLoop_HitAllocatesNothing(t *testing.T) {
	defer func(was bool) { poisoned = was }(poisoned)
	poisoned = false
	p := newReady(1)
	c := Config{Proto: p, Scope: func() Scope { return new(dated) }}
	each(t, []string{"epoll", "goroutine"}, c, func(t *testing.T, s *site) {
		c := s.dial(t)
		request := []byte(strings.Repeat(get("/0"), 4))
		size := 4 * (len(p.docs[0]) + len(http1.AppendDate(http1.AppendStatus(nil, 200), time.Now())))
		answers := make([]byte, size)
		n := testing.AllocsPerRun(500, func() {
			if _, err := c.Write(request); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c.Conn, answers); err != nil {
				t.Fatal(err)
			}
		})
		most := 0.0
		if s.form == "goroutine" {
			most = 3 // for each batch: a sync.Pool forgets, under the race detector often
		}
		if n > most {
			t.Errorf("%v allocations for four hits", n)
		}
	})
}

// TestLoop_SleepsWhenIdle: no connection and no deadline, no turns.
func TestLoop_SleepsWhenIdle(t *testing.T) {
	s := open(t, "epoll", Config{})
	defer s.server.Close()
	c := s.dial(t)
	c.send(get("/hit/1"))
	c.want(200, "hit 1")
	for _, phase := range []string{"with a connection", "without one"} {
		before := cpuTime(t)
		<-time.After(300 * time.Millisecond)
		if used := cpuTime(t) - before; used > 100*time.Millisecond {
			t.Errorf("%s: %v of CPU in 0.3 s of idleness", phase, used)
		}
		_ = c.Close()
	}
}

// TestLoop_CutsAFewAtATime: connections whose time comes at once are cut one after the
// other, and all of them.
func TestLoop_CutsAFewAtATime(t *testing.T) {
	s := open(t, "epoll", Config{Header: time.Second})
	defer s.server.Close()
	const crowd = 200
	cut := make(chan time.Time, crowd)
	for range crowd {
		c := s.dial(t)
		c.send("GET /hit/1 HTTP/1.1\r\nHost")
		go func() {
			c.wantEnd()
			cut <- time.Now()
		}()
	}
	var first, last time.Time
	for i := range crowd {
		last = <-cut
		if i == 0 {
			first = last
		}
	}
	// Connecting takes a part of this, so that they are not all due at once.
	if took := last.Sub(first); took < crowd/cutsAtOnce*cutPause/2 {
		t.Errorf("%d connections were cut within %v, want %d each %v", crowd, took, cutsAtOnce,
			cutPause)
	}
}

// cpuTime returns the CPU time of this process.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestLoop_KeepsPeersApart: one that pipelines without end does not keep
// another one waiting.
func TestLoop_KeepsPeersApart(t *testing.T) {
	s := open(t, "epoll", Config{Loops: 1})
	defer s.server.Close()
	var running sync.WaitGroup
	greedy := s.dial(t)
	running.Go(func() { _, _ = io.Copy(io.Discard, greedy.r) })
	running.Go(func() {
		text := []byte(strings.Repeat(get("/hit/1"), 2000))
		for {
			if _, err := greedy.Write(text); err != nil {
				return
			}
		}
	})
	modest := s.dial(t)
	var waits []time.Duration
	for range 300 {
		start := time.Now()
		modest.send(get("/hit/2"))
		modest.want(200, "hit 2")
		waits = append(waits, time.Since(start))
	}
	_ = greedy.Close()
	running.Wait()
	slices.Sort(waits)
	t.Logf("median %v, p99 %v", waits[150], waits[297])
	if waits[150] > 50*time.Millisecond {
		t.Errorf("the median answer took %v", waits[150])
	}
}

// byLoop counts the connections of each loop.
type byLoop struct {
	hits
	loops sync.Map // of Scope, with *atomic.Int64
}

func (p *byLoop) Open(c *Conn, out []byte) []byte {
	n, _ := p.loops.LoadOrStore(c.Scope(), new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
	return append(out, '.')
}

// TestLoops_ShareConnections: they are dealt out in turn.
func TestLoops_ShareConnections(t *testing.T) {
	p := new(byLoop)
	s := open(t, "epoll", Config{Loops: 3, Proto: p, Scope: func() Scope { return &toyScope{new(toy)} }})
	defer s.server.Close()
	for range 30 {
		if _, err := s.dial(t).r.ReadByte(); err != nil {
			t.Fatal(err)
		}
	}
	found := 0
	for _, n := range p.loops.Range {
		found++
		if n := n.(*atomic.Int64).Load(); n != 10 {
			t.Errorf("a loop has %d connections, want 10", n)
		}
	}
	if found != 3 {
		t.Errorf("%d loops have connections, want 3", found)
	}
}

// exhausted makes this test binary a server with few descriptors.
const exhausted = "LANE_TEST_EXHAUSTED"

// TestListener_SurvivesExhaustion runs itself with a limit of descriptors.
func TestListener_SurvivesExhaustion(t *testing.T) {
	if os.Getenv(exhausted) != "" {
		serveExhausted(t)
		return
	}
	for _, form := range []string{"epoll", "goroutine"} {
		t.Run("form="+form, func(t *testing.T) { testExhaustion(t, form) })
	}
}

// serveExhausted serves until its input ends, and answers every line of it
// with the CPU time that it has used.
func serveExhausted(t *testing.T) {
	var log strings.Builder // of slog, which writes a line at a time
	s := open(t, os.Getenv(exhausted), Config{Log: slog.New(slog.NewTextHandler(&locked{w: &log}, nil))})
	limit := unix.Rlimit{Cur: uint64(openFiles(t) + 10), Max: 1024}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	fmt.Println("address", s.addr)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println("used", cpuTime(t).Microseconds(), s.server.Stats().Accepted,
			said(&log, "new connections wait"), said(&log, "too many open files"))
	}
	s.server.Close()
}

// logs guards what locked writes.
var logs sync.Mutex

// A locked writer can be looked at while it is written to.
type locked struct{ w io.Writer }

func (l *locked) Write(p []byte) (int, error) {
	logs.Lock()
	defer logs.Unlock()
	return l.w.Write(p)
}

// said counts a text in a log.
func said(log fmt.Stringer, text string) int {
	logs.Lock()
	defer logs.Unlock()
	return strings.Count(log.String(), text)
}

func testExhaustion(t *testing.T, form string) {
	cmd := exec.Command(os.Args[0], "-test.run=TestListener_SurvivesExhaustion")
	cmd.Env = append(os.Environ(), exhausted+"="+form)
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
	lines, reasons := 0, 0 // of the log
	used := func() (micros, accepted int) {
		_, _ = io.WriteString(in, "?\n")
		_, err := fmt.Fscanf(out, "used %d %d %d %d\n", &micros, &accepted, &lines, &reasons)
		if err != nil {
			t.Fatal(err)
		}
		return micros, accepted
	}
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{addr: a}
	var clients []*client
	for range 30 {
		clients = append(clients, s.dial(t))
	}
	eventually(t, "descriptors run out", func() bool { _, n := used(); return n >= 8 })
	first := clients[0]
	first.send(get("/hit/1"))
	first.want(200, "hit 1")
	before, _ := used()
	<-time.After(400 * time.Millisecond)
	if after, _ := used(); after-before > 100_000 {
		t.Errorf("%d us of CPU in 0.4 s of waiting for descriptors", after-before)
	}
	if lines != 1 || reasons != 1 {
		t.Errorf("the log says %d times that connections wait, %d times why; want one line", lines, reasons)
	}
	first.send(get("/hit/2"))
	first.want(200, "hit 2")
	for _, c := range clients[:15] {
		_ = c.Close()
	}
	for _, c := range clients[20:] { // served as the others leave
		c.send(get("/hit/3"))
		c.want(200, "hit 3")
		_ = c.Close()
	}
}
