package eventloop

import (
	"strings"
	"testing"
)

// Every phase has a name and a way to it, each connection may end at any time, and one
// that has ended does nothing more.
func TestPhases_EachIsReachedAndEnds(t *testing.T) {
	reached := set(accepted)
	for range phases {
		for p := range phase(phases) {
			if p.in(reached) {
				reached |= follows[p]
			}
		}
	}
	for p := range phase(phases) {
		if p.String() == "" || !p.in(reached) {
			t.Errorf("phase %d, %q, is not reached", p, p)
		}
		if ends := closed.in(follows[p]); ends != (p != closed) {
			t.Errorf("%v may end: %v", p, ends)
		}
	}
	if follows[closed] != 0 {
		t.Error("something follows closed")
	}
}

// A connection is counted as busy exactly while another goroutine works for it, and does
// not change its phase in any other way than the table says.
func TestPhases_AreThoseOfTheTable(t *testing.T) {
	l := new(loop)
	c := new(conn)
	for _, step := range []struct {
		to   phase
		busy int32
	}{
		{handshaking, 1}, {reading, 0}, {parked, 1}, {reading, 0}, {handing, 0}, {hijacked, 1}, {reading, 0},
		{parked, 1}, {closing, 0}, {lingering, 0}, {closed, 0},
	} {
		if l.become(c, step.to); c.phase != step.to || l.queue.busy.Load() != step.busy {
			t.Errorf("%v: phase %v, %d busy, want %d", step.to, c.phase, l.queue.busy.Load(), step.busy)
		}
	}
	defer func() {
		if v, _ := recover().(string); !strings.Contains(v, "closed becomes reading") {
			t.Errorf("recovered %q", v)
		}
	}()
	l.become(c, reading)
}
