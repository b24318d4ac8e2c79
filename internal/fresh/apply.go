package fresh

import (
	"math"

	"github.com/hotrow/hotrow/internal/row"
)

// An Invalidation is what one transaction means for one space, or (InvalidationSet) for the
// versions of all.
type Invalidation struct {
	InvalidationSet *InvalidationSet // all else is zero

	Space *Space
	Keys  []row.Key // documents that changed, old and new
	Whole bool      // every document may have changed

	// Unnamed says that rows have changed of which only versions know in which documents
	// they were. Apply makes nothing of it.
	Unnamed bool
}

// A Pending is a transaction that was applied and is not settled: a read that
// begins now may not see it yet.
type Pending struct {
	Pos           Position
	Ref           any   // the caller's: what proves that the transaction is visible
	Since         int64 // when it was applied, by the caller's clock
	invalidations []Invalidation
	begins        bool // it stands for what was logged before: see Reset, Include
	pends         bool // guarded by Domain.mu: it is in Domain.pending
}

// Apply makes sure that no copy of what a transaction touched is left and that
// no load begun before stores one, and then publishes pos. With a ref the
// touched keys stay dirty, not to be stored, until Settle is called for what
// Unsettled returns; nil: every read that begins from now on sees the change.
func (d *Domain) Apply(pos Position, invalidations []Invalidation, ref any, now int64) *Pending {
	return d.apply(&Pending{Pos: pos, Ref: ref, Since: now, invalidations: invalidations})
}

// Include says that the feed tells from now on of what these touch, and did not before. Nothing
// of it that was kept, or is being loaded, is good any more. As with Reset, ref is what proves
// that all is visible that the feed has not told; nil: every read that begins from now on sees
// it.
func (d *Domain) Include(invalidations []Invalidation, ref any, now int64) {
	d.apply(&Pending{Ref: ref, Since: now, invalidations: invalidations, begins: true})
}

// apply is Apply of p.
func (d *Domain) apply(p *Pending) *Pending {
	pos, invalidations, ref := p.Pos, p.invalidations, p.Ref
	for i := range invalidations {
		invalidations[i].apply(pos, ref != nil)
	}
	d.versions.step()
	d.mu.Lock()
	defer d.mu.Unlock()
	if ref != nil { // known to be pending only when every mark that Settle takes away is there
		d.pend(p)
		if len(d.pending)%manyPending == 0 {
			d.want()
		}
	}
	d.publish(pos)
	return p
}

// Hold marks what a write is about to touch, before it commits: no load stores
// it and no copy is left until Release.
func (d *Domain) Hold(invalidations []Invalidation) {
	d.holding(invalidations, 1)
	for i := range invalidations {
		invalidations[i].apply(0, true)
	}
}

// Release ends a Hold: the change is visible, or will never be, or nobody knows
// and the feed will say. What was loaded meanwhile is not kept; what the write has
// written through is, if pos is the position that it has been given (0: none).
func (d *Domain) Release(invalidations []Invalidation, pos Position) {
	for i := range invalidations {
		invalidations[i].apply(pos, false)
		invalidations[i].settle(pos)
	}
	d.holding(invalidations, -1)
}

// apply marks what t touches by the transaction at pos, or only drops it when the change
// is settled.
func (t *Invalidation) apply(pos Position, unsettled bool) {
	if t.InvalidationSet != nil {
		t.InvalidationSet.versions.touch(t.InvalidationSet, unsettled)
		return
	}
	s := t.Space
	if t.Whole {
		s.flushed()
		if unsettled {
			s.wholes.Add(1) // before generation: see Space.lease
		}
		s.domain.versions.step()
		s.generation.Add(1)
		s.flushed()
	}
	for _, k := range t.Keys {
		sh := s.shard(k)
		sh.mu.Lock()
		if unsettled {
			s.mark(sh, k, pos)
		} else {
			sh.invalidate(k, pos)
			s.drop(k)
		}
		sh.mu.Unlock()
	}
}

// Invalidations returns what p touches, of spaces that were added since as well. p has been
// settled.
func (p *Pending) Invalidations() []Invalidation { return p.invalidations }

// Unsettled returns the transactions that are not settled, oldest first. Take
// it before the proof: a transaction applied during it is not covered.
func (d *Domain) Unsettled() []*Pending {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]*Pending(nil), d.pending...)
}

// manyPending is how many transactions are pending when it is worth to settle them, though
// nobody waits for it.
const manyPending = 64

// Wanted is sent when it is worth to settle what is pending: a load has begun that may miss
// it, and cannot be kept, or much is pending. It may be sent once too often.
func (d *Domain) Wanted() <-chan struct{} { return d.wanted }

func (d *Domain) want() {
	select {
	case d.wanted <- struct{}{}:
	default:
	}
}

// pend adds p to what is not settled. d.mu is held.
func (d *Domain) pend(p *Pending) {
	p.pends = true
	d.pending = append(d.pending, p)
	d.least = min(d.least, p.least())
}

// least returns up to where a load is complete that may miss p.
func (p *Pending) least() Position {
	switch {
	case p.begins: // what it stands for may have any place before the first
		return 0
	case p.Pos > 0:
		return p.Pos - 1
	}
	return noLimit
}

// noLimit is the least of nothing.
const noLimit Position = math.MaxUint64

// Settle says that every read which begins from now on sees these transactions. One that is
// not pending any more is left alone. However many they are, what is pending is looked through
// once: the feed waits for that.
func (d *Domain) Settle(list ...*Pending) {
	for _, p := range d.settled(list) {
		p.unmark()
	}
}

// settled takes those of list that are pending out, and returns them.
func (d *Domain) settled(list []*Pending) []*Pending {
	found := make([]*Pending, 0, len(list))
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range list {
		if p.pends {
			p.pends = false
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return nil
	}
	d.looked += uint64(len(d.pending))
	d.least = noLimit
	rest := d.pending[:0]
	for _, p := range d.pending {
		if p.pends {
			rest = append(rest, p)
			d.least = min(d.least, p.least())
		}
	}
	clear(d.pending[len(rest):])
	if d.pending = rest; len(rest) == 0 && cap(rest) > maxPendingKept {
		d.pending = nil
	}
	return found
}

// maxPendingKept is for how many transactions there is room when none is pending.
const maxPendingKept = 4096

// unmark takes the marks of p away.
func (p *Pending) unmark() {
	for i := range p.invalidations {
		p.invalidations[i].settle(p.Pos)
	}
}

// settle takes the marks of apply away. A load begun under a mark may have read
// the state of before: nobody joins it any more.
func (t *Invalidation) settle(pos Position) {
	if t.InvalidationSet != nil {
		t.InvalidationSet.versions.settle(t.InvalidationSet)
		return
	}
	s := t.Space
	for _, k := range t.Keys {
		sh := s.shard(k)
		sh.mu.Lock()
		sh.invalidate(k, pos)
		unmark(sh, k)
		sh.mu.Unlock()
	}
	if t.Whole {
		s.generation.Add(1)
		s.wholes.Add(-1)
	}
}

// Visible is Applied as far as every read which begins from now on shows it: what is not settled
// yet may be missed.
func (d *Domain) Visible() *Progress { return d.settledTo(d.applied.Load()) }

// settledTo returns how far a load which begins after p has been read is
// complete if it may miss what is not settled.
func (d *Domain) settledTo(p *Progress) *Progress {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := *p
	q.Pos = min(q.Pos, d.least)
	return &q
}
