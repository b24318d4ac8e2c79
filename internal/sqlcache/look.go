package sqlcache

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// A Look is what memory knows of an Ask, and what may come of the server's answer to it. Its owner
// calls Keep or Drop, once.
type Look struct {
	Why Why  // nothing else is set
	Hit bool // memory would have answered

	c     *Cache
	p     *plan
	a     Ask // without what is the caller's
	key   Key
	copy  *Copy // of a hit
	of    *resource.Freshness
	lease *fresh.Lease // nil: the answer is not kept
	state *Fingerprint
	m     *meaning
	halts uint64
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
	l := &Look{c: c, p: p, key: c.keyOf(f, a), of: of, state: f, m: m, halts: c.halts.Load()}
	l.a.Told, l.a.Rows = a.Told, a.Rows
	if !asked {
		// The order matters: a table is opened when the versions have moved.
		if c.closed.is(p.rel.id) {
			l.Why = WhyClosed
		} else if one := c.copyOf(l.key); one != nil && one.told == a.Told && one.rows == a.Rows &&
			c.isValid(one) {
			l.Hit, l.copy = true, one
			return l
		}
	}
	if q := of.Question(p.rel.id, c.conditions(of, p, f, a.Reading.st)); q != nil {
		l.lease = of.Begin(row.Key(l.key[:]), q)
	}
	return l
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

// keyOf names the answer to an Ask in a state. What the Ask says otherwise a Copy has.
func (c *Cache) keyOf(f *Fingerprint, a *Ask) (k Key) {
	h := sha256.New()
	var n [8]byte
	put := func(b []byte) {
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		_, _ = h.Write(n[:])
		_, _ = h.Write(b)
	}
	number := f.number
	if c.broken == noRole {
		number = 0
	}
	binary.BigEndian.PutUint64(n[:], number)
	_, _ = h.Write(n[:])
	put([]byte(a.Reading.Shape))
	for i := range a.Reading.st.Values {
		v := &a.Reading.st.Values[i]
		binary.BigEndian.PutUint64(n[:], uint64(v.Kind)<<32|uint64(v.Param)<<1)
		if v.Minus {
			n[7]++
		}
		_, _ = h.Write(n[:])
		put([]byte(v.Text))
	}
	for _, oid := range a.Types {
		binary.BigEndian.PutUint64(n[:], uint64(oid))
		_, _ = h.Write(n[:])
	}
	put(a.Formats)
	put(a.Values)
	put(a.Results)
	sum := h.Sum(nil)
	copy(k[:], sum)
	return k
}

// Keeps reports whether the answer may be kept.
func (l *Look) Keeps() bool { return l.lease != nil }

// Exact reports whether the order of the answer's rows counts.
func (l *Look) Exact() bool { return l.p.exact }

// Table returns the number of the table whose columns the answer has.
func (l *Look) Table() uint32 { return l.p.rel.OID }

// Compared reports whether the server may give one answer only.
func (l *Look) Compared() bool { return l.p.exact || !l.p.limited }

// Drop says that the answer is none that may be kept.
func (l *Look) Drop() {
	if l.lease != nil {
		l.of.Fail(l.lease)
	}
}

// Keep says that the whole answer has come, and the session was in no transaction.
func (l *Look) Keep(s *Session, answer [16]byte) {
	if l.lease == nil {
		return
	}
	same := s.Known() == l.state && l.c.meaning.Load() == l.m && l.c.halts.Load() == l.halts
	same = same || l.c.broken == noFingerprint
	if !same {
		l.Drop()
		return
	}
	l.of.Finish(l.lease, stateOf(answer), nil, func(set *fresh.ReadSet) {
		l.c.put(l.key, &Copy{of: l.of, set: set, number: l.m.number, answer: answer,
			told: l.a.Told, rows: l.a.Rows})
	})
}

// stateOf returns what tells one answer of a question from another.
func stateOf(answer [16]byte) uint64 { return binary.BigEndian.Uint64(answer[:]) }
