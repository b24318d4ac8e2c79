package resource

import (
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// Moments is what the gates of all sources say at one time. An event loop
// begins one at each wake-up and answers every hit of the wake-up by it: one
// clock read and one look at each source, before the first look-up, instead of
// one for each request. It belongs to one goroutine.
type Moments struct {
	now  time.Time
	list []Moment
}

// A Moment is what the gate of one source said.
type Moment struct {
	Fresh bool
	Token Token         // every hit of the moment includes what is up to here
	Lag   time.Duration // how long ago the feed was known to be complete

	src *upstream
}

// SameSource reports whether two moments are of one source.
func (m *Moment) SameSource(o *Moment) bool { return m.src == o.src }

// Begin forgets the moments of before. now is the clock as read at the wake-up,
// before the first look-up.
func (m *Moments) Begin(now time.Time) { m.now, m.list = now, m.list[:0] }

// of returns the moment of a source, taken now if it is the first look.
func (m *Moments) of(u *upstream) *Moment {
	for i := range m.list {
		if m.list[i].src == u {
			return &m.list[i]
		}
	}
	p := u.domain.Applied()
	state, lag := u.domain.Gate(monotonicAt(m.now))
	t := Token{}
	if p.Origin != "" {
		t = Token{Source: u.name, Origin: p.Origin, Pos: source.Position(p.Pos)}
	}
	m.list = append(m.list, Moment{Fresh: state == fresh.Fresh, Token: t, Lag: lag, src: u})
	return &m.list[len(m.list)-1]
}

// Hit returns the document of key if memory has it and it may be answered as
// fresh, else nil: then Get has the answer. No document but a moment means that
// memory knows that there is no row. key may alias a buffer. It takes no lock
// and allocates nothing; the caller counts its hits with a Tally.
func (r *Resource) Hit(key row.Key, of row.Format, m *Moments) (*row.Document, *Moment) {
	f := r.form.Load()
	if f.memory == nil || f.space == nil {
		return nil, nil
	}
	at := m.of(f.src)
	if !at.Fresh && !f.timed() {
		return nil, nil
	}
	doc, ok := f.memory.Get(tier.Ref{Resource: f.number, Format: of, Key: key})
	if !ok || !f.space.Valid(doc.Stamp()) || f.expired(doc) {
		return nil, nil
	}
	if doc.Absent() {
		return nil, at
	}
	return doc, at
}

// HitStale is Hit for answers that nobody flags as stale, and that are better
// stale than late. While the feed lags it returns what memory has for as long
// as the resource's outage rules let a copy be answered; it waits for nobody.
func (r *Resource) HitStale(
	key row.Key, of row.Format, m *Moments,
) (*row.Document, *Moment) {
	f := r.form.Load()
	if f.memory == nil || f.space == nil {
		return nil, nil
	}
	at := m.of(f.src)

	// Fast path: the feed is complete.
	if at.Fresh || f.timed() {
		return r.Hit(key, of, m)
	}

	// Slow path: an outage.
	limit := f.staleLimit(fresh.Lagging, false)
	if f.src.down.Load() > monotonicAt(m.now) {
		limit = f.staleLimit(fresh.Lagging, true)
	}
	doc, ok := f.memory.Get(tier.Ref{Resource: f.number, Format: of, Key: key})
	if limit <= 0 || !ok || f.expired(doc) {
		return nil, nil
	}
	age, ok := f.src.domain.Suspect(f.space, doc.Stamp(), monotonicAt(m.now))
	if !ok || age > limit {
		return nil, nil
	}
	f.r.counts.stale.Add(1)
	if doc.Absent() {
		return nil, at
	}
	return doc, at
}

// A Tally counts the hits that one loop has answered. It has one writer, and a
// cache line to itself.
type Tally struct {
	n, absent atomic.Uint64
	_         [48]byte
}

// Add counts one hit.
func (t *Tally) Add() { t.n.Store(t.n.Load() + 1) }

// AddAbsent counts one answer that there is no row.
func (t *Tally) AddAbsent() { t.absent.Store(t.absent.Load() + 1) }

// Count returns how many hits were counted, answers that there is no row not
// among them.
func (t *Tally) Count() uint64 { return t.n.Load() }

// Absent returns how many answers that there is no row were counted.
func (t *Tally) Absent() uint64 { return t.absent.Load() }

// Tally returns a new counter of r's hits, which Stats adds up.
func (r *Resource) Tally() *Tally {
	t := new(Tally)
	r.tally.Lock()
	defer r.tally.Unlock()
	r.tallies = append(r.tallies, t)
	return t
}

// tallied returns what loops have counted.
func (r *Resource) tallied() (hits, absent uint64) {
	r.tally.Lock()
	defer r.tally.Unlock()
	for _, t := range r.tallies {
		hits += t.Count()
		absent += t.Absent()
	}
	return hits, absent
}
