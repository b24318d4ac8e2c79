package sqlcache

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// A Look is what memory knows of an Ask, and what may come of the server's answer to it. Its owner
// calls Keep or Drop, once; of a hit that it answers with it calls Release.
type Look struct {
	Why Why  // nothing else is set
	Hit bool // memory has the answer

	c     *Cache
	p     *plan // nil of a hit
	key   Key
	copy  *Copy // of a hit
	of    *resource.Freshness
	lease *fresh.Lease // nil: the answer is not kept
	state *Fingerprint
	m     *meaning
	halts uint64

	lent    *tier.Reader  // that has lent the answer of a hit
	message *row.Document // that answer

	found    found
	named    named
	rows     int    // that have come
	recorded []byte // of the server's answer, its rows behind what describes them
	columns  int    // bytes of recorded that do
	counted  int    // bytes that are counted
}

// Look looks for the answer to an Ask by a session that is in no transaction, whose groups before
// have been answered. The statement has not been sent yet. asked says that the state of the session
// is being asked for in front of it: then memory does not answer, but may keep what comes.
func (c *Cache) Look(s *Session, a *Ask, asked bool) *Look {
	f, m, of := s.Last(), c.meaning.Load(), c.fresh.Now()
	switch {
	case a.Reading.st == nil:
		return &Look{Why: WhyText}
	case m == nil:
		return &Look{Why: WhyCatalogue}
	case of == nil || !c.isOpen(of):
		return &Look{Why: WhyFeed}
	case f == nil:
		return &Look{Why: WhySession}
	}
	l := &s.look
	if !c.serves {
		l = new(Look)
	}
	*l = Look{c: c, key: c.keyOf(f, a), of: of, state: f, m: m, halts: c.halts.Load()}
	if !asked && s.Known() == f && c.known() == m {
		if l.Why = c.find(l, s, a); l.Hit {
			return l
		}
	}
	l = l.Retain()
	p, why := c.plan(m, f, a)
	switch {
	case why != Looked:
		return &Look{Why: why}
	case !of.Follows(p.rel.id):
		return &Look{Why: WhyUnfollowed}
	case !asked && s.Known() != f:
		return &Look{Why: WhySession}
	case c.known() != m:
		return &Look{Why: WhyCatalogue}
	}
	where := c.conditions(of, p, f, a.Reading.st)
	l.p, l.found.table = p, p.rel.id
	l.found.keys, _ = of.Keys(p.rel.id, where)
	l.found.whole = !a.Reading.st.Count
	if !asked && l.Why == Looked && c.closed.is(&l.found) {
		l.Why = WhyClosed
	}
	l.named.places, l.named.columns = p.places(a, of.KeyOf(p.rel.id))
	q, rows := of.Question(p.rel.id, where, l.named.places != nil)
	if q != nil {
		l.named.rows = rows
		l.lease = of.Begin(row.Key(l.key[:]), q)
	}
	return l
}

// find looks for a copy, which l gets if it is good. It returns why one is not given away that
// would be good by itself.
func (c *Cache) find(l *Look, s *Session, a *Ask) Why {
	ref := c.ref(row.Key(l.key[:]))
	lent := c.lent.Get().(*tier.Reader)
	doc := lent.Get(c.memory, &ref)
	if doc == nil {
		c.release(lent)
		return Looked
	}
	one := doc.Attached().(*Copy)
	why := c.isGood(l, s, one)
	if l.Hit = one == l.copy; l.Hit && c.serves {
		l.lent, l.message = lent, doc
	} else {
		c.release(lent)
	}
	return why
}

// isGood gives l a copy if it is good, and returns why not if it would be good by itself.
func (c *Cache) isGood(l *Look, s *Session, one *Copy) Why {
	// The order matters: a table is opened, and a fence has been reached, when the versions have
	// moved.
	fenced, closed := l.of.FencedAt(), c.closed.is(&one.found)
	switch {
	case closed:
		return WhyClosed
	case !c.isValid(one):
		return Looked
	}
	if c.looked != nil {
		c.looked()
	}
	if why := c.mayShow(l, s, one, fenced); why != Looked {
		return why
	}
	l.copy = one
	return Looked
}

// release ends what a reader has lent.
func (c *Cache) release(lent *tier.Reader) {
	lent.End()
	c.lent.Put(lent)
}

// Release ends a hit: what Answer has returned is not read any more.
func (l *Look) Release() {
	if l.lent != nil {
		l.c.release(l.lent)
		l.lent = nil
	}
}

// mayShow returns why a copy is not as new as the session wants it. It was good when everything up
// to fenced was known.
func (c *Cache) mayShow(l *Look, s *Session, one *Copy, fenced int64) Why {
	switch l.state.level {
	case bounded:
		if !s.listens {
			return Looked
		}
	case bySession:
	default:
		return WhyLevel
	}
	if fenced < s.floor {
		c.asks.mu.Lock()
		c.asks.fence = true
		c.asks.mu.Unlock()
		c.wakeUp()
		return WhyFloor
	}
	s.floor = max(s.floor, one.at)
	return Looked
}

// isOpen reports whether the feed is complete, and has it watched closely if it is not.
func (c *Cache) isOpen(of *resource.Freshness) bool {
	open, rests := of.Open()
	if rests {
		c.asks.mu.Lock()
		c.asks.rests = true
		c.asks.mu.Unlock()
		c.wakeUp()
	}
	return open
}

// keyOf names the answer to an Ask in a state.
func (c *Cache) keyOf(f *Fingerprint, a *Ask) (k Key) {
	number := f.number
	if c.broken == noRole {
		number = 0
	}
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 256), number)
	b = append(b, a.Reading.sum()[:]...)
	b = append(append(binary.BigEndian.AppendUint32(b, a.Rows), a.Told), a.Described[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(a.Types)))
	for _, oid := range a.Types {
		b = binary.BigEndian.AppendUint32(b, oid)
	}
	b = appendText(appendText(appendText(b, a.Formats), a.Values), a.Results)
	sum := sha256.Sum256(b)
	copy(k[:], sum[:])
	return k
}

// Keeps reports whether the answer may be kept.
func (l *Look) Keeps() bool { return l.lease != nil }

// Exact reports whether the order of the answer's rows counts.
func (l *Look) Exact() bool { return l.p == nil && l.copy.exact || l.p != nil && l.p.exact }

// Table returns the number of the table whose columns the answer has.
func (l *Look) Table() uint32 { return l.p.rel.OID }

// Retain returns the same, where l may be a hit that is good until the next Look of the session.
func (l *Look) Retain() *Look {
	one := *l
	return &one
}

// Answer returns the messages of a hit until Release.
func (l *Look) Answer() Answer {
	body := l.message.Body()
	return Answer{body[:l.copy.columns], body[l.copy.columns:], l.copy.described}
}

// Number returns that of the definitions that the Look was made by.
func (l *Look) Number() uint64 { return l.m.number }

// Record adds a message to what Keep keeps: those that describe columns come first. It reports
// false if there is no room.
func (l *Look) Record(kind byte, body []byte, describes bool) bool {
	if kind == 'D' {
		l.rows++
	}
	if l.lease == nil {
		return true
	}
	if kind == 'D' {
		l.named.add(body)
	}
	if !l.c.serves {
		return true
	}
	size := len(body) + 5
	l.counted += size
	if l.c.recorded.Add(int64(size)) > front.SQLRecorded || !l.c.memory.Fits(l.counted+len(l.key)) {
		return false
	}
	l.recorded = append(append(l.recorded, kind), 0, 0, 0, 0)
	binary.BigEndian.PutUint32(l.recorded[len(l.recorded)-4:], uint32(size-1))
	l.recorded = append(l.recorded, body...)
	if describes {
		l.columns = len(l.recorded)
	}
	return true
}

// Drop says that the answer is none that may be kept.
func (l *Look) Drop() {
	l.Release()
	if l.lease != nil {
		l.c.recorded.Add(-int64(l.counted))
		l.of.Fail(l.lease)
	}
}

// Keep says that the whole answer has come, and the session was in no transaction. digest is that
// of the answer; described is of the statement now, as Ask has it.
func (l *Look) Keep(s *Session, digest, described [16]byte) {
	if l.lease == nil {
		return
	}
	c := l.c
	same := s.Known() == l.state && c.meaning.Load() == l.m && c.halts.Load() == l.halts
	if !same && c.broken != noFingerprint {
		l.Drop()
		return
	}
	c.recorded.Add(-int64(l.counted))
	one := &Copy{of: l.of, number: l.m.number, found: l.found, at: resource.Clock(),
		digest: digest, exact: l.p.exact, compared: l.p.exact || !l.p.limited,
		columns: l.columns, described: described}
	one.found.whole = l.found.whole && l.rows == len(l.found.keys)
	tags := l.named.tags()
	if c.broken == noRows {
		tags = nil
	}
	one.tags = len(tags)
	l.of.Finish(l.lease, stateOf(digest), tags, func(set *fresh.ReadSet) {
		one.set = set
		doc := row.NewDocument("", copyFormat, l.recorded, stateOf(digest), l.lease.Stamp)
		doc.Attach(one)
		c.memory.Put(c.ref(row.Key(l.key[:])), doc)
	})
}

// stateOf returns what tells one answer of a question from another.
func stateOf(digest [16]byte) uint64 { return binary.BigEndian.Uint64(digest[:]) }
