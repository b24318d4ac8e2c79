package fresh

import (
	"hash/maphash"

	"github.com/hotrow/hotrow/internal/row"
)

// What a reader has been answered for a key holds for every representation of it: who
// asks next, in whatever format, gets no older state. Two loads beside each other may
// read two states while the change between them is committed and not delivered, and
// nobody knows which of two states is the older one. So an answer leaves nothing that is
// of another state than its own: no copy, and no load in flight that may have read before
// it.

// SameVersion reports whether two documents are of the same state of a row, whatever
// their formats.
func SameVersion(a, b *row.Document) bool {
	return a.SameState(b)
}

// supersede says that others have been answered with doc while l was in flight.
// Nobody joins it any more, and it is stored only if it has read the same: what
// else it reads could be older.
func (l *Lease) supersede(doc *row.Document) {
	if !l.sent {
		l.answered = true // it reads after the answer; a copy that it finds may be of before
		return
	}
	if l.after != nil && !SameVersion(l.after, doc) {
		l.invalidated = true // one of the two states is the older one
	}
	l.after = doc
}

// sameVersion reports whether doc may follow what others have been answered with
// since l was sent.
func (l *Lease) sameVersion(doc *row.Document) bool {
	return l.after == nil || SameVersion(l.after, doc)
}

// slots is how many answers a shard remembers the time of, for each format.
const slots = 64

// slot spreads the keys of a shard over its slots.
func (s *Space) slot(k row.Key) int {
	return int(maphash.String(s.seed, string(k)) / shards % slots)
}

// noteAnswer notes when an answer in a format was made, for spaces with copies that a
// slower tier keeps: what that has in other formats is not looked at, and may
// be older until a fence says that every change which the answer may hold has
// been applied. Keys that share a slot wait for each other. The shard is locked.
func (s *Space) noteAnswer(sh *shard, l *Lease, doc *row.Document) {
	if s.flush == nil {
		return
	}
	if sh.answeredAt[l.Format] == nil {
		sh.answeredAt[l.Format] = new([slots]int64)
	}
	at := &sh.answeredAt[l.Format][s.slot(l.Key)]
	*at = max(*at, doc.Stamp().At+1)
}

// mayBeOlder reports whether a copy in a slower tier, kept by the rules of Finish,
// may be older than an answer in another format: no fence that was begun after
// that answer has been reached. The shard is locked.
func (s *Space) mayBeOlder(sh *shard, l *Lease) bool {
	fenced, slot := s.domain.fenced.Load(), s.slot(l.Key)
	for f, at := range sh.answeredAt {
		if row.Format(f) != l.Format && at != nil && at[slot] > fenced {
			return true
		}
	}
	return false
}
