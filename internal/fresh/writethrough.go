package fresh

import "github.com/hotrow/hotrow/internal/row"

// What a write has read back of its document, within its transaction and after its
// change, is what the next reader would find. It need not be read again, if the source
// can say two things before the transaction commits: at which position it will be, and
// that what was read back is all there is at that position, because no other transaction
// can commit in between. Then what was read back is as good as a load that began right
// after the commit, and may be kept by the rules of Finish. Only the write itself does
// not count: its own marks, its Release and the delivery of its own change, which are
// told from those of others by the position.

// WriteThrough takes the lease of what a write has read back of document k. It is called
// within the transaction, after the write's Holds, which have marked k so many times;
// at, which is not 0, is the position that the transaction will have. The caller must
// call EndWriteThrough, whatever comes of it.
//
// Nobody joins such a lease: until the change is delivered, readers read by themselves.
// It is in flight nevertheless, within reach of what invalidates and supersedes a load.
func (s *Space) WriteThrough(k row.Key, f row.Format, at Position, marks int) *Lease {
	sh := s.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	l := &Lease{Key: k, Format: f, at: at, sent: true}
	l.Stamp.Epoch = s.domain.epoch.Load()
	l.Stamp.Generation = s.generation.Load() // before wholes: see lease
	l.storable = int(sh.dirty[k]) == marks && s.wholes.Load() == 0 && l.Stamp.Epoch != 0
	sh.launch(l)
	return l
}

// EndWriteThrough ends the lease of a write-through. store is called with the key's shard
// locked if doc may be kept; nil: it is not to be, or the transaction was undone. It is
// called when the write's Holds are released and its change is applied and settled. Any
// earlier is no harm and no use: they would drop the copy.
func (s *Space) EndWriteThrough(l *Lease, doc *row.Document, store func()) {
	sh := s.shard(l.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.land(l)
	if store == nil || !l.storable || l.invalidated || !l.sameVersion(doc) || !s.Valid(l.Stamp) {
		return
	}
	l.stored = true
	sh.supersede(l.Key, doc)
	s.evictOthers(l, doc, true)
	s.noteAnswer(sh, l, doc)
	store()
}
