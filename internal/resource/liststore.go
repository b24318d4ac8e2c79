package resource

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

const (
	// maxKeptList is the largest list that is kept, in bytes.
	maxKeptList = 1 << 20

	// sizeOfAlias is of how many bytes of lists one spelling is found without being
	// parsed, and ways is among how many places it is looked for. With one place each, of
	// a thousand spellings in 16,384 places sixty met another and were parsed each time.
	sizeOfAlias = 1 << 10
	ways        = 4

	// maxSpelling is the longest spelling, in bytes: who spells one question in a great
	// many ways takes no more memory than lists may have.
	maxSpelling = 1 << 10

	// doorkeeperSize is of how many lists it is remembered that they were asked for once.
	doorkeeperSize = 1 << 16

	// reasonSlots is of how many lists that are not kept it is remembered why.
	reasonSlots = 1 << 14

	// evictSample is among how many lists the one that was used least lately goes.
	evictSample = 8
)

// A listQuestion names a list of one revision, by the text that all spellings of a question
// have in common.
type listQuestion struct {
	revision uint32
	text     string
}

// A listKey names one representation of a list.
type listKey struct {
	listQuestion
	format  row.Format
	variant string
}

// A listEntry is the place of a list in memory. The list in it changes; who has found the
// slot need not look for it again, and finds nothing in it once it is out of the store.
type listEntry struct {
	key  listKey
	list atomic.Pointer[List]
	used atomic.Int64 // when it has answered last, in seconds of the caller's clock
	size int64        // guarded by listStore.mu
	next *listEntry   // another representation; the same
}

// A rawAlias is a question, as it was sent, and the slot of what it asks for.
type rawAlias struct {
	hash     uint64 // of all that follows but slot
	revision uint32
	of       row.Format
	raw      string
	slot     *listEntry

	access uint64 // see ListAsk.Access; 0: the answer has rows of one resource alone
}

// is reports whether p is there and is of this question.
func (p *rawAlias) is(hash uint64, form uint32, of row.Format, raw string) bool {
	return p != nil && p.hash == hash && p.revision == form && p.of == of && p.raw == raw
}

// A bucket has the spellings of one part of the hashes; they are in one cache line.
type bucket [ways]atomic.Pointer[rawAlias]

// A listStore keeps the lists of a Set within a bound of bytes of its own: whoever asks
// for lists pushes no document out. A list is kept once it was missed twice, so that
// lists that are asked for once push out no other.
//
// Nothing tells it of changes: whether a list is good its versions say (fresh.ReadSet), and one
// that is not is replaced by the next load or goes like any other.
type listStore struct {
	budget     int64
	seed       maphash.Seed
	raw        []bucket // a power of two
	doorkeeper []atomic.Uint32
	reasons    []atomic.Uint32

	// access changes whenever somebody else may read a resource than before. What a question
	// embeds, by its spelling alone, was looked at by the rules of its time.
	access atomic.Uint64

	mu      sync.Mutex                  // guards what follows; innermost
	entries map[listQuestion]*listEntry // the first of its representations
	n       int64                       // of all representations
	bytes   int64

	evicted atomic.Uint64
}

// seconds is the clock of a listStore.
func seconds() int64 { return inSeconds(monotonic()) }

// inSeconds returns a time of the caller's clock in seconds.
func inSeconds(now int64) int64 { return now / int64(time.Second) }

// newListStore returns a store for so many bytes; 0: it keeps nothing.
func newListStore(budget int64) *listStore {
	n := min(max(budget/sizeOfAlias/ways, 1<<12), 1<<18)
	return &listStore{
		budget: budget, seed: maphash.MakeSeed(), entries: make(map[listQuestion]*listEntry),
		raw:        make([]bucket, 1<<bits.Len64(uint64(n-1))),
		doorkeeper: make([]atomic.Uint32, doorkeeperSize),
		reasons:    make([]atomic.Uint32, reasonSlots),
	}
}

// versions returns how many versions the tags of a source share, of lists and of documents:
// a quarter of the budget, which is a 32nd of all that is kept; 512 KiB at least, 32 MiB at
// most.
func (s *listStore) versions() int { return int(min(max(s.budget/4, 512<<10), 32<<20) / 8) }

// get returns the slot of a list; nil: there is none. It takes a lock, unlike alias.
func (s *listStore) get(key listKey) *listEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entry(key)
}

// entry is get with s.mu held.
func (s *listStore) entry(key listKey) *listEntry {
	slot := s.entries[key.listQuestion]
	for slot != nil && slot.key != key {
		slot = slot.next
	}
	return slot
}

func (s *listStore) hash(form uint32, of row.Format, text string) uint64 {
	h := maphash.String(s.seed, text) + uint64(form)<<8 + uint64(of)
	return h * 0x9e3779b97f4a7c15
}

func (s *listStore) hashOf(key listKey) uint64 {
	return s.hash(key.revision, key.format, key.text) + maphash.String(s.seed, key.variant)
}

// alias returns the slot of the list that a question asks for, as it was sent; nil: it
// was not asked for in this spelling lately. It takes no lock; raw may alias a buffer.
func (s *listStore) alias(form uint32, of row.Format, raw string) *listEntry {
	h := s.hash(form, of, raw)
	b := s.bucket(h)
	for i := range b {
		p := b[i].Load()
		if p.is(h, form, of, raw) && (p.access == 0 || p.access == s.access.Load()) {
			return p.slot
		}
	}
	return nil
}

func (s *listStore) bucket(hash uint64) *bucket { return &s.raw[hash>>32&uint64(len(s.raw)-1)] }

// spell notes that a question asks for the list in a slot.
func (s *listStore) spell(ask *ListAsk, slot *listEntry) {
	if !ask.Alone || len(ask.Raw) > maxSpelling {
		return
	}
	access := uint64(0)
	if len(embedded(ask.Query)) > 0 {
		if access = ask.Access; access != s.access.Load() {
			return
		}
	}
	k := &slot.key
	hash := s.hash(k.revision, k.format, ask.Raw)
	p := &rawAlias{hash, k.revision, k.format, ask.Raw, slot, access}
	b := s.bucket(p.hash)
	to := &b[p.hash%ways] // that goes where all places are taken
	for i := range b {
		switch old := b[i].Load(); {
		case old.is(p.hash, p.revision, p.of, p.raw):
			if old.slot != slot || old.access != access {
				b[i].Store(p)
			}
			return
		case old == nil || old.slot.list.Load() == nil: // free, or of a list that is gone
			to = &b[i]
		}
	}
	to.Store(p)
}

// admits notes that a list was missed, and reports whether it was before.
func (s *listStore) admits(key listKey) bool {
	h := s.hashOf(key)
	at, mark := &s.doorkeeper[h>>32%doorkeeperSize], uint32(h)|1
	return at.Swap(mark) == mark
}

// A reason says why a list is not kept.
type reason uint8

// The reasons.
const (
	unheard   reason = iota // it was not asked for, or that is forgotten
	onceAsked               // it was missed for the first time
	tooLarge                // it is larger than a list that is kept may be
	discarded               // a change came while it was read
	evicted                 // others needed its room
	differed                // another answer to its question was of another state
)

const reasonBits = 1<<3 - 1

// note remembers why a list is not kept, for a while.
func (s *listStore) note(key listKey, why reason) {
	h := s.hashOf(key)
	s.reasons[h>>32%reasonSlots].Store(uint32(h)&^reasonBits | uint32(why))
}

// reason returns why a list is not kept.
func (s *listStore) reason(key listKey) reason {
	h := s.hashOf(key)
	if v := s.reasons[h>>32%reasonSlots].Load(); v&^reasonBits == uint32(h)&^reasonBits {
		return reason(v & reasonBits)
	}
	return unheard
}

// put keeps a list, and lets others go to stay within the bound. It returns the list that
// was there; nil: none was.
func (s *listStore) put(key listKey, l *List, now int64) (slot *listEntry, was *List) {
	size := l.size(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot = s.entry(key); slot == nil {
		slot = &listEntry{key: key, next: s.entries[key.listQuestion]}
		s.entries[key.listQuestion] = slot
		s.n++
	}
	was = slot.list.Load()
	s.bytes += size - slot.size
	slot.size = size
	slot.used.Store(now)
	l.slot = slot
	slot.list.Store(l)
	for s.bytes > s.budget && s.evict(slot) {
	}
	return slot, was
}

// evict lets one list go, not that in keep. s.mu is held.
func (s *listStore) evict(keep *listEntry) bool {
	var worst *listEntry
	n := 0
	for _, slot := range s.entries { // begins at random
		for ; slot != nil; slot = slot.next {
			if slot != keep && (worst == nil || slot.used.Load() < worst.used.Load()) {
				worst = slot
			}
			n++
		}
		if n >= evictSample && worst != nil {
			break
		}
	}
	if worst == nil {
		return false
	}
	s.remove(worst)
	s.note(worst.key, evicted)
	s.evicted.Add(1)
	return true
}

// remove takes a slot out of the store. s.mu is held.
func (s *listStore) remove(slot *listEntry) {
	slot.list.Store(nil)
	s.bytes -= slot.size
	slot.size = 0
	s.n--
	first := s.entries[slot.key.listQuestion]
	switch {
	case first != slot:
		for first.next != slot {
			first = first.next
		}
		first.next = slot.next
	case slot.next == nil:
		delete(s.entries, slot.key.listQuestion)
	default:
		s.entries[slot.key.listQuestion] = slot.next
	}
}

// retire forgets the lists of a revision.
func (s *listStore) retire(form uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for q, slot := range s.entries {
		for ; slot != nil && q.revision == form; slot = slot.next {
			s.remove(slot)
		}
	}
}

// evictOthers forgets the representations of a list that are of another state than what a load
// has read, but those that are about to be replaced; see fresh.Domain.NewSpace.
func (s *listStore) evictOthers(form uint32, read *listRead, text string, stored bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for slot := s.entries[listQuestion{form, text}]; slot != nil; slot = slot.next {
		held := slot.list.Load()
		if read.agrees(slot.key, held) || stored && read.keeps(slot.key) {
			continue
		}
		s.remove(slot)
		s.note(slot.key, differed)
	}
}

// A listCopies keeps compressed copies with the list in one slot.
type listCopies struct {
	store *listStore
	slot  *listEntry
}

// Holds reports whether d is the document of the slot's list.
func (k listCopies) Holds(_ tier.Ref, d *row.Document) bool {
	l := k.slot.list.Load()
	return l != nil && l.Doc == d
}

// Unask lets somebody else ask for the copy.
func (k listCopies) Unask(_ tier.Ref, d *row.Document, c row.Coding) { d.Unask(c) }

// KeepCopy adds a copy to the document if it is that of the slot's list.
func (k listCopies) KeepCopy(_ tier.Ref, d, c *row.Document) bool {
	s := k.store
	s.mu.Lock()
	defer s.mu.Unlock()
	l := k.slot.list.Load()
	if l == nil || l.Doc != d || d.Copy(c.Coding()) != nil {
		return false
	}
	d.AddCopy(c)
	k.slot.size += int64(c.Size())
	s.bytes += int64(c.Size())
	for s.bytes > s.budget && s.evict(k.slot) {
	}
	return true
}

// ListStats counts the lists in memory.
type ListStats struct {
	Entries, Bytes, MaxBytes int64
	Evicted                  uint64 // to stay within the bound
}

func (s *listStore) stats() ListStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ListStats{Entries: s.n, Bytes: s.bytes, MaxBytes: s.budget,
		Evicted: s.evicted.Load()}
}
