package fresh

import (
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// followedSpace is a domain whose one space is followed.
func followedSpace() (*Domain, *Space) {
	d := NewDomain(100)
	s := d.NewSpace(func(row.Key) {}, noCopies)
	d.Reset("o", 1, nil, 0)
	return d, s
}

func TestFromDisk_IsStoredAndAnswers(t *testing.T) {
	_, s := followedSpace()
	l, leader := s.Begin("k", row.FormatJSON, Any)
	if !leader {
		t.Fatal("nobody leads")
	}
	joined, leads := s.Begin("k", row.FormatJSON, Any)
	if leads || joined != l {
		t.Fatal("a second reader does not join")
	}
	doc, stored := row.NoRow(l.Stamp), 0
	if !s.FinishFromDisk(l, doc, func() { stored++ }) {
		t.Fatal("a lease that nothing has superseded takes no copy")
	}
	<-joined.Done()
	if got, err := joined.Result(); got != doc || err != nil || stored != 1 ||
		!joined.Stored() || !joined.FromDisk() {
		t.Errorf("Result = %v, %v; stored %d times", got, err, stored)
	}
	if _, leads := s.Begin("k", row.FormatJSON, Any); !leads {
		t.Error("the lease is still in flight")
	}
}

// TestFromDisk_RefusesWhatMayNotBeStored: each of these would leave an older copy
// than a reader may have, or answer one who wants the source.
func TestFromDisk_RefusesWhatMayNotBeStored(t *testing.T) {
	change := func(s *Space) []Invalidation { return []Invalidation{{Space: s, Keys: []row.Key{"k"}}} }
	all := func(s *Space) []Invalidation { return []Invalidation{{Space: s, Whole: true}} }
	tests := map[string]struct {
		before, after func(d *Domain, s *Space)
	}{
		"a change while it was read":   {after: func(d *Domain, s *Space) { d.Apply(2, change(s), nil, 0) }},
		"a change of all":              {after: func(d *Domain, s *Space) { d.Apply(2, all(s), nil, 0) }},
		"a change that is not settled": {before: func(d *Domain, s *Space) { d.Apply(2, change(s), 1, 0) }},
		"a change of all, not settled": {before: func(d *Domain, s *Space) { d.Apply(2, all(s), 1, 0) }},
		"a write under way":            {before: func(d *Domain, s *Space) { d.Hold(change(s)) }},
		"a write since": {after: func(d *Domain, s *Space) {
			d.Hold(change(s))
			d.Release(change(s), 0)
		}},
		"a new epoch":      {after: func(d *Domain, _ *Space) { d.Reset("o", 5, nil, 0) }},
		"an operator":      {after: func(_ *Domain, s *Space) { s.Drop("k") }},
		"an operator, all": {after: func(_ *Domain, s *Space) { s.DropAll() }},
		"one who wants the source": {after: func(_ *Domain, s *Space) {
			s.Begin("k", row.FormatJSON, Now)
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d, s := followedSpace()
			if tt.before != nil {
				tt.before(d, s)
			}
			l, _ := s.Begin("k", row.FormatJSON, Any)
			if tt.after != nil {
				tt.after(d, s)
			}
			if s.FinishFromDisk(l, row.NoRow(l.Stamp), func() { t.Error("it is stored") }) {
				t.Error("it is the answer")
			}
			s.Finish(l, row.NoRow(l.Stamp), nil, nil) // the lease goes on
			if l.FromDisk() {
				t.Error("what the source said counts as recalled")
			}
		})
	}
}

// TestOnWhole_IsCalledOnBothSides of the generation's change.
func TestOnWhole_IsCalledOnBothSides(t *testing.T) {
	tests := map[string]func(d *Domain, s *Space){
		"Apply":   func(d *Domain, s *Space) { d.Apply(2, []Invalidation{{Space: s, Whole: true}}, nil, 0) },
		"Hold":    func(d *Domain, s *Space) { d.Hold([]Invalidation{{Space: s, Whole: true}}) },
		"DropAll": func(_ *Domain, s *Space) { s.DropAll() },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			d, s := followedSpace()
			st := row.Stamp{Epoch: 1}
			if !s.Valid(st) {
				t.Fatal("the stamp is not valid to begin with")
			}
			var valid []bool
			s.OnWhole(func() { valid = append(valid, s.Valid(st)) })
			change(d, s)
			if len(valid) != 2 || !valid[0] || valid[1] {
				t.Errorf("copies were valid at the calls: %v, want [true false]", valid)
			}
		})
	}
}

func TestSettled_StaysBeforeWhatIsPending(t *testing.T) {
	d, s := followedSpace()
	touch := []Invalidation{{Space: s, Keys: []row.Key{"k"}}}
	d.Apply(10, touch, 1, 0)
	d.Apply(20, touch, 1, 0)
	for _, want := range []Position{9, 19, 20} {
		if got := d.Settled(); got.Pos != want || got.Origin != "o" {
			t.Errorf("Settled() = %+v, want %d", got, want)
		}
		if p := d.Unsettled(); len(p) > 0 {
			d.Settle(p[0])
		}
	}
}

// TestDomain_ResumeOnlyWithoutAGap: what follows the applied position, or belongs
// to another history, was not delivered.
func TestDomain_ResumeOnlyWithoutAGap(t *testing.T) {
	d := NewDomain(0)
	if d.Resume("o", 0) {
		t.Error("a domain that nobody has begun goes on")
	}
	d.Reset("o", 10, nil, 0)
	d.Advance(20)
	for _, tt := range []struct {
		origin string
		pos    Position
		want   bool
	}{{"o", 20, true}, {"o", 5, true}, {"o", 21, false}, {"p", 20, false}, {"", 0, false}} {
		if got := d.Resume(tt.origin, tt.pos); got != tt.want {
			t.Errorf("Resume(%q, %d) = %v", tt.origin, tt.pos, got)
		}
	}
	if d.Applied().Pos != 20 || d.Applied().Epoch != 1 {
		t.Errorf("Resume changes the progress: %+v", d.Applied())
	}
}

// One who wants the source itself leads as well: no copy is the answer, from whichever
// tier.
func TestFromDisk_IsNotForOneWhoWantsTheSource(t *testing.T) {
	_, s := followedSpace()
	l, _ := s.Begin("k", row.FormatJSON, Now)
	if s.FinishFromDisk(l, row.NoRow(l.Stamp), func() { t.Error("it is stored") }) {
		t.Error("a copy from a slower tier is the answer")
	}
	l, _ = s.Begin("k", row.FormatMsgPack, Now)
	if s.Found(l, row.NoRow(l.Stamp)) {
		t.Error("a copy from memory is the answer")
	}
}

// What is recalled is told, like any answer: a load beside it that has read another
// state, in whatever format, is not stored.
func TestFromDisk_SupersedesTheLoadsBesideIt(t *testing.T) {
	_, s := followedSpace()
	document := func(l *Lease, state uint64) *row.Document {
		return row.NewDocument("k", l.Format, nil, state, l.Stamp)
	}
	for state, want := range map[uint64]bool{1: true, 2: false} {
		slow, _ := s.Begin("k", row.FormatMsgPack, Any)
		s.Send(slow)
		quick, _ := s.Begin("k", row.FormatJSON, Any)
		if !s.FinishFromDisk(quick, document(quick, 1), func() {}) {
			t.Fatal("nothing is recalled")
		}
		s.Finish(slow, document(slow, state), nil, func() {})
		if slow.Stored() != want {
			t.Errorf("state %d was read beside an answer of state 1: stored is %v", state, !want)
		}
	}
}

// A load that has failed has told nothing.
func TestSpace_FailedLoadSupersedesNobody(t *testing.T) {
	_, s := followedSpace()
	slow, _ := s.Begin("k", row.FormatMsgPack, Any)
	s.Send(slow)
	other, _ := s.Begin("k", row.FormatJSON, Any)
	s.Finish(other, row.NewDocument("k", row.FormatJSON, nil, 1, other.Stamp), errSource, nil)
	if _, leads := s.Begin("k", row.FormatMsgPack, Any); leads {
		t.Error("a load beside one that has failed is not joined")
	}
}
