package resource

import (
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
)

// changesKept is how many changed keys of a source are remembered: a key that shares its
// place with a later one is forgotten.
const changesKept = 8192

// A LastChange says when the feed told of a change of a document last.
type LastChange struct {
	At       time.Time // when it was told; zero: not since Since
	Position Token     // of the transaction; zero if At is
	Whole    bool      // the whole table was said to have changed, and not this row
	Since    time.Time // from when on every change is known
}

// A change is when a key was changed, and by which transaction.
type change struct {
	key uint64 // the hash of the resource and the key; 0: none
	at  time.Time
	by  Token
}

// changes are the last changes that the feed has told of, for whoever looks at a
// document. Guarded by sourceState.apply.
type changes struct {
	places []change                // nil before the first
	whole  map[*fresh.Space]change // of resources of which every document may have changed
	since  time.Time               // when the epoch began
}

// begin forgets what was before an epoch: changes may have been missed.
func (c *changes) begin(now time.Time) {
	clear(c.places)
	c.whole, c.since = make(map[*fresh.Space]change), now
}

// note remembers what a transaction has touched.
func (c *changes) note(bySpace map[*fresh.Space]*revision, a *applied, by Token) {
	if c.places == nil {
		c.places = make([]change, changesKept)
	}
	now, invalidations := time.Now(), a.invalidations
	for i := range invalidations {
		f := bySpace[invalidations[i].Space]
		if f == nil {
			continue
		}
		if invalidations[i].Whole || invalidations[i].Unnamed { // these may be part of any
			c.whole[f.space] = change{at: now, by: by}
		}
		for _, k := range invalidations[i].Keys {
			h := hashOf(f, k)
			*c.place(h) = change{key: h, at: now, by: by}
		}
	}
}

// last returns the last change of a document.
func (c *changes) last(f *revision, k row.Key) LastChange {
	l := LastChange{Since: c.since}
	if c.places != nil {
		h := hashOf(f, k)
		switch p := c.place(h); p.key {
		case 0:
		case h:
			l.At, l.Position = p.at, p.by
		default: // a change of this key was before that one
			l.Since = p.at
		}
	}
	if w, ok := c.whole[f.space]; ok && w.at.After(l.At) {
		l.At, l.Position, l.Whole = w.at, w.by, true
	}
	return l
}

// place is where a key is remembered. The lowest bit of a hash is always set.
func (c *changes) place(hash uint64) *change { return &c.places[hash>>1%changesKept] }

// hashOf never returns 0.
func hashOf(f *revision, k row.Key) uint64 {
	return (xxhash.Sum64String(string(k)) + uint64(f.number)*0x9e3779b97f4a7c15) | 1
}

// LastChange returns when the feed told of a change of key last. ok is false when nothing
// follows the document.
// Errors: row.ErrKey.
func (r *Resource) LastChange(key row.Key) (l LastChange, ok bool, err error) {
	f := r.revision.Load()
	if f.plan == nil || f.space == nil || !f.followed() {
		return l, false, nil
	}
	k, err := f.canonical(key)
	if err != nil {
		return l, false, err
	}
	f.src.apply.Lock()
	defer f.src.apply.Unlock()
	if f.src.changes.since.IsZero() {
		return l, false, nil
	}
	return f.src.changes.last(f, k), true, nil
}
