package fresh

import "testing"

// TestDomain_Shown: what a copy may show, before and after a fence that began later, and in
// another history.
func TestDomain_Shown(t *testing.T) {
	d := NewDomain(100)
	d.Reset("a", 10, nil, 0)
	before := d.Applied()
	want := func(at int64, want Position) {
		t.Helper()
		fenced := d.FencedAt()
		if got := d.Shown(at, fenced, d.Applied().Pos); got != want {
			t.Errorf("a copy of %d shows nothing behind %d, want %d", at, got, want)
		}
	}
	want(5, 10)
	d.Saw(before, 20)
	d.Saw(before, 15)
	want(5, 20)
	d.Fenced(5)
	want(5, 20) // it began when the copy was made: what is that?
	want(4, 10)
	d.Advance(30)
	want(5, 30)
	d.Reset("a", 12, nil, 0) // the same history
	want(5, 20)
	d.Reset("b", 1, nil, 0)
	want(5, 1)
	d.Saw(before, 40)
	want(5, 1)
}
