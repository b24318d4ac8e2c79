package resource

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// A List is the answer to a list in one representation. It is never changed.
type List struct {
	// Doc is the whole of it, with the entity tag of all that the answer says.
	Doc *row.Document

	// Lines are header lines that the front has made of where the list goes on.
	Lines string

	Rows int // documents in it

	copy *fresh.Copy // nil: it is not kept
	slot *listSlot   // set when it is kept
}

func (l *List) size(key listKey) int64 {
	return int64(l.Doc.Size()+len(l.Lines)+2*len(key.text)+l.copy.Size()) + 256
}

// A ListAsk is a question for documents in the order of their keys.
type ListAsk struct {
	After *row.Key // nil: from the beginning
	Limit int

	// Variant tells apart questions for the same documents that are answered in different
	// words.
	Variant string

	// Raw is the query as it was sent. Alone says that it and the representation say what
	// is asked for: then it is found by these bytes.
	Raw   string
	Alone bool

	// Pack makes one body of the documents that were found, with their keys, the header
	// lines that go with it, and says how many of them it holds. more says that others
	// follow. It is called by a load, once for all who wait.
	Pack func(docs []*row.Document, keys []row.Key, more bool, of row.Format) (
		body []byte, lines string, rows int)
}

// text is the same for all spellings of the question.
func (a *ListAsk) text() string {
	text := a.Variant + ";" + strconv.Itoa(a.Limit)
	if a.After != nil {
		text += ">" + string(*a.After)
	}
	return text
}

// A ListAnswer is a List with where it came from.
type ListAnswer struct {
	*List
	Origin Origin
	Token  Token         // every change up to here is in the answer
	Lag    time.Duration // how long ago the feed was known to be complete
}

// LookupList returns the list that a query asks for, as it was sent, if memory may answer
// with it, and as of when that is; nil: SelectList has the answer, or raw was not
// asked for in this spelling. It takes no lock, waits for nobody and allocates nothing;
// raw may alias a buffer. The caller counts what it answers with a Tally.
func (r *Resource) LookupList(raw string, of row.Format, s *Snapshot) (*List, *AsOf) {
	f := r.form.Load()
	if !f.listable() {
		return nil, nil
	}
	at := s.of(f.src)
	slot := f.kept.spelled(f.number, of, raw)
	if slot == nil {
		return nil, nil
	}
	l, _ := slot.good(at)
	return l, at
}

// good returns the list in a slot if a hit may answer with it, and why it may not.
func (s *listSlot) good(at *AsOf) (*List, fresh.Cause) {
	l := s.list.Load()
	switch {
	case l == nil || !at.Fresh:
		return nil, fresh.Unmoved
	case !l.copy.Valid():
		return nil, l.copy.Check()
	}
	if now := at.now / int64(time.Second); s.used.Load() != now {
		s.used.Store(now)
	}
	return l, fresh.Unmoved
}

// listable reports whether lists of f are kept: if a feed tells of every change of the
// tables that they are made of.
func (f *form) listable() bool {
	return f.lists != nil && f.src.followed.Load()
}

// SelectList answers a list: from memory, or with one read of the database for all who ask
// for it at the same time.
func (r *Resource) SelectList(
	ctx context.Context, ask *ListAsk, o Options,
) (ListAnswer, error) {
	for begun := monotonic(); ; {
		f := r.form.Load()
		a, err := f.selectList(ctx, ask, &o)
		if !r.outdated(f, err, begun) {
			return a, err
		}
	}
}

func (f *form) selectList(
	ctx context.Context, ask *ListAsk, o *Options,
) (ListAnswer, error) {
	if f.plan == nil {
		return ListAnswer{}, f.src.notReady()
	}
	if ask.After != nil {
		k, err := f.key.ParseAfter(*ask.After)
		if err != nil {
			return ListAnswer{}, fmt.Errorf("%s: %w", f.r.name, err)
		}
		parsed := *ask
		parsed.After, ask = &k, &parsed
	}
	need, err := f.await(ctx, o)
	if err != nil {
		return ListAnswer{}, err
	}
	at := f.src.asOf(monotonic()) // after the wait
	key := listKey{f.number, o.Format, ask.text()}
	kept := f.listable()
	if kept && need != fresh.Now {
		if l := f.keptList(ask, key, &at); l != nil {
			return ListAnswer{l, HitMemory, at.Token, at.Lag}, nil
		}
	}
	switch {
	case o.OnlyIfCached:
		return ListAnswer{}, ErrNotCached
	case !kept:
		return f.passList(ctx, ask, o.Format, &at)
	}
	return f.joinList(ctx, ask, key, f.src.domain.Need(need, monotonic()))
}

// keptList returns the list of a key if a hit may answer with it, and counts why not.
func (f *form) keptList(ask *ListAsk, key listKey, at *AsOf) *List {
	slot := f.kept.get(key)
	c := &f.r.counts.lists
	if slot == nil {
		c.unknown.Add(1)
		return nil
	}
	l, cause := slot.good(at)
	switch {
	case l != nil:
		c.hits.Add(1)
		f.kept.spell(ask, slot)
	case cause == fresh.Changed:
		c.moved.Add(1)
	case cause == fresh.Dirty:
		c.dirty.Add(1)
	default:
		c.unknown.Add(1)
	}
	return l
}

// passList reads a list that is not kept.
func (f *form) passList(
	ctx context.Context, ask *ListAsk, of row.Format, at *AsOf,
) (ListAnswer, error) {
	found, err := f.list(ctx, ask.After, ask.Limit+1)
	if err != nil {
		return ListAnswer{}, err
	}
	return ListAnswer{f.pack(found, ask, of, row.Stamp{}), Bypassed, at.Token, at.Lag}, nil
}

// joinList waits for the load of a list, and leads it if there is none to join.
func (f *form) joinList(
	ctx context.Context, ask *ListAsk, key listKey, need fresh.Need,
) (ListAnswer, error) {
	l, leader := f.lists.BeginList(row.Key(key.text), key.format, need, f.listQuestion)
	if leader && !f.lateList(l, key, need) {
		f.loadList(l, ask, key)
	}
	select {
	case <-l.Done():
	case <-ctx.Done():
		return ListAnswer{}, ctx.Err()
	}
	if _, err := l.Result(); err != nil {
		return ListAnswer{}, err
	}
	a := ListAnswer{List: l.With.(*List), Token: f.src.token(l.AsOf), Origin: Unstored}
	state, lag := f.src.domain.Gate(monotonic())
	a.Lag = lag
	switch {
	case state != fresh.Fresh, need == fresh.Now:
		a.Origin = Bypassed
	case !leader:
		a.Origin = Collapsed
	case l.Stored():
		a.Origin = Stored
	}
	return a, nil
}

// lateList looks into memory once more under a lease; see form.late.
func (f *form) lateList(l *fresh.Lease, key listKey, need fresh.Need) bool {
	slot := f.kept.get(key)
	if slot == nil || need == fresh.Now {
		return false
	}
	at := f.src.asOf(monotonic())
	list, _ := slot.good(&at)
	if list == nil {
		return false
	}
	l.With = list
	return f.lists.Found(l, list.Doc)
}

// loadList has a list read in a goroutine of its own: the caller may leave.
func (f *form) loadList(l *fresh.Lease, ask *ListAsk, key listKey) {
	fail := func(err error) { f.lists.FinishList(l, nil, err, nil, nil) }
	if !f.src.enter() {
		fail(errReplaced)
		return
	}
	f.src.crew.Go(func() {
		defer f.src.loads.Done()
		ctx, cancel := context.WithTimeout(context.Background(), f.src.timeout)
		defer cancel()
		release, err := f.place(ctx)
		if err != nil {
			fail(err)
			return
		}
		defer release()
		f.lists.Send(l)
		begin := monotonic()
		found, err := f.plan.List(ctx, ask.After, ask.Limit+1)
		f.src.observe("list", monotonic()-begin, err)
		if err != nil {
			fail(err)
			return
		}
		f.finishList(l, f.pack(found, ask, key.format, l.Stamp), ask, key)
	})
}

// finishList ends the lease of a list, which is kept if the lease and the store allow.
func (f *form) finishList(l *fresh.Lease, list *List, ask *ListAsk, key listKey) {
	c := &f.r.counts.lists
	var store func(*fresh.Copy)
	switch {
	case list.Doc.Size() > maxKeptList || int64(list.Doc.Size()) > f.kept.budget/8:
		c.tooLarge.Add(1)
	case !f.kept.again(key):
		c.once.Add(1)
	default:
		store = func(copied *fresh.Copy) {
			list.copy = copied
			slot := f.kept.put(key, list, monotonic()/int64(time.Second))
			f.kept.spell(ask, slot)
		}
	}
	l.With = list
	f.lists.FinishList(l, list.Doc, nil, nil, store)
}

// pack makes a List of what was found, of which one row may be past the limit.
func (f *form) pack(
	found []source.Loaded, ask *ListAsk, of row.Format, stamp row.Stamp,
) *List {
	more := len(found) > ask.Limit
	if more {
		found = found[:ask.Limit]
	}
	docs := make([]*row.Document, len(found))
	keys := make([]row.Key, len(found))
	var state []byte
	for i := range found {
		docs[i] = f.encode(found[i].Key, found[i].Values, of, row.Stamp{})
		keys[i] = found[i].Key
		tag, _, _ := strings.Cut(docs[i].ETag(), "-") // of all formats of the row
		state = append(state, tag...)
	}
	body, lines, rows := ask.Pack(docs, keys, more, of)
	state = strconv.AppendBool(append(state, lines...), more)
	stamp.At, stamp.Owner = monotonic(), f.number
	doc := row.NewDocument("", of, body, row.Hash(state), stamp)
	return &List{Doc: doc, Lines: lines, Rows: rows}
}

// AskListCopy has the compressed copy of a list made, which a hit has given; see
// Resource.AskCopy.
func (r *Resource) AskListCopy(l *List, c row.Coding) {
	if l.slot == nil || !l.Doc.Ask(c) {
		return
	}
	f := r.form.Load()
	f.copier.ask(copyJob{listKeeper{f.kept, l.slot}, tier.Ref{}, l.Doc, c})
}

// listCounts count answers with lists; those of event loops are in their tallies.
type listCounts struct {
	hits, moved, dirty, unknown, once, tooLarge atomic.Uint64
}

func (c *listCounts) snapshot(onLoops uint64) ListCounts {
	return ListCounts{
		Hits: c.hits.Load() + onLoops, Absent: c.unknown.Load(), Moved: c.moved.Load(),
		Dirty: c.dirty.Load(), Once: c.once.Load(), TooLarge: c.tooLarge.Load(),
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
func (f *form) keepLists(store *listStore) {
	if f.kept = store; store.budget == 0 || f.memory == nil || f.spec.TTL > 0 {
		return
	}
	q := new(fresh.Question)
	for _, d := range f.plan.Deps() {
		q.Classes = append(q.Classes, fresh.Class{Table: f.src.table(d.Table)})
	}
	if len(q.Classes) == 0 {
		return
	}
	f.listQuestion = q
	f.lists = f.src.domain.NewSpace(func(row.Key) {}, func(
		l *fresh.Lease, doc *row.Document, stored bool,
	) {
		store.agree(f.number, l, doc, stored)
	}, false)
}
