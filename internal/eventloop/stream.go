package eventloop

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/workers"
)

const (
	firstInput  = 4 << 10 // a stream's read buffer, until it is filled at once
	writeAtOnce = 64 << 10
	recordSize  = 16 << 10 // of TLS
	lingerTime  = 2 * time.Second
	heldFor     = 24 * time.Hour // without a word of the peer while others answer it: see Conn.Hold
)

// A stream is a connection with a goroutine of its own, around any net.Conn. It
// keeps the order and the bounds of a loop's connection; what differs is that a
// peer that takes nothing is not read from either.
type stream struct {
	Conn
	nc     net.Conn
	all    *streams
	buf    []byte  // read and not consumed, with room behind it
	out    *output // from a pool while the protocol is at work
	readBy time.Time
	tickAt time.Time
	half   bool // buf is an unfinished request, whose deadline is set
	opened bool // the protocol knows of it

	poked  atomic.Bool // Tick is to be called
	idle   atomic.Bool // waits for a request of which nothing has come
	answer chan answer // what Resume gives
	home   chan []byte // what comes back from a hand-over; closed: nothing does

	writing  sync.Mutex // held while something is written, and guards writeBy
	writeBy  time.Time
	mu       sync.Mutex // guards the rest
	pushed   []byte     // given to Send, not written
	taken    int        // bytes of it that are being written
	flushing bool       // a goroutine writes what was pushed
	atWork   bool       // answers are made that are not written: what is pushed comes behind
	answered bool       // so is the answer that Resume has given
	hijacked bool       // handed over: what is pushed is lost
	closed   bool
}

// An answer is what Resume was called with.
type answer struct {
	b    []byte
	next Next
	sum  int // in tests
}

// newStream returns a stream that has not been started.
func newStream(all *streams, nc net.Conn) *stream {
	s := &stream{nc: nc, all: all, answer: make(chan answer, 1)}
	s.srv, s.proto, s.own, s.meter = all.srv, all.srv.firstProtocol(), s, all.srv.newMeter()
	return s
}

// run serves the connection to its end.
func (s *stream) run() {
	if tc, ok := s.nc.(*tls.Conn); ok && !s.handshake(tc) {
		return
	}
	defer s.close()
	defer s.rescue()
	s.opened = true
	next := s.ask(func(out []byte) ([]byte, Next) { return s.proto.Open(&s.Conn, out), More })
	for s.flush() {
		switch next {
		case More:
			if !s.read() {
				return
			}
		case Parked:
			if next = s.await(); next != More {
				continue
			}
		case Stream:
			if !s.goOn() {
				return
			}
			next = Close
			continue
		case HandOver:
			if !s.handOver() {
				return
			}
		case Close:
			lingerOn(s.nc)
			return
		}
		next = s.ask(s.step)
	}
}

// rescue ends a connection whose protocol has panicked.
func (s *stream) rescue() {
	if v := recover(); v != nil {
		s.srv.count.panics.Add(1)
		_ = workers.Caught(s.srv.cfg.Log, "serve a connection", v)
	}
}

// ask calls the protocol, whose answers go to s.out, with the state of a loop.
func (s *stream) ask(f func(out []byte) ([]byte, Next)) (next Next) {
	s.mu.Lock()
	s.atWork = true
	s.mu.Unlock()
	s.scope = s.all.getScope()
	if s.out == nil {
		s.out = s.all.getOutput()
	}
	s.out.b, next = f(s.out.b)
	s.all.putScope(s.scope)
	s.scope = nil
	return next
}

// step lets the protocol consume the input.
func (s *stream) step(out []byte) ([]byte, Next) {
	if !s.within && (len(s.buf) == 0 || len(s.buf) < s.want) {
		return out, More
	}
	s.want = 0
	n, out, next := step(&s.Conn, s.buf, out)
	if n > 0 {
		s.half = false
	}
	s.buf = s.buf[:copy(s.buf, s.buf[n:])]
	release(s.buf[len(s.buf):])
	s.mu.Lock()
	s.goesWithin(next)
	s.mu.Unlock()
	return out, next
}

// flush writes the answers. It reports false when the connection is gone.
func (s *stream) flush() bool {
	if s.out == nil {
		return true
	}
	large := len(s.out.b) - int(s.inFlush) // what Resume was given counts until it is written
	if large >= recordSize {               // what is less is not worth a lock
		s.Keep(large)
	}
	s.writing.Lock()
	ok := s.write(s.out.b)
	s.writing.Unlock()
	if large >= recordSize {
		s.Keep(-large)
	}
	s.all.putOutput(s.out)
	s.out = nil
	s.mu.Lock()
	s.atWork = s.within
	s.startPushed()
	s.mu.Unlock()
	s.written()
	s.meterUntaken()
	return ok
}

// read waits for more input. It reports false when there will be none.
func (s *stream) read() bool {
	if !s.makeRoom() {
		s.srv.count.cut.Add(1)
		return false
	}
	for {
		s.arm()
		if s.poked.Swap(false) { // after the deadline is set: see poke
			if !s.callTick() {
				return false
			}
			s.setReadBy(s.readBy)
			continue
		}
		if s.idle.Load() && s.srv.reaping.Load() {
			return false
		}
		n, err := s.nc.Read(s.buf[len(s.buf):cap(s.buf)])
		s.idle.Store(false)
		s.buf = s.buf[:len(s.buf)+n]
		switch {
		case n > 0:
			return true
		case errors.Is(err, os.ErrDeadlineExceeded):
			if s.poked.Load() || s.early() || s.tick() {
				continue
			}
			if !s.srv.reaping.Load() {
				s.srv.count.timedOut.Add(1)
				s.expire()
			}
			return false
		default:
			return false
		}
	}
}

// expire gives the protocol's last word to a peer whose time is over.
func (s *stream) expire() {
	e, ok := s.proto.(Expirer)
	if !ok {
		return
	}
	s.ask(func(out []byte) ([]byte, Next) { return e.Expired(&s.Conn, out), Close })
	if s.flush() {
		lingerOn(s.nc)
	}
}

// makeRoom sees to it that there is room behind the input.
func (s *stream) makeRoom() bool {
	have := len(s.buf)
	if have >= s.srv.cfg.MaxInput {
		return false
	}
	if cap(s.buf) == 0 {
		s.buf = make([]byte, 0, firstInput)
	}
	if have < cap(s.buf) {
		return true
	}
	s.buf = append(make([]byte, 0, min(2*have, have+s.srv.cfg.MaxInput)), s.buf...)
	return true
}

// arm sets the read deadline. That costs a timer, so that of an idle
// connection is put off only when a good part of it has passed.
func (s *stream) arm() {
	now := time.Now()
	cfg := &s.srv.cfg
	by := now.Add(cfg.Idle)
	if len(s.buf) > 0 {
		if !s.half { // once: a trickle does not put it off
			s.half = true
			s.setReadBy(now.Add(cfg.Header))
		}
		return
	}
	if s.held > 0 {
		by = now.Add(heldFor)
	}
	if s.readBy.Before(by.Add(-cfg.Idle/4)) || s.readBy.After(by) {
		s.setReadBy(by)
	}
	s.idle.Store(s.held == 0)
}

// setReadBy sets the read deadline, or that of the next tick.
func (s *stream) setReadBy(t time.Time) {
	s.readBy = t
	if every := s.srv.cfg.Tick; every > 0 {
		if s.tickAt.IsZero() {
			s.tickAt = time.Now().Add(every)
		}
		if s.tickAt.Before(t) {
			t = s.tickAt
		}
	}
	_ = s.nc.SetReadDeadline(t) // fails when the connection has, and so will Read
}

// early reports whether no deadline has passed, after a poke that was heeded before it was
// over. It sets the deadline again.
func (s *stream) early() bool {
	now := time.Now()
	if !s.readBy.After(now) || !s.tickAt.IsZero() && !s.tickAt.After(now) {
		return false
	}
	s.setReadBy(s.readBy)
	return true
}

// tick calls the protocol's Tick if it is time for it. It reports false when
// the read deadline was a real one.
func (s *stream) tick() bool {
	now := time.Now()
	if !s.readBy.After(now) || s.tickAt.IsZero() || s.tickAt.After(now) {
		return false
	}
	s.tickAt = now.Add(s.srv.cfg.Tick)
	if !s.callTick() {
		return false
	}
	s.setReadBy(s.readBy)
	return true
}

// callTick reports whether the connection goes on.
func (s *stream) callTick() bool {
	next := s.ask(func(out []byte) ([]byte, Next) { return s.proto.Tick(&s.Conn, out) })
	return s.flush() && next != Close
}

// await waits for Resume, and returns what it says is next.
func (s *stream) await() Next {
	var tick <-chan time.Time
	if every := s.srv.cfg.Tick; every > 0 {
		t := time.NewTicker(every)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case a := <-s.answer:
			return s.take(a)
		case <-tick:
			if !s.callTick() {
				return Close
			}
		case <-s.srv.aborted:
			return Close
		}
	}
}

// take makes what Resume was called with the output, and returns what it says is next.
func (s *stream) take(a answer) Next {
	unchanged(a.b, a.sum)
	s.out = s.all.getOutput()
	s.out.b = append(s.out.b, a.b...)
	s.inFlush += int64(len(a.b))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atWork, s.answered = true, false
	s.goesWithin(a.next)
	return a.next
}

// write writes b, unless the peer does not take it. It reports false when the
// connection is gone. The caller holds s.writing.
func (s *stream) write(b []byte) bool {
	_, secure := s.nc.(*tls.Conn)
	most := writeAtOnce
	if secure {
		most = recordSize // each is progress
	}
	for len(b) > 0 {
		part := b[:min(len(b), most)]
		now := time.Now()
		if s.writeBy.Before(now.Add(s.srv.cfg.Write * 3 / 4)) {
			s.writeBy = now.Add(s.srv.cfg.Write)
			_ = s.nc.SetWriteDeadline(s.writeBy) // as above
		}
		n, err := s.nc.Write(part)
		b = b[n:]
		late := errors.Is(err, os.ErrDeadlineExceeded)
		switch {
		case err == nil:
		case late && n > 0 && !secure: // under TLS a time-out is the end
			s.writeBy = time.Time{}
		default:
			if late {
				s.srv.count.timedOut.Add(1)
			}
			s.cut()
			return false
		}
	}
	return true
}

// resume is Conn.Resume.
func (s *stream) resume(b []byte, next Next) {
	defer s.meterUntaken() // behind the lock, which Backlog takes
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resumed.Add(int64(len(b))) // before it is taken
	select {
	case s.answer <- answer{b, next, sum(b)}:
		s.answered = true
	default: // called twice
		s.resumed.Add(-int64(len(b)))
	}
}

// poke is Conn.Poke. Who reads sets its deadline and looks at poked then, so that it sees
// one of the two; or both, one after the other.
func (s *stream) poke() {
	s.poked.Store(true)
	_ = s.nc.SetReadDeadline(longAgo)
}

// hold is Conn.Hold.
func (s *stream) hold(int) {}

// secured returns the connection's TLS.
func (s *stream) secured() *tls.Conn {
	tc, _ := s.nc.(*tls.Conn)
	return tc
}

// cut closes the connection without another word. Under TLS the last one would
// have to wait for the peer.
func (s *stream) cut() {
	nc := s.nc
	if tc, ok := nc.(*tls.Conn); ok {
		nc = tc.NetConn()
	}
	_ = nc.Close()
}

// close closes the connection. Everything that is called later does nothing.
func (s *stream) close() {
	s.mu.Lock()
	s.closed, s.pushed = true, nil
	s.mu.Unlock()
	_ = s.nc.Close()
	s.all.forget(s)
	if e, ok := s.proto.(Ender); ok && s.opened {
		e.End(&s.Conn)
	}
	s.closeMeter()
	s.srv.gate.Leave(s.from)
}

// lingerOn gives the peer time to take the last answer: closing while it sends, or
// before it sends more, would reset the connection, which may overtake the answer.
func lingerOn(nc net.Conn) {
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || nc.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	buf := make([]byte, firstInput)
	for total := 0; total < 256<<10; {
		n, err := nc.Read(buf)
		if err != nil {
			return
		}
		total += n
	}
}

func (s *stream) localAddr() net.Addr  { return s.nc.LocalAddr() }
func (s *stream) remoteAddr() net.Addr { return s.nc.RemoteAddr() }
