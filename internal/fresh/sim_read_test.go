package fresh

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/hotrow/hotrow/internal/row"
)

// A simRead is one reader: it waits for its token, then for a load.
type simRead struct {
	doc    simDoc
	format row.Format
	need   Need
	told   int      // how often watchers had been told of doc
	floor  simState // that the answer must not be older than
	asked  int64    // when, or since when it need not wait for its token

	token   simToken
	seen    *Progress       // when the token was looked for last
	changed <-chan struct{} // closed when the progress is another
}

// A simLoad is one load in flight.
type simLoad struct {
	form      *simForm
	doc       simDoc
	format    row.Format
	lease     *Lease
	step      loadStep
	state     simState
	shows     Position // read from the server after state was
	rows      []int    // children that it has read
	readers   []*simRead
	disturbed int  // of the form, when it began
	quiet     bool // nothing was unsettled when it began
	trip      simTrip
}

type loadStep uint8

const (
	leased loadStep = iota
	sent
	loaded
)

// A simToken is a position that a client was given with a document.
type simToken struct {
	doc    simDoc
	origin string
	pos    Position
	state  simState // that an answer to it must not be older than
}

var errSource = errors.New("the source cannot be read")

// token keeps the last few tokens.
func (s *sim) token(t simToken) {
	if len(s.tokens) < 8 {
		s.tokens = append(s.tokens, t)
		return
	}
	s.tokens[s.rng.IntN(len(s.tokens))] = t
}

// readTurn begins a read, or moves a load or a reader who waits on.
func (s *sim) readTurn() bool {
	i := s.rng.IntN(len(s.loads) + len(s.waiting) + 3)
	if i < len(s.loads) {
		s.advance(s.loads[i])
		return true
	}
	if i -= len(s.loads); i < len(s.waiting) {
		return s.await(i)
	}
	s.ask()
	return true
}

// advance moves a load on: sent, read, finished.
func (s *sim) advance(l *simLoad) {
	switch l.step {
	case leased:
		if s.rng.IntN(2) == 0 && s.found(l) {
			return
		}
		if l.form.space.Send(l.lease) == l.lease.invalidated {
			s.failf("Send does not say whether the lease is invalidated")
		}
		s.depart(l)
	case sent:
		if s.standby != nil && !s.travel(l) {
			return
		}
		if s.standby == nil {
			s.look(l, &s.primary)
		}
	case loaded:
		s.finish(l)
	}
	l.step++
}

// found ends a load that has not been sent with a copy that was stored since its
// reader has looked, as a leader may.
func (s *sim) found(l *simLoad) bool {
	d, f := l.doc, l.form
	c := f.copies[d.key][l.format]
	state, _ := s.d.Gate(s.now)
	if l.readers[0].need == Now || c.doc == nil || state != Fresh || !f.shows(d.key, &c) {
		return false
	}
	if !f.space.Found(l.lease, c.doc) {
		return false
	}
	f.disturbed++
	if got, err := l.lease.Result(); got != c.doc || err != nil {
		s.failf("Result differs from what was found")
	}
	s.landed(l)
	s.tell(l, c.state, s.copyShows(&c))
	return true
}

// copyShows returns what is said of how far an answer with a copy may reach.
func (s *sim) copyShows(c *simCopy) Position {
	fenced := s.d.FencedAt()
	return s.d.Shown(c.doc.At(), fenced, s.d.Applied().Pos)
}

// look is the read of a load.
func (s *sim) look(l *simLoad, v *simServer) {
	if l.shows = s.logEnd; s.standby != nil && v == &s.standby.simServer {
		l.shows = s.standby.replayed
	}
	l.state = v.state[l.doc.resource][l.doc.key]
	l.rows = s.rowsOf(v, l.doc)
}

// rowsOf returns the children in a document, for the spaces that keep account.
func (s *sim) rowsOf(v *simServer, d simDoc) []int {
	if d.resource != 0 || s.worded == nil {
		return nil
	}
	rows := make([]int, 0, childs)
	for c, p := range v.parent {
		if p == d.key {
			rows = append(rows, c)
		}
	}
	return rows
}

// begin is Begin of the space of f.
func (f *simForm) begin(k int, of row.Format, need Need) (*Lease, bool) {
	if f.worded() {
		return f.space.BeginList(simKeys[k], of, need, f.versions.question(f.resource, simKeys[k]))
	}
	return f.space.Begin(simKeys[k], of, need)
}

// end is Finish of it. What was read decides whether changes name the document of a mixed form.
func (f *simForm) end(l *simLoad, doc *row.Document, err error, store func(*ReadSet)) {
	named := !f.worded() || f.mixed && bits.OnesCount64(uint64(l.state))%2 == 0
	switch {
	case !named:
		f.space.FinishList(l.lease, doc, err, f.versions.found(l.rows), store)
	case store == nil:
		f.space.Finish(l.lease, doc, err, nil)
	default:
		f.space.Finish(l.lease, doc, err, func() { store(nil) })
	}
}

// shows reports whether a copy may be a hit, which watchers may be given.
func (f *simForm) shows(k int, c *simCopy) bool {
	if c.versions != nil {
		f.space.NoteWatched(simKeys[k], c.versions)
	}
	return f.valid(c)
}

// ask begins a read of any document, with or without a token.
func (s *sim) ask() {
	s.reads++
	r := &simRead{doc: simDoc{s.rng.IntN(3) / 2, s.hot}}
	if s.rng.IntN(4) == 0 {
		r.doc.key = s.rng.IntN(s.forms[r.doc.resource].keys)
	}
	if s.rng.IntN(4) == 0 {
		r.format = row.FormatMsgPack
	}
	switch n := s.rng.IntN(16); {
	case n == 0:
		r.need = Now
	case n < 5 && len(s.tokens) > 0:
		t := s.tokens[s.rng.IntN(len(s.tokens))]
		r.doc, r.need, r.token = t.doc, Settled, t
	}
	r.told = s.watchers.told[r.doc.resource][r.doc.key]
	if r.need == Settled {
		r.seen, r.changed = s.d.Changed()
		s.waiting = append(s.waiting, r)
		return
	}
	s.begin(r)
}

// await looks whether a token has been reached. A reader that gives up waiting
// reads the source.
func (s *sim) await(i int) bool {
	r, p := s.waiting[i], s.d.Applied()
	switch {
	case p.Origin != r.token.origin:
		r.need = Now
	case p.Pos >= r.token.pos:
		r.floor = r.token.state
	case s.rng.IntN(8) == 0:
		r.need = Now
	default:
		select {
		case <-r.changed:
			r.seen, r.changed = s.d.Changed()
			return true
		default:
		}
		if r.seen != p {
			s.failf("the position has changed, and nobody was woken")
		}
		return false
	}
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.begin(r)
	return true
}

// begin is a read that need not wait: a hit, or a load.
func (s *sim) begin(r *simRead) {
	d, f := r.doc, s.forms[r.doc.resource]
	r.asked, r.need = s.now, s.d.Need(r.need, s.now)
	r.floor |= s.known[d.resource][d.key] | s.nows[d.resource][d.key] | f.told[d.key]
	if r.need == Now {
		r.floor |= s.primary.state[d.resource][d.key]
	} else if s.hit(r) {
		return
	}
	last := s.flying(f, d, r.format)
	mustJoin := last != nil && s.mustJoin(r, last)
	lease, leader := f.begin(d.key, r.format, r.need)
	switch {
	case leader:
		last = s.lead(f, r, lease)
	case last == nil || last.lease != lease:
		s.failf("a reader of %v joins a load that is not the last", d)
		return
	}
	last.readers = append(last.readers, r)
	if leader && mustJoin {
		s.failf("a second load of %v, need %d, beside one that would do", d, r.need)
	}
}

// lead notes a load that begins.
func (s *sim) lead(f *simForm, r *simRead, lease *Lease) *simLoad {
	if r.need == Now {
		f.disturbed++ // it invalidates those beside it
	}
	l := &simLoad{
		form: f, doc: r.doc, format: r.format, lease: lease, disturbed: f.disturbed,
		quiet: s.writing == 0 && len(s.d.pending) == 0 && lease.Stamp.Epoch != 0,
	}
	s.loads = append(s.loads, l)
	if p := s.d.Applied(); l.quiet && lease.AsOf != p {
		s.failf("nothing is unsettled, and a load claims only %v of %v", *lease.AsOf, *p)
	}
	return l
}

// flying returns the last load of a document in one format that has not ended.
func (s *sim) flying(f *simForm, d simDoc, of row.Format) *simLoad {
	for _, l := range slices.Backward(s.loads) {
		if l.form == f && l.doc == d && l.format == of {
			return l
		}
	}
	return nil
}

// mustJoin reports whether no rule demands a load of its own for r.
func (s *sim) mustJoin(r *simRead, l *simLoad) bool {
	if l.disturbed != l.form.disturbed {
		return false
	}
	switch r.need {
	case Settled:
		return l.quiet
	case Now:
		return l.step == leased
	}
	return l.quiet || l.lease.Fenced == s.d.FencedAt()
}

// hit answers r from its copy if that may be answered as fresh, and checks the
// promise: it was the value of the database not longer ago than that.
func (s *sim) hit(r *simRead) bool {
	d, f := r.doc, s.forms[r.doc.resource]
	p := s.d.Applied()
	state, lag := s.d.Gate(s.now)
	c := f.copies[d.key][r.format]
	if c.doc == nil {
		return false
	}
	age, ok := s.d.Suspect(f.space, c.doc.Stamp(), s.now)
	if ok && (c.versions == nil || c.versions.Suspect()) && !s.wasCurrent(d, c.state, int64(age)) {
		s.failf("a suspect copy of %v is older than %v", d, age)
	}
	if state != Fresh || !f.shows(d.key, &c) {
		return false
	}
	if int64(lag) > s.staleAfter {
		s.failf("the gate lets an answer pass that may be %v old", lag)
	}
	if !s.wasCurrent(d, c.state, s.staleAfter) {
		s.failf("a hit of %v is %b, which is older than %d", d, c.state, s.staleAfter)
	}
	s.hits++
	f.told[d.key] |= c.state
	s.answered(r, c.state, p, s.copyShows(&c))
	return true
}

// wasCurrent reports whether a state is not older than the database's was at some
// time within age of now.
func (s *sim) wasCurrent(d simDoc, state simState, age int64) bool {
	for bit, since := range s.since[d.resource][d.key] {
		if since < s.now-age && !state.has(1<<bit) {
			return false
		}
	}
	return true
}

// finish ends a load: with an error, a document to keep, or one not to keep.
func (s *sim) finish(l *simLoad) {
	f, k := l.form, l.doc.key
	var err error
	if s.rng.IntN(16) == 0 {
		err = errSource
	}
	stamp := l.lease.Stamp
	stamp.At = s.now
	doc := row.NewDocument("", l.format, nil, uint64(l.state), stamp)
	l.form.space.Saw(l.lease, l.shows)
	store := func(versions *ReadSet) {
		if err != nil {
			s.failf("a load that has failed is stored")
		}
		f.copies[k][l.format] = simCopy{doc, l.state, versions}
	}
	keep := s.rng.IntN(16) > 0 && s.keeps(l)
	if !keep {
		store = nil
	}
	alone := l.disturbed == f.disturbed
	f.end(l, doc, err, store)
	f.disturbed++ // a load beside it need not be joined any more
	if got, gotErr := l.lease.Result(); got != doc || gotErr != err {
		s.failf("Result differs from what Finish was given")
	}
	if l.lease.Stored() {
		s.stored++
	} else if err == nil && keep && l.quiet && alone {
		s.failf("%v was not stored, and nothing had come between", l.doc)
	}
	s.landed(l)
	if err == nil {
		s.tell(l, l.state, max(l.lease.AsOf.Pos, l.lease.Shows()))
	}
}

// landed forgets a load that has ended.
func (s *sim) landed(l *simLoad) {
	s.loads = slices.DeleteFunc(s.loads, func(o *simLoad) bool { return o == l })
}

// tell answers the readers of a load with a state that reaches up to a position.
func (s *sim) tell(l *simLoad, state simState, shows Position) {
	k := l.doc.key
	for _, r := range l.readers {
		s.answered(r, state, l.lease.AsOf, shows)
		l.form.told[k] |= state
		// A form that has been replaced meanwhile cannot speak for the new one.
		if r.need == Now && s.forms[l.doc.resource] == l.form {
			s.nows[l.doc.resource][k] |= state
		}
	}
}

// answered checks an answer: no older than what its reader may expect, complete up to the
// position that it includes, and without anything behind the one that it shows, which is its
// token.
func (s *sim) answered(r *simRead, state simState, p *Progress, shows Position) {
	d := r.doc
	s.watchers.holds(r, state)
	if state&ofAnother != 0 {
		s.failf("%v: %b, which the primary never had", d, state)
	}
	if !state.has(r.floor) {
		s.failf("%v: %b, must have %b (need %d)", d, state, r.floor, r.need)
	}
	if !s.wasCurrent(d, state, s.now-r.asked+s.staleAfter) {
		s.failf("%v: %b, older than %d when it was asked for (need %d)", d, state,
			s.staleAfter, r.need)
	}
	if p.Origin != s.origin {
		return
	}
	claimed := simState(0)
	for _, tx := range s.log {
		i := slices.Index(tx.docs, d)
		if i >= 0 && tx.pos <= p.Pos {
			claimed |= tx.changes[i]
		}
		if i >= 0 && tx.pos > shows && state.has(tx.changes[i]) {
			s.failf("%v: %b shows the transaction at %d, and its token is %d", d, state, tx.pos, shows)
		}
	}
	if !state.has(claimed) {
		s.failf("%v: %b is said to be as of %d, which has %b", d, state, p.Pos, claimed)
	}
	s.token(simToken{d, p.Origin, shows, state})
}

// watch checks after every turn that no copy is older than what a reader was
// told who asked for the source itself.
func (s *sim) watch() {
	for r, f := range s.forms {
		for k := range f.keys {
			for _, c := range f.copies[k] {
				if c.doc != nil && !c.state.has(s.nows[r][k]) && f.valid(&c) {
					s.failf("the copy of %v is older than an answer from the source", simDoc{r, k})
				}
			}
		}
	}
}
