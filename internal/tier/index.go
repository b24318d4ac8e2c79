package tier

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/arena"
)

// An index finds entries for readers, who take no lock. A place of it is one word, published
// by one store: the entry's Ref above, 32 bits of the hash of its key below, 0 for an empty
// one. A bucket is a cache line of eight. An entry is in one of the two buckets that its hash
// bits name, so that buckets fill well ("cuckoo hashing"); both follow from the word alone, so
// that to move an entry, or to grow, reads no entry.
//
// A reader may miss an entry while it moves: a miss is looked up once more by the load that it
// leads to, or costs a load.
type index struct {
	seed    maphash.Seed
	stripes [indexStripes]indexStripe
	bytes   atomic.Int64 // of all tables
}

const (
	indexStripeBits = 6
	indexStripes    = 1 << indexStripeBits // so that to grow one takes no long time

	places      = 8 // in a bucket
	bucketBytes = 8 * places
)

// An indexStripe is the part of the index for some of the hashes.
type indexStripe struct {
	mu    sync.Mutex // orders changes; readers do not take it
	used  int
	table atomic.Pointer[indexTable]
	_     [40]byte
}

// An indexTable is buckets, a power of two of them. There is no pointer in them.
type indexTable struct {
	buckets []bucket
	mask    uint32
}

type bucket [places]atomic.Uint64

// wordOf returns the word of an entry.
func wordOf(ref arena.Ref, tag uint32) uint64 { return uint64(ref)<<32 | uint64(tag) }

func refOf(word uint64) arena.Ref { return arena.Ref(word >> 32) }

func newIndex() *index {
	x := &index{seed: maphash.MakeSeed()}
	for i := range x.stripes {
		x.stripes[i].table.Store(newTable(2))
	}
	x.bytes.Store(2 * indexStripes * bucketBytes)
	return x
}

func newTable(n int) *indexTable {
	return &indexTable{buckets: make([]bucket, n), mask: uint32(n - 1)}
}

// hash returns the hash of ref, of which the index uses tagOf.
func (x *index) hash(ref *Ref) uint64 {
	which := uint64(ref.Resource)<<8 | uint64(ref.Format)
	return maphash.String(x.seed, string(ref.Key)) ^ which*0x9e3779b97f4a7c15
}

// tagOf returns what is in the word of an entry. Its lowest bits pick the stripe, those above
// the bucket.
func tagOf(h uint64) uint32 { return uint32(h >> 32) }

// hashOf returns a hash that has a tag.
func hashOf(tag uint32) uint64 { return uint64(tag) << 32 }

func (x *index) stripe(tag uint32) *indexStripe { return &x.stripes[tag%indexStripes] }

// both returns the two buckets of a tag. The second depends on all its bits, so that tags that
// share the first share no other: else a table would grow while it is half empty.
func (t *indexTable) both(tag uint32) (*bucket, *bucket) {
	other := uint32(uint64(tag) * 0x9e3779b97f4a7c15 >> 40)
	return &t.buckets[tag>>indexStripeBits&t.mask], &t.buckets[other&t.mask]
}

// add puts a word into an empty place, for which it may move others. It reports false when
// it has found none.
func (t *indexTable) add(word uint64) bool {
	home, other := t.both(uint32(word))
	for _, b := range [2]*bucket{home, other} {
		if b.add(word) {
			return true
		}
	}
	for _, b := range [2]*bucket{home, other} {
		for i := range b {
			w := b[i].Load()
			to, back := t.both(uint32(w))
			if to == b {
				to = back
			}
			if to != b && to.add(w) { // it is in both before it leaves one
				b[i].Store(word)
				return true
			}
		}
	}
	return false
}

func (b *bucket) add(word uint64) bool {
	for i := range b {
		if b[i].Load() == 0 {
			b[i].Store(word)
			return true
		}
	}
	return false
}

// has reports whether a word is in the index. It takes no lock.
func (x *index) has(word uint64) bool {
	return x.stripe(uint32(word)).table.Load().find(word) != nil
}

// take takes a word out of the index, and reports whether it was there.
func (x *index) take(word uint64) bool {
	s := x.stripe(uint32(word))
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.table.Load().find(word)
	if at == nil {
		return false
	}
	at.Store(0)
	s.used--
	return true
}

// find returns the place of a word; nil: it has none.
func (t *indexTable) find(word uint64) *atomic.Uint64 {
	home, other := t.both(uint32(word))
	for _, b := range [2]*bucket{home, other} {
		for i := range b {
			if b[i].Load() == word {
				return &b[i]
			}
		}
	}
	return nil
}

// insert puts a word into a stripe, which is locked, and grows it where grow lets it take so
// many bytes more. What had to go for it, it returns; 0: nothing had to.
func (x *index) insert(s *indexStripe, word uint64, grow func(more int64) bool) (gone uint64) {
	t := s.table.Load()
	if t.add(word) {
		s.used++
		return 0
	}
	if grow(int64(len(t.buckets)) * bucketBytes) {
		bigger := t.grown(word)
		x.bytes.Add(int64(len(bigger.buckets)-len(t.buckets)) * bucketBytes)
		s.table.Store(bigger)
		s.used++
		return 0
	}
	home, _ := t.both(uint32(word))
	at := &home[word>>36%places]
	gone = at.Load()
	at.Store(word)
	return gone
}

// grown returns the words of t and one more in twice as many buckets, more where they do not
// fit.
func (t *indexTable) grown(word uint64) *indexTable {
	for size := 2 * len(t.buckets); ; size *= 2 {
		if g := newTable(size); g.addAll(t) && g.add(word) {
			return g
		}
	}
}

func (t *indexTable) addAll(from *indexTable) bool {
	for i := range from.buckets {
		for j := range from.buckets[i] {
			if w := from.buckets[i][j].Load(); w != 0 && !t.add(w) {
				return false
			}
		}
	}
	return true
}
