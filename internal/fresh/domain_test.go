package fresh

import (
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

func TestDomain_GateIsOpenForStaleAfter(t *testing.T) {
	tests := []struct {
		name   string
		fenced int64 // 0: never
		now    int64
		state  State
		lag    time.Duration
	}{
		{"never fenced, the clock has just begun", 0, 5, Lagging, 5},
		{"just fenced", 1000, 1000, Fresh, 0},
		{"within", 1000, 1099, Fresh, 99},
		{"at the end", 1000, 1100, Fresh, 100},
		{"after", 1000, 1101, Lagging, 101},
		{"long after, as when the process was stopped", 1000, 1e12, Lagging, 1e12 - 1000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDomain(100)
			if tt.fenced != 0 {
				d.Fenced(tt.fenced)
			}
			if state, lag := d.Gate(tt.now); state != tt.state || lag != tt.lag {
				t.Errorf("Gate(%d) = %v, %v, want %v, %v", tt.now, state, lag, tt.state, tt.lag)
			}
		})
	}
}

// TestDomain_FencedNeverGoesBack: of two fences under way the older may be
// reached last.
func TestDomain_FencedNeverGoesBack(t *testing.T) {
	d := NewDomain(100)
	d.Fenced(2000)
	d.Fenced(1000)
	if _, lag := d.Gate(2000); lag != 0 {
		t.Errorf("the lag is %v after an older fence, want 0", lag)
	}
}

func TestDomain_PositionNeverGoesBackInAnEpoch(t *testing.T) {
	d := NewDomain(100)
	d.Reset("a", 10, nil, 0)
	d.Advance(20)
	d.Advance(15)
	d.Apply(12, nil, nil, 0)
	if p := d.Applied(); *p != (Progress{1, "a", 20}) {
		t.Errorf("Applied() = %v, want 20", *p)
	}
	d.Reset("b", 3, nil, 0)
	if p := d.Applied(); *p != (Progress{2, "b", 3}) {
		t.Errorf("Applied() = %v after Reset, want 3 of b", *p)
	}
}

// TestDomain_ABeginningIsUnsettled: nothing that is read before what the epoch began
// behind is proven visible is stored, nor said to be complete up to anywhere.
func TestDomain_ABeginningIsUnsettled(t *testing.T) {
	d := NewDomain(100)
	s := d.NewSpace(func(row.Key) {}, noCopies)
	d.Reset("a", 10, "before", 7)
	load := func(want bool, pos Position) {
		t.Helper()
		l, _ := s.Begin("k", row.FormatJSON, Settled)
		if s.Send(l); l.AsOf.Pos != pos || l.settled != want {
			t.Errorf("as of %d, settled %v, want %d, %v", l.AsOf.Pos, l.settled, pos, want)
		}
		s.Finish(l, row.NoRow(l.Stamp), nil, func() {})
		if l.Stored() != want {
			t.Errorf("stored: %v, want %v", l.Stored(), want)
		}
	}
	load(false, 0)
	d.Advance(12)
	load(false, 0)
	if p := d.Settled(); p.Pos != 0 || d.Applied().Pos != 12 {
		t.Errorf("settled to %d, applied to %d, want 0, 12", p.Pos, d.Applied().Pos)
	}
	late := d.NewSpace(func(row.Key) {}, noCopies)
	if late.wholes.Load() != 1 {
		t.Error("a space that comes meanwhile is not marked")
	}
	p := d.Unsettled()
	if len(p) != 1 || p[0].Ref != "before" || p[0].Since != 7 {
		t.Fatalf("unsettled is %v, want what the epoch began behind", p)
	}
	d.Reset("a", 20, "again", 8) // it cannot be proven any more
	d.Settle(p[0])
	load(false, 0)
	d.Settle(d.Unsettled()[0])
	load(true, 20)
	if late.wholes.Load() != 0 {
		t.Error("a space that came meanwhile stays marked")
	}
}

func TestDomain_ChangedWakes(t *testing.T) {
	tests := []struct {
		name string
		do   func(*Domain)
		want bool
	}{
		{"Reset", func(d *Domain) { d.Reset("b", 1, nil, 0) }, true},
		{"Apply", func(d *Domain) { d.Apply(11, nil, nil, 0) }, true},
		{"Advance", func(d *Domain) { d.Advance(11) }, true},
		{"Advance to where it is", func(d *Domain) { d.Advance(10) }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDomain(100)
			d.Reset("a", 10, nil, 0)
			for range 2 { // the second waiter has a channel of its own
				p, changed := d.Changed()
				if p != d.Applied() {
					t.Error("Changed does not return the progress")
				}
				tt.do(d)
				select {
				case <-changed:
					if !tt.want {
						t.Error("woken, and nothing has changed")
					}
				default:
					if tt.want {
						t.Error("not woken")
					}
				}
				if tt.name != "Reset" {
					d.Reset("a", 10, nil, 0)
				}
			}
		})
	}
}

func TestDomain_SuspectSaysHowOldACopyMayBe(t *testing.T) {
	d := NewDomain(100)
	s := d.NewSpace(func(row.Key) {}, noCopies)
	d.Reset("a", 1, nil, 0)
	first := row.Stamp{Epoch: 1}
	d.Fenced(1000)
	check := func(what string, st row.Stamp, now int64, want time.Duration, ok bool) {
		t.Helper()
		if age, got := d.Suspect(s, st, now); age != want || got != ok {
			t.Errorf("%s: Suspect = %v, %v, want %v, %v", what, age, got, want, ok)
		}
	}
	check("of this epoch", first, 1050, 50, true)
	d.Reset("a", 2, nil, 0)
	d.Fenced(1500)
	check("of the epoch before", first, 1600, 600, true)
	check("of this epoch", row.Stamp{Epoch: 2}, 1600, 100, true)
	check("of an epoch that nobody knows", row.Stamp{Epoch: 7}, 1600, 0, false)
	for i := range len(d.past) {
		d.Reset("a", Position(3+i), nil, 0)
	}
	check("of an epoch long ago", first, 1700, 0, false)
	check("of one not so long ago", row.Stamp{Epoch: 3}, 1700, 200, true)
	s.DropAll()
	check("of another generation", row.Stamp{Epoch: d.epoch.Load()}, 1700, 0, false)
	check("of this generation", row.Stamp{Epoch: d.epoch.Load(), Generation: 1}, 1700, 200, true)

	never := NewDomain(100)
	s = never.NewSpace(func(row.Key) {}, noCopies)
	never.Reset("a", 1, nil, 0)
	never.Reset("a", 2, nil, 0)
	if _, ok := never.Suspect(s, first, 50); ok {
		t.Error("a copy of an epoch in which no fence was reached is vouched for")
	}
}

func TestDomain_SettledToIsBeforeWhatIsPending(t *testing.T) {
	d := NewDomain(100)
	d.Reset("a", 10, nil, 0)
	d.Apply(12, nil, "x", 0)
	d.Apply(14, nil, "y", 0)
	if p := d.settledTo(d.Applied()); p.Pos != 11 || d.Applied().Pos != 14 {
		t.Errorf("settledTo = %d, applied %d, want 11, 14", p.Pos, d.Applied().Pos)
	}
	d.Settle(d.Unsettled()[0])
	if p := d.settledTo(d.Applied()); p.Pos != 13 {
		t.Errorf("settledTo = %d with 14 pending, want 13", p.Pos)
	}
	d.Settle(d.Unsettled()[0])
	if p := d.settledTo(d.Applied()); p.Pos != 14 {
		t.Errorf("settledTo = %d with nothing pending, want 14", p.Pos)
	}
	d.Apply(0, nil, "of no place", 0)
	if p := d.settledTo(d.Applied()); p.Pos != 14 {
		t.Errorf("settledTo = %d, want 14", p.Pos)
	}
}

func TestDomain_RemoveForgetsTheSpace(t *testing.T) {
	d := NewDomain(100)
	a := d.NewSpace(func(row.Key) {}, noCopies)
	b := d.NewSpace(func(row.Key) {}, noCopies)
	a.Remove()
	a.Remove()
	if len(d.spaces) != 1 || d.spaces[0] != b {
		t.Errorf("%d spaces are left, want the other one", len(d.spaces))
	}
}

// Who loads what is pending, and cannot keep it, has it settled soon; who loads anything
// else has not.
func TestDomain_Wanted(t *testing.T) {
	d := NewDomain(100)
	s := d.NewSpace(func(row.Key) {}, noCopies)
	d.Reset("a", 10, nil, 0)
	wanted := func(what string, want bool) {
		t.Helper()
		select {
		case <-d.Wanted():
			if !want {
				t.Error(what + ": wanted")
			}
		default:
			if want {
				t.Error(what + ": not wanted")
			}
		}
	}
	load := func(k row.Key) {
		l, _ := s.Begin(k, row.FormatJSON, Any)
		s.Finish(l, nil, nil, nil)
	}
	d.Apply(12, []Invalidation{{Space: s, Keys: []row.Key{"k"}}}, "x", 0)
	wanted("a change", false)
	load("other")
	wanted("a load of another row", false)
	load("k")
	wanted("a load of the row", true)
	d.Settle(d.Unsettled()[0])
	load("k")
	wanted("a load of what is settled", false)
	for i := range manyPending {
		wanted("few changes", false)
		d.Apply(Position(20+i), nil, "x", 0)
	}
	wanted("many changes", true)
}
