package fresh

import "github.com/hotrow/hotrow/internal/row"

// OnWhole has flush called before and after every copy of the space becomes
// invalid at once, for copies that outlive the process and so cannot be told by
// their stamps. Both calls are needed: between the first and the change of the
// generation a load that is superseded may still be stored, and after the change
// a read may take what is there for good. Call it before the space is used.
func (s *Space) OnWhole(flush func()) { s.flush = flush }

// flushed calls what OnWhole has set.
func (s *Space) flushed() {
	if s.flush != nil {
		s.flush()
	}
}

// FinishFromDisk ends a lease with a copy that a slower tier has kept, read under the
// lease and under its stamp. The copy is the answer only if it may be stored as
// well, by the rules of Finish: then it is what memory would have had, and store
// is called with the key's shard locked. Else, or when one of those who have
// joined wants the source itself, or when an answer since the lease was taken or one in
// another format may have been newer, FinishFromDisk reports false and the lease goes on.
func (s *Space) FinishFromDisk(l *Lease, doc *row.Document, store func()) bool {
	sh := s.shard(l.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if l.now || l.answered || l.invalidated || !l.storable || !s.Valid(l.Stamp) ||
		s.mayBeOlder(sh, l) {
		return false
	}
	sh.land(l)
	sh.supersede(l.Key, doc)
	store()
	l.doc, l.stored, l.fromDisk = doc, true, true
	close(l.done)
	return true
}

// FromDisk reports whether the document is a copy that FinishFromDisk was given. Done
// must have been closed.
func (l *Lease) FromDisk() bool { return l.fromDisk }

// Resume says that the feed goes on at pos of origin, and will deliver every
// change after it, some of them perhaps for the second time. It reports whether
// nothing was missed: then all that is kept stays good, and what is pending is
// still to be settled. Else the caller must Reset.
func (d *Domain) Resume(origin string, pos Position) bool {
	p := d.applied.Load()
	return p.Epoch != 0 && p.Origin == origin && pos <= p.Pos
}

// Settled returns how far every change is applied and settled: a read of the
// source that begins now sees it all.
func (d *Domain) Settled() *Progress { return d.settledTo(d.applied.Load()) }
