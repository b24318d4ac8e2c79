package eventloop

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
)

// A seer answers a line with itself, and writes down what it prefetches. The line
// "wait" holds the loop until it is released, "end" is answered by "ended" and the
// end of the connection.
type seer struct {
	waits, release chan struct{}
	prefetched     [][]string // one batch each
	angry          atomic.Bool
}

func (*seer) Open(_ *Conn, out []byte) []byte         { return out }
func (*seer) Tick(_ *Conn, out []byte) ([]byte, Next) { return out, More }

func (s *seer) Prefetch(_ Scope, inputs [][]byte) {
	var batch []string
	for _, in := range inputs {
		batch = append(batch, string(in[:min(len(in), 8)]))
	}
	s.prefetched = append(s.prefetched, batch)
	if s.angry.Load() {
		panic("a seer's nerves")
	}
}

func (s *seer) Step(_ *Conn, in, out []byte) (n int, _ []byte, next Next) {
	for {
		line, _, ok := bytes.Cut(in[n:], []byte("\n"))
		if !ok {
			return n, out, More
		}
		if string(line) == "wait" {
			close(s.waits)
			<-s.release
		}
		n += len(line) + 1
		if string(line) == "end" {
			return n, append(out, "ended\n"...), Close
		}
		out = append(append(out, line...), '\n')
	}
}

func TestBatch_PrefetchesWhatHasComeTogether(t *testing.T) {
	for _, angry := range []bool{false, true} {
		t.Run(fmt.Sprintf("panics=%t", angry), func(t *testing.T) {
			p := &seer{waits: make(chan struct{}), release: make(chan struct{})}
			p.angry.Store(angry)
			run(t, "epoll", Config{Proto: p, Loops: 1}, func(t *testing.T, s *site) {
				testBatch(t, s, p)
			})
			// The loop has ended: what it has written may be read.
			seen, shared := 0, 0
			for _, b := range p.prefetched {
				seen += len(b)
				if len(b) < 2 || len(b) > batchSize {
					t.Errorf("a batch of %d", len(b))
				}
				if len(b) == batchSize {
					shared++
				}
			}
			if seen < 40 || shared < 2 {
				t.Errorf("%d inputs prefetched, %d full batches: %q", seen, shared, p.prefetched)
			}
		})
	}
}

func testBatch(t *testing.T, s *site, p *seer) {
	var peers []*client
	for range 42 {
		c := s.dial(t)
		c.send("hello\n") // it is the loop's, and was answered
		c.wantLine("hello\n")
		peers = append(peers, c)
	}
	holder := s.dial(t)
	holder.send("wait\n")
	<-p.waits
	large := strings.Repeat("x", 3*batchRead) + "\n" // more than its part of the buffer
	for i, c := range peers {
		switch {
		case i%20 == 7:
			c.send(large)
		case i%20 == 9:
			c.send("half a ")
		default:
			c.send(fmt.Sprintf("line %d\nand %d\n", i, i))
		}
	}
	close(p.release)
	holder.wantLine("wait\n")
	for i, c := range peers {
		switch {
		case i%20 == 7:
			c.wantLine(large)
		case i%20 == 9:
			c.send("line\n")
			c.wantLine("half a line\n")
		default:
			c.wantLine(fmt.Sprintf("line %d\nand %d\n", i, i))
		}
	}
}

// wantLine reads exactly text.
func (c *client) wantLine(text string) {
	c.t.Helper()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c.r, got); err != nil || string(got) != text {
		c.t.Fatalf("read %.40q, %v; want %.40q", got, err, text)
	}
}

// A connection that ends goes on sending, and what it sends is thrown away while the
// input of others, which were read in the same wake-up, still waits for its turn.
func TestBatch_AnswersEveryConnectionFromItsOwnInput(t *testing.T) {
	for _, form := range []string{"epoll", "tlsloop"} {
		t.Run("form="+form, func(t *testing.T) {
			p := &seer{waits: make(chan struct{}), release: make(chan struct{})}
			run(t, form, Config{Proto: p, Loops: 1}, func(t *testing.T, s *site) {
				testEndsAmongOthers(t, s, p)
			})
		})
	}
}

func testEndsAmongOthers(t *testing.T, s *site, p *seer) {
	var peers []*client
	for range 4 * batchSize {
		c := s.dial(t)
		c.send("hello\n")
		c.wantLine("hello\n")
		peers = append(peers, c)
	}
	holder := s.dial(t)
	holder.send("wait\n")
	<-p.waits
	ends := func(i int) bool { return i%10 == 3 }
	for i, c := range peers {
		if ends(i) { // less than the sockets hold, for the loop does not read now
			c.send("end\n" + strings.Repeat("another's\n", 10_000))
			continue
		}
		c.send(fmt.Sprintf("line %d\nand %d\n", i, i))
	}
	close(p.release)
	holder.wantLine("wait\n")
	for i, c := range peers {
		if ends(i) {
			c.wantLine("ended\n")
			continue
		}
		c.wantLine(fmt.Sprintf("line %d\nand %d\n", i, i))
		c.send("more\n")
		c.wantLine("more\n")
	}
}
