package lane

import (
	"bufio"
	"bytes"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/lane/nonblock"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// What a loop does while there is nothing to do: ours, and what was rejected
// for it. bench/scenarios/011-poll-or-block compares them.
const (
	benchWait   = "LANE_BENCH_WAIT"   // one of waits
	benchListen = "LANE_BENCH_LISTEN" // address
	benchMisses = "LANE_BENCH_MISSES" // percent of the documents that a goroutine answers
)

var waits = map[string]func(*loop){
	"park": (*loop).wait, "block": waitBlocked, "spin": waitSpinning, "poll": waitPolling,
}

// waitBlocked sleeps in epoll_wait: the thread sleeps with its P, until the
// runtime's monitor takes that away.
func waitBlocked(l *loop) {
	l.got = nonblock.EpollNow(l.ep, l.events[:])
	if l.got > 0 || len(l.later) > 0 || l.mail.full.Load() {
		return
	}
	l.mail.asleep.Store(true)
	if !l.mail.full.Load() {
		n, _ := unix.EpollWait(l.ep, l.events[:], int(tickLength/time.Millisecond))
		l.got = max(n, 0)
	}
	l.mail.asleep.Store(false)
}

// waitSpinning looks a few times before it sleeps.
func waitSpinning(l *loop) {
	for range 4 {
		l.got = nonblock.EpollNow(l.ep, l.events[:])
		if l.got > 0 || len(l.later) > 0 || l.mail.full.Load() {
			return
		}
		runtime.Gosched()
	}
	waitBlocked(l)
}

// waitPolling never sleeps.
func waitPolling(l *loop) {
	if l.got = nonblock.EpollNow(l.ep, l.events[:]); l.got == 0 {
		runtime.Gosched()
	}
}

// runWaiting is run with another way to wait.
func runWaiting(l *loop, wait func(*loop)) {
	for !l.over() {
		wait(l)
		l.work()
	}
	l.free()
}

// serveWaiting serves with loops that wait in a way of their own.
func serveWaiting(t *testing.T, tcp *net.TCPListener, c Config, wait func(*loop)) *Server {
	t.Helper()
	s := &Server{
		cfg: c.withDefaults(), proto: c.Proto, start: time.Now(), addr: tcp.Addr(),
		aborted: make(chan struct{}), done: make(chan struct{}),
	}
	var all loops
	for range s.cfg.Loops {
		l, err := newLoop(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	fd, err := takeOver(tcp)
	if err != nil {
		t.Fatal(err)
	}
	all[0].listener = &listener{fd: fd, loops: all}
	if err := all[0].watch(fd, fdListen, unix.EPOLLIN); err != nil {
		t.Fatal(err)
	}
	s.form = all
	var running sync.WaitGroup
	for _, l := range all {
		running.Go(func() { runWaiting(l, wait) })
	}
	go func() {
		running.Wait()
		close(s.done)
	}()
	return s
}

// A mixture answers GET /anything/N with document N, and some of the documents
// from a goroutine, as a load does.
type mixture struct {
	*ready
	misses int // percent
}

func (p *mixture) Step(c *Conn, in, out []byte) (n int, _ []byte, next Next) {
	var r http1.Request
	for n < len(in) {
		length, v := r.Parse(in[n:])
		if v == http1.NeedMore {
			return n, out, More
		}
		i, ok := docNumber(r.Path[max(bytes.LastIndexByte(r.Path, '/'), 0):])
		if v != http1.Complete || !ok {
			return n, out, Close
		}
		n += length
		doc := p.docs[i%len(p.docs)]
		if i%100 < p.misses {
			go c.Resume(append(http1.AppendStatus(nil, 200), doc...))
			return n, out, Parked
		}
		out = http1.AppendStatus(out, 200)
		out = append(out, c.Scope().(*dated).date...)
		out = append(out, doc...)
		if len(out) >= FlushSize {
			return n, out, Flush
		}
	}
	return n, out, More
}

// TestBench_ServeWaiting is a server of 011-poll-or-block, until it is killed.
func TestBench_ServeWaiting(t *testing.T) {
	wait := waits[os.Getenv(benchWait)]
	if wait == nil {
		return // nothing is asked of it: it is no test
	}
	l, err := net.Listen("tcp", os.Getenv(benchListen))
	if err != nil {
		t.Fatal(err)
	}
	p := &mixture{ready: newReady(10_000)}
	if os.Getenv(benchMisses) != "" {
		p.misses = 10
	}
	c := Config{Proto: p, Full: func(Lent) {}, Scope: func() Scope { return new(dated) }}
	serveWaiting(t, l.(*net.TCPListener), c, wait)
	select {}
}

// TestWaits_Serve: each way to wait answers hits and misses, so that what is
// compared are servers that work.
func TestWaits_Serve(t *testing.T) {
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			c := Config{
				Proto: &mixture{newReady(100), 10}, Full: func(Lent) {}, Loops: 2,
				Scope: func() Scope { return new(dated) },
			}
			s := serveWaiting(t, l.(*net.TCPListener), c, wait)
			defer s.Close()
			nc, err := net.Dial("tcp", s.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if err := nc.SetDeadline(time.Now().Add(timeLimit)); err != nil {
				t.Fatal(err)
			}
			client := &client{nc, t, bufio.NewReader(nc)}
			for _, path := range []string{"/depts/50", "/depts/101", "/depts/60"} { // 101: a miss
				client.send(get(path))
				if a, body := client.answer("GET"); a.StatusCode != 200 || len(body) != 1600 {
					t.Errorf("%s: status %d, %d bytes", path, a.StatusCode, len(body))
				}
			}
		})
	}
}
