package tier

import (
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/arena"
	"github.com/hotrow/hotrow/internal/row"
)

const (
	// negativeShare is the part of the budget (1/n) that absences may take: somebody who asks
	// for keys that do not exist cannot push out rows.
	negativeShare = 20

	// attachedShare is the part of the budget (1/n) that attachments may take: they are on Go's
	// heap.
	attachedShare = 4

	// askedShare is for how many bytes of the budget it is remembered of one answer that it was
	// asked for and not kept.
	askedShare = 4 << 10

	// largestShare is the part of the budget (1/n) that one document may take with its
	// copies. A larger one is not kept: it would push out too much for one key.
	largestShare = 8

	// noteResting is of how many reads of an entry the eviction is told of one, while nothing has
	// had to be evicted; noteEvicting from then on (BenchmarkMemory_HitRatio).
	noteResting  = 32
	noteEvicting = 2
)

// Memory is the Tier that keeps documents in memory, up to a number of bytes: outside Go's
// heap, in an arena, which its index finds them in.
//
//	reader:  hash ─▶ stripe ─▶ bucket ─▶ entry      no lock; copies, or lends within a Section
//	writer:  arena.Add, evicting ─▶ stripe's lock ─▶ place in the index ─▶ arena.Free of the old
//
// The bound is of all that it takes: entries, what is freed and not used yet, the index, the
// sketch, and what is attached to documents, which is on Go's heap.
//
// It keeps answers of any kind, each kind by a number of its own: who looks up lends by a Reader,
// who loads puts a document with what it has to say of it attached, and drops it by its Ref.
type Memory struct {
	arena    *arena.Arena
	index    *index
	sketch   *sketch
	newest   newest
	attached attachments
	lookups  *lookups
	ghosts   *ghosts
	asked    []atomic.Uint32 // tags that were asked for once: see Asked
	shares   shares
	maxBytes int64
	largest  int // bytes of the largest entry that is kept

	put       atomic.Uint32 // entries put so far: see item.born
	entries   atomic.Int64
	negative  atomic.Int64 // of entries, those that say that there is no row
	absences  atomic.Int64 // bytes of those
	copyBytes atomic.Int64
	evicted   atomic.Uint64
	loads     atomic.Uint64 // puts of what was not held
	latest    atomic.Int64  // Stamp.At of the last put
	age       atomic.Int64  // of what is evicted: a mean in which the last 64 weigh most
	divided   atomic.Int64  // what the rest took when the arena was given what is left
	closed    atomic.Bool
}

var _ Tier = (*Memory)(nil)

// OnHeap says whether documents are on Go's heap, as on other systems than Linux: then the
// heap's bound has to count them.
const OnHeap = arena.OnHeap

// NewMemory returns an empty Memory that takes up to maxBytes, keys and
// bookkeeping included. With a bound too small for a document it keeps nothing.
// Its memory is the system's until it is needed, and again once nobody has the Memory.
func NewMemory(maxBytes int64) *Memory {
	budget := min(max(maxBytes, 0), arena.MaxBytes)
	m := &Memory{
		lookups: newLookups(), maxBytes: budget,
		largest: int(budget / largestShare), ghosts: newGhosts(budget),
		asked: make([]atomic.Uint32, min(max(budget/askedShare, 1<<8), 1<<16)),
	}
	if m.take(budget) != nil { // the system has no room for so many addresses
		m.largest = 0
		_ = m.take(0)
	}
	m.divide()
	return m
}

// take takes addresses for documents of so many bytes, and what finds them.
func (m *Memory) take(bytes int64) error {
	most := max(bytes/besides, fewestBesides)
	ofIndex, ofSketch := wordsOfIndex(most), wordsOfSketch(most)
	words, err := arena.NewWords(ofIndex + ofSketch)
	if err != nil {
		return err
	}
	m.index, m.sketch = newIndex(words.All()[:ofIndex]), newSketch(words.All()[ofIndex:])
	a, err := arena.New(bytes)
	if err != nil {
		return errors.Join(err, words.Close())
	}
	m.arena = a
	runtime.AddCleanup(m, func(a *arena.Arena) { _ = errors.Join(a.Close(), words.Close()) }, a)
	return nil
}

// divideStep is in what steps the arena gives way to attachments.
const divideStep = 64 << 10

// divide lets the arena have what index, sketch and attachments leave.
func (m *Memory) divide() {
	n := m.index.bytes.Load() + m.sketch.bytes() +
		(m.attached.bytes.Load()+divideStep-1)/divideStep*divideStep
	if m.divided.Swap(n) != n {
		m.arena.SetLimit(m.maxBytes - n)
	}
}

// besides is the part of the budget (1/n) that index and sketch may take: with entries of less
// than about 150 bytes they are what bounds the number of entries.
const (
	besides       = 8
	fewestBesides = 64 << 10 // bytes
)

// mayGrow reports whether the index may take so many bytes more.
func (m *Memory) mayGrow(more int64) bool {
	return m.index.bytes.Load()+m.sketch.bytes()+more <= max(m.maxBytes/besides, fewestBesides)
}

// Get returns what the tier holds for ref, in memory of its own. It takes no lock of ours.
// ref.Key may alias a buffer. A Reader need not copy.
func (m *Memory) Get(ref Ref) (*row.Document, bool) {
	r := Reader{number: uint32(stackHash())}
	defer r.End()
	d := r.Get(m, &ref)
	if d == nil {
		return nil, false
	}
	return d.Keep(), true
}

// Compare reports whether the tier holds anything for ref, and whether that is of the same
// state as d.
func (m *Memory) Compare(ref Ref, d *row.Document) (held, same bool) {
	r := Reader{number: uint32(stackHash())}
	defer r.End()
	x, _, _ := m.search(r.enter(m), m.index.hash(&ref), &ref)
	if x.Len() == 0 {
		return false, false
	}
	return true, x.absent() == d.Absent() && (d.Absent() || x.Uint64(atHash) == d.Hash())
}

// Has reports whether the tier holds anything for ref.
func (m *Memory) Has(ref Ref) bool {
	held, _ := m.Compare(ref, noDocument)
	return held
}

var noDocument = new(row.Document)

// search returns what is held for ref, whose hash is h, and the place of the index that it is
// in; an empty item: nothing is. It takes no lock.
func (m *Memory) search(
	s arena.Section, h uint64, ref *Ref,
) (x item, at *atomic.Uint64, word uint64) {
	tag := tagOf(h)
	home, other := m.index.stripe(tag).both(tag)
	for b := home; ; b = other {
		for i := range b {
			word := b[i].Load()
			if uint32(word) != tag || word>>32 == 0 {
				continue
			}
			if x := itemOf(s.View(refOf(word))); x.is(ref) {
				return x, &b[i], word
			}
		}
		if b == other {
			return item{}, nil, 0
		}
	}
}

// Fits reports whether an answer may be kept that has so many bytes with its key.
func (m *Memory) Fits(n int) bool { return entryHead+n <= m.largest }

// Asked notes that ref was asked for and not found, and reports whether it was asked for before,
// as far as is known: what is large is kept for those who ask again.
func (m *Memory) Asked(ref Ref) bool {
	tag := tagOf(m.index.hash(&ref))
	return m.asked[tag>>8%uint32(len(m.asked))].Swap(tag|1) == tag|1
}

// Put keeps d for ref, or forgets whatever it held when there is no room for d. It copies both.
func (m *Memory) Put(ref Ref, d *row.Document) {
	made := m.add(&ref, d)
	h := m.index.hash(&ref)
	st := m.index.stripe(tagOf(h))
	s := m.arena.Enter()
	defer s.Leave()
	st.mu.Lock()
	old, at, word := m.search(s, h, &ref)
	gone := uint64(0)
	switch {
	case made == 0 || m.closed.Load():
		if at != nil {
			at.Store(0)
			st.used--
		}
	case at != nil:
		at.Store(wordOf(made, tagOf(h)))
	default:
		gone = m.index.insert(st, wordOf(made, tagOf(h)), m.mayGrow)
	}
	st.mu.Unlock()
	m.divide()
	if made != 0 && m.closed.Load() { // Close may have passed the stripe before
		m.Drop(ref)
		return
	}
	if at != nil {
		m.remove(s, refOf(word), &old, false)
	}
	if gone != 0 {
		lost := itemOf(s.View(refOf(gone)))
		m.remove(s, refOf(gone), &lost, true)
	}
	if made != 0 {
		m.sketch.note(tagOf(h))
		if d.At() != 0 {
			m.latest.Store(d.At())
		}
		if at == nil {
			m.loads.Add(1)
			if m.ghosts.picks(tagOf(h)) {
				m.ghosts.note(tagOf(h), m.arena.SlotBytes(entryBytes(len(ref.Key), d)), 1)
			}
			m.newest.push(wordOf(made, tagOf(h)), 2*m.newEntries()+fewestNew)
		}
	}
}

// Drop forgets ref: when it has returned, the old copy is gone.
func (m *Memory) Drop(ref Ref) { m.drop(&ref, 0) }

// DropAll forgets all that is held for some numbers by now. It looks at every entry, where
// there is any to forget.
func (m *Memory) DropAll(numbers ...uint32) {
	if !slices.ContainsFunc(m.Shares(), func(s Share) bool {
		return slices.Contains(numbers, s.Resource)
	}) {
		return
	}
	s := m.arena.Enter()
	defer func() { s.Leave() }()
	for i := range m.index.stripes {
		for b := range m.index.stripes[i].inUse {
			for j := range b {
				word := b[j].Load()
				if word == 0 {
					continue
				}
				x := itemOf(s.View(refOf(word)))
				if slices.Contains(numbers, x.Uint32(atResource)) && m.index.take(word) {
					m.remove(s, refOf(word), &x, false)
				}
			}
		}
		s.Leave() // what is freed waits for readers
		s = m.arena.Enter()
	}
}

// drop forgets ref if it is only, or only is 0: then it is evicted.
func (m *Memory) drop(ref *Ref, only arena.Ref) {
	h := m.index.hash(ref)
	s := m.arena.Enter()
	defer s.Leave()

	st := m.index.stripe(tagOf(h))
	st.mu.Lock() // an entry that moves is not always seen without
	x, at, word := m.search(s, h, ref)
	if at == nil || only != 0 && refOf(word) != only {
		st.mu.Unlock()
		return
	}
	at.Store(0)
	st.used--
	st.mu.Unlock()
	m.remove(s, refOf(word), &x, only != 0)
	if only == 0 && m.ghosts.picks(tagOf(h)) {
		m.ghosts.drop(tagOf(h))
	}
}

// takes returns the bytes that an entry takes in the arena.
func (m *Memory) takes(x *item) int64 { return int64(m.arena.SlotBytes(x.Len())) }

// counted notes that an entry with a, which is attached, has come (1), or gone (-1).
func (m *Memory) counted(x *item, a row.Attachment, n int64) {
	bytes := n * m.takes(x)
	m.entries.Add(n)
	if x.absent() {
		m.negative.Add(n)
		m.absences.Add(bytes)
	}
	if a != nil {
		bytes += n * attachedBytes(a)
	}
	m.shares.of(x.ref()).add(n, bytes)
}

// remove frees an entry that no reader finds any more, with its copies and what is attached.
func (m *Memory) remove(s arena.Section, ref arena.Ref, x *item, evicted bool) {
	a := m.attached.remove(x.attachment())
	m.counted(x, a, -1)
	if evicted {
		m.evicted.Add(1)
		m.aged(x)
		if e, ok := a.(Evictee); ok {
			e.Evicted()
		}
	}
	for k := x.copies(); k != 0; {
		c := itemOf(s.View(k))
		next := c.copies()
		m.copyBytes.Add(-m.takes(&c))
		m.arena.Free(k)
		k = next
	}
	m.arena.Free(ref)
}

// aged notes how long an entry was held that is evicted, if it says when it was loaded.
func (m *Memory) aged(x *item) {
	loaded := int64(x.Uint64(atTime))
	if loaded == 0 {
		return
	}
	age, mean := max(0, m.latest.Load()-loaded), m.age.Load()
	if mean == 0 {
		mean = age
	}
	m.age.Store(mean + (age-mean)/64)
}

// add writes an entry for d, evicting others where there is no room; 0: it is not kept.
func (m *Memory) add(ref *Ref, d *row.Document) arena.Ref {
	text := d.Size() - len(d.Key()) + len(ref.Key)
	a := d.Attached()
	if m.closed.Load() || !m.Fits(text) ||
		d.Absent() && !m.within(&m.absences, negativeShare, (*item).absent) ||
		a != nil && !m.within(&m.attached.bytes, attachedShare, (*item).hasAttachment) {
		return 0
	}
	var e entry
	number := m.attached.add(a)
	if !e.set(ref, d, m.put.Add(1), number) {
		m.attached.remove(number)
		return 0
	}
	made := m.write(e.head[:e.size], row.BytesOf(string(ref.Key)), d.Body())
	if made == 0 {
		m.attached.remove(number)
		return 0
	}
	s := m.arena.Enter()
	x := itemOf(s.View(made))
	m.counted(&x, a, 1)
	s.Leave()
	if n := m.entries.Load(); n%keysOfBlock == 0 && m.mayGrow(m.sketch.bytes()) {
		m.sketch.fit(int(n))
	}
	return made
}

// Estimate returns which share of requests m answers, and would answer with more memory or less.
// It reports false while that is not known.
func (m *Memory) Estimate() (Estimate, bool) {
	hits, _ := m.lookups.sum()
	return m.ghosts.estimate(hits, m.loads.Load())
}

// Stats returns a snapshot of the counters. It looks at every page of the arena: it is for
// scrapes, not for requests.
func (m *Memory) Stats() Stats {
	hits, misses := m.lookups.sum()
	held, attached := m.arena.Stats(), uint64(m.attached.bytes.Load())
	return Stats{
		Entries:   uint64(max(m.entries.Load(), 0)),
		CopyBytes: uint64(max(m.copyBytes.Load(), 0)),
		MaxBytes:  uint64(m.maxBytes),
		Negative:  uint64(max(m.negative.Load(), 0)),
		Hits:      hits,
		Misses:    misses,
		Evictions: m.evicted.Load(),
		Age:       time.Duration(m.age.Load()),
		Limbo:     held.LimboBytes,
		Waste:     held.HeldBytes - held.LimboBytes - held.EntryBytes,
		Bytes:     held.SlotBytes + attached,
		HeldBytes: held.HeldBytes + attached + uint64(m.index.bytes.Load()+m.sketch.bytes()),
	}
}

// Close forgets everything; a Put that begins later keeps nothing.
func (m *Memory) Close() error {
	m.closed.Store(true)
	s := m.arena.Enter()
	for i := range m.index.stripes {
		m.clear(s, &m.index.stripes[i])
	}
	s.Leave()
	m.arena.Trim()
	return nil
}

// clear forgets what is in a stripe.
func (m *Memory) clear(s arena.Section, st *indexStripe) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for b := range st.inUse {
		for i := range b {
			if ref := refOf(b[i].Swap(0)); ref != 0 {
				x := itemOf(s.View(ref))
				m.remove(s, ref, &x, false)
			}
		}
	}
	m.index.bytes.Add((fewest - int64(st.n.Load())) * bucketBytes)
	st.n.Store(fewest)
	st.used = 0
}
