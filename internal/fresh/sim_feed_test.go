package fresh

import (
	"slices"
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

func durationOf(ns int64) time.Duration { return time.Duration(ns) }

// A barrier stands for the transactions that were logged and not visible when a
// new feed began.
type barrier struct {
	pos Position
	txs []*simTx
}

// simProbe is the settler at work: it takes the batch, proves, settles one by
// one.
type simProbe struct {
	batch  []*Pending
	proven []*Pending
	ready  bool // proven is what is left to settle
}

type simFence struct {
	begin int64
	pos   Position
	epoch uint64
}

// touches returns what tx means for the spaces there are. A write knows its
// rows as they were; a feed may not.
func (s *sim) touches(tx *simTx, old bool) []Invalidation {
	list := make([]Invalidation, 0, simForms)
	t := Invalidation{Space: s.forms[0].space, Whole: tx.whole[0] || tx.whole[1] || tx.bulk}
	u := Invalidation{Space: s.forms[1].space, Whole: tx.whole[1]}
	for _, op := range tx.ops {
		if op.table == 0 {
			t.Keys = append(t.Keys, simKeys[op.row])
			continue
		}
		u.Keys = append(u.Keys, simKeys[op.row])
		if op.to != nobody {
			t.Keys = append(t.Keys, simKeys[op.to])
		}
		switch {
		case op.from == nobody:
		case old || s.worded == nil:
			t.Keys = append(t.Keys, simKeys[op.from])
		default:
			t.Unnamed = true
		}
	}
	if tx.bulk {
		t.Keys = nil
	}
	for _, touch := range []Invalidation{t, u} {
		if touch.Whole || touch.Unnamed || len(touch.Keys) > 0 {
			list = append(list, touch)
		}
	}
	if s.worded != nil {
		list = append(list, s.worded.moved(s.d, tx, old).Invalidation())
	}
	return list
}

// feedTurn attaches the feed, delivers the next transaction, or says that there
// is none.
func (s *sim) feedTurn() bool {
	switch {
	case s.steps < s.stalled:
		return false
	case !s.attached && !s.follows():
		return false
	case !s.attached:
		s.attach()
		return true
	case s.barrier != nil: // only with sabotage.apart
		s.applyBarrier()
		return true
	case s.standby != nil && s.standby.promoted && !s.sab.unvouched:
		return s.lose()
	case s.standby != nil && (s.cursor == len(s.log) || !s.sees(s.log[s.cursor])):
		s.d.Advance(s.standby.replayed)
		return true
	case s.cursor == len(s.log):
		if s.rng.IntN(2) == 0 && s.locker == nil {
			s.logEnd++
		}
		s.d.Advance(s.logEnd)
		return true
	}
	tx := s.log[s.cursor]
	if s.notify && !s.sees(tx) {
		return false
	}
	s.cursor++
	if s.sab.skips(s) {
		return true
	}
	var ref any = tx
	if s.notify || tx.visible && s.rng.IntN(4) == 0 { // a feed may know that it is visible
		ref = nil
	}
	s.tells()
	s.apply(tx.pos, s.touches(tx, false), ref)
	if ref == nil {
		s.knowTx(tx)
	}
	return true
}

// sees reports whether reads of the server that is followed see a transaction of the log.
func (s *sim) sees(tx *simTx) bool {
	switch r := s.standby; {
	case r == nil:
		return tx.visible
	case r.promoted:
		return tx.pos <= r.fork
	default:
		return tx.pos <= r.replayed
	}
}

// apply checks, in drop, that nothing of a transaction is known before all of
// it is done.
func (s *sim) apply(pos Position, invalidations []Invalidation, ref any) {
	s.disturb()
	if pos > s.d.Applied().Pos {
		s.applying = pos
	}
	s.applyRef, s.applyKnown = ref, s.pendingOf(ref)
	s.d.Apply(pos, invalidations, ref, s.now)
	if ref == nil {
		s.announce(invalidations)
	}
	if s.d.Applied().Pos < pos {
		s.failf("%d has been applied, and only %d is published", pos, s.d.Applied().Pos)
	}
	s.applying, s.applyRef = 0, nil
}

// pendingOf returns how often a transaction is pending: twice, when it came twice.
func (s *sim) pendingOf(ref any) (n int) {
	for _, p := range s.d.pending {
		if p.Ref == ref {
			n++
		}
	}
	return n
}

// resume lets a feed that keeps its place go on after a loss, from there or from
// before: some transactions come for the second time, and the epoch goes on.
func (s *sim) resume() bool {
	if s.notify || s.place == 0 || s.rng.IntN(2) == 0 {
		return false
	}
	from := max(0, s.place-1-s.rng.IntN(6))
	if s.sab.ahead {
		from = len(s.log)
	}
	pos := Position(0)
	if from > 0 {
		pos = s.log[from-1].pos
	}
	if !s.d.Resume(s.origin, pos) && !s.sab.ahead {
		s.failf("a feed that goes on at %d is refused, applied is %d", pos, s.d.Applied().Pos)
	}
	if s.d.Resume(s.origin, s.d.Applied().Pos+1) || s.d.Resume(s.origin+"'", pos) {
		s.failf("a gap is taken for none")
	}
	s.attached, s.cursor = true, from
	s.resumed++
	return true
}

// attach begins a new epoch: what was not delivered never will be.
func (s *sim) attach() {
	if s.resume() {
		return
	}
	s.attached = true
	pos := s.logEnd
	var invisible []*simTx
	for i, tx := range s.log {
		if s.sees(tx) {
			continue
		}
		if s.notify { // it will be delivered when it is visible
			s.cursor, pos = i, tx.pos-1
			break
		}
		invisible = append(invisible, tx)
	}
	if !s.notify || pos == s.logEnd {
		s.cursor = len(s.log)
	}
	var ref any
	want := 0
	switch b := (&barrier{pos, invisible}); {
	case len(invisible) == 0 || s.sab.noBarrier:
	case s.sab.apart:
		s.barrier = b
	default:
		ref, want = b, 1
	}
	s.disturb()
	if !s.sab.noEpoch || s.d.Applied().Epoch == 0 {
		s.d.Reset(s.origin, pos, ref, s.now)
		for r := range simForms {
			s.tellAll(r)
		}
		if len(s.d.Unsettled()) != want {
			s.failf("a new epoch begins with transactions that nobody can prove")
		}
	}
}

func (s *sim) applyBarrier() {
	b := s.barrier
	s.barrier = nil
	var invalidations []Invalidation
	for _, f := range s.forms {
		invalidations = append(invalidations, Invalidation{Space: f.space, Whole: true})
	}
	if s.worded != nil {
		m := s.d.NewSet()
		m.Any()
		invalidations = append(invalidations, m.Invalidation())
	}
	s.apply(b.pos, invalidations, b)
}

// lose ends the feed: what it has not delivered is lost.
func (s *sim) lose() bool {
	if !s.attached {
		return false
	}
	s.place = 0
	if s.barrier == nil { // else the beginning itself has not been told in full
		s.place = s.cursor + 1
	}
	s.attached, s.barrier = false, nil
	s.lost()
	return true
}

// rename is a failover: a new feed, another history.
func (s *sim) rename() bool {
	s.origin += "'"
	s.place = 0
	s.attached, s.barrier = false, nil
	s.lost()
	return true
}

// settleTurn moves the settler on.
func (s *sim) settleTurn() bool {
	p := &s.probe
	switch {
	case p.ready:
		s.settle(p.proven[0])
		if p.proven = p.proven[1:]; len(p.proven) == 0 {
			*p = simProbe{}
		}
	case p.batch != nil:
		for _, o := range p.batch {
			if s.sab.settles || proven(o) {
				p.proven = append(p.proven, o)
			}
		}
		p.batch, p.ready = nil, len(p.proven) > 0
	default:
		p.batch = s.d.Unsettled()
		return p.batch != nil
	}
	return true
}

func proven(p *Pending) bool {
	switch ref := p.Ref.(type) {
	case *simTx:
		return ref.visible
	case *barrier:
		return !slices.ContainsFunc(ref.txs, func(tx *simTx) bool { return !tx.visible })
	}
	return false
}

// settle settles p, which another epoch may have taken away meanwhile.
func (s *sim) settle(p *Pending) {
	pending := slices.Contains(s.d.pending, p)
	s.disturb()
	s.d.Settle(p)
	s.announce(p.Invalidations())
	if !pending || !proven(p) {
		return
	}
	switch ref := p.Ref.(type) {
	case *simTx:
		s.knowTx(ref)
	case *barrier:
		for _, tx := range ref.txs {
			s.knowTx(tx)
		}
	}
}

// fenceTurn sees a fence reached, or begins one. A fence travels with the feed,
// behind the barrier.
func (s *sim) fenceTurn() bool {
	p := s.d.Applied()
	for i, f := range slices.Backward(s.fences) {
		reached := p.Pos >= f.pos || s.sab.fences
		if f.epoch != p.Epoch || reached && s.attached && s.barrier == nil {
			s.fences = slices.Delete(s.fences, i, i+1)
			if f.epoch == p.Epoch {
				s.d.Fenced(f.begin)
			}
			return true
		}
	}
	if !s.attached || len(s.fences) == 3 {
		return false
	}
	end := s.logEnd
	if s.sab.replayed {
		end = s.standby.replayed
	}
	s.fences = append(s.fences, simFence{s.now, end, p.Epoch})
	return true
}

// A simForm is one resource as it is served: reloading makes another.
type simForm struct {
	resource, keys int
	versions       *simWorded // nil: changes name its documents
	mixed          bool       // changes name some of its documents, and versions keep the others fresh
	space          *Space
	copies         [childs][row.NumFormats]simCopy
	told           [childs]simState // what was answered, in any format
	disturbed      int              // events after which a load need not be joined
}

type simCopy struct {
	doc      *row.Document
	state    simState
	versions *ReadSet // that it depends on; nil: changes name it
}

// worded reports whether the documents of f depend on versions.
func (f *simForm) worded() bool { return f.versions != nil }

// valid reports whether a copy may be a hit.
func (f *simForm) valid(c *simCopy) bool {
	return f.space.Valid(c.doc.Stamp()) && (c.versions == nil || c.versions.Valid())
}

func (s *sim) newForm(resource int) *simForm {
	f := &simForm{resource: resource, keys: childs}
	var tables []*Table
	if resource == 0 {
		if f.keys, f.versions = parents, s.worded; f.worded() {
			tables = f.versions.tables[:]
		}
	} else if f.mixed = s.worded != nil && s.seed%2 == 0; f.mixed {
		f.versions, tables = s.worded, s.worded.tables[1:]
	}
	f.space = s.d.NewSpace(func(k row.Key) {
		f.forget(&f.copies[k[0]-'0'])
		if s.applying != 0 && s.d.Applied().Pos >= s.applying {
			s.failf("position %d is published before all of it is dropped", s.applying)
		}
		if s.applyRef != nil && s.pendingOf(s.applyRef) > s.applyKnown {
			s.failf("a transaction can be settled before all of it is marked")
		}
	}, func(l *Lease, doc *row.Document, stored bool) {
		if !s.sab.formats {
			f.agree(l, doc, stored)
		}
	})
	f.space.Watch(func() bool { return s.watchers.here },
		func(k row.Key) { s.tellOf(resource, keyNumber(k)) }, tables)
	return f
}

// forget is what a change does that names a document. Of a form that is mixed it names none of
// those that versions keep fresh.
func (f *simForm) forget(copies *[row.NumFormats]simCopy) {
	for of := range copies {
		if !f.mixed || copies[of].versions == nil {
			copies[of] = simCopy{}
		}
	}
}

// agree removes the copies of a key that are of another state than an answer.
func (f *simForm) agree(l *Lease, doc *row.Document, stored bool) {
	copies := &f.copies[l.Key[0]-'0']
	for of := range copies {
		replaced := stored && row.Format(of) == l.Format
		if c := &copies[of]; c.doc != nil && !replaced && !SameVersion(c.doc, doc) {
			*c = simCopy{}
		}
	}
}

// reload puts a new form in the place of one, as a new configuration does.
func (s *sim) reload() bool {
	r := s.rng.IntN(simForms)
	old := s.forms[r]
	s.disturb()
	s.forms[r] = s.newForm(r)
	s.tellAll(r)
	old.disturbed++
	old.space.Remove()
	s.removed = append(s.removed, old)
	return true
}

// disturb notes an event after which a load of any form need not be joined.
func (s *sim) disturb() {
	for _, f := range s.forms {
		f.disturbed++
	}
	for _, f := range s.removed {
		f.disturbed++
	}
}

// evict lets the tier forget a copy.
func (s *sim) evict() bool {
	f := s.forms[s.rng.IntN(simForms)]
	k := s.rng.IntN(f.keys)
	c := &f.copies[k][s.rng.IntN(row.NumFormats)]
	if c.doc == nil {
		return false
	}
	*c = simCopy{}
	return true
}
