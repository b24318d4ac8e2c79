package lane

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A poster's input is digits that get no answer, and letters that come back.
type poster struct{}

func (poster) Open(_ *Conn, out []byte) []byte         { return out }
func (poster) Tick(_ *Conn, out []byte) ([]byte, Next) { return out, More }

func (poster) Step(c *Conn, in, out []byte) (int, []byte, Next) {
	asked := func(b byte) bool { return b > '9' }
	c.OneWay = !slices.ContainsFunc(in, asked)
	for _, b := range in {
		if asked(b) {
			out = append(out, b)
		}
	}
	return len(in), out, More
}

// TestLoop_LetsMoreComeWhereNobodyWaits runs the turns of a loop over two connections, and
// looks at what each has brought: one answer that is waited for is enough to go on at once,
// for a while.
func TestLoop_LetsMoreComeWhereNobodyWaits(t *testing.T) {
	s := &Server{cfg: Config{Proto: poster{}}.withDefaults(), start: time.Now(),
		aborted: make(chan struct{})}
	l, err := newLoop(s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.free()
	var peers, ours [2]int
	for i := range peers {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		peers[i], ours[i] = pair[0], pair[1]
		defer func() { _ = unix.Close(peers[i]) }()
		l.adopt(ours[i])
	}
	l.wait()
	l.work()
	for _, c := range []struct {
		in     [2]string
		answer [2]string
		gather bool
		before int64 // ticks since somebody has asked
	}{
		{in: [2]string{"1", ""}, gather: true, before: 5},
		{in: [2]string{"12", "3"}, gather: true, before: 5},
		{in: [2]string{"12", "3"}, before: -1000},
		{in: [2]string{"a", ""}, answer: [2]string{"a", ""}, before: 5},
		{in: [2]string{"1", "a"}, answer: [2]string{"", "a"}, before: 5},
		{in: [2]string{"a", "1"}, answer: [2]string{"a", ""}, before: 5},
		{in: [2]string{"1a", ""}, answer: [2]string{"a", ""}, before: 5},
		{in: [2]string{"", "1"}, gather: true, before: 5},
	} {
		for i, text := range c.in {
			if text != "" {
				if _, err := unix.Write(peers[i], []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
		}
		l.askedAt = l.tick - c.before
		l.wait()
		l.work()
		if got := l.mayGather(); got != c.gather {
			t.Errorf("%q, %d ticks after a question: lets more come: %t, want %t",
				c.in, c.before, got, c.gather)
		}
		for i, want := range c.answer {
			buf := make([]byte, 10)
			n, _ := unix.Read(peers[i], buf)
			if got := string(buf[:max(n, 0)]); got != want {
				t.Errorf("%q: connection %d gets %q, want %q", c.in, i, got, want)
			}
		}
	}
	for _, fd := range ours {
		l.drop(l.conns[fd])
	}
}
