package fresh

import (
	"errors"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// noCopies is for spaces whose copies nobody looks at.
func noCopies(*Lease, *row.Document, bool) {}

// newAttached returns a domain with a feed and a space.
func newAttached(drop func(row.Key)) (*Domain, *Space) {
	d := NewDomain(100)
	if drop == nil {
		drop = func(row.Key) {}
	}
	s := d.NewSpace(drop, func(l *Lease, _ *row.Document, stored bool) {
		if !stored {
			drop(l.Key)
		}
	})
	d.Reset("a", 1, nil, 0)
	return d, s
}

// keep stores a document.
func keep(t *testing.T, s *Space, k row.Key, f row.Format) *row.Document {
	t.Helper()
	l, _ := s.Begin(k, f, Any)
	if !finish(s, l) {
		t.Fatalf("%v was not stored", k)
	}
	doc, _ := l.Result()
	return doc
}

// finish ends a lease with a document, and reports whether it was kept. All such
// documents are of one state.
func finish(s *Space, l *Lease) bool { return finishAs(0, s, l) }

// finishAs is finish with a document of a state.
func finishAs(state uint64, s *Space, l *Lease) bool {
	doc := row.NewDocument("", l.Format, []byte("x"), state, l.Stamp)
	kept := false
	s.Finish(l, doc, nil, func() { kept = true })
	return kept && l.Stored()
}

func TestSpace_FollowersGetWhatTheLeaderReads(t *testing.T) {
	_, s := newAttached(nil)
	for _, want := range []error{nil, errors.New("no route")} {
		l, leader := s.Begin("k", row.FormatJSON, Any)
		same, second := s.Begin("k", row.FormatJSON, Any)
		other, third := s.Begin("k", row.FormatMsgPack, Any)
		if !leader || second || same != l || !third || other == l {
			t.Fatal("one format has one load, and another format has its own")
		}
		select {
		case <-l.Done():
			t.Fatal("done before Finish")
		default:
		}
		doc := row.NewDocument("", row.FormatJSON, []byte("x"), 0, l.Stamp)
		s.Finish(l, doc, want, nil)
		<-same.Done()
		if got, err := same.Result(); got != doc || err != want || l.Stored() {
			t.Errorf("Result() = %v, %v, want the document and %v", got, err, want)
		}
		finish(s, other)
	}
	if left := leftover(s); left != "" {
		t.Error(left)
	}
}

func TestSpace_StoresNothingBeforeAFeed(t *testing.T) {
	d := NewDomain(100)
	s := d.NewSpace(func(row.Key) {}, noCopies)
	l, _ := s.Begin("k", row.FormatJSON, Any)
	if finish(s, l) {
		t.Error("stored, and no feed would say when it changes")
	}
}

// TestSpace_WhatEndsALoad: each of these keeps a load in flight from being
// stored, and the next one is again.
func TestSpace_WhatEndsALoad(t *testing.T) {
	key := func(s *Space) []Invalidation { return []Invalidation{{Space: s, Keys: []row.Key{"k"}}} }
	whole := func(s *Space) []Invalidation { return []Invalidation{{Space: s, Whole: true}} }
	tests := []struct {
		name string
		do   func(*Domain, *Space)
	}{
		{"Drop", func(_ *Domain, s *Space) { s.Drop("k") }},
		{"DropAll", func(_ *Domain, s *Space) { s.DropAll() }},
		{"Reset", func(d *Domain, _ *Space) { d.Reset("a", 2, nil, 0) }},
		{"Apply, settled", func(d *Domain, s *Space) { d.Apply(2, key(s), nil, 0) }},
		{"Apply and Settle", func(d *Domain, s *Space) { d.Settle(d.Apply(2, key(s), "x", 0)) }},
		{"Apply, whole, settled", func(d *Domain, s *Space) { d.Apply(2, whole(s), nil, 0) }},
		{"Apply, whole, and Settle", func(d *Domain, s *Space) {
			d.Settle(d.Apply(2, whole(s), "x", 0))
		}},
		{"Hold and Release", func(d *Domain, s *Space) {
			t := key(s)
			d.Hold(t)
			d.Release(t, 0)
		}},
		{"a read of the source", func(_ *Domain, s *Space) {
			l, _ := s.Begin("k", row.FormatMsgPack, Now)
			s.Finish(l, row.NoRow(l.Stamp), nil, nil)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dropped := 0
			d, s := newAttached(func(row.Key) { dropped++ })
			l, _ := s.Begin("k", row.FormatJSON, Any)
			tt.do(d, s)
			if finish(s, l) {
				t.Error("stored")
			}
			next, leader := s.Begin("k", row.FormatJSON, Settled)
			if !leader || !finish(s, next) {
				t.Error("the next load is not stored either")
			}
			if !s.Valid(next.Stamp) || s.Valid(l.Stamp) && dropped == 0 {
				t.Error("a copy of before is still there and valid, or one of after is not")
			}
			if left := leftover(s); left != "" {
				t.Error(left)
			}
		})
	}
}

// TestSpace_FailedLoadTellsNothing: nobody has been given an answer, so nothing
// need go.
func TestSpace_FailedLoadTellsNothing(t *testing.T) {
	dropped := 0
	_, s := newAttached(func(row.Key) { dropped++ })
	first, second := twoLoads(t, s)
	s.Finish(first, nil, errors.New("no route"), nil)
	if dropped != 0 {
		t.Error("a load that has failed drops the copy")
	}
	if joined, leader := s.Begin("k", row.FormatJSON, Any); leader || joined != second {
		t.Error("a load that has failed keeps others from being joined")
	}
	if !finish(s, second) {
		t.Error("a load that has failed keeps others from being stored")
	}
}

// TestSpace_FoundAnswersAllButReadersOfTheSource: the leader may find a copy
// after all; who wants the source has it read all the same.
func TestSpace_FoundAnswersAllButReadersOfTheSource(t *testing.T) {
	_, s := newAttached(nil)
	doc := keep(t, s, "k", row.FormatJSON)
	l, _ := s.Begin("k", row.FormatJSON, Any)
	joined, leader := s.Begin("k", row.FormatJSON, Settled)
	if leader || !s.Found(l, doc) {
		t.Fatal("the copy is not taken")
	}
	<-joined.Done()
	if got, err := joined.Result(); got != doc || err != nil || joined.Stored() {
		t.Errorf("Result() = %v, %v, want the copy", got, err)
	}
	l, _ = s.Begin("k", row.FormatJSON, Any)
	if _, leader = s.Begin("k", row.FormatJSON, Now); leader || s.Found(l, doc) {
		t.Error("a reader of the source is given a copy")
	}
	if !finish(s, l) {
		t.Error("the load does not go on")
	}
	if left := leftover(s); left != "" {
		t.Error(left)
	}
}

func TestSpace_DropDropsTheCopy(t *testing.T) {
	var dropped []row.Key
	_, s := newAttached(func(k row.Key) { dropped = append(dropped, k) })
	s.Drop("k")
	if len(dropped) != 1 || dropped[0] != "k" {
		t.Errorf("dropped %v, want k", dropped)
	}
}

func TestSpace_SettleTwiceTakesOneMarkAway(t *testing.T) {
	d, s := newAttached(nil)
	invalidations := func() []Invalidation { return []Invalidation{{Space: s, Keys: []row.Key{"k"}}} }
	first := d.Apply(2, invalidations(), "x", 0)
	d.Apply(3, invalidations(), "y", 0)
	d.Settle(first)
	d.Settle(first)
	l, _ := s.Begin("k", row.FormatJSON, Any)
	if finish(s, l) {
		t.Error("stored while a change of the key is not settled")
	}
}

// TestSpace_WhatIsPendingTouchesANewSpace: nobody knows what a transaction of
// before means for a resource that was not there.
func TestSpace_WhatIsPendingTouchesANewSpace(t *testing.T) {
	d, _ := newAttached(nil)
	p := d.Apply(2, nil, "x", 0)
	s := d.NewSpace(func(row.Key) {}, noCopies)
	l, _ := s.Begin("k", row.FormatJSON, Any)
	if finish(s, l) {
		t.Error("stored while a transaction is pending")
	}
	d.Settle(p)
	if l, _ = s.Begin("k", row.FormatJSON, Any); !finish(s, l) {
		t.Error("not stored after it has settled")
	}
}

func TestSpace_RemovedStoresNothing(t *testing.T) {
	_, s := newAttached(nil)
	before, _ := s.Begin("k", row.FormatJSON, Any)
	s.Remove()
	after, _ := s.Begin("k", row.FormatJSON, Any)
	if finish(s, before) || finish(s, after) {
		t.Error("stored in a space that was removed")
	}
}

// TestSpace_SupersededLoadIsStored: nobody joins a load that was sent before others were
// answered, but if it has read the same its document is good and is kept.
func TestSpace_SupersededLoadIsStored(t *testing.T) {
	_, s := newAttached(nil)
	first, second := twoLoads(t, s)
	if !finish(s, first) || !finish(s, second) {
		t.Error("a load was superseded, and not stored")
	}
	first, second = twoLoads(t, s)
	if !finishAs(2, s, second) {
		t.Error("not stored, though it was sent after the last answer")
	}
	if finish(s, first) {
		t.Error("stored over an answer that may be newer")
	}
	later, _ := s.Begin("k", row.FormatJSON, Any)
	pack, _ := s.Begin("k", row.FormatMsgPack, Any)
	finishAs(3, s, pack)
	if s.Send(later); !finishAs(4, s, later) {
		t.Error("not stored, though it was sent after the answer of another state")
	}
	if left := leftover(s); left != "" {
		t.Error(left)
	}
}

// TestSpace_SupersededLoadIsInvalidated: a change of its key reaches it all the same.
func TestSpace_SupersededLoadIsInvalidated(t *testing.T) {
	d, s := newAttached(nil)
	first, second := twoLoads(t, s)
	d.Apply(3, []Invalidation{{Space: s, Keys: []row.Key{"k"}}}, nil, 0)
	if s.Send(first) || s.Send(second) {
		t.Error("Send says that an invalidated load is of use")
	}
	if finish(s, first) || finish(s, second) {
		t.Error("stored, though the key has changed since")
	}
}

// TestSpace_UnsettledLoadIsJoinedUntilTheNextFence: it may miss what has become visible
// right after its read, and a read can take as long as it wants.
func TestSpace_UnsettledLoadIsJoinedUntilTheNextFence(t *testing.T) {
	for name, unsettled := range map[string]bool{"settled": false, "unsettled": true} {
		t.Run(name, func(t *testing.T) {
			d, s := newAttached(nil)
			if unsettled {
				d.Apply(2, []Invalidation{{Space: s, Keys: []row.Key{"k"}}}, "x", 0)
			}
			d.Fenced(10)
			first, _ := s.Begin("k", row.FormatJSON, Any)
			s.Send(first)
			for _, tt := range []struct {
				fence int64
				joins bool
			}{{10, true}, {11, !unsettled}} {
				d.Fenced(tt.fence)
				l, leader := s.Begin("k", row.FormatJSON, Any)
				if leader == tt.joins {
					t.Errorf("fenced at %d: leads %v, want %v", tt.fence, leader, !tt.joins)
				}
				if leader {
					finish(s, l)
				}
			}
			finish(s, first)
		})
	}
}
