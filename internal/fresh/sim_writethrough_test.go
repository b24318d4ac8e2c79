package fresh

import (
	"slices"

	"github.com/hotrow/hotrow/internal/row"
)

// A simWriteThrough is what a write through hotrow has read back of one document.
type simWriteThrough struct {
	form  *simForm
	doc   simDoc
	lease *Lease
	state simState
}

// commitAlone moves a transaction on in a database that lets one commit at a time:
// the one that has the lock is logged and visible at once. A write through hotrow reads
// back what it has changed before that.
func (s *sim) commitAlone(tx *simTx) bool {
	if s.locker != nil && s.locker != tx && !(s.sab.inexact && !tx.own) {
		return false
	}
	if s.locker == nil && tx.own && tx.hold != nil {
		s.locker, tx.pos = tx, s.logEnd+2+Position(s.rng.IntN(3))
		s.writeThrough(tx)
		return true
	}
	if s.locker != tx {
		tx.pos = s.logEnd + 1
	}
	s.logEnd, tx.logged = max(tx.pos, s.logEnd), true
	s.log = append(s.log, tx)
	s.show(tx)
	if s.locker == tx {
		s.locker = nil
	}
	return true
}

// writeThrough is the second hold of a write, of what it has changed, and the leases of
// what it has read back of it.
func (s *sim) writeThrough(tx *simTx) {
	s.disturb()
	again := s.touches(tx, true)
	s.d.Hold(again)
	tx.hold = append(tx.hold, again...)
	for i, d := range tx.docs {
		f := s.forms[d.resource]
		if s.rng.IntN(8) == 0 || f.worded() {
			continue
		}
		marks := 0
		for _, t := range tx.hold {
			for _, k := range t.Keys {
				if t.Space == f.space && k == simKeys[d.key] {
					marks++
				}
			}
		}
		for of := range row.Format(2) {
			l := f.space.WriteThrough(simKeys[d.key], of, tx.pos, marks)
			state := s.primary.state[d.resource][d.key] | tx.changes[i]
			p := &simWriteThrough{f, d, l, state}
			tx.writeThroughs = append(tx.writeThroughs, p)
		}
	}
}

// keepNone ends the write-throughs of a transaction that was undone.
func (s *sim) keepNone(tx *simTx) {
	for _, p := range tx.writeThroughs {
		p.form.space.EndWriteThrough(p.lease, nil, nil)
	}
	if tx.writeThroughs = nil; s.locker == tx {
		s.locker = nil
	}
}

// keepSoon is the end of a write: one that does not know what came of it keeps
// nothing.
func (s *sim) keepSoon(tx *simTx) {
	if tx.unknown {
		s.keepNone(tx)
	}
	s.writtenThrough = append(s.writtenThrough, tx.writeThroughs...)
	tx.writeThroughs = nil
}

// keepTurn ends a write-through: as a rule when it is settled, which is of more use.
func (s *sim) keepTurn() bool {
	if len(s.writtenThrough) == 0 {
		return false
	}
	i := s.rng.IntN(len(s.writtenThrough))
	p := s.writtenThrough[i]
	if s.d.Settled().Pos < p.lease.at && s.rng.IntN(8) > 0 {
		return false
	}
	s.writtenThrough = slices.Delete(s.writtenThrough, i, i+1)
	s.keep(p, s.rng.IntN(16) > 0)
	return true
}

// keep ends one write-through.
func (s *sim) keep(p *simWriteThrough, wanted bool) {
	f, l := p.form, p.lease
	stamp := l.Stamp
	stamp.At = s.now
	doc := row.NewDocument("", l.Format, nil, uint64(p.state), stamp)
	store := func() {
		f.copies[p.doc.key][l.Format] = simCopy{doc, p.state, nil}
		s.kept++
	}
	if !wanted {
		store = nil
	}
	f.disturbed++ // it supersedes the loads beside it
	f.space.EndWriteThrough(l, doc, store)
}
