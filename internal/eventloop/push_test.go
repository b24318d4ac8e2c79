package eventloop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// toy is a multiplexed protocol: frames of length, id, kind and text, answers
// in any order, and pushes.
type toy struct {
	late  chan func()  // answers of 'l', to be given when the test wants
	echos atomic.Int64 // that were asked for
	ended atomic.Int64 // calls of End
	woken atomic.Int64 // calls of Scope.BeginTurn
	mu    sync.Mutex   // guards conns
	conns []*Conn
}

// last returns the connection that was opened last.
func (p *toy) last() *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns[len(p.conns)-1]
}

// The kinds of frames.
const (
	toyEcho   = 'e' // answered by Step
	toyLate   = 'l' // answered by Send, later
	toyPark   = 'p' // answered by Resume
	toyMany   = 'm' // answered by a thousand pushes
	toyPanic  = '!'
	toyBanner = 'b' // sent by Open
	toyBeat   = 't' // sent by Tick
)

// toyScope counts in place of keeping a block of headers.
type toyScope struct{ p *toy }

func (s *toyScope) BeginTurn(now time.Time) {
	if now.IsZero() {
		panic("BUG: no time")
	}
	s.p.woken.Add(1)
}

func toyFrame(dst []byte, id uint32, kind byte, text []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(text)))
	dst = binary.BigEndian.AppendUint32(dst, id)
	return append(append(dst, kind), text...)
}

func (p *toy) Open(c *Conn, out []byte) []byte {
	c.Data = p
	p.mu.Lock()
	p.conns = append(p.conns, c)
	p.mu.Unlock()
	return toyFrame(out, 0, toyBanner, []byte("toy"))
}

func (p *toy) Tick(c *Conn, out []byte) ([]byte, Next) {
	return toyFrame(out, 0, toyBeat, nil), More
}

func (p *toy) End(c *Conn) {
	if c.Data != p {
		panic("BUG: another connection's data")
	}
	p.ended.Add(1)
}

func (p *toy) Step(c *Conn, in, out []byte) (n int, _ []byte, next Next) {
	if _, ok := c.Scope().(*toyScope); !ok {
		panic("BUG: no scope")
	}
	for len(in)-n >= 9 {
		size := int(binary.BigEndian.Uint32(in[n:]))
		id, kind := binary.BigEndian.Uint32(in[n+4:]), in[n+8]
		if len(in)-n < 9+size {
			c.Want(9 + size)
			return n, out, More
		}
		text := bytes.Clone(in[n+9 : n+9+size])
		n += 9 + size
		switch kind {
		case toyEcho:
			p.echos.Add(1)
			out = toyFrame(out, id, kind, text)
		case toyLate:
			p.late <- func() { c.Send(toyFrame(nil, id, kind, text)) }
		case toyPark:
			go c.Resume(toyFrame(nil, id, kind, text))
			return n, out, Parked
		case toyMany:
			go func() {
				for i := range uint32(1000) {
					if !c.Send(toyFrame(nil, i, kind, text)) {
						return
					}
				}
			}()
		case toyPanic:
			panic("BUG: asked for")
		default:
			return n, out, Close
		}
		if len(out) >= FlushSize {
			return n, out, Flush
		}
	}
	return n, out, More
}

// toyRead reads one frame.
func toyRead(r io.Reader) (id uint32, kind byte, text string, err error) {
	var head [9]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, "", err
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err = io.ReadFull(r, b)
	return binary.BigEndian.Uint32(head[4:]), head[8], string(b), err
}

// frame reads one frame and compares it.
func (c *client) frame(id uint32, kind byte, text string) {
	c.t.Helper()
	i, k, s, err := toyRead(c.r)
	if i != id || k != kind || s != text || err != nil {
		c.t.Fatalf("frame %d %c %.40q, %v, want %d %c %.40q", i, k, s, err, id, kind, text)
	}
}

// eachToy runs a test of the toy over every form of ours.
func eachToy(t *testing.T, c Config, f func(t *testing.T, s *site, p *toy)) {
	var p *toy
	for _, form := range loopForms {
		p = &toy{late: make(chan func(), 4096)}
		c.Proto, c.Scope = p, func() Scope { return &toyScope{p} }
		each(t, []string{form}, c, func(t *testing.T, s *site) { f(t, s, p) })
		if n := p.ended.Load(); n != int64(len(p.conns)) {
			t.Errorf("%s: %d connections, %d ends", form, len(p.conns), n)
		}
	}
}

func TestPush_AnswersInAnyOrder(t *testing.T) {
	eachToy(t, Config{MaxOutput: 1 << 20}, func(t *testing.T, s *site, p *toy) {
		c := s.dial(t)
		c.frame(0, toyBanner, "toy")
		var b []byte
		for id := range uint32(100) {
			kind := byte(toyLate)
			if id%2 == 0 {
				kind = toyEcho
			}
			b = toyFrame(b, id, kind, fmt.Append(nil, "text ", id))
		}
		b = toyFrame(b, 100, toyPark, []byte("parked"))
		b = toyFrame(b, 101, toyEcho, []byte("behind"))
		c.send(string(b))
		for id := uint32(0); id < 100; id += 2 {
			c.frame(id, toyEcho, fmt.Sprint("text ", id))
		}
		c.frame(100, toyPark, "parked") // answers of Step and Resume keep their order
		c.frame(101, toyEcho, "behind")
		var answers []func()
		for range 50 {
			answers = append(answers, <-p.late)
		}
		rand.Shuffle(50, func(i, j int) { answers[i], answers[j] = answers[j], answers[i] })
		for _, f := range answers {
			f()
		}
		seen := map[uint32]bool{}
		for range 50 {
			id, kind, text, err := toyRead(c.r)
			if err != nil || kind != toyLate || text != fmt.Sprint("text ", id) || seen[id] {
				t.Fatalf("frame %d %c %q, %v", id, kind, text, err)
			}
			seen[id] = true
		}
		if p.woken.Load() == 0 {
			t.Error("the scope was never woken")
		}
	})
}

// TestPush_KeepsFramesWhole has pushes and answers compete.
func TestPush_KeepsFramesWhole(t *testing.T) {
	eachToy(t, Config{MaxOutput: 4 << 20}, func(t *testing.T, s *site, p *toy) {
		c := s.dial(t)
		c.frame(0, toyBanner, "toy")
		text := bytes.Repeat([]byte("0123456789"), 100)
		go func() {
			c.send(string(toyFrame(nil, 0, toyMany, text)))
			for i := range uint32(1000) {
				c.send(string(toyFrame(nil, i, toyEcho, text)))
			}
		}()
		var pushes, echoes uint32
		for pushes+echoes < 2000 {
			id, kind, got, err := toyRead(c.r)
			if err != nil || got != string(text) {
				t.Fatalf("frame %d %c %.40q, %v", id, kind, got, err)
			}
			next := &pushes // each in its own order
			if kind == toyEcho {
				next = &echoes
			}
			if id != *next {
				t.Fatalf("%c %d, want %d", kind, id, *next)
			}
			*next++
		}
	})
}

// TestPush_ForgetsWhatIsTaken: only what a peer does not take counts against it,
// however much it is sent.
func TestPush_ForgetsWhatIsTaken(t *testing.T) {
	c := Config{MaxOutput: 16 << 10}
	eachToy(t, c, func(t *testing.T, s *site, p *toy) {
		c := s.dial(t)
		c.frame(0, toyBanner, "toy")
		text := string(bytes.Repeat([]byte("0123456789"), 100))
		for id := range uint32(200) {
			c.send(string(toyFrame(nil, id, toyLate, []byte(text))))
			(<-p.late)()
			c.frame(id, toyLate, text)
		}
		conn := p.last()
		eventually(t, "nothing is left", func() bool { return conn.Backlog() == 0 })
	})
}

// TestPush_CutsPeersThatDoNotRead: what Send keeps for a peer is bounded.
func TestPush_CutsPeersThatDoNotRead(t *testing.T) {
	c := Config{MaxOutput: 64 << 10, Write: time.Minute}
	eachToy(t, c, func(t *testing.T, s *site, p *toy) {
		c := s.dial(t)
		c.small()
		c.frame(0, toyBanner, "toy")
		conn := p.last()
		b := toyFrame(nil, 1, toyMany, make([]byte, 1000))
		taken := 0
		eventually(t, "Send refuses", func() bool {
			for range 100 {
				if !conn.Send(b) {
					return true
				}
				taken += len(b)
			}
			return false
		})
		eventually(t, "the connection is cut", func() bool { return s.server.Stats().Cut == 1 })
		eventually(t, "the connection ends", func() bool { return s.server.Stats().Open == 0 })
		if conn.Send(b) {
			t.Error("a closed connection takes more")
		}
		t.Logf("%d bytes taken", taken)
		_, err := io.Copy(io.Discard, c.r)
		var timeout interface{ Timeout() bool }
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Error("the peer is not told")
		}
	})
}

// TestPush_CutsBehindALargeAnswer: what cannot be sent behind an answer that the peer has not
// taken is not lost in silence.
func TestPush_CutsBehindALargeAnswer(t *testing.T) {
	c := Config{MaxInput: 1 << 20, MaxOutput: 16 << 10, Write: time.Minute}
	eachToy(t, c, func(t *testing.T, s *site, p *toy) {
		c := s.dial(t)
		c.small()
		c.frame(0, toyBanner, "toy")
		conn := p.last()
		go c.send(string(toyFrame(nil, 1, toyEcho, make([]byte, 1<<20-100))))
		eventually(t, "it is asked", func() bool { return p.echos.Load() > 0 })
		begun := time.Now() // a goroutine does not count what it is writing
		eventually(t, "the answer waits", func() bool {
			return conn.Backlog() > 64<<10 || time.Since(begun) > 300*time.Millisecond
		})
		if !conn.Send(toyFrame(nil, 2, toyLate, []byte("push"))) {
			eventually(t, "the connection is cut", func() bool { return s.server.Stats().Cut == 1 })
			return
		}
		c.frame(1, toyEcho, string(make([]byte, 1<<20-100)))
		c.frame(2, toyLate, "push")
	})
}

// TestPush_ReadsLargeRequests: beyond the loop's buffer, up to MaxInput.
func TestPush_ReadsLargeRequests(t *testing.T) {
	c := Config{MaxInput: 1 << 20}
	eachToy(t, c, func(t *testing.T, s *site, p *toy) {
		c := s.dial(t)
		c.frame(0, toyBanner, "toy")
		var b []byte
		sizes := []int{0, 10, 20_000, 70_000, 1, 500_000, 1<<20 - 9}
		for i, size := range sizes {
			b = toyFrame(b, uint32(i), toyEcho, bytes.Repeat([]byte{byte(i)}, size))
		}
		go c.send(string(b))
		for i, size := range sizes {
			c.frame(uint32(i), toyEcho, string(bytes.Repeat([]byte{byte(i)}, size)))
		}
		go func() { _, _ = c.Write(toyFrame(nil, 0, toyEcho, make([]byte, 1<<20))) }()
		c.wantEnd()
		if n := s.server.Stats().Cut; n != 1 {
			t.Errorf("%d connections cut, want 1", n)
		}
	})
}

func TestTick_IsCalled(t *testing.T) {
	c := Config{Tick: 100 * time.Millisecond}
	eachToy(t, c, func(t *testing.T, s *site, p *toy) {
		c := s.dial(t)
		c.frame(0, toyBanner, "toy")
		start := time.Now()
		for range 3 {
			c.frame(0, toyBeat, "")
		}
		if d := time.Since(start); d < 200*time.Millisecond || waittest.Late(d, 3*time.Second) {
			t.Errorf("three ticks in %v, want 0.3 s", d)
		}
	})
}

func TestLoop_SurvivesProtocolPanics(t *testing.T) {
	eachToy(t, Config{}, func(t *testing.T, s *site, p *toy) {
		c := s.dial(t)
		c.frame(0, toyBanner, "toy")
		c.send(string(toyFrame(toyFrame(nil, 1, toyEcho, nil), 2, toyPanic, nil)))
		c.wantEnd()
		c = s.dial(t)
		c.frame(0, toyBanner, "toy")
		if n := s.server.Stats().Panics; n != 1 {
			t.Errorf("%d panics counted, want 1", n)
		}
	})
}
