package fresh

import (
	"slices"
	"testing"
)

// A simStandby is a standby that is followed and read in place of the primary. It shows
// what it has replayed of the log, and the primary may show that later: when a commit has
// waited for others.
type simStandby struct {
	simServer
	replayed Position
	cursor   int // in log
	lag      int // how seldom it replays
	paused   int // until this step
	promoted bool
	fork     Position // what it had replayed then: all that it logs after is its own

	// What the driver knows: see package postgres.
	followed  bool
	attaches  Position // the feed attaches when this is replayed
	trust     int      // which time it is that reads go to the standby; 0: they do not
	times     int      // that reads have gone there
	floor     Position // what reads must see
	elsewhere int      // reads of the primary
	doubts    int      // how often the standby may have shown more than the primary
	cleared   int      // after which of them that was proved not to be so
}

// A simTrip is how far a load has come that reads the standby, or the primary in its place.
type simTrip struct {
	step   tripStep
	before int // elsewhere, when it began
	trust  int
	floor  Position
	doubts int
	logged int // in log, when the primary was asked to prove that it shows it
}

type tripStep uint8

const (
	replays tripStep = iota // waits until the standby has replayed what it must see
	looked                  // has read that, if it may be read still
	proves                  // waits until the primary shows what the standby may have shown
	fallen                  // has read the primary
)

func newStandbySim(seed uint64, sab sabotage) *sim {
	s := newSim(seed, sab)
	s.notify, s.serial = true, false // what it delivers is visible
	s.staleAfter += int64(s.rng.IntN(200))
	s.d.staleAfter = durationOf(s.staleAfter)
	s.standby = &simStandby{simServer: s.primary, lag: s.rng.IntN(3)}
	return s
}

// ofAnother is in the state of a document that a promoted standby has written: the primary
// never had it.
const ofAnother simState = 1 << 63

// standbyTurn lets the standby replay more, or has reads go to the other server.
func (s *sim) standbyTurn() bool {
	r := s.standby
	switch n := s.rng.IntN(32); {
	case n == 0:
		r.distrust()
	case n == 1:
		s.logEnd++
	case n < 8 && s.attached && r.trust == 0 && !r.promoted:
		r.trusts()
	case n == 8 && !r.promoted && s.rng.IntN(16) == 0:
		r.promoted, r.fork = true, r.replayed
	case r.promoted:
		s.writeElsewhere()
	case s.steps < r.paused || s.rng.IntN(1+r.lag) > 0:
		return false
	default:
		return s.replay()
	}
	return true
}

// writeElsewhere has a client write to the promoted standby.
func (s *sim) writeElsewhere() {
	r := s.standby
	r.replayed += Position(1 + s.rng.IntN(3))
	for form := range r.state {
		r.state[form][s.hot] |= ofAnother
	}
}

// waits reports whether the commit of a transaction, which the standby may have replayed,
// waits for another standby before the primary shows it.
func (s *sim) waits(tx *simTx) bool {
	return s.standby != nil && tx.pos%3 == 0 && s.rng.IntN(8) > 0
}

// replay has the standby replay the log up to the end of the next transaction.
func (s *sim) replay() bool {
	r := s.standby
	if r.cursor == len(s.log) {
		moved := r.replayed < s.logEnd
		r.replayed = s.logEnd
		return moved
	}
	tx := s.log[r.cursor]
	r.show(tx)
	r.replayed = tx.pos
	r.cursor++
	return true
}

// restart has the standby begin again with less than it had.
func (s *sim) restart() {
	r := s.standby
	n := max(0, r.cursor-s.rng.IntN(6))
	r.simServer, r.cursor, r.replayed, r.promoted = s.initial, 0, 0, false
	for r.cursor < n {
		s.replay()
	}
}

// lost has reads go to the primary until the standby is followed again, which may have
// begun anew.
func (s *sim) lost() {
	r := s.standby
	if r == nil {
		return
	}
	r.followed = false
	r.distrust()
	if s.rng.IntN(2) == 0 {
		s.restart()
	}
}

// follows reports whether a feed may attach: the standby has replayed what there was when
// it was followed, whatever it has shown before. One that was promoted must be made anew.
func (s *sim) follows() bool {
	r := s.standby
	if r == nil {
		return true
	}
	if r.promoted {
		r.followed = false
		s.restart()
		return false
	}
	if !r.followed {
		r.followed, r.attaches = true, s.logEnd
		if s.sab.early {
			r.trusts()
		}
	}
	if r.replayed < r.attaches {
		return false
	}
	r.trusts()
	return true
}

// distrust has reads go to the primary, and trusts to the standby again.
func (r *simStandby) distrust() { r.trust, r.doubts = 0, r.doubts+1 }

func (r *simStandby) trusts() { r.trust, r.times = r.times+1, r.times+1 }

func (r *simStandby) raise(floor Position) { r.floor = max(r.floor, floor) }

// tells notes that the feed is about to tell of a transaction: an answer of the primary is
// then said to have it.
func (s *sim) tells() {
	if r := s.standby; r != nil && r.trust == 0 && !s.sab.untold {
		r.doubts++
	}
}

// depart begins the read of a load.
func (s *sim) depart(l *simLoad) {
	r := s.standby
	if r == nil {
		return
	}
	if l.form.space.WantsNow(l.lease) && !s.sab.passed {
		r.raise(s.logEnd)
	}
	l.trip = simTrip{before: r.elsewhere, trust: r.trust, floor: r.floor}
	if r.trust == 0 {
		s.fall(l)
	}
}

// travel moves the read of a load on, and reports whether that was the end of it.
func (s *sim) travel(l *simLoad) bool {
	r, t := s.standby, &l.trip
	switch t.step {
	case replays:
		switch n := s.rng.IntN(32); {
		case t.trust != r.trust, r.promoted && !s.sab.another && n < 8:
			s.fail(l)
		case r.replayed >= t.floor && n == 0: // what is replayed conflicts with the read
			s.fail(l)
		case r.replayed >= t.floor:
			s.look(l, &r.simServer)
			t.step = looked
		case n < 2:
			r.distrust()
		}
	case looked:
		if t.trust == r.trust && (!r.promoted || s.sab.another) {
			return true
		}
		s.fail(l)
	case proves:
		if s.sab.unproved || s.shows(t.logged) {
			r.cleared = max(r.cleared, t.doubts)
			r.elsewhere++
			s.look(l, &s.primary)
			t.floor, t.step = s.logEnd, fallen
		}
	case fallen:
		if !s.sab.forgets {
			r.raise(t.floor)
		}
		s.fallen++
		return true
	}
	return false
}

// fail is the end of a read of the standby that has failed.
func (s *sim) fail(l *simLoad) {
	if !s.sab.undoubted {
		s.standby.doubts++
	}
	s.fall(l)
}

// fall has a load read the primary, which must show what the standby may have shown.
func (s *sim) fall(l *simLoad) {
	r, t := s.standby, &l.trip
	t.step, t.logged, t.doubts = proves, 0, r.doubts
	if r.cleared < r.doubts {
		t.logged = len(s.log)
	}
}

// shows reports whether the first n transactions of the log are visible.
func (s *sim) shows(n int) bool {
	return !slices.ContainsFunc(s.log[:n], func(tx *simTx) bool { return !tx.visible })
}

// keeps reports whether what a load has read may be kept: not if another server than the
// feed follows was read meanwhile.
func (s *sim) keeps(l *simLoad) bool {
	return s.standby == nil || s.sab.elsewhere || s.standby.elsewhere == l.trip.before
}

func TestSimulation_Standby(t *testing.T) { testSimulation(t, newStandbySim) }

func TestSimulation_StandbySeesSabotage(t *testing.T) {
	seesSabotage(t, newStandbySim, []sabotaged{
		{"write not waited for", sabotage{unwritten: true}},
		{"read of the primary not waited for", sabotage{forgets: true}},
		{"read of the database not waited for", sabotage{passed: true}},
		{"fence of the standby", sabotage{replayed: true}},
		{"standby read before it has what it had", sabotage{early: true}},
		{"primary not proved", sabotage{unproved: true}},
		{"primary not proved after a read has failed", sabotage{undoubted: true}},
		{"promoted standby read", sabotage{another: true}},
		{"promoted standby followed", sabotage{unvouched: true}},
		{"primary not proved for what the feed tells", sabotage{untold: true}},
	})
}
