package stress

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// register returns a register with these versions after the first.
func register(first State, vs ...version) *Register {
	r := NewRegister(first)
	r.versions = append(r.versions, vs...)
	return r
}

func TestRead_Explain(t *testing.T) {
	one := func() *Register {
		return register(State{Value: 1},
			version{state: State{Value: 2}, begun: 100, done: 200, upto: 7},
			version{state: State{}, begun: 300, done: 310, upto: 8},
			version{state: State{Value: 4}, begun: 500, done: 510})
	}
	tests := []struct {
		name     string
		state    State
		from, to Moment
		upto     uint64
		ok       bool
	}{
		{"the first value", State{Value: 1}, 0, 10, 0, true},
		{"during the commit, old", State{Value: 1}, 150, 160, 0, true},
		{"during the commit, new", State{Value: 2}, 150, 160, 0, true},
		{"old after the acknowledgement", State{Value: 1}, 201, 220, 0, false},
		{"old within the bound", State{Value: 1}, 199, 220, 0, true},
		{"new before the commit was sent", State{Value: 2}, 10, 99, 0, false},
		{"a value never written", State{Value: 3}, 0, 1000, 0, false},
		{"no row while there was none", State{}, 400, 410, 0, true},
		{"no row while there was one", State{}, 250, 260, 0, false},
		{"value after the delete", State{Value: 2}, 350, 360, 0, false},
		{"old although the position includes the new", State{Value: 1}, 150, 160, 7, false},
		{"new with its position", State{Value: 2}, 150, 160, 7, true},
		{"a later position rules out all before", State{Value: 2}, 305, 306, 8, false},
		{"an earlier position rules out nothing", State{Value: 1}, 150, 160, 6, true},
		{"the last value", State{Value: 4}, 600, 700, 9, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Read{What: "x", From: tt.from, To: tt.to, Upto: tt.upto,
				Looks: []Look{{Register: one(), State: tt.state}}}
			if err := r.Explain(); (err == nil) != tt.ok {
				t.Errorf("Explain = %v, want ok %v", err, tt.ok)
			}
		})
	}
}

// A token brings what was visible when it was sent, not what is only logged.
func TestRead_ExplainToken(t *testing.T) {
	tests := []struct {
		value int64
		begin Moment
		token uint64
		ok    bool
	}{{1, 150, 7, true}, {1, 201, 7, false}, {2, 201, 7, true}, {1, 201, 6, true}}
	for _, tt := range tests {
		a := register(State{Value: 1},
			version{state: State{Value: 2}, begun: 100, done: 200, upto: 7})
		r := Read{What: "x", From: 120, To: 300, Begin: tt.begin, Token: tt.token,
			Looks: []Look{{Register: a, State: State{Value: tt.value}}}}
		if err := r.Explain(); (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// A document is one snapshot: what is true of each of its rows at some time
// need not have been true of all of them at one time.
func TestRead_ExplainNeedsOneMoment(t *testing.T) {
	a := register(State{Value: 1}, version{state: State{Value: 2}, begun: 100, done: 110})
	b := register(State{Value: 3}, version{state: State{Value: 4}, begun: 200, done: 210})
	tests := []struct {
		a, b int64
		ok   bool
	}{{1, 3, true}, {2, 3, true}, {2, 4, true}, {1, 4, false}}
	for _, tt := range tests {
		r := Read{What: "x", From: 0, To: 300, Looks: []Look{
			{Register: a, State: State{Value: tt.a}}, {Register: b, State: State{Value: tt.b}}}}
		if err := r.Explain(); (err == nil) != tt.ok {
			t.Errorf("%d and %d: %v, want ok %v", tt.a, tt.b, err, tt.ok)
		}
	}
}

// A child that left a parent and came back was not there in between.
func TestRead_ExplainAbsentChild(t *testing.T) {
	c := register(State{Value: 1, Parent: 10},
		version{state: State{Value: 2, Parent: 20}, begun: 100, done: 110},
		version{state: State{Value: 3}, begun: 200, done: 210},
		version{state: State{Value: 4, Parent: 10}, begun: 300, done: 310})
	tests := []struct {
		from, to Moment
		parent   int32
		ok       bool
	}{{0, 50, 10, false}, {50, 105, 10, true}, {150, 250, 10, true}, {311, 400, 10, false},
		{0, 50, 20, true}, {111, 150, 20, false}}
	for _, tt := range tests {
		r := Read{What: "x", From: tt.from, To: tt.to,
			Looks: []Look{{Register: c, NotIn: tt.parent}}}
		if err := r.Explain(); (err == nil) != tt.ok {
			t.Errorf("not in %d between %d and %d: %v, want ok %v", tt.parent, tt.from, tt.to,
				err, tt.ok)
		}
	}
}

// A row that is not among those with at least some value had less then, or was not there.
func TestRead_ExplainLess(t *testing.T) {
	c := register(State{Value: 1}, version{state: State{Value: 5}, begun: 100, done: 110},
		version{state: State{}, begun: 200, done: 210})
	tests := []struct {
		from, to Moment
		below    int64
		ok       bool
	}{{0, 50, 5, true}, {111, 150, 5, false}, {111, 150, 6, true}, {105, 150, 5, true},
		{211, 300, 5, true}, {0, 50, 1, false}}
	for _, tt := range tests {
		r := Read{What: "x", From: tt.from, To: tt.to, Looks: []Look{{Register: c, Below: tt.below}}}
		if err := r.Explain(); (err == nil) != tt.ok {
			t.Errorf("below %d between %d and %d: %v, want ok %v", tt.below, tt.from, tt.to, err, tt.ok)
		}
	}
}

func TestLook_SpansAreMerged(t *testing.T) {
	c := register(State{Value: 1, Parent: 10},
		version{state: State{Value: 2, Parent: 20}, begun: 100, done: 110},
		version{state: State{Value: 3, Parent: 30}, begun: 200, done: 210},
		version{state: State{Value: 4, Parent: 10}, begun: 300, done: 310},
		version{state: State{Value: 5}, begun: 400, done: 410})
	r := Read{From: 0, To: 500}
	want := []span{{100, 310}, {400, 500}}
	if d := cmp.Diff(want, r.spans(&Look{Register: c, NotIn: 10}), cmp.AllowUnexported(span{})); d != "" {
		t.Errorf("spans (-want +got):\n%s", d)
	}
}

func TestHistory_SettledWaitsForTheOldestCommit(t *testing.T) {
	h, r := NewHistory(), NewRegister(State{})
	c := h.Begin([]Change{{r, State{Value: 5}}})
	if h.Settled() > c.begun {
		t.Errorf("settled although a commit is open")
	}
	if r.Last() != (State{Value: 5}) {
		t.Errorf("Last = %v", r.Last())
	}
	c.Done(3)
	if h.Settled() <= c.begun {
		t.Errorf("not settled although no commit is open")
	}
	late := Read{Looks: []Look{{Register: r, State: State{Value: 5}}}}
	if got := late.Late(h.Now()); got != 0 {
		t.Errorf("Late = %v for the last value", got)
	}
}
