package tier

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/arena"
)

const (
	// triesForRoom is how often a put evicts before it gives up. What it has evicted is free once
	// readers have left their turns: the puts that follow find it.
	triesForRoom = 8

	// sampleBuckets is of how many buckets in a row the entry is taken that was asked for least:
	// up to eight each.
	sampleBuckets = 2

	// samplesForSize is in how many samples an entry is looked for that has the size that needs
	// room.
	samplesForSize = 4

	// newShare is the part (1/n) of the entries that came last, and are not compared with others
	// yet: what is new cannot have been asked for often.
	newShare = 64

	// otherClass is by how many notes the least wanted entry of all must be less wanted than
	// that of the size that needs room: then its whole page goes.
	otherClass = 2
)

// Eviction is W-TinyLFU (Einziger, Friedman, Manes, 2017) with samples for queues. Entries that
// came last wait in a queue. Where there is no room, the oldest of it is compared with the least
// wanted of a sample of all others. The one that was asked for less lately goes; the new one, if
// they are wanted alike, so that a walk through many keys pushes nothing out.

// newest are the places of the entries that came last, in their order.
type newest struct {
	mu    sync.Mutex // guards the rest
	words []uint64   // a ring
	first int
	n     int
}

// push adds an entry. Of those that nobody has popped it forgets the oldest, where there are
// more than most: they count as others do.
func (q *newest) push(word uint64, most int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if over := q.n - most; over >= 0 && q.n > 0 {
		q.first = (q.first + over + 1) % len(q.words)
		q.n -= over + 1
	}
	if q.n == len(q.words) {
		bigger := make([]uint64, max(2*q.n, 64))
		for i := range q.n {
			bigger[i] = q.words[(q.first+i)%q.n]
		}
		q.words, q.first = bigger, 0
	}
	q.words[(q.first+q.n)%len(q.words)] = word
	q.n++
}

// pop takes the oldest, where there are more than keep; 0: there are not.
func (q *newest) pop(keep int) (word uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n <= keep {
		return 0
	}
	word = q.words[q.first]
	q.first = (q.first + 1) % len(q.words)
	q.n--
	return word
}

// write copies parts into a new entry, and evicts where there is no room; 0: it found none.
func (m *Memory) write(parts ...[]byte) arena.Ref {
	n := arena.HeadBytes
	for _, part := range parts {
		n += len(part)
	}
	for try := 0; try < triesForRoom && m.arena.Over(); try++ {
		m.shrink()
	}
	for range triesForRoom {
		ref, err := m.arena.Add(parts...)
		if err == nil {
			return ref
		}
		if errors.Is(err, arena.ErrLimbo) || !m.makeRoom(n) {
			return 0
		}
	}
	return 0
}

// A candidate is an entry that may go.
type candidate struct {
	word   uint64 // 0: none
	wanted int    // how often it was asked for lately
}

// A sampled is what a look at some entries has found: the least wanted of the size that needs
// room, and of all.
type sampled struct{ sized, any candidate }

// sample looks at entries by chance, for one of n bytes that needs room; of 0: for any.
func (m *Memory) sample(s arena.Section, n int) (found sampled) {
	put, young := m.put.Load(), uint32(m.entries.Load()/newShare)
	for range samplesForSize {
		r := rand.Uint64()
		st := m.index.stripe(uint32(r))
		for i := range uint32(sampleBuckets) {
			b := st.sampled(uint32(r>>32) + i)
			for j := range b {
				word := b[j].Load()
				if word == 0 {
					continue
				}
				c := candidate{word, m.sketch.estimate(uint32(word))}
				least, sized := c.under(&found.any), c.under(&found.sized)
				if !least && !sized {
					continue
				}
				x := itemOf(s.View(refOf(word)))
				if put-x.born() < young {
					continue
				}
				if least {
					found.any = c
				}
				if sized && m.arena.SameClass(x.Len(), n) {
					found.sized = c
				}
			}
		}
		if found.sized.word != 0 {
			return found
		}
	}
	return found
}

// under reports whether c is less wanted than other, which may be none.
func (c *candidate) under(other *candidate) bool {
	return other.word == 0 || c.wanted < other.wanted
}

// makeRoom evicts for an entry of n bytes. It reports false where there is nothing to evict.
func (m *Memory) makeRoom(n int) bool {
	s := m.arena.Enter()
	defer s.Leave()
	found := m.sample(s, n)
	least := found.sized
	if least.word == 0 {
		least = found.any
	}
	word := m.oldestNew()
	switch {
	case least.word == 0 && word == 0:
		return false
	case least.word == 0,
		found.sized.word != 0 && word != 0 && m.sketch.estimate(uint32(word)) <= least.wanted:
		m.evictWord(s, word)
	case found.sized.word == 0, found.sized.wanted >= found.any.wanted+otherClass:
		m.evacuate(s, refOf(found.any.word), n)
	default:
		m.evictWord(s, least.word)
	}
	return true
}

// fewestNew is how many of the entries are the newest at least.
const fewestNew = 64

// newEntries returns how many of the entries are the newest.
func (m *Memory) newEntries() int { return int(m.entries.Load() / newShare) }

// oldestNew takes the first of the newest entries that is there still; 0: there are no more
// than may be.
func (m *Memory) oldestNew() (word uint64) {
	for {
		word = m.newest.pop(m.newEntries())
		if word == 0 || m.index.has(word) {
			return word
		}
	}
}

// evictWord evicts the entry with a word, if it is there still.
func (m *Memory) evictWord(s arena.Section, word uint64) {
	if m.index.take(word) {
		x := itemOf(s.View(refOf(word)))
		m.remove(s, refOf(word), &x, true)
	}
}

// shrink evicts a page, that of a least wanted entry.
func (m *Memory) shrink() {
	s := m.arena.Enter()
	defer s.Leave()
	if found := m.sample(s, 0); found.any.word != 0 {
		m.evacuate(s, refOf(found.any.word), 0)
	}
}

// evacuate evicts all that stands where an entry of n bytes could go, about where another is.
func (m *Memory) evacuate(s arena.Section, near arena.Ref, n int) {
	for _, ref := range s.Evacuate(nil, near, n) {
		m.evict(s, ref)
	}
}

// evict forgets the entry of a document, or a copy, if it is there still. It was found within
// s.
func (m *Memory) evict(s arena.Section, ref arena.Ref) {
	x := itemOf(s.View(ref))
	if x.coding() != 0 {
		m.dropCopy(s, ref, &x)
		return
	}
	of := x.ref()
	m.drop(&of, ref)
}

// within reports whether entries of a kind take no more than a part (1/n) of the budget. Where
// they do, one of them goes, if it is found at once.
func (m *Memory) within(taken *atomic.Int64, share int64, is func(*item) bool) bool {
	for try := 0; taken.Load() > m.maxBytes/share; try++ {
		if try == triesForRoom || !m.evictOne(is) {
			return false
		}
	}
	return true
}

// evictOne evicts an entry of a kind, by chance, and reports whether it has found one.
func (m *Memory) evictOne(is func(*item) bool) bool {
	s := m.arena.Enter()
	defer s.Leave()
	r := rand.Uint64()
	st := m.index.stripe(uint32(r))
	for i := range uint32(8 * sampleBuckets) {
		b := st.sampled(uint32(r>>32) + i)
		for j := range b {
			if word := b[j].Load(); word != 0 {
				if x := itemOf(s.View(refOf(word))); is(&x) {
					m.evict(s, refOf(word))
					return true
				}
			}
		}
	}
	return false
}
