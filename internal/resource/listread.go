package resource

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// A listing is a representation of a list: where it is kept, and what it is asked for by.
type listing struct {
	ref tier.Ref
	ask *ListAsk
}

func (f *revision) listing(ask *ListAsk, of row.Format) listing {
	key := listKey(ask.Variant, ask.question())
	return listing{tier.Ref{Resource: f.listed, Format: of, Key: key}, ask}
}

// A listRead is what one read of a question has found, for everybody who asks it: each
// representation is made of the same rows.
type listRead struct {
	found   *source.Selected // nil: memory had the one representation that was made
	stamp   row.Stamp
	version uint64 // of the rows: two representations are as fresh as each other if it is equal

	mu   sync.Mutex // guards made; innermost, but for what a pack takes
	made []madeList
	kept []madeList // of made, if the lease allows; written before the lease ends
}

type madeList struct {
	listing
	doc *row.Document
}

// as returns a representation of what was read; nil: this read has not got it.
func (r *listRead) as(f *revision, as *listing) *row.Document {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.made {
		if r.made[i].ref == as.ref {
			return r.made[i].doc
		}
	}
	if r.found == nil {
		return nil
	}
	doc := f.pack(r.found, as, r.stamp)
	r.version = ListOf(doc).version
	r.made = append(r.made, madeList{*as, doc})
	return doc
}

// keeps reports whether a representation is to be kept.
func (r *listRead) keeps(ref tier.Ref) bool {
	return slices.ContainsFunc(r.kept, func(m madeList) bool { return m.ref == ref })
}

// agrees reports whether what memory has of a representation may follow what was read.
func (r *listRead) agrees(ref tier.Ref, held *row.Document) bool {
	for i := range r.made {
		if made := r.made[i].doc; r.made[i].ref == ref &&
			(ListOf(made).refused != nil || !fresh.SameVersion(made, held)) {
			return false
		}
	}
	return ListOf(held).version == r.version
}

// joinList waits for the load of a list, and leads it if there is none to join. There is one
// for all representations.
func (f *revision) joinList(
	ctx context.Context, as *listing, need fresh.Need,
) (a ListAnswer, err error) {
	var l *fresh.Lease
	var leader bool
	deps := f.depsOf(as.ask)
	for err = errAbandoned; err == errAbandoned; {
		told := f.followed()
		_, question := splitListKey(as.ref.Key)
		l, leader = f.lists.BeginList(row.Key(question), listFormat, need, &deps.Question)
		w := f.wait(l, as)
		if leader {
			f.notesUntold(l, told)
			f.leadList(w, l, as, need, deps)
		}
		select {
		case <-l.Done():
			_, err = l.Result()
		case <-ctx.Done():
			err = ctx.Err()
		}
		f.leave(l, w)
		if err == nil {
			if a.Doc = l.With.(*listRead).as(f, as); a.Doc == nil {
				err = errAbandoned // who led has found its own representation in memory
			}
		}
	}
	if err != nil {
		return ListAnswer{}, err
	}
	a.List, a.Origin = ListOf(a.Doc), Unstored
	a.Token = f.src.tokenOf(l, a.Doc)
	if a.refused != nil {
		return ListAnswer{}, a.refused
	}
	now := monotonic()
	state, lag := f.src.domain.Gate(now)
	a.Lag = f.src.lagOf(l, lag, now)
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

// listFormat is that of the loads of lists, which are for every format.
const listFormat row.Format = 0

// waiters are those who wait for one load of a list. When all of them have left, the
// database is told to stop.
type waiters struct {
	ctx    context.Context // of the load
	cancel context.CancelFunc

	mu sync.Mutex // guards what follows; innermost
	n  int
	as []listing // what they want
}

// wait adds the caller to those who wait for l. Who comes when the last one has just left
// may find that the load fails by errAbandoned, and begins another.
func (f *revision) wait(l *fresh.Lease, as *listing) *waiters {
	ctx, cancel := context.WithCancel(context.Background())
	have, loaded := f.waiting.LoadOrStore(l, &waiters{ctx: ctx, cancel: cancel})
	if loaded {
		cancel()
	}
	w := have.(*waiters)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	if !slices.ContainsFunc(w.as, func(o listing) bool { return o.ref == as.ref }) {
		w.as = append(w.as, *as)
	}
	return w
}

// leave ends a wait.
func (f *revision) leave(l *fresh.Lease, w *waiters) {
	w.mu.Lock()
	w.n--
	last := w.n == 0
	w.mu.Unlock()
	if last {
		w.cancel()
		f.waiting.CompareAndDelete(l, w)
	}
}

// wanted returns what those who wait want by now.
func (w *waiters) wanted() []listing {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.as)
}

// recheckList looks into memory once more under a lease; see revision.recheck.
func (f *revision) recheckList(l *fresh.Lease, as *listing, need fresh.Need) bool {
	if need == fresh.Now {
		return false
	}
	var r tier.Reader
	defer r.End()
	at := f.src.asOf(monotonic())
	doc := r.Peek(f.memory, &as.ref)
	list, _ := goodList(doc, &at)
	if list == nil {
		return false
	}
	doc = doc.Keep()
	l.With = &listRead{version: list.version, made: []madeList{{*as, doc}}}
	return f.lists.Found(l, doc)
}

// leadList has a list read if memory does not have it by now.
func (f *revision) leadList(
	w *waiters, l *fresh.Lease, as *listing, need fresh.Need, deps *listDeps,
) {
	defer f.listLoaded(l)
	if !f.recheckList(l, as, need) {
		f.loadList(w, l, as.ask, deps)
	}
}

// loadList has a list read in a goroutine of its own, until nobody waits any more: the caller
// may leave while others wait.
func (f *revision) loadList(w *waiters, l *fresh.Lease, ask *ListAsk, deps *listDeps) {
	fail := func(err error) { f.lists.FinishList(l, nil, err, nil, nil) }
	if !f.src.enter() {
		fail(errReplaced)
		return
	}
	f.src.workers.Go(func() {
		defer f.src.loads.Done()
		defer f.listLoaded(l)
		reading, seen := f.seeing(w.ctx)
		found, elsewhere, err := f.readList(reading, ask, func() bool {
			f.lists.Send(l)
			return f.lists.WantsNow(l)
		})
		if err != nil {
			if w.ctx.Err() != nil {
				err = errAbandoned
			}
			fail(err)
			return
		}
		f.lists.Saw(l, fresh.Position(seen.Position()))
		read := &listRead{found: found, stamp: l.Stamp}
		for _, as := range append(f.r.listWatches.wanted(f, ask), w.wanted()...) {
			list := ListOf(read.as(f, &as))
			list.by = deps.tagColumns()
			list.use(seconds())
		}
		f.finishList(l, read, ask, deps.found(found), elsewhere)
	})
}

// finishList ends the lease of a list, whose representations are kept if the lease and the
// store allow. What is refused, or was read elsewhere, tells those who wait of a state of the
// rows all the same: what is kept of others goes.
func (f *revision) finishList(
	l *fresh.Lease, read *listRead, ask *ListAsk, found []fresh.Tag, elsewhere bool,
) {
	if !elsewhere && embedsKept(ask.Query) {
		for i := range read.made {
			if f.keepsList(&read.made[i]) {
				read.kept = append(read.kept, read.made[i])
			}
		}
	}
	l.With = read
	var store func(*fresh.ReadSet)
	if len(read.kept) > 0 {
		store = func(copied *fresh.ReadSet) {
			for i := range read.kept {
				f.keepList(&read.kept[i], copied)
			}
		}
	}
	state := row.NewDocument("", row.FormatJSON, nil, read.version, read.stamp)
	f.lists.FinishList(l, state, nil, found, store)
	for i := range read.kept {
		m := &read.kept[i]
		if l.Stored() {
			f.sampledList(&m.listing)
		} else {
			f.r.counts.lists.discarded.Add(1)
			f.kept.note(m.ref, discarded)
		}
	}
}

// keepsList reports whether a representation is to be kept, and counts why not.
func (f *revision) keepsList(m *madeList) bool {
	c, size := &f.r.counts.lists, m.doc.Size()
	switch {
	case ListOf(m.doc).refused != nil:
		return false
	case size > maxKeptList || !f.memory.Fits(size+len(m.ref.Key)):
		c.tooLarge.Add(1)
		f.kept.note(m.ref, tooLarge)
		return false
	case !m.ask.watched && !f.memory.Asked(m.ref):
		c.once.Add(1)
		f.kept.note(m.ref, onceAsked)
		return false
	}
	return f.addVariant(m.ref)
}

// keepList keeps a representation.
func (f *revision) keepList(m *madeList, copied *fresh.ReadSet) {
	ListOf(m.doc).copy = copied
	if _, same := f.memory.Compare(m.ref, m.doc); same {
		f.r.counts.lists.unchanged.Add(1)
	}
	f.memory.Put(m.ref, m.doc)
	f.spell(&m.listing)
}

// pack makes a representation of what was found.
func (f *revision) pack(
	found *source.Selected, as *listing, stamp row.Stamp,
) *row.Document {
	ask, of := as.ask, as.ref.Format
	p := Page{Docs: make([]*row.Document, len(found.Rows)),
		Keys: make([]row.Key, len(found.Rows)), More: found.More, Total: found.Total,
		Shape: found.Shape, Rows: found.Rows}
	var rows []byte
	for i := range found.Rows {
		l := &found.Rows[i]
		p.Docs[i] = f.encodeAs(found.Shape, l.Key, l.Values, of, row.Stamp{})
		p.Keys[i] = l.Key
		tag, _, _ := strings.Cut(p.Docs[i].ETag(), "-") // of all formats of the row
		rows = append(rows, tag...)
	}
	if q := ask.Query; q != nil && found.More && q.Limit > 0 {
		p.Next = q.Next(found.Last)
	}
	packed, err := ask.Pack(&p, of)
	told := strconv.AppendBool([]byte(ask.Variant+string(rows)+packed.Lines), found.More)
	state := strconv.AppendInt(append(rows, p.Next...), found.Total, 10)
	stamp.At, stamp.Owner = monotonic(), f.listed
	doc := row.NewDocument("", of, packed.Body, row.Hash(told), stamp)
	doc.Attach(&List{
		Lines: packed.Lines, Rows: packed.Rows, refused: err,
		version: row.Hash(strconv.AppendBool(state, found.More)),
		Partial: found.Total >= 0 && int64(packed.Rows) < found.Total,
		kept:    f.kept, hash: f.kept.hash(as.ref),
	})
	return doc
}
