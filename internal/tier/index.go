package tier

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/row"
)

// An index finds documents for readers, who take no lock and wait for memory
// as seldom as can be: once for the bucket, which is one cache line, once for
// the document, once for its text. A cache that keeps what eviction needs
// beside each entry makes them wait twice more.
//
// It is beside the cache, not instead of it: it holds a part of what the cache
// holds, never anything else, for the cache says what is forgotten. Whoever
// does not find a document here asks the cache.
type index struct {
	seed    maphash.Seed
	stripes [indexStripes]indexStripe
}

const (
	indexStripeBits = 6
	indexStripes    = 1 << indexStripeBits // so that to grow one takes no long time

	bucketSlots = 7
	bucketFull  = 5 // documents a bucket, on average, from which a table grows

	eachByte = 0x0101010101010101
	highBits = 0x8080808080808080
	slotMask = 1<<(8*bucketSlots) - 1
	overflow = 1 << (8 * bucketSlots) // in tags: the neighbour holds some of ours
)

// An indexStripe is the part of the index for some of the hashes.
type indexStripe struct {
	mu    sync.Mutex // orders changes; readers do not take it
	used  int
	table atomic.Pointer[indexTable]
	_     [40]byte
}

// An indexTable is buckets, a power of two of them and two at least. A document
// is in the bucket that its hash names, or in that one's neighbour.
type indexTable struct {
	buckets []bucket
	mask    uint64
}

// A bucket is one cache line: a byte of the hash for each slot, 0 for an empty
// one, and the documents.
type bucket struct {
	tags atomic.Uint64
	docs [bucketSlots]atomic.Pointer[row.Document]
}

func newIndex() *index {
	x := &index{seed: maphash.MakeSeed()}
	x.clear()
	return x
}

// clear forgets everything.
func (x *index) clear() {
	for i := range x.stripes {
		s := &x.stripes[i]
		s.mu.Lock()
		s.used = 0
		s.table.Store(newTable(2))
		s.mu.Unlock()
	}
}

func newTable(n uint64) *indexTable {
	return &indexTable{buckets: make([]bucket, n), mask: n - 1}
}

// hash returns the hash of ref. Its lowest bits pick the stripe, those above
// the bucket, the highest are the tag.
func (x *index) hash(ref *Ref) uint64 {
	which := uint64(ref.Resource)<<8 | uint64(ref.Format)
	return maphash.String(x.seed, string(ref.Key)) ^ which*0x9e3779b97f4a7c15
}

func (x *index) stripe(h uint64) *indexStripe { return &x.stripes[h%indexStripes] }

func (t *indexTable) bucket(h uint64) uint64 { return h >> indexStripeBits & t.mask }

// tagOf returns what a bucket remembers of a hash: never 0.
func tagOf(h uint64) uint64 { return h>>57 + 1 }

// match returns a number with the highest bit of each byte set whose slot may
// have this tag. (The classic test for a zero byte; it may also name the byte
// above one that matches.)
func match(tags, tag uint64) uint64 {
	v := tags ^ tag*eachByte
	return (v - eachByte) &^ v & highBits & slotMask
}

// indexed reports whether the index can hold d for ref: only what tells by
// itself what it is.
func indexed(ref *Ref, d *row.Document) bool {
	return d.Owner() == ref.Resource && d.Format() == ref.Format && d.Key() == ref.Key &&
		!d.Absent()
}

// get returns the document of ref, whose hash is h, or nil.
func (x *index) get(h uint64, ref *Ref) *row.Document {
	t := x.stripe(h).table.Load()
	at, tag := t.bucket(h), tagOf(h)
	for range 2 {
		b := &t.buckets[at]
		tags := b.tags.Load()
		for m := match(tags, tag); m != 0; m &= m - 1 {
			d := b.docs[bits.TrailingZeros64(m)/8].Load()
			if d != nil && indexed(ref, d) {
				return d
			}
		}
		if tags&overflow == 0 {
			break
		}
		at ^= 1
	}
	return nil
}

// put makes d the document of ref, in the place of whatever was there.
func (x *index) put(ref *Ref, d *row.Document) {
	h := x.hash(ref)
	s := x.stripe(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.table.Load()
	if b, i := t.slot(h, func(old *row.Document) bool { return indexed(ref, old) }); b != nil {
		b.docs[i].Store(d)
		return
	}
	if s.used >= bucketFull*len(t.buckets) {
		t, s.used = x.grow(t)
		s.table.Store(t)
	}
	if t.add(h, d) {
		s.used++
	}
}

// drop forgets what is held for ref, if it is only, or only is nil.
func (x *index) drop(ref *Ref, only *row.Document) {
	h := x.hash(ref)
	s := x.stripe(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	b, i := s.table.Load().slot(h, func(old *row.Document) bool {
		return indexed(ref, old) && (only == nil || old == only)
	})
	if b == nil {
		return
	}
	b.docs[i].Store(nil)
	b.tags.Store(b.tags.Load() &^ (0xff << (8 * i)))
	s.used--
}

// slot returns the place of the document with hash h that is right, or nil.
func (t *indexTable) slot(h uint64, right func(*row.Document) bool) (*bucket, int) {
	at := t.bucket(h)
	for _, n := range [2]uint64{at, at ^ 1} {
		b := &t.buckets[n]
		for m := match(b.tags.Load(), tagOf(h)); m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m) / 8
			if d := b.docs[i].Load(); d != nil && right(d) {
				return b, i
			}
		}
	}
	return nil, 0
}

// add puts d into an empty slot. Without one it is left out: readers ask the
// cache for it.
func (t *indexTable) add(h uint64, d *row.Document) bool {
	home := &t.buckets[t.bucket(h)]
	next := &t.buckets[t.bucket(h)^1]
	for _, b := range [2]*bucket{home, next} {
		tags := b.tags.Load()
		empty := match(tags, 0)
		if empty == 0 {
			continue
		}
		i := bits.TrailingZeros64(empty) / 8
		if b == next { // before the document is there, so that nobody misses it
			home.tags.Store(home.tags.Load() | overflow)
		}
		b.docs[i].Store(d)
		b.tags.Store(tags | tagOf(h)<<(8*i))
		return true
	}
	return false
}

// grow returns a table of twice the size with the same documents, and how many
// they are. Readers go on with the old one, which nobody changes any more.
func (x *index) grow(old *indexTable) (_ *indexTable, used int) {
	t := newTable(2 * uint64(len(old.buckets)))
	for i := range old.buckets {
		for j := range old.buckets[i].docs {
			if d := old.buckets[i].docs[j].Load(); d != nil {
				ref := Ref{Resource: d.Owner(), Format: d.Format(), Key: d.Key()}
				if t.add(x.hash(&ref), d) {
					used++
				}
			}
		}
	}
	return t, used
}
