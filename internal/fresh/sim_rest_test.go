package fresh

import (
	"slices"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// rest lets everything that is under way end, and checks what must hold then:
// every copy is what the database has, every document can be stored again, and
// nothing is remembered of what is over.
func (s *sim) rest() {
	for len(s.open) > 0 {
		s.commit()
	}
	if s.stalled = 0; s.standby != nil {
		if s.standby.paused = 0; s.standby.promoted {
			s.lose()
			s.restart()
		}
	}
	for !s.attached || s.barrier != nil || s.cursor < len(s.log) || s.d.Applied().Pos < s.logEnd {
		s.feedTurn()
		if s.standby != nil {
			s.replay()
		}
	}
	for len(s.loads) > 0 {
		s.advance(s.loads[0])
	}
	for len(s.waiting) > 0 || len(s.loads) > 0 {
		for len(s.waiting) > 0 {
			s.await(0)
		}
		for len(s.loads) > 0 {
			s.advance(s.loads[0])
		}
	}
	for len(s.d.pending) > 0 || s.probe.ready {
		s.settleTurn()
	}
	for len(s.writtenThrough) > 0 {
		s.keepTurn()
	}
	s.d.Fenced(s.now)
	s.checkCopies()
	s.checkWatchers()
	for _, f := range append(s.forms[:], s.removed...) {
		s.checkEmpty(f)
		s.checkShown(f)
	}
	for _, f := range s.forms {
		for k := range f.keys {
			for format := range row.Format(row.NumFormats) {
				s.checkStorable(f, simDoc{f.resource, k}, format)
			}
		}
	}
	for _, f := range s.removed {
		s.checkRemoved(f)
	}
}

// checkCopies: at rest every copy that is valid is the database's value.
func (s *sim) checkCopies() {
	for r, f := range s.forms {
		for k := range f.keys {
			for _, c := range f.copies[k] {
				if c.doc == nil || !f.valid(&c) {
					continue
				}
				if want := s.primary.state[r][k]; c.state != want {
					s.failf("%v is %b for ever, the database has %b", simDoc{r, k}, c.state, want)
				}
			}
		}
	}
}

// checkEmpty: what is over is forgotten.
func (s *sim) checkEmpty(f *simForm) {
	if err := leftover(f.space); err != "" {
		s.failf("at rest, resource %d: %s", f.resource, err)
	}
	wholes := int64(0)
	if slices.Contains(s.removed, f) {
		wholes = 1
	}
	if n := f.space.wholes.Load(); n != wholes {
		s.failf("at rest, resource %d: %d whole changes are not settled", f.resource, n)
	}
}

// leftover says what a space still remembers of loads and changes; "": nothing.
func leftover(s *Space) string {
	all := s.shards.Load()
	for i := 0; all != nil && i < shards; i++ {
		sh := &all[i]
		switch {
		case len(sh.dirty) > 0:
			return "a key is dirty"
		case len(sh.inflight) > 0:
			return "a load is in flight"
		}
	}
	return ""
}

// checkStorable: a load of any document is stored, and a hit from then on.
func (s *sim) checkStorable(f *simForm, d simDoc, format row.Format) {
	l, leader := f.begin(d.key, format, Settled)
	if !leader {
		s.failf("at rest a load of %v is still in flight", d)
		return
	}
	f.space.Send(l)
	doc := row.NewDocument("", format, nil, uint64(s.primary.state[d.resource][d.key]), l.Stamp)
	c := simCopy{doc: doc}
	load := &simLoad{lease: l, state: s.primary.state[d.resource][d.key],
		rows: s.rowsOf(&s.primary, d)}
	f.end(load, doc, nil, func(versions *ReadSet) { c.versions = versions })
	if !l.Stored() || !f.valid(&c) {
		s.failf("at rest %v cannot be stored any more", d)
	}
	if l.AsOf != s.d.Applied() {
		s.failf("at rest a load of %v claims only %v", d, *l.AsOf)
	}
	if state, _ := s.d.Gate(s.now); state != Fresh {
		s.failf("at rest the gate is closed")
	}
}

// checkRemoved: nothing is stored through a form that is gone.
func (s *sim) checkRemoved(f *simForm) {
	l, _ := f.begin(0, row.FormatJSON, Any)
	f.end(&simLoad{lease: l}, row.NoRow(l.Stamp), nil,
		func(*ReadSet) { s.failf("a form that was removed stores a load") })
}

// A sabotage breaks what package fresh relies on. The simulation must see it:
// one that cannot fail shows nothing.
type sabotage struct {
	lostTx    bool // the feed forgets a transaction, and does not say so
	settles   bool // what is probed is said to be visible, with no proof
	noBarrier bool // a new feed forgets what was logged and not visible
	apart     bool // it is told of that after it has begun, by a call of its own
	noEpoch   bool // a feed that was lost goes on as if nothing had happened
	fences    bool // a fence is said to be reached at once
	ahead     bool // a feed that goes on leaves out what came meanwhile
	formats   bool // copies that are older than an answer in another format stay
	// Of a standby that is read.
	elsewhere bool // what was read of the primary in its place is kept
	unwritten bool // a read need not see what was written through hotrow
	forgets   bool // nor what was read of the primary
	passed    bool // nor what is visible when a reader asks for the source itself
	early     bool // nor, when a standby is followed, what was shown before
	replayed  bool // a fence is the end of what the standby has replayed
	unproved  bool // the primary need not show what the standby has
	undoubted bool // nor when a read of the standby has failed
	untold    bool // nor what the feed has told of since
	another   bool // a read counts though the standby was promoted before it ended
	unvouched bool // the feed goes on to tell what a promoted standby logs

	inexact bool // others commit between what a write reads back and its commit
}

// skips reports whether the feed forgets this transaction.
func (sab sabotage) skips(s *sim) bool { return sab.lostTx && s.rng.IntN(8) == 0 }

// sabotaged is a sabotage with its name.
type sabotaged struct {
	name string
	sab  sabotage
}

func TestSimulation_SeesSabotage(t *testing.T) {
	seesSabotage(t, newSim, []sabotaged{
		{"transaction lost", sabotage{lostTx: true}},
		{"settled without proof", sabotage{settles: true}},
		{"feed begins without a barrier", sabotage{noBarrier: true}},
		{"feed begins, and then its barrier", sabotage{apart: true}},
		{"gap not told", sabotage{noEpoch: true}},
		{"fence not waited for", sabotage{fences: true}},
		{"feed goes on too late", sabotage{ahead: true}},
		{"formats apart", sabotage{formats: true}},
		{"write not alone", sabotage{inexact: true}},
	})
}

// seesSabotage demands that a seed fails for each of a list.
func seesSabotage(t *testing.T, begin simBegin, tests []sabotaged) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := playSeeds(1, 20_000, 0, begin, tt.sab)
			if r.failure == "" {
				t.Fatalf("%d seeds, and none has failed", r.seeds)
			}
			t.Logf("after %d seeds: %s", r.seeds, r.failure)
			if s := simulate(begin(r.seed, tt.sab)); s.failure == "" {
				t.Errorf("seed %d does not fail again", r.seed)
			}
		})
	}
}
