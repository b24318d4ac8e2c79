package eventloop

import (
	"encoding/binary"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// lengthy answers a request of 4 bytes, a length, by so many bytes: 'x' made in pieces, an
// 'e' for the last. A length of 0 is parked for, and answered in pieces then.
type lengthy struct{ conn atomic.Pointer[Conn] }

func (p *lengthy) Open(c *Conn, out []byte) []byte {
	c.Data = new(int)
	p.conn.Store(c)
	return out
}

func (p *lengthy) Tick(_ *Conn, out []byte) ([]byte, Next) { return out, More }

func (p *lengthy) Step(c *Conn, in, out []byte) (n int, _ []byte, next Next) {
	left := c.Data.(*int)
	for {
		if *left > 0 {
			some := min(*left, 32<<10)
			out = append(out, strings.Repeat("x", some)...)
			if *left -= some; *left > 0 {
				return n, out, Again
			}
			out[len(out)-1] = 'e'
			return n, out, Flush
		}
		if len(in)-n < 4 {
			return n, out, More
		}
		*left = int(binary.BigEndian.Uint32(in[n:]))
		if n += 4; *left == 0 {
			*left = 100_000
			go c.ResumeThen([]byte("x"), Again)
			return n, out, Parked
		}
	}
}

// wantLong reads an answer of n bytes.
func (c *client) wantLong(n int) {
	c.t.Helper()
	_ = c.SetReadDeadline(waittest.Deadline(time.Minute))
	b := make([]byte, n)
	if _, err := io.ReadFull(c.r, b); err != nil {
		c.t.Fatal(err)
	}
	if got := string(b); strings.Trim(got[:n-1], "x") != "" || got[n-1] != 'e' {
		c.t.Fatalf("something stands within an answer of %d bytes", n)
	}
}

func long(n ...int) string {
	var b []byte
	for _, n := range n {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return string(b)
}

// gauge is a Meter.
type gauge struct{ now, most atomic.Int64 }

func (g *gauge) Untaken(n int64) { g.most.Store(max(g.most.Load(), g.now.Add(n))) }
func (g *gauge) Close()          {}

// TestAgain_MakesAnswersInPieces: an answer is made as its peer takes it, what is pushed
// comes behind it, and others have their turns meanwhile.
func TestAgain_MakesAnswersInPieces(t *testing.T) {
	for _, form := range loopForms {
		p, g := new(lengthy), new(gauge)
		c := Config{Proto: p, Loops: 1, MaxOutput: 256 << 10, Meter: func() Meter { return g }}
		each(t, []string{form}, c, func(t *testing.T, s *site) {
			const large = 64 << 20
			slow := s.dial(t)
			slow.small()
			slow.send(long(large, 7, 0, 9))
			if _, err := slow.r.Peek(1); err != nil {
				t.Fatal(err)
			}
			if !p.conn.Load().Send([]byte("push")) {
				t.Fatal("a push is refused")
			}
			quick, asked := s.dial(t), time.Now()
			for range 10 {
				quick.send(long(5))
				quick.wantLong(5)
			}
			if took := time.Since(asked); waittest.Late(took, 5*time.Second) {
				t.Errorf("others wait %v", took)
			}
			slow.wantLong(large)
			rest := make([]byte, 7+100_001+9+len("push"))
			if _, err := io.ReadFull(slow.r, rest); err != nil {
				t.Fatal(err)
			}
			answers := []string{}
			for _, n := range []int{7, 100_001, 9} {
				answers = append(answers, strings.Repeat("x", n-1)+"e")
			}
			at := strings.Index(string(rest), "push") // goroutines may send it behind others
			if at < 0 || at > 0 && rest[at-1] != 'e' ||
				strings.Replace(string(rest), "push", "", 1) != strings.Join(answers, "") {
				t.Fatalf("the push stands within an answer, at %d", at)
			}
			if most := g.most.Load(); most < 32<<10 || most > 2<<20 {
				t.Errorf("%d bytes waited at most", most)
			}
			eventually(t, "nothing waits", func() bool { return g.now.Load() == 0 })
		})
	}
}

// TestAgain_HogsTakeTurns: however fast peers take endless answers, others wait for a piece
// of each at most.
func TestAgain_HogsTakeTurns(t *testing.T) {
	c := Config{Proto: new(lengthy), Loops: 1}
	each(t, []string{"epoll"}, c, func(t *testing.T, s *site) {
		for range 8 {
			hog := s.dial(t)
			defer hog.Close() // else the end of the site waits until it has all
			hog.send(long(1 << 30))
			go func() { _, _ = io.Copy(io.Discard, hog) }()
		}
		quick := s.dial(t)
		asked := time.Now()
		for range 20 {
			quick.send(long(5))
			quick.wantLong(5)
		}
		if took := time.Since(asked); waittest.Late(took, 10*time.Second) {
			t.Errorf("20 answers beside hogs took %v", took)
		}
	})
}
