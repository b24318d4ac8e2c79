package eventloop

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/eventloop/nonblock"
)

const (
	readSize   = 64 << 10               // the buffer into which a loop reads
	largeInput = 16 << 10               // an unfinished request that is worth a buffer of its own
	napEvery   = time.Millisecond       // under load, which leaves no time to sleep
	yieldEvery = 100 * time.Microsecond // while others work for a connection
	fdWake     = -1                     // an event's Fd for the queue
	fdListen   = -2                     // and for the listener
	sockEvents = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET
)

// Connections whose time has come are cut a few at a time, with a pause in between.
// When thousands were opened together, their clients may all come back at once, and
// to cut and to accept one costs as much as many answers: those who ask for something
// then wait for four at most.
const (
	cutsAtOnce = 4
	cutPause   = 3 * time.Millisecond // at most 1,333 a second
	cutsInNeed = 128                  // at once, while others wait for descriptors
)

// looksAtOnce is how many connections whose time has come are looked at in a turn. Those that
// were opened together have it together, every Config.Tick.
const looksAtOnce = 64

// A loop owns connections and is the only one to touch them; others write it
// messages. It runs on an unlocked goroutine that asks epoll without blocking,
// and when nothing is there parks in the runtime's own poller, in which the
// epoll descriptor is itself registered.
type loop struct {
	srv    *Server
	ep     int
	file   *os.File // the epoll descriptor as the runtime's poller sees it
	raw    syscall.RawConn
	poll   func(uintptr) bool
	doze   func(uintptr) bool
	dozed  bool
	slept  bool // before this turn: it had parked
	queue  queue
	spare  []message
	events [256]unix.EpollEvent
	got    int       // events of this turn
	alarm  time.Time // when the runtime's poller gives up waiting

	conns  []*conn // by descriptor
	open   int
	later  []*conn // have more to do, but others come first
	dirty  []*conn // have output from messages; the first of them, pushed, have been sent theirs
	pushed int
	batch  batch

	prefetcher Prefetcher // the protocol, if it is one

	in  []byte // who is read has it until its step is over; a batch, in parts
	out []byte // who steps has it until flush

	rubbish []byte // nobody's: it is written to and never read; see discard

	sealedIn  []byte // under TLS, what was received: for secure.pull only
	sealedOut []byte // and what is to be sent: from seal until it is sent or copied

	wheel wheel
	scope Scope

	now     time.Time
	tick    int64
	cutAt   time.Time // when a connection's time had come last
	napped  time.Time // or slept
	yielded time.Time // or napped or slept

	listener *listener // of the first loop, until it is closed
}

// newLoop returns a loop that has not been started.
func newLoop(s *Server) (*loop, error) {
	l := &loop{
		srv: s, scope: s.newScope(), now: s.start,
		in: make([]byte, readSize), out: make([]byte, 0, FlushSize),
	}
	l.prefetcher, _ = s.cfg.Proto.(Prefetcher)
	var err error
	if l.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	if err = unix.SetNonblock(l.ep, true); err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	l.file = os.NewFile(uintptr(l.ep), "epoll")
	if l.raw, err = l.file.SyscallConn(); err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	l.queue.file = l.file
	l.queue.wakefd, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		_ = l.file.Close()
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	// Edge-triggered, every write to it is an event: it is never read.
	if err = l.watch(l.queue.wakefd, fdWake, unix.EPOLLIN|unix.EPOLLET); err != nil {
		l.free()
		return nil, fmt.Errorf("epoll: %w", err)
	}
	l.poll = func(uintptr) bool {
		l.got = nonblock.EpollNow(l.ep, l.events[:])
		if l.got > 0 || !l.queue.asleep.Load() {
			return true
		}
		if !l.slept {
			l.slept = true
			rest(l.scope)
		}
		return false
	}
	l.doze = func(uintptr) bool {
		if !l.dozed {
			l.dozed = true
			nonblock.Wake(l.queue.wakefd) // after the poller has forgotten what was before
			return false
		}
		return true
	}
	return l, nil
}

// watch registers a descriptor; its events say id.
func (l *loop) watch(fd, id int, events uint32) error {
	return unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, fd,
		&unix.EpollEvent{Events: events, Fd: int32(id)})
}

// free closes the loop's own descriptors.
func (l *loop) free() {
	_ = l.file.Close()
	_ = unix.Close(l.queue.wakefd)
}

// run serves until the server drains and nothing is left.
func (l *loop) run() {
	for !l.over() {
		l.wait()
		l.work()
	}
	rest(l.scope)
	l.free()
	if poisoned && l.queue.busy.Load() != 0 {
		panic(fmt.Sprintf("BUG: no connection is left, and %d are elsewhere", l.queue.busy.Load()))
	}
}

// work does what there is to do now.
func (l *loop) work() {
	l.clock()
	for i := range l.got {
		l.event(&l.events[i])
	}
	l.serveBatch()
	l.read()
	l.sendPushes()
	l.others()
	if l.wheel.at < l.tick {
		l.wheel.advance(l.tick, looksAtOnce, l.mayCut(), l.look)
	}
	l.yield()
}

// over reports whether the loop has nothing left to do, ever.
func (l *loop) over() bool {
	return l.open == 0 && l.listener == nil && l.srv.draining.Load() && l.queue.close()
}

// wait gets events, and sleeps when there is nothing to do at all. It looks for them
// once: within Read of the runtime's poller, which from before that look on notes that
// there is something new, so that none is needed before the loop parks.
func (l *loop) wait() {
	l.got = 0
	if len(l.later) > 0 || len(l.dirty) > 0 || l.wheel.at < l.tick && l.mayCut() > 0 {
		l.got = nonblock.EpollNow(l.ep, l.events[:])
		return
	}
	l.setAlarm()
	l.queue.asleep.Store(true)
	if l.queue.full.Load() { // see queue.post
		l.got = nonblock.EpollNow(l.ep, l.events[:])
	} else {
		// An error is the alarm, or a message; the descriptor is closed by nobody else.
		if l.raw.Read(l.poll) != nil {
			l.alarm = l.now // it has passed: see setAlarm
		}
	}
	l.queue.asleep.Store(false)
}

// setAlarm sees to it that the loop wakes up for the wheel's next tick, if
// there is anything in the wheel, or for those whose time has come already. But
// for these it sets a timer at most once per tick.
func (l *loop) setAlarm() {
	var at time.Time // a deadline that has passed would keep us awake
	switch {
	case l.wheel.at < l.tick:
		at = l.cutAt.Add(cutPause)
	case l.wheel.size > 0 || l.paused():
		at = l.now.Add(tickLength)
	}
	if l.alarm.IsZero() && at.IsZero() || l.alarm.After(l.now) && !l.alarm.After(at) {
		return
	}
	l.alarm = at
	_ = l.file.SetReadDeadline(at) // it can: the descriptor is in the poller
}

// paused reports whether accepting waits for the next tick.
func (l *loop) paused() bool { return l.listener != nil && l.listener.paused }

// clock reads the clock, once per turn. It is never inlined: its prologue is
// where a turn can be stopped whatever else the compiler inlines (see package
// nonblock).
//
//go:noinline
func (l *loop) clock() {
	l.now = time.Now()
	l.tick = int64(l.now.Sub(l.srv.start) / tickLength)
	if l.slept {
		l.slept, l.napped, l.yielded = false, l.now, l.now
	}
	if l.scope != nil {
		l.scope.BeginTurn(l.now)
	}
	if l.paused() && l.tick > l.listener.pausedAt {
		l.listener.resume(l)
	}
}

// mayCut returns how many connections may be cut in this turn.
func (l *loop) mayCut() int {
	switch {
	case l.paused():
		return cutsInNeed
	case l.now.Sub(l.cutAt) < cutPause:
		return 0
	}
	return cutsAtOnce
}

// event does what an event asks for.
func (l *loop) event(e *unix.EpollEvent) {
	switch e.Fd {
	case fdWake:
		return
	case fdListen:
		l.listener.acceptSome(l)
		return
	}
	c := l.conns[e.Fd]
	if c == nil {
		return
	}
	const gone = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if e.Events&gone != 0 {
		c.hup = true
	}
	if e.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.reset = true
	}
	if e.Events&(unix.EPOLLIN|gone) != 0 {
		c.ready = true
	}
	if c.phase.in(borrowed) {
		c.borrowed.event(c.ready, c.reset)
		return
	}
	if e.Events&(unix.EPOLLOUT|gone) != 0 {
		c.blocked = false
	}
	l.gather(c)
}

// othersTime is how long those who have more to do have their turns before who has
// something new is looked for.
const othersTime = time.Millisecond

// others goes on with connections that had to let others pass.
func (l *loop) others() {
	var began time.Time
	for i := range len(l.later) {
		if i == 0 {
			began = time.Now()
		} else if time.Since(began) > othersTime {
			return
		}
		c := l.later[0]
		l.later = l.later[1:]
		c.waits = false
		l.turn(c)
	}
	if len(l.later) == 0 {
		l.later = nil
	}
}

// yield lets other goroutines run when the loop has not slept for a while: soon while
// they work for one of our connections, else now and then. A loop that goes to sleep
// anyway lets them run by that, and one that yields at every turn is put behind all of
// them each time.
//
// What is left of such waits, when a loop is woken and all processors of Go's scheduler
// are taken, two more of those would end. They were tried and cost more than they gave:
// who stops the world waits for threads that the system does not run (the p99 of 009-gc
// was 4.6 ms, 1.7 without), and the hits of 010-put-then-get took 18 to 36% more CPU.
func (l *loop) yield() {
	switch {
	case l.now.Sub(l.napped) > napEvery:
		l.napped, l.yielded = l.now, l.now
		rest(l.scope)
		l.nap()
	case l.queue.busy.Load() > 0 && l.now.Sub(l.yielded) > yieldEvery:
		l.yielded = l.now
		rest(l.scope)
		runtime.Gosched()
	}
}

// nap parks the loop until the runtime's poller has been looked at, which is at
// once when no other goroutine can run, since an event of our own waits there.
//
// Gosched is not enough: the scheduler finds the loop itself runnable again
// before it looks at the network, and with all processors in loops only its
// monitor does, every 10 ms. So long would the answer of a database wait, and a
// change that its feed has sent (bench/results/012-feed.md).
func (l *loop) nap() {
	l.dozed = false
	l.setAlarm()
	if l.raw.Read(l.doze) != nil {
		runtime.Gosched() // the alarm is due
	}
}
