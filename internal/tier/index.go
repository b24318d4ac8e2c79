package tier

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/arena"
)

// An index finds entries for readers, who take no lock. A place of it is one word, published
// by one store: the entry's Ref above, 32 bits of the hash of its key below, 0 for an empty
// one. A bucket is a cache line of eight. An entry is in one of the two buckets that its hash
// bits name, so that buckets fill well ("cuckoo hashing"); both follow from the word alone, so
// that to move an entry, or to grow, reads no entry. It grows in place, a bucket at a time
// ("linear hashing": Litwin, 1980), outside Go's heap: it is never half empty, and leaves no
// garbage.
//
// A reader may miss an entry while it moves: a miss is looked up once more by the load that it
// leads to, or costs a load.
type index struct {
	seed    maphash.Seed
	stripes [indexStripes]indexStripe
	bytes   atomic.Int64 // of all stripes
}

const (
	indexStripeBits = 6
	indexStripes    = 1 << indexStripeBits // each orders its own changes

	places       = 8 // in a bucket
	mostInBucket = 7 // on average: where more are, readers look into two buckets too often
	bucketBytes  = 8 * places
	bucketStep   = indexStripes * places // words: buckets are of all stripes in turn
	fewest       = 2                     // buckets of a stripe
)

// An indexStripe is the part of the index for some of the hashes. Of its buckets the first n are
// in use. Where n is no power of two, those from n minus the largest one below it up to that
// one are not split yet: they have what is for the buckets from n on.
type indexStripe struct {
	mu    sync.Mutex // orders changes; readers do not take it
	used  int
	n     atomic.Uint32
	most  uint32          // buckets that there may be; they are zero from n on
	words []atomic.Uint64 // from the first of its buckets on; the next is bucketStep behind
	_     [16]byte
}

type bucket [places]atomic.Uint64

// wordOf returns the word of an entry.
func wordOf(ref arena.Ref, tag uint32) uint64 { return uint64(ref)<<32 | uint64(tag) }

func refOf(word uint64) arena.Ref { return arena.Ref(word >> 32) }

// newIndex returns an empty index in words, which are zero: as many as it may have.
func newIndex(words []atomic.Uint64) *index {
	x := &index{seed: maphash.MakeSeed()}
	for i := range x.stripes {
		s := &x.stripes[i]
		s.words, s.most = words[i*places:], uint32(len(words)/bucketStep)
		s.n.Store(fewest)
	}
	x.bytes.Store(fewest * indexStripes * bucketBytes)
	return x
}

// wordsOfIndex returns how many words an index of so many bytes at most is made of.
func wordsOfIndex(bytes int64) int {
	each := max(bytes/bucketBytes/indexStripes, fewest)
	return int(each) * bucketStep
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
// share the first share no other: else buckets would fill while others are half empty.
func (s *indexStripe) both(tag uint32) (*bucket, *bucket) { return s.bothOf(tag, s.n.Load()) }

// bothOf is both where n buckets are in use.
func (s *indexStripe) bothOf(tag, n uint32) (*bucket, *bucket) {
	other := uint32(uint64(tag) * 0x9e3779b97f4a7c15 >> 40)
	return s.bucket(among(n, tag>>indexStripeBits)), s.bucket(among(n, other))
}

// among returns which of n buckets a hash names.
func among(n, hash uint32) uint32 {
	mask := uint32(1)<<bits.Len32(n-1) - 1
	if i := hash & mask; i < n {
		return i
	}
	return hash & (mask >> 1)
}

func (s *indexStripe) bucket(i uint32) *bucket { return (*bucket)(s.words[int(i)*bucketStep:]) }

// sampled returns a bucket that is in use, by chance.
func (s *indexStripe) sampled(hash uint32) *bucket { return s.bucket(among(s.n.Load(), hash)) }

// inUse are the buckets that entries are in. What moves on meanwhile is seen there.
func (s *indexStripe) inUse(yield func(*bucket) bool) {
	for i := uint32(0); i < s.n.Load() && yield(s.bucket(i)); i++ {
	}
}

// other returns the bucket besides b that a word can be in, nil: there is none.
func (s *indexStripe) other(word uint64, b *bucket) *bucket {
	to, back := s.both(uint32(word))
	if to == b {
		to = back
	}
	if to == b {
		return nil
	}
	return to
}

// deepest is how many entries move at most so that one more has a place.
const deepest = 2

// add puts a word into an empty place, for which it may move others. It reports false when
// it has found none.
func (s *indexStripe) add(word uint64) bool {
	home, other := s.both(uint32(word))
	for moves := range deepest + 1 {
		if s.addTo(home, word, moves) || s.addTo(other, word, moves) {
			return true
		}
	}
	return false
}

// addTo puts a word into b, for which so many others move.
func (s *indexStripe) addTo(b *bucket, word uint64, moves int) bool {
	for i := range b {
		w := b[i].Load()
		if moves == 0 {
			if w == 0 {
				b[i].Store(word)
				return true
			}
			continue
		}
		// It is in both buckets before it leaves one.
		if to := s.other(w, b); to != nil && s.addTo(to, w, moves-1) {
			b[i].Store(word)
			return true
		}
	}
	return false
}

// has reports whether a word is in the index. It takes no lock.
func (x *index) has(word uint64) bool {
	return x.stripe(uint32(word)).find(word) != nil
}

// take takes a word out of the index, and reports whether it was there.
func (x *index) take(word uint64) bool {
	s := x.stripe(uint32(word))
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.find(word)
	if at == nil {
		return false
	}
	at.Store(0)
	s.used--
	return true
}

// find returns the place of a word; nil: it has none.
func (s *indexStripe) find(word uint64) *atomic.Uint64 {
	home, other := s.both(uint32(word))
	for _, b := range [2]*bucket{home, other} {
		for i := range b {
			if b[i].Load() == word {
				return &b[i]
			}
		}
	}
	return nil
}

// insert puts a word into a stripe, which is locked, and grows it where may lets it take so
// many bytes more. What had to go for it, it returns; 0: nothing had to.
func (x *index) insert(s *indexStripe, word uint64, may func(more int64) bool) (gone uint64) {
	for s.used >= int(s.n.Load())*mostInBucket && x.grow(s, may) {
	}
	for !s.add(word) {
		if !x.grow(s, may) {
			home, _ := s.both(uint32(word))
			at := &home[word>>36%places]
			gone = at.Load()
			at.Store(word)
			return gone
		}
	}
	s.used++
	return 0
}

// grow takes one more bucket into use, where may and the stripe's room let it.
func (x *index) grow(s *indexStripe, may func(more int64) bool) bool {
	if !may(bucketBytes) || !s.split() {
		return false
	}
	x.bytes.Add(bucketBytes)
	return true
}

// split takes one more bucket into use, and moves there what belongs there now. It reports
// false where there is none.
func (s *indexStripe) split() bool {
	n := s.n.Load()
	if n == s.most {
		return false
	}
	from, to := s.bucket(n-1<<(bits.Len32(n)-1)), s.bucket(n)
	for i := range from {
		if w := from[i].Load(); s.leaves(w, from, n+1) {
			to[i].Store(w)
		}
	}
	s.n.Store(n + 1) // an entry is in both before it leaves one
	for i := range from {
		if to[i].Load() != 0 {
			from[i].Store(0)
		}
	}
	return true
}

// leaves reports whether a word of bucket from is in others once there are n.
func (s *indexStripe) leaves(word uint64, from *bucket, n uint32) bool {
	home, other := s.bothOf(uint32(word), n)
	return word != 0 && home != from && other != from
}
