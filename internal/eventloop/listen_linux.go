package eventloop

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/eventloop/nonblock"
)

// acceptAtOnce bounds the connections that are accepted before those that are
// open get their turn.
const acceptAtOnce = 16

// unsentLimit is how many bytes the kernel keeps that it could not send yet.
const unsentLimit = 128 << 10

// tune sets the options of a new connection: answers are written whole, so
// nothing is to wait for more; and what a slow peer has not been sent is kept
// by us, who count it, and not by megabytes in the kernel. So the socket takes
// more as soon as some was sent, which is how we know that the peer reads.
func tune(fd int) {
	nonblock.SetTCP(fd, unix.TCP_NODELAY, 1)
	nonblock.SetTCP(fd, unix.TCP_NOTSENT_LOWAT, unsentLimit)
}

// tuneConn is tune for a connection of package net.
func tuneConn(nc net.Conn) {
	if under, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = under.NetConn()
	}
	if tcp, ok := nc.(*net.TCPConn); ok {
		if raw, err := tcp.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { tune(int(fd)) }) // it has just been opened
		}
	}
}

// loops is the form of connections of TCP and of unix sockets on Linux.
type loops []*loop

// A socket is a listener whose descriptor loops can have.
type socket interface {
	net.Listener
	SyscallConn() (syscall.RawConn, error)
}

// pollable returns l if loops can serve its connections, or nil.
func pollable(l net.Listener) socket {
	switch l := l.(type) {
	case *net.TCPListener:
		return l
	case *net.UnixListener:
		if l.Addr().Network() == "unix" { // else it has packets
			return l
		}
	}
	return nil
}

// startLoops starts the loops of s. The first one has the listener. There is no form for
// a listener that loops cannot have.
func startLoops(s *Server, l net.Listener) (engine, error) {
	from := pollable(l)
	if from == nil {
		return nil, nil
	}
	var all loops
	fail := func(err error) (engine, error) {
		for _, l := range all {
			l.free()
		}
		return nil, err
	}
	for range s.cfg.Loops {
		l, err := newLoop(s)
		if err != nil {
			return fail(err)
		}
		all = append(all, l)
	}
	a, err := takeOver(from)
	if err != nil {
		return fail(err)
	}
	a.loops, all[0].listener = all, a
	if err := all[0].watch(a.fd, fdListen, unix.EPOLLIN); err != nil {
		a.free()
		return fail(fmt.Errorf("epoll: %w", err))
	}
	var running sync.WaitGroup
	for _, l := range all {
		running.Go(l.run)
	}
	go func() {
		running.Wait()
		close(s.done)
	}()
	return all, nil
}

// takeOver takes the socket of a listener. One of TCP is closed: left open, it would stay in
// the runtime's poller, and wake it for every connection. One of a unix socket is not,
// because it removes the path when it is.
func takeOver(from socket) (*listener, error) {
	fd, err := dup(from)
	if err != nil {
		return nil, fmt.Errorf("listener: %w", err)
	}
	a := &listener{fd: fd}
	if _, tcp := from.(*net.TCPListener); !tcp {
		a.from = from
	} else if err := from.Close(); err != nil {
		a.free()
		return nil, fmt.Errorf("listener: %w", err)
	}
	return a, nil
}

func (ls loops) drain() { ls.post(drain) }
func (ls loops) reap()  { ls.post(reap) }
func (ls loops) abort() { ls.post(abort) }

func (ls loops) post(kind messageKind) {
	for _, l := range ls {
		l.queue.post(message{kind: kind})
	}
}

// A listener deals out connections to the loops in turn. It belongs to the
// first loop.
type listener struct {
	fd       int
	from     net.Listener // of a unix socket; nil: closed already
	loops    loops
	turn     int
	paused   bool // descriptors or memory ran out
	pausedAt int64
}

// acceptSome accepts connections that wait. It reports whether there may be
// more.
func (a *listener) acceptSome(l *loop) bool {
	for range acceptAtOnce {
		fd, e := nonblock.Accept(a.fd)
		switch e {
		case 0:
			a.admit(l, fd)
		case unix.EINTR, unix.ECONNABORTED:
		case unix.EAGAIN:
			return false
		default:
			// EMFILE, ENFILE, ENOBUFS, ENOMEM: the connections still wait, and
			// epoll would tell us so for ever. Look again when time has passed.
			l.srv.refused(e)
			a.pause(l)
			return false
		}
	}
	return true
}

// admit deals out a new connection, unless it is one too many.
func (a *listener) admit(l *loop, fd int) {
	var from netip.Addr
	if l.srv.overTCP && l.srv.cfg.Admit.Connections != nil {
		remote, err := unix.Getpeername(fd)
		from = admit.AddrOf(l.srv.address(remote, err))
	}
	if l.srv.gate.Enter(from) {
		a.deal(l, fd, from)
		return
	}
	if refusal := l.srv.cfg.Refusal; refusal != nil && l.srv.cfg.TLS == nil {
		_, _ = nonblock.Send(fd, refusal()) // a new socket has room for it
		_ = unix.Shutdown(fd, unix.SHUT_WR)
	}
	_ = unix.Close(fd)
}

// deal gives a new connection to the loop whose turn it is.
func (a *listener) deal(l *loop, fd int, from netip.Addr) {
	l.srv.count.accepted.Add(1)
	if l.srv.overTCP {
		tune(fd)
	}
	next := a.loops[a.turn%len(a.loops)]
	a.turn++
	if next == l || !next.queue.post(message{kind: adopt, fd: fd, from: from}) {
		l.adopt(fd, from)
	}
}

// pause stops watching the listener until the next tick.
func (a *listener) pause(l *loop) {
	if a.paused {
		return
	}
	a.paused, a.pausedAt = true, l.tick
	_ = unix.EpollCtl(l.ep, unix.EPOLL_CTL_DEL, a.fd, nil) // it is there
}

// resume watches the listener again.
func (a *listener) resume(l *loop) {
	if l.watch(a.fd, fdListen, unix.EPOLLIN) == nil {
		a.paused = false
	}
	a.pausedAt = l.tick
}

// close accepts what has come so far, for those clients count on being served,
// and closes the listener.
func (a *listener) close(l *loop) {
	for a.acceptSome(l) {
		continue
	}
	l.listener = nil
	// A supervisor may have the same socket: closing our descriptor would then not end
	// what epoll watches.
	_ = unix.EpollCtl(l.ep, unix.EPOLL_CTL_DEL, a.fd, nil)
	a.free()
}

// free closes the descriptors.
func (a *listener) free() {
	_ = unix.Close(a.fd)
	if a.from != nil {
		_ = a.from.Close()
	}
}
