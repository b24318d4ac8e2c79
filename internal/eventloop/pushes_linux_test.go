package eventloop

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// A teller answers the line "ask" with how many of its peers have been sent something, and
// holds the loop at "wait" until it is released.
type teller struct {
	seer
	mu    sync.Mutex
	conns []*Conn
	peers []*client
}

func (p *teller) Open(c *Conn, out []byte) []byte {
	p.mu.Lock()
	p.conns = append(p.conns, c)
	p.mu.Unlock()
	return out
}

func (p *teller) Step(c *Conn, in, out []byte) (n int, _ []byte, next Next) {
	if string(in) != "ask\n" {
		return p.seer.Step(c, in, out)
	}
	told := 0
	for _, peer := range p.peers {
		if peer.waiting() > 0 {
			told++
		}
	}
	return len(in), fmt.Appendf(out, "%03d\n", told), More
}

// waiting returns how many bytes have come that nobody has read.
func (c *client) waiting() (n int) {
	raw, err := c.Conn.(*net.TCPConn).SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	if err != nil {
		panic(err)
	}
	return n
}

// When many are told of something, who asks meanwhile waits for a few of them only.
func TestPush_ManyLetOthersPass(t *testing.T) {
	p := &teller{seer: seer{waits: make(chan struct{}), release: make(chan struct{})}}
	run(t, "epoll", Config{Proto: p, Loops: 1}, func(t *testing.T, s *site) {
		for range 400 {
			c := s.dial(t)
			c.send("hello\n") // it is the loop's, and was answered
			c.wantLine("hello\n")
			p.peers = append(p.peers, c)
		}
		p.mu.Lock()
		told := p.conns
		p.conns = nil
		p.mu.Unlock()
		asker, holder := s.dial(t), s.dial(t)
		asker.send("hello\n")
		asker.wantLine("hello\n")
		holder.send("wait\n")
		<-p.waits
		for i, c := range told {
			c.Send(fmt.Appendf(nil, "%03d ", i))
			c.Send([]byte("changed\n")) // both are one write
		}
		asker.send("ask\n")
		close(p.release)
		got := asker.line()
		if got < "000" || got > "032" {
			t.Errorf("%s of %d were told before one who asked", got, len(told))
		}
		for _, c := range p.peers {
			if text := c.line(); !strings.HasSuffix(text, " changed") {
				t.Errorf("was told %q", text)
			}
		}
	})
}

// line reads a line.
func (c *client) line() string {
	c.t.Helper()
	text, err := c.r.ReadString('\n')
	if err != nil {
		c.t.Fatalf("read %q, %v", text, err)
	}
	return strings.TrimSuffix(text, "\n")
}

// TestPush_ListIsBounded: while there is always somebody who waits for a push.
func TestPush_ListIsBounded(t *testing.T) {
	l := new(loop)
	put := func(n int) {
		for range n {
			l.dirty = append(l.dirty, &conn{phase: closed, dirty: true})
		}
	}
	put(100)
	for range 10_000 {
		l.sendPushes()
		put(pushesAtOnce)
	}
	if n := len(l.dirty) - l.pushed; n != 100 || cap(l.dirty) > 1000 {
		t.Errorf("%d wait, in a list of %d", n, cap(l.dirty))
	}
}

// TestPush_AllAreToldInTime: of any number, in turns that grow with it.
func TestPush_AllAreToldInTime(t *testing.T) {
	l := new(loop)
	for range 100_000 {
		l.dirty = append(l.dirty, &conn{phase: closed, dirty: true})
	}
	turns := 0
	for ; len(l.dirty) > 0; turns++ {
		l.sendPushes()
	}
	if turns > 1000 {
		t.Errorf("100,000 were told in %d turns", turns)
	}
}
