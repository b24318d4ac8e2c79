package eventloop

import (
	"bytes"
	"strings"
	"testing"
)

// A previousLine answers a line with the line before, of which it has kept the bytes; or
// changes what it must not.
type previousLine struct {
	seer
	kept []byte
}

func (k *previousLine) Step(_ *Conn, in, out []byte) (n int, _ []byte, next Next) {
	line, _, ok := bytes.Cut(in, []byte("\n"))
	switch {
	case !ok:
		return 0, out, More
	case string(line) == "input":
		in[0] = 'I'
	}
	out = append(append(out, k.kept...), '\n')
	k.kept = line
	return len(line) + 1, out, More
}

// The tests of a Protocol find one that keeps or changes what is not its own.
func TestPoison_FindsWhoKeepsOrChangesBytes(t *testing.T) {
	if !poisoned {
		t.Skip("benchmarks run: buffers are as they are in production")
	}
	for _, form := range []string{"epoll", "goroutine"} {
		each(t, []string{form}, Config{Proto: new(previousLine)}, func(t *testing.T, s *site) {
			c := s.dial(t)
			c.send("abc\n")
			c.wantLine("\n")
			c.send("def\n")
			c.wantLine(strings.Repeat(string([]byte{garbage}), 3) + "\n")
			c.send("input\n")
			c.wantEnd()
			if n := s.server.Stats().Panics; n != 1 {
				t.Errorf("%d panics, want one about the input", n)
			}
		})
	}
}

// changer parks for a line, answers it, and changes the answer that it has given away.
type changer struct{ seer }

func (*changer) Step(c *Conn, in, out []byte) (n int, _ []byte, next Next) {
	if n = bytes.IndexByte(in, '\n') + 1; n == 0 {
		return 0, out, More
	}
	answer := []byte("answer\n")
	c.Resume(answer)
	answer[0] = 'A'
	return n, out, Parked
}

// And one that changes what it has given to Resume.
func TestPoison_FindsWhoChangesAnAnswer(t *testing.T) {
	each(t, []string{"epoll", "goroutine"}, Config{Proto: new(changer)}, func(t *testing.T, s *site) {
		c := s.dial(t)
		c.send("abc\n")
		c.wantEnd()
		if n := s.server.Stats().Panics; n != 1 {
			t.Errorf("%d panics, want one about the answer", n)
		}
	})
}
