package load

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/eventloop/nonblock"
)

// haveLoops says that this system has the epoll form.
const haveLoops = true

const (
	recvSize  = 256 << 10
	maxEvents = 256
	// sweepEvery is how often a loop looks for answers that are overdue and for
	// connections to open again. It bounds how long a loop sleeps, and so how
	// long it takes to notice that the run is over.
	sweepEvery = 20 * time.Millisecond
	// maxOpens is how many connections one sweep begins: more at a time overflow
	// the server's queue of connections to accept, and wait a second for it.
	maxOpens = 500
)

// A loop drives its share of the connections. They are registered once, edge
// triggered, so that an exchange costs one recv, one send and a share of an
// epoll_wait.
type loop struct {
	*worker
	ep, timer int // descriptors; the timer only in an open loop
	conns     []conn
	addr      unix.Sockaddr
	family    int
	in        []byte  // what recv fills
	out       []byte  // what send takes
	asking    []int32 // connections of a closed loop that have room
	nextSweep int64

	// Of an open loop.
	pace  pace
	free  queue
	armed int64 // what the timer is set to
}

// A conn is one connection of a loop.
type conn struct {
	session
	fd      int    // -1 while it is closed
	waiting bool   // for the connection to be made
	proven  bool   // it has had an answer since it was made
	ended   bool   // the loop has seen the peer go, and reads to the end
	queued  bool   // in loop.free or loop.asking
	in      []byte // a part of an answer that is not complete
	out     []byte // what the kernel did not take
}

// runLoops runs the loops and returns when all have ended.
func runLoops(ctx context.Context, r *run) error {
	n := r.cfg.Loops
	loops := make([]*loop, n)
	for i := range loops {
		var err error
		share := (r.cfg.Connections + n - 1 - i) / n
		if loops[i], err = newLoop(r, i, n, share); err != nil {
			for _, l := range loops[:i] {
				l.shut()
			}
			return err
		}
		r.workers = append(r.workers, loops[i].worker)
	}
	// Loops sleep in the kernel while Go's scheduler takes them for busy: conduct needs
	// a processor of its own.
	before := runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	defer runtime.GOMAXPROCS(before)
	var done sync.WaitGroup
	for _, l := range loops {
		done.Go(func() {
			defer l.shut()
			l.turns()
		})
	}
	r.conduct(ctx)
	done.Wait()
	return nil
}

// newLoop makes loop i of n with its share of connections, all still closed.
func newLoop(r *run, i, n, share int) (*loop, error) {
	// Each loop has an address of its own: connecting writes to it.
	addr, family, err := resolve(r.to.network)
	if err != nil {
		return nil, err
	}
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	l := &loop{
		worker: newWorker(r, i, n), ep: ep, timer: -1, addr: addr, family: family,
		conns: make([]conn, share), in: make([]byte, recvSize),
	}
	for k := range l.conns {
		l.conns[k].fd = -1
		l.conns[k].session = newSession(r)
	}
	if r.cfg.Rate > 0 {
		l.pace = newPace(r.cfg.Rate, i, n)
		l.free.ring = make([]int32, share)
		if err := l.openTimer(); err != nil {
			l.shut()
			return nil, err
		}
	}
	return l, nil
}

// shut closes every descriptor of the loop.
func (l *loop) shut() {
	for k := range l.conns {
		if l.conns[k].fd >= 0 {
			_ = unix.Close(l.conns[k].fd)
		}
	}
	if l.timer >= 0 {
		_ = unix.Close(l.timer)
	}
	_ = unix.Close(l.ep)
}

// turns runs the loop until the run is over.
func (l *loop) turns() {
	events := make([]unix.EpollEvent, maxEvents)
	for {
		now := l.run.now()
		if now >= l.nextSweep {
			l.sweep(now)
		}
		if l.pace.interval > 0 {
			l.pump(now)
			l.arm(now)
		}
		if l.run.over() && l.finished(now) {
			l.publish()
			return
		}
		for _, ev := range events[:l.wait(events)] {
			if ev.Fd == timerEvent {
				l.drainTimer()
				continue
			}
			l.event(ev.Fd, ev.Events)
		}
		l.askAll()
		l.publish()
	}
}

// wait returns how many events there are, and sleeps if there are none.
func (l *loop) wait(events []unix.EpollEvent) int {
	// Fast path: under load there are some.
	if n := nonblock.EpollNow(l.ep, events); n > 0 {
		return n
	}
	// Half of what an open loop cost, in its latencies too, was the scheduler's monitor,
	// which takes the processor of a system call away that it knows of, 20 µs into each
	// sleep: the answers then found the loop without one.
	return nonblock.EpollSleep(l.ep, events, sweepEvery)
}

// finished reports whether nothing is awaited any more: a closed loop stops at
// once, an open one when every request that it has sent is answered or lost.
func (l *loop) finished(now int64) bool {
	if l.pace.interval == 0 {
		return true
	}
	l.pace.overdue(l.worker, now)
	late := l.run.abandoned() || now >= l.run.closes+int64(l.run.cfg.Timeout)
	for k := range l.conns {
		s := &l.conns[k].session
		if s.n > 0 && !late {
			return false
		}
		for ; s.n > 0; s.n-- {
			l.unfinished(s.oldest().start, now)
			s.at = (s.at + 1) % len(s.flights)
		}
	}
	return true
}

// sweep opens what is closed, and gives up what has taken too long.
func (l *loop) sweep(now int64) {
	l.nextSweep = now + int64(sweepEvery)
	runtime.Gosched() // to conduct: a loop under load never sleeps
	opened := 0
	for k := range l.conns {
		c := &l.conns[k]
		if c.fd < 0 {
			if opened++; opened <= maxOpens {
				l.open(int32(k))
			}
			continue
		}
		if c.n > 0 && now-c.oldest().sent > int64(l.run.cfg.Timeout) {
			l.lose(int32(k), timeoutError, fmt.Errorf("no answer within %v", l.run.cfg.Timeout))
		}
	}
}

// open begins to connect.
func (l *loop) open(k int32) {
	c := &l.conns[k]
	fd, err := connect(l.ep, k, l.addr, l.family)
	if err != nil {
		l.tally.fail(connectError, 1, err)
		return
	}
	c.fd, c.waiting, c.proven, c.ended = fd, true, false, false
	c.in, c.out = c.in[:0], c.out[:0]
}

// opened takes the end of connecting.
func (l *loop) opened(k int32) {
	c := &l.conns[k]
	c.waiting = false
	code, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil || code != 0 {
		l.lose(k, connectError, unix.Errno(code))
		return
	}
	l.ready(k, l.run.now())
}

// lose closes a connection for a reason. What was on its way has failed. One
// that the server has answered before is opened again at once; any other waits
// for the sweep, so that a server that is gone is not stormed.
func (l *loop) lose(k int32, kind errorKind, err error) {
	c := &l.conns[k]
	_ = unix.Close(c.fd)
	c.fd = -1
	lost := c.reset()
	if kind == connectError {
		lost = 1
	}
	if lost > 0 {
		l.tally.fail(kind, lost, err)
	}
	l.tally.reconnects++
	if c.proven {
		l.open(k)
	}
}
