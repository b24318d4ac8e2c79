package resource

import (
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/hotkeys"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// State is what Lookup says of a document.
type State uint8

// The states.
const (
	Miss   State = iota // memory has no answer: Load has
	Hit                 // the document, as fresh as promised
	Absent              // that there is no such row, as fresh as promised
	Stale               // what the outage rules let be answered if it is flagged; see Lookup
)

// A Snapshot is what the gates of all sources say at one time. An event loop begins
// one at each wake-up and answers every hit of the wake-up by it: one clock read and
// one look at each source, before the first look-up, instead of one for each request.
// It belongs to one goroutine.
type Snapshot struct {
	now   time.Time
	read  tier.Reader     // lends what is found until the next Begin or End
	picks hotkeys.Sampler // which of the look-ups are told of
	list  []AsOf
	own   AsOf // of the last answer that needed one of its own
}

// AsOf is how far what memory holds of one source is complete.
type AsOf struct {
	Fresh bool          // a fence was reached within stale_after
	Token Token         // covers what is shown
	Lag   time.Duration // how long ago the feed was known to be complete
	Own   bool          // it is of one answer, and of no other

	fenced int64 // when the last fence began that had been reached; taken before Token
	idle   bool  // nobody has asked for a while: Load has the answer, see sourceState.wake
	src    *sourceState
	epoch  uint64
	now    int64
}

// SameSource reports whether a and o are of one source: then what an answer says of
// them is the same. It never is for one that is Own.
func (a *AsOf) SameSource(o *AsOf) bool { return a.src == o.src && !a.Own && !o.Own }

// Begin forgets what was seen before, and ends the documents that were lent. now is the clock as
// read at the wake-up, before the first look-up.
func (s *Snapshot) Begin(now time.Time) {
	s.read.Begin()
	s.now, s.list = now, s.list[:0]
	s.picks.Wake(now)
}

// End ends the documents that were lent. It comes before the loop waits: what is freed is not
// used again as long as somebody may read it.
func (s *Snapshot) End() { s.read.End() }

// Reuse says that no document that was lent before is used any more, as when an answer has been
// made of it.
func (s *Snapshot) Reuse() { s.read.Reuse() }

// of returns the state of a source, taken now if it is the first look.
func (s *Snapshot) of(u *sourceState) *AsOf {
	for i := range s.list {
		if s.list[i].src == u {
			return &s.list[i]
		}
	}
	return s.look(u)
}

// look takes the state of a source.
func (s *Snapshot) look(u *sourceState) *AsOf {
	s.list = append(s.list, u.asOf(monotonicAt(s.now)))
	return &s.list[len(s.list)-1]
}

// asOf asks the source's gate at now. It comes before the look-up: the answer includes
// what is applied. The caller is somebody who asks.
func (u *sourceState) asOf(now int64) AsOf {
	rests := u.noteRequest(now)
	state, lag := u.domain.Gate(now)
	p := u.domain.Applied() // after the gate: what its fence has proved is applied
	return AsOf{
		Fresh: state == fresh.Fresh && !rests, Token: u.token(p), Lag: lag, idle: rests, src: u,
		epoch: p.Epoch, now: now, fenced: now - int64(lag),
	}
}

// shows returns what is said of an answer with a valid copy that was made at a time, until
// the next answer that needs its own.
func (s *Snapshot) shows(at *AsOf, made int64) *AsOf {
	// Fast path: a fence that began later has been reached, and so all that the copy shows is
	// applied.
	if made < at.fenced {
		return at
	}

	// Slow path: it may show more than that.
	t := at.shows(made)
	if t == at.Token {
		return at
	}
	s.own = *at
	s.own.Token, s.own.Own = t, true
	return &s.own
}

// shows returns the token of an answer with a valid copy that was made at a time.
func (a *AsOf) shows(made int64) Token {
	if a.Token.IsZero() {
		return a.Token
	}
	pos := a.src.domain.Shown(made, a.fenced, fresh.Position(a.Token.Pos))
	return a.Token.Showing(source.Position(pos))
}

// copied returns the token of an answer with a copy that others have been given, too: t says
// what was applied before it was looked for.
func (u *sourceState) copied(t Token, made int64) Token {
	fenced := u.domain.FencedAt()
	p := u.domain.Applied() // after the fence
	if p.Origin != t.Origin {
		return t
	}
	return t.Showing(source.Position(u.domain.Shown(made, fenced, p.Pos)))
}

func (u *sourceState) token(p *fresh.Progress) Token {
	if p.Origin == "" {
		return Token{}
	}
	return Token{Source: u.name, Origin: p.Origin, Pos: source.Position(p.Pos)}
}

// Lookup returns what memory may answer to a plain read of key, and as of when that is.
// The document is nil for a Miss alone; it says itself that there is no row for Absent,
// and perhaps for Stale. Load has the answer to a Miss, and to every read that asks for
// more: for the database, for a position that is not included, for no stale answer.
//
// The document is lent until the next Begin, End or Reuse of s: whoever needs it for longer takes
// its Keep. key may alias a buffer. Lookup takes no lock, waits for nobody and allocates nothing.
// The caller counts what it answers with a Tally. The AsOf is good until the next
// look-up by s; it is nil for a Miss.
func (r *Resource) Lookup(
	key row.Key, of row.Format, s *Snapshot,
) (*row.Document, State, *AsOf) {
	f := r.revision.Load()
	at := s.of(f.src)
	if f.memory == nil {
		return nil, Miss, nil
	}
	doc := s.read.Get(f.memory, &tier.Ref{Resource: f.number, Format: of, Key: key})
	doc, state, age := f.classify(key, doc, at, false)
	if state == Miss || !f.isOwn(doc) {
		return nil, Miss, nil
	}
	if s.picks.Due() {
		s.picks.Sample(r.hot, r.name, string(key), s.now)
	}
	if state == Stale {
		return doc, state, s.staleAt(at, doc, age)
	}
	return doc, state, s.shows(at, doc.At())
}

// staleAt returns what is said of a stale answer that is of age, until the next one.
func (s *Snapshot) staleAt(at *AsOf, doc *row.Document, age time.Duration) *AsOf {
	s.own = at.stale(doc, age)
	return &s.own
}

// stale returns what is said of a stale answer that is of age: an older epoch's copy
// includes nobody knows what.
func (a *AsOf) stale(doc *row.Document, age time.Duration) AsOf {
	one := AsOf{Lag: age, now: a.now, src: a.src, Own: true}
	if doc.Stamp().Epoch == a.epoch {
		one.Token = a.shows(doc.At())
	}
	return one
}

// lookup looks one copy up in memory, and returns what it may be answered as: see judge.
func (f *revision) lookup(
	key row.Key, of row.Format, at *AsOf, failed bool,
) (*row.Document, State, time.Duration) {
	if f.memory == nil {
		return nil, Miss, 0
	}
	ref := tier.Ref{Resource: f.number, Format: of, Key: key}
	return f.classify(key, f.held(&ref), at, failed)
}

// held returns what memory holds for ref, good or not, to keep; nil: nothing. It takes no lock.
func (f *revision) held(ref *tier.Ref) *row.Document {
	doc, _ := f.memory.Get(*ref)
	return doc
}

// classify is the gate: here alone is decided what a copy in memory, nil if there is none, may
// be answered as for key. failed says that the source has just failed to answer. The age is
// that of a stale copy, at most.
func (f *revision) classify(
	key row.Key, doc *row.Document, at *AsOf, failed bool,
) (*row.Document, State, time.Duration) {
	if doc == nil || f.space == nil ||
		f.spec.TTL > 0 && at.now-doc.Stamp().At > int64(f.spec.TTL) {
		return nil, Miss, 0
	}
	if c := copyOf(doc); c != nil {
		f.space.NoteWatched(key, c) // before c is known to be good
	}

	// Fast path: the copy is good.
	if (at.Fresh || f.timed()) && f.valid(doc) {
		if doc.Absent() {
			return doc, Absent, 0
		}
		return doc, Hit, 0
	}

	// Slow path: an outage, or a rest, which ends by a load.
	if at.idle && !failed {
		return nil, Miss, 0
	}
	limit := f.staleLimit(at, failed)
	if limit <= 0 {
		return nil, Miss, 0
	}
	age, ok := f.src.domain.Suspect(f.space, doc.Stamp(), at.now)
	if c := copyOf(doc); !ok || age > limit || c != nil && !c.Suspect() {
		return nil, Miss, 0
	}
	return doc, Stale, age
}

// valid reports whether nothing that is applied has touched a copy.
func (f *revision) valid(doc *row.Document) bool {
	if !f.space.Valid(doc.Stamp()) {
		return false
	}
	c := copyOf(doc)
	return c == nil || c.Valid()
}

// timed reports whether copies are good for their time to live and nothing
// else, because no feed says when they change.
func (f *revision) timed() bool { return f.spec.TTL > 0 && !f.followed() }

// staleLimit returns how old a copy may be that is answered flagged as stale; 0: none
// is. failed says that the source has just failed. Where it fails every load at once,
// which it does while the feed lags, that needs not be tried.
func (f *revision) staleLimit(at *AsOf, failed bool) time.Duration {
	policy := &f.r.rules.Load().stale
	switch {
	case policy.onLag == LagFail && !at.Fresh:
		return 0
	case failed, !at.Fresh && f.src.down.Load() > at.now:
		return policy.staleIfError
	case policy.onLag == LagStale && !at.Fresh && f.followed():
		return policy.maxStale
	}
	return 0
}

// A Tally counts what one loop has answered from memory. It has one writer, and a
// cache line to itself.
type Tally struct {
	hits, absent, stale, lists atomic.Uint64
	_                          [32]byte
}

// Answered counts one answer of a state that is not a Miss.
func (t *Tally) Answered(s State) { t.Add(s, 1) }

// Add counts n answers of a state that is not a Miss.
func (t *Tally) Add(s State, n uint64) {
	to := &t.hits
	switch s {
	case Absent:
		to = &t.absent
	case Stale:
		to = &t.stale
	}
	to.Store(to.Load() + n)
}

// List counts one list that was found as a whole.
func (t *Tally) List() { t.lists.Store(t.lists.Load() + 1) }

// Hits returns how many hits were counted.
func (t *Tally) Hits() uint64 { return t.hits.Load() }

// Absent returns how many answers that there is no row were counted.
func (t *Tally) Absent() uint64 { return t.absent.Load() }

// Stale returns how many stale answers were counted.
func (t *Tally) Stale() uint64 { return t.stale.Load() }

// Tally returns a new counter of r's answers from memory, which Stats adds up.
func (r *Resource) Tally() *Tally {
	t := new(Tally)
	r.tally.Lock()
	defer r.tally.Unlock()
	r.tallies = append(r.tallies, t)
	return t
}

// tallied returns what loops have counted.
func (r *Resource) tallied() (hits, absent, stale uint64) {
	r.tally.Lock()
	defer r.tally.Unlock()
	for _, t := range r.tallies {
		hits += t.Hits()
		absent += t.Absent()
		stale += t.Stale()
	}
	return hits, absent, stale
}
