package fresh

import "github.com/hotrow/hotrow/internal/row"

// A listLease is what the lease of a list has besides that of a document, or of a document
// that depends on versions as a list of one row does. No change marks the key of a list; where
// changes name some documents of a space, and versions the others, the lease is good for both,
// and Finish or FinishList ends it.
type listLease struct {
	c0   uint64
	read deps // what the question names, and the tables of which rows will tell more
	q    *Question
}

// BeginList is Begin for what depends on versions.
//
// A reader joins a load only if no version that the load may depend on has moved since its
// clock. One with a token joins only one that was begun when all of them were settled,
// and are. Others may join while a version is dirty, until the next fence (see recent): a list
// that changes all the time is loaded once for all who ask meanwhile.
func (s *Space) BeginList(k row.Key, f row.Format, need Need, q *Question) (*Lease, bool) {
	sh := s.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if last := sh.inflight[flight{k, f}]; last != nil && s.joinableList(last, need) {
		last.now = last.now || need == Now
		return last, false
	}
	if need == Now {
		sh.invalidate(k, 0)
	}
	l := s.leaseList(sh, k, f, q)
	l.now = need == Now
	sh.launch(l)
	return l, true
}

// joinableList reports whether a reader may have what l reads. The shard is locked.
func (s *Space) joinableList(l *Lease, need Need) bool {
	if l.invalidated || l.after != nil || !s.Valid(l.Stamp) {
		return false
	}
	c := s.domain.versions.look(&l.list.read, l.list.c0)
	switch need {
	case Settled:
		return l.settled && c == still
	case Now:
		return !l.sent && c != moved
	}
	return c != moved && s.recent(l)
}

// leaseList makes the lease of a load that begins now. The shard is locked.
//
// The order matters: the position is published after all versions of its change, so it is
// read before them; and the clock is moved after the versions, so it is read before the
// source is.
func (s *Space) leaseList(sh *shard, k row.Key, f row.Format, q *Question) *Lease {
	w := s.domain.versions
	l := &Lease{Key: k, Format: f, done: make(chan struct{})}
	l.AsOf, l.Fenced = s.domain.applied.Load(), s.domain.fenced.Load()
	l.Stamp.Epoch = w.load(&s.domain.epoch)
	l.Stamp.Generation = s.generation.Load() // before wholes: see lease
	l.storable = sh.dirty[k] == 0 && s.wholes.Load() == 0 && l.Stamp.Epoch != 0
	ll := &listLease{c0: w.load(&w.clock.v), q: q}
	for i := range q.Tags {
		ll.read.add(&q.Tags[i], ll.c0)
	}
	for _, t := range q.Read {
		ll.read.addTable(t, true)
	}
	ll.read.once()
	l.list = ll
	l.settled = l.storable && w.look(&ll.read, ll.c0) == still
	if !l.settled {
		l.AsOf = s.domain.settledTo(l.AsOf)
		s.domain.want()
	}
	return l
}

// FinishList is Finish for what depends on versions. found are the tags that the rows which
// were read tell, in the same snapshot. store is called with the shard locked if the copy may be
// kept; it is kept as long as nobody forgets it, valid or not.
//
// It may be kept unless something has invalidated the load, or others were answered with
// another state since the read began. A copy that no hit could answer with already, is
// not.
func (s *Space) FinishList(
	l *Lease, doc *row.Document, err error, found []Tag, store func(*ReadSet),
) {
	sh := s.shard(l.Key)
	sh.mu.Lock()
	defer l.finish(sh)
	l.err = errUnfinished
	sh.land(l)
	if err == nil {
		sh.supersede(l.Key, doc)
		keep := store != nil && l.storable && !l.invalidated && l.sameVersion(doc) &&
			s.Valid(l.Stamp)
		var c *ReadSet
		if keep || s.watchedReads.watches() {
			c = s.copied(l, found)
			s.answered(l.Key, c) // before c is known to be good
		}
		l.stored = keep && c.Valid()
		s.evictOthers(l, doc, l.stored)
		if l.stored {
			store(c)
		}
	}
	l.doc, l.err = doc, err
}

// copied makes the copy of what l has read.
func (s *Space) copied(l *Lease, found []Tag) *ReadSet {
	c := &ReadSet{space: s, generation: l.Stamp.Generation, c0: l.list.c0,
		epoch: l.Stamp.Epoch}
	for i := range l.list.q.Tags {
		c.deps.add(&l.list.q.Tags[i], c.c0)
	}
	for _, t := range l.list.q.Read {
		c.deps.addTable(t, false)
	}
	for i := range found {
		c.deps.add(&found[i], c.c0)
	}
	c.deps.once()
	return c
}
