package resource

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// LookupList returns the list that raw, a ListAsk's, asks for if memory may answer with
// it, and as of when that is; nil: SelectList has the answer, or raw was not asked for
// lately. ListOf says more of it. It takes no lock, waits for nobody and allocates nothing; raw
// may alias a buffer. The document is lent as one of Lookup is. The caller counts what it
// answers with a Tally.
func (r *Resource) LookupList(raw string, of row.Format, s *Snapshot) (*row.Document, *AsOf) {
	f := r.revision.Load()
	if !f.listable() {
		return nil, nil
	}
	at := s.of(f.src)
	spelling := f.spelling(of, raw)
	doc := s.read.Follow(f.memory, &spelling, f.kept.access.Load())
	if l, _ := goodList(doc, at); l == nil {
		return nil, nil
	}
	return doc, s.shows(at, doc.At())
}

// goodList returns what is known of a list, nil if memory has none, if a hit may answer with
// it, and why it may not.
func goodList(doc *row.Document, at *AsOf) (*List, fresh.Cause) {
	if doc == nil || !at.Fresh {
		return nil, fresh.Unmoved
	}
	l := ListOf(doc)
	if !l.copy.Valid() {
		return nil, l.copy.Check()
	}
	l.use(inSeconds(at.now))
	return l, fresh.Unmoved
}

// listable reports whether lists of f are kept: if a feed tells of every change of the
// tables that they are made of.
func (f *revision) listable() bool {
	return f.lists != nil && f.followed()
}

// SelectList answers a list: from memory, or with one read of the database for all who ask
// for it at the same time.
func (r *Resource) SelectList(
	ctx context.Context, ask *ListAsk, o Options,
) (ListAnswer, error) {
	for begun := monotonic(); ; {
		f := r.revision.Load()
		own, err := f.own(ask)
		if err != nil {
			return ListAnswer{}, err
		}
		a, err := f.selectList(ctx, own, &o)
		if !r.outdated(f, err, begun) && !f.outdatedEmbeds(own.Query, err, begun) {
			return a, err
		}
	}
}

func (f *revision) selectList(
	ctx context.Context, ask *ListAsk, o *Options,
) (ListAnswer, error) {
	need, err := f.await(ctx, o)
	if err != nil {
		return ListAnswer{}, err
	}
	at := f.src.asOf(monotonic()) // after the wait
	as := f.listing(ask, o.Format)
	kept := f.listable() && ask.unkept() == "" && embedsFollowed(ask.Query)
	if !kept || need == fresh.Now || !at.Fresh {
		f.r.counts.lists.bypassed.Add(1)
	} else if doc := f.keptList(&as, &at); doc != nil {
		return ListAnswer{doc, ListOf(doc), HitMemory, at.shows(doc.At()), at.Lag}, nil
	}
	switch {
	case o.OnlyIfCached:
		return ListAnswer{}, ErrNotCached
	case !kept:
		return f.passList(ctx, &as, need, &at)
	}
	return f.joinList(ctx, &as, f.src.domain.Need(need, monotonic()))
}

// own returns ask in the terms of f, which the table may have got since it was made.
func (f *revision) own(ask *ListAsk) (*ListAsk, error) {
	own := *ask
	switch q := ask.Query; {
	case f.plan == nil:
		return nil, f.notReady()
	case q == nil && ask.After == nil:
		return ask, nil
	case q == nil:
		k, err := f.key.ParseAfter(*ask.After)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.r.name, err)
		}
		own.After = &k
	case f.table == nil:
		return nil, f.notReady()
	case q.Table != f.table, !current(q):
		var err error
		own.Query, err = query.Parse(q.String(), f.table, query.Options{Count: q.Count,
			Relations: f.relations(), Reads: func(string) error { return nil }})
		if err != nil {
			return nil, err
		}
	}
	return &own, nil
}

// keptList returns a list, to keep, if a hit may answer with it, and counts why not.
func (f *revision) keptList(as *listing, at *AsOf) *row.Document {
	var r tier.Reader
	defer r.End()
	doc := r.Get(f.memory, &as.ref)
	l, cause := goodList(doc, at)
	c := &f.r.counts.lists
	switch {
	case l != nil:
		c.hits.Add(1)
		f.spell(as)
		return doc.Keep()
	case doc == nil && f.kept.reason(as.ref) == evicted:
		c.evicted.Add(1)
	case cause == fresh.Changed:
		c.moved.Add(1)
	case cause == fresh.Dirty:
		c.dirty.Add(1)
	default:
		c.unknown.Add(1)
	}
	return nil
}

// passList reads a list that is not kept.
func (f *revision) passList(
	ctx context.Context, as *listing, need fresh.Need, at *AsOf,
) (ListAnswer, error) {
	now := need == fresh.Now || !at.Fresh
	told := func() bool { return f.followed() && embedsFollowed(as.ask.Query) }
	before, token := told(), f.src.token(f.src.domain.Visible())
	ctx, seen := f.seeing(ctx)
	found, _, err := f.readList(ctx, as.ask, func() bool { return now })
	if !before || !told() { // the feed may be past what no read sees: see notesUntold
		token = token.unsure()
	}
	if err != nil {
		return ListAnswer{}, err
	}
	doc := f.pack(found, as, row.Stamp{})
	l := ListOf(doc)
	return ListAnswer{doc, l, Bypassed, token.Showing(at.Token.Pos).Showing(seen.Position()),
		at.Lag}, l.refused
}

// readList reads what a list asks for once the source has a place for it, and calls begun
// before, which says whether a reader wants the source itself. What was read elsewhere
// must not be kept.
func (f *revision) readList(
	ctx context.Context, ask *ListAsk, begun func() (now bool),
) (found *source.Selected, elsewhere bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.src.opts.Timeout)
	defer cancel()
	others := embedded(ask.Query)
	for _, g := range others {
		if err := g.verify(ctx); err != nil {
			return nil, false, err
		}
	}
	release, err := f.place(ctx, others...)
	if err != nil {
		return nil, false, err
	}
	defer release()
	now, begin := begun(), monotonic()
	elsewhere, err = f.src.reads(ctx, now, func() (err error) {
		found, err = f.selects(ctx, ask)
		return err
	})
	f.src.observe("list", monotonic()-begin, err)
	return found, elsewhere, unreadable(err)
}

// selects reads what a list asks for.
func (f *revision) selects(ctx context.Context, ask *ListAsk) (*source.Selected, error) {
	if ask.Query != nil {
		return f.plan.Select(ctx, ask.Query)
	}
	rows, err := f.plan.List(ctx, ask.After, ask.Limit+1)
	if err != nil {
		return nil, err
	}
	return &source.Selected{Shape: f.plan.Shape(), Rows: rows[:min(len(rows), ask.Limit)],
		More: len(rows) > ask.Limit, Total: -1}, nil
}

// listCounts count answers with lists; those of event loops are in their tallies.
type listCounts struct {
	hits, moved, dirty, unknown, evicted, bypassed atomic.Uint64 // requests
	once, tooLarge, discarded, unchanged           atomic.Uint64 // reads
}

func (c *listCounts) snapshot(onLoops uint64) ListCounts {
	return ListCounts{
		Hits: c.hits.Load() + onLoops, Absent: c.unknown.Load(), Moved: c.moved.Load(),
		Dirty: c.dirty.Load(), Bypassed: c.bypassed.Load(), Once: c.once.Load(),
		TooLarge: c.tooLarge.Load(), Unchanged: c.unchanged.Load(), Evicted: c.evicted.Load(),
		Discarded: c.discarded.Load(),
	}
}

// listed returns how many lists loops have answered with.
func (r *Resource) listed() (n uint64) {
	r.tally.Lock()
	defer r.tally.Unlock()
	for _, t := range r.tallies {
		n += t.lists.Load()
	}
	return n
}

// keepLists lets lists of f be kept, if what they are made of can be followed. It runs
// where complete does.
func (f *revision) keepLists(store *listStore) {
	if !store.keeps || f.memory == nil || f.spec.TTL > 0 || Paths(f.plan) != nil {
		return
	}
	all, own := new(fresh.Question), new(fresh.Question)
	for _, d := range f.plan.Deps() {
		c := fresh.Tag{Table: f.src.table(d.Table).versions}
		all.Tags = append(all.Tags, c)
		if f.table != nil && d.Table == f.table.Name {
			own.Tags = append(own.Tags, c)
		}
	}
	if len(all.Tags) == 0 {
		return
	}
	if f.listQuestion = all; len(own.Tags) > 0 {
		f.rowQuestion = own
	}
	f.root = f.rootOf(f.plan.Deps())
	f.lists = f.src.domain.NewSpace(func(row.Key) {}, f.evictOtherLists)
}

// listDeps returns what a list depends on.
func (f *revision) listDeps(ask *ListAsk) *fresh.Question {
	if ask.Query != nil && ask.Query.Select != nil && f.rowQuestion != nil {
		return f.rowQuestion // members that are other rows cannot be selected
	}
	return f.listQuestion
}
