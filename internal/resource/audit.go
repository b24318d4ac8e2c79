package resource

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// The auditor is the insurance against what no proof covers: a feed that leaves
// something out and does not say so, a database whose definitions were changed
// behind its back, a defect of hotrow. It reads random documents and lists that are
// kept again from the source, and compares. It costs a few reads a second.

// sampleSize is how many keys of a resource the auditor chooses among, and sampledLists the
// same of lists: each keeps its question.
const (
	sampleSize   = 1024
	sampledLists = 32
)

// auditTimeout is how long the auditor waits for the feed to explain what it
// has seen.
const auditTimeout = 5 * time.Second

// An audited is a document or a list that was stored, as the auditor finds it again.
type audited struct {
	ref tier.Ref
	ask *ListAsk // nil: it is a document
}

// is reports whether two are the same document or list.
func (a *audited) is(b *audited) bool {
	return a.ref == b.ref
}

// name is what the log calls it: its key, or its question.
func (a *audited) name() string {
	if a.ask != nil {
		_, question := splitListKey(a.ref.Key)
		return question
	}
	return string(a.ref.Key)
}

// A sample is a random choice of the documents, or of the lists, that were stored: each of
// them has the same chance to be in it.
type sample struct {
	mu   sync.Mutex // guards what follows
	seen uint64
	kept []audited
}

// add offers one that was stored, to one of size.
func (s *sample) add(one audited, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	if len(s.kept) < size {
		s.kept = append(s.kept, one)
		return
	}
	if i := rand.Uint64N(s.seen); i < uint64(size) {
		s.kept[i] = one
	}
}

// take returns one at random; one that is not kept any more is to be removed.
func (s *sample) take() (audited, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) == 0 {
		return audited{}, false
	}
	return s.kept[rand.IntN(len(s.kept))], true
}

// remove takes one out that is not kept any more.
func (s *sample) remove(one *audited) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.kept {
		if s.kept[i].is(one) {
			last := len(s.kept) - 1
			s.kept[i] = s.kept[last]
			s.kept[last] = audited{}
			s.kept = s.kept[:last]
			return
		}
	}
}

// audits counts what the auditor of a source has done.
type audits struct{ checked, stale atomic.Uint64 }

// audit looks at as many documents and lists a second as the options say, until the source state
// is closed: at a list of each resource after a document.
func (u *sourceState) audit() {
	for turn := 0; sleep(u.ctx, time.Second/time.Duration(u.opts.Audit)); turn++ {
		u.apply.Lock()
		revisions := u.revisions
		u.apply.Unlock()
		if n := len(revisions); n > 0 {
			u.guarded("audit", func() { u.auditRevision(revisions[turn%n], turn/n%2 == 1) })
		}
	}
}

// auditRevision looks at one document of a revision, or at one list. Where there is none of
// these it looks at one of the others.
func (u *sourceState) auditRevision(f *revision, list bool) {
	if f.plan == nil || f.memory == nil || f.spec.TTL > 0 {
		return
	}
	from, other := &f.sample, &f.sampleOfLists
	if list {
		from, other = other, from
	}
	one, ok := from.take()
	if !ok {
		from = other
		one, ok = from.take()
	}
	if !ok {
		return
	}
	kept, held := f.good(&one)
	if kept == nil {
		if !held {
			from.remove(&one)
		}
		return
	}
	same, ok := f.compare(&one, kept)
	if !ok {
		return
	}
	u.audits.checked.Add(1)
	if same || !u.survives(f, &one, kept) {
		return
	}
	u.log.Error("the auditor has found a copy that is not what the database has: all copies of"+
		" the resource are forgotten", "event", eventAudit, "resource", f.r.name,
		"list", one.ask != nil, "key", one.name(),
		"made", time.Duration(monotonic()-kept.Stamp().At).String()+" ago", "cause", u.causes())
	f.space.DropAll()
	if f.lists != nil {
		f.lists.DropAll()
	}
	u.audits.stale.Add(1) // who sees the count gets no wrong copy any more
}

// causes says what may lie behind a wrong copy: what is known not to be told, before a
// defect.
func (u *sourceState) causes() string {
	if c := u.feed.Load(); c != nil {
		if b, ok := c.feed.(source.PartialFeed); ok {
			return "the feed " + string(b.Mode()) + " cannot tell of " + b.Unobservable() +
				"; if it is none of that, please report this"
		}
	}
	return "unknown: please report this"
}

// good returns the copy that a hit would answer with now, nil if none would, and whether
// memory holds any.
func (f *revision) good(one *audited) (kept *row.Document, held bool) {
	if state, _ := f.src.domain.Gate(monotonic()); state != fresh.Fresh {
		return nil, true
	}
	if one.ask == nil {
		doc, held := f.memory.Get(one.ref)
		if !held || !f.valid(doc) {
			return nil, held
		}
		return doc, true
	}
	doc := f.held(&one.ref)
	at := f.src.asOf(monotonic())
	if l, _ := goodList(doc, &at); l != nil {
		return doc, true
	}
	return nil, doc != nil
}

// compare reads a document or a list from the source and compares its content with what is
// kept.
func (f *revision) compare(one *audited, kept *row.Document) (same, ok bool) {
	ctx, cancel := context.WithTimeout(f.src.ctx, f.src.opts.Timeout)
	defer cancel()
	release, err := f.src.acquire(ctx, f.lanes)
	if err != nil {
		return false, false
	}
	defer release()
	begin := monotonic()
	now, err := f.readAgain(ctx, one)
	f.src.observe("audit", monotonic()-begin, err)
	if err != nil {
		return false, false
	}
	return now.Absent() == kept.Absent() && (kept.Absent() || now.ETag() == kept.ETag()), true
}

// readAgain reads what a copy is of.
func (f *revision) readAgain(ctx context.Context, one *audited) (*row.Document, error) {
	if one.ask != nil {
		found, err := f.selects(ctx, one.ask)
		if err != nil {
			return nil, err
		}
		doc := f.pack(found, &listing{one.ref, one.ask}, row.Stamp{})
		return doc, ListOf(doc).refused
	}
	loaded, err := f.plan.Load(ctx, []row.Key{one.ref.Key})
	switch {
	case err != nil:
		return nil, err
	case !loaded[0].Found():
		return row.NoRow(row.Stamp{}), nil
	}
	return f.encode(one.ref.Key, loaded[0].Values, one.ref.Format, row.Stamp{}), nil
}

// survives reports whether a copy that differs from the source is served even
// after a fence that was begun later: whatever was visible to the comparison has
// been applied by then, and should have dropped the copy.
func (u *sourceState) survives(f *revision, one *audited, kept *row.Document) bool {
	at := monotonic()
	for end := time.Now().Add(auditTimeout); u.domain.FencedAt() <= at; {
		if time.Now().After(end) || !sleep(u.ctx, fenceEvery) {
			return false // a feed that lags is known to
		}
	}
	unchanged := func() bool { // the same copy, made by the same load
		now, _ := f.good(one)
		return now != nil && now.Stamp() == kept.Stamp()
	}
	if !unchanged() {
		return false
	}
	same, ok := f.compare(one, kept)
	return ok && !same && unchanged()
}

// sampled lets the auditor know of what was stored under a lease.
func (f *revision) sampled(l *fresh.Lease) {
	if f.src.opts.Audit > 0 {
		ref := tier.Ref{Resource: f.number, Format: l.Format, Key: l.Key}
		f.sample.add(audited{ref: ref}, sampleSize)
	}
}

// sampledList lets the auditor know of a list that was stored.
func (f *revision) sampledList(as *listing) {
	if f.src.opts.Audit > 0 {
		f.sampleOfLists.add(audited{ref: as.ref, ask: as.ask}, sampledLists)
	}
}
