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
// behind its back, a defect of hotrow. It reads random documents that are kept
// again from the source, and compares. It costs a few reads a second.

// sampleSize is how many keys of a resource the auditor chooses among.
const sampleSize = 1024

// auditTimeout is how long the auditor waits for the feed to explain what it
// has seen.
const auditTimeout = 5 * time.Second

// A sample is a random choice of the documents that were stored: each of them
// has the same chance to be in it.
type sample struct {
	mu   sync.Mutex // guards what follows
	seen uint64
	kept []tier.Ref
}

// add offers a document that was stored.
func (s *sample) add(ref tier.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	if len(s.kept) < sampleSize {
		s.kept = append(s.kept, ref)
		return
	}
	if i := rand.Uint64N(s.seen); i < sampleSize {
		s.kept[i] = ref
	}
}

// take returns one at random; one that is not kept any more is to be removed.
func (s *sample) take() (tier.Ref, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) == 0 {
		return tier.Ref{}, false
	}
	return s.kept[rand.IntN(len(s.kept))], true
}

// remove takes a document out that is not kept any more.
func (s *sample) remove(ref tier.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.kept {
		if s.kept[i] == ref {
			last := len(s.kept) - 1
			s.kept[i] = s.kept[last]
			s.kept = s.kept[:last]
			return
		}
	}
}

// audits counts what the auditor of a source has done.
type audits struct{ checked, stale atomic.Uint64 }

// audit looks at as many documents a second as the options say, until the
// upstream is closed.
func (u *upstream) audit() {
	for turn := 0; sleep(u.ctx, time.Second/time.Duration(u.opts.Audit)); turn++ {
		u.apply.Lock()
		forms := u.forms
		u.apply.Unlock()
		if len(forms) > 0 {
			u.guarded("audit", func() { u.auditForm(forms[turn%len(forms)]) })
		}
	}
}

// auditForm looks at one document of a form.
func (u *upstream) auditForm(f *form) {
	if f.plan == nil || f.memory == nil || f.spec.TTL > 0 {
		return
	}
	ref, ok := f.sample.take()
	if !ok {
		return
	}
	doc, ok := f.good(ref)
	if !ok {
		if _, held := f.memory.Get(ref); !held {
			f.sample.remove(ref)
		}
		return
	}
	same, ok := f.compare(ref, doc)
	if !ok {
		return
	}
	u.audits.checked.Add(1)
	if same || !u.survives(f, ref, doc) {
		return
	}
	u.log.Error("the auditor has found a copy that is not what the database has: all copies of"+
		" the resource are forgotten", "event", eventAudit, "resource", f.r.name,
		"key", string(ref.Key),
		"made", time.Duration(monotonic()-doc.Stamp().At).String()+" ago", "cause", u.causes())
	f.space.DropAll()
	if f.lists != nil {
		f.lists.DropAll()
	}
	u.audits.stale.Add(1) // who sees the count gets no wrong copy any more
}

// causes says what may lie behind a wrong copy: what is known not to be told, before a
// defect.
func (u *upstream) causes() string {
	if c := u.feed.Load(); c != nil {
		if b, ok := c.feed.(source.PartialFeed); ok {
			return "the feed " + string(b.Mode()) + " cannot tell of " + b.Unobservable() +
				"; if it is none of that, please report this"
		}
	}
	return "unknown: please report this"
}

// good returns the copy of ref that a hit would answer with now.
func (f *form) good(ref tier.Ref) (*row.Document, bool) {
	if state, _ := f.src.domain.Gate(monotonic()); state != fresh.Fresh {
		return nil, false
	}
	doc, ok := f.memory.Get(ref)
	return doc, ok && f.valid(doc)
}

// compare reads a document from the source and compares its content with doc.
func (f *form) compare(ref tier.Ref, doc *row.Document) (same, ok bool) {
	ctx, cancel := context.WithTimeout(f.src.ctx, f.src.opts.Timeout)
	defer cancel()
	release, err := f.src.acquire(ctx)
	if err != nil {
		return false, false
	}
	defer release()
	begin := monotonic()
	loaded, err := f.plan.Load(ctx, []row.Key{ref.Key})
	f.src.observe("audit", monotonic()-begin, err)
	if err != nil || len(loaded) != 1 {
		return false, false
	}
	now := row.NoRow(row.Stamp{})
	if loaded[0].Found() {
		now = f.encode(ref.Key, loaded[0].Values, ref.Format, row.Stamp{})
	}
	return now.Absent() == doc.Absent() && (doc.Absent() || now.ETag() == doc.ETag()), true
}

// survives reports whether a copy that differs from the source is served even
// after a fence that was begun later: whatever was visible to the comparison has
// been applied by then, and should have dropped the copy.
func (u *upstream) survives(f *form, ref tier.Ref, doc *row.Document) bool {
	at := monotonic()
	for end := time.Now().Add(auditTimeout); u.domain.FencedAt() <= at; {
		if time.Now().After(end) || !sleep(u.ctx, fenceEvery) {
			return false // a feed that lags is known to
		}
	}
	unchanged := func() bool { // the same copy, made by the same load
		now, ok := f.good(ref)
		return ok && now.Stamp() == doc.Stamp()
	}
	if !unchanged() {
		return false
	}
	same, ok := f.compare(ref, doc)
	return ok && !same && unchanged()
}

// sampled lets the auditor know of what was stored under a lease.
func (f *form) sampled(l *fresh.Lease) {
	if f.src.opts.Audit > 0 {
		f.sample.add(tier.Ref{Resource: f.number, Format: l.Format, Key: l.Key})
	}
}
