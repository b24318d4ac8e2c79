package resource

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
)

// Statements keep fresh what a front knows of answers to statements of its own, which it has run
// itself at the source's database. The front has the copies; Statements say what they depend on,
// and whether that has moved.
type Statements struct {
	drop  func(key row.Key)
	agree func(key row.Key, state uint64)
	now   atomic.Pointer[Freshness]
	mu    sync.Mutex // held while now is replaced; before sourceState.apply
}

// A Freshness is the state of a source that copies are of. When another takes its place, none of
// them is good any more.
type Freshness struct {
	u     *sourceState
	space *fresh.Space
}

// Statements returns those of a source. drop forgets the copy of a key; agree forgets it unless it
// is of this state. Both are called with locks held, and call nothing.
func (s *Set) Statements(
	name string, drop func(key row.Key), agree func(key row.Key, state uint64),
) *Statements {
	st := &Statements{drop: drop, agree: agree}
	s.mu.Lock()
	u := s.sources[name]
	s.mu.Unlock()
	if u != nil {
		st.now.Store(st.freshness(u))
	}
	return st
}

// freshness gives a source state a space for statements.
func (s *Statements) freshness(u *sourceState) (f *Freshness) {
	f = &Freshness{u: u}
	u.locked(func() {
		f.space = u.domain.NewSpace(s.drop,
			func(l *fresh.Lease, doc *row.Document, stored bool) { s.agree(l.Key, doc.Hash()) })
	})
	return f
}

// Now returns the present state of the source; nil: there is none.
func (s *Statements) Now() *Freshness {
	f := s.now.Load()
	if f == nil || f.u.next.Load() == nil {
		return f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f = s.now.Load()
	u := f.u
	for n := u.next.Load(); n != nil; n = u.next.Load() {
		u = n
	}
	if u != f.u {
		f = s.freshness(u)
		s.now.Store(f)
	}
	return f
}

// Open reports whether the feed is known to be complete, so that copies may be good. rests says
// that it is not asked, since nobody asks here: Wake ends this.
func (f *Freshness) Open() (open, rests bool) {
	at := f.u.asOf(monotonic())
	return at.Fresh && f.u.followed.Load(), at.idle
}

// Wake has the feed be asked closely again.
func (f *Freshness) Wake(ctx context.Context) {
	if f.u.follower != nil && f.u.followed.Load() {
		f.u.wake(ctx)
	}
}

// Follows reports whether the feed tells of the changes of a table.
func (f *Freshness) Follows(table string) bool {
	names := f.u.followsNow.Load()
	return names != nil && (*names)[table]
}

// Begin takes the lease of an answer, before its statement is sent. It returns nil when another
// answer of the key is on its way.
func (f *Freshness) Begin(key row.Key, q *fresh.Question) *fresh.Lease {
	l, leads := f.space.BeginList(key, listFormat, fresh.Any, q)
	if !leads {
		return nil
	}
	f.space.Send(l)
	return l
}

// Finish ends a lease. The answer is of this state, and found are the tags that its rows tell;
// store gets what it depends on, if it may be kept.
func (f *Freshness) Finish(
	l *fresh.Lease, state uint64, found []fresh.Tag, store func(*fresh.ReadSet),
) {
	stamp := l.Stamp
	stamp.At = monotonic()
	f.space.FinishList(l, row.NewDocument("", listFormat, nil, state, stamp), nil, found, store)
}

// Fail ends a lease whose answer is not known.
func (f *Freshness) Fail(l *fresh.Lease) { f.space.Fail(l, errAbandoned) }

// Clock returns the time by which fences are dated.
func Clock() int64 { return monotonic() }

// FencedAt returns when the last fence began that was reached.
func (f *Freshness) FencedAt() int64 { return f.u.domain.FencedAt() }

// Fence takes a fence now, and waits for it.
func (f *Freshness) Fence(ctx context.Context) {
	if f.u.follower != nil && f.u.followed.Load() {
		f.u.follower.fenceOnce(ctx)
	}
}

// Question returns what the answer depends on that finds rows of a table by conditions: all of them
// or fewer, as query.Terms; nil: nothing tells. named says that the caller can tell the keys of all
// rows that the answer is made of. It has to if rows are returned.
func (f *Freshness) Question(
	table string, where []query.Term, named bool,
) (q *fresh.Question, rows *Rows) {
	t, ok := f.u.tables.Load(table)
	if !ok { // no lists are kept: no change of it is noted
		return nil, nil
	}
	all := &fresh.Question{Tags: []fresh.Tag{{Table: t.(*listTable).versions}}}
	if len(where) == 0 {
		return all, nil
	}
	form := f.formOf(table)
	if form == nil || form.root == nil {
		return all, nil
	}
	var d listDeps
	if !form.root.tags(f.u, &d, &query.Query{Table: form.table, Where: where}) {
		return all, nil
	}
	switch {
	case d.rows.by == nil, form.root.byKey(&d):
		return &d.Question, nil
	case !named:
		return all, nil
	}
	d.Read = append(d.Read, d.rows.table)
	return &d.Question, &Rows{of: d.rows, table: form.table}
}

// Rows are those that an answer is made of, whose old values the feed may not tell.
type Rows struct {
	of    named
	table *query.Table
	tags  []fresh.Tag
}

// Add adds a row by the texts of its key's columns. It reports false if they are none of the
// columns' types.
func (r *Rows) Add(parts []string) bool {
	texts := make([]string, len(parts))
	for i, name := range r.of.by.Columns {
		at := slices.IndexFunc(r.table.Columns, func(c query.Column) bool { return c.Name == name })
		if at < 0 {
			return false
		}
		var err error
		if texts[i], err = r.table.Columns[at].Part.Parse(parts[i]); err != nil {
			return false
		}
	}
	r.tags = append(r.tags, fresh.Tag{Table: r.of.table, TagColumns: r.of.by,
		Key: string(row.JoinKey(texts...))})
	return true
}

// Tags returns what tells of changes of the rows.
func (r *Rows) Tags() []fresh.Tag { return fewer(r.tags) }

// Whole returns what tells of any change of the table.
func (r *Rows) Whole() []fresh.Tag { return whole([]*fresh.Table{r.of.table}) }

// Keys returns the keys of all rows of a table that may meet conditions, and the columns that keys
// are made of; nil: the conditions do not tell.
func (f *Freshness) Keys(table string, where []query.Term) (keys, columns []string) {
	form := f.formOf(table)
	if form == nil || form.root == nil || len(form.root.key) == 0 {
		return nil, nil
	}
	columns = form.root.key
	var own []query.Term
	for _, t := range where {
		if (t.Op == query.Eq || t.Op == query.In) &&
			slices.Contains(columns, form.table.Columns[t.Column].Name) {
			own = append(own, t)
		}
	}
	if len(own) == 0 {
		return nil, nil
	}
	q, _ := f.Question(table, own, false)
	if q == nil {
		return nil, nil
	}
	for _, tag := range q.Tags {
		c := tag.TagColumns
		if c == nil || !slices.Equal(c.Columns, columns) || len(c.Folded) > 0 {
			return nil, nil
		}
		keys = append(keys, tag.Key)
	}
	return keys, columns
}

// KeyOf returns the columns that name a row of a table to the feed; nil: none do.
func (f *Freshness) KeyOf(table string) []string {
	if form := f.formOf(table); form != nil && form.root != nil {
		return form.root.key
	}
	return nil
}

// byKey reports whether all tags of d name a row by its key.
func (r *listRoot) byKey(d *listDeps) bool {
	for i := range d.Tags {
		if c := d.Tags[i].TagColumns; c == nil || !c.Identity {
			return false
		}
	}
	return len(d.Tags) > 0
}

// TableOf returns what conditions on a table are about; nil: no resource has it.
func (f *Freshness) TableOf(table string) *query.Table {
	if form := f.formOf(table); form != nil {
		return form.table
	}
	return nil
}

// formOf returns a revision whose rows are those of a table.
func (f *Freshness) formOf(table string) *revision {
	served := f.u.served.Load()
	if served == nil {
		return nil
	}
	for _, r := range *served {
		if r.table != nil && r.table.Name == table && r.root != nil && r.followed() {
			return r
		}
	}
	return nil
}

// setFollows notes which tables the feed follows. u.apply is held.
func (u *sourceState) setFollows(names map[string]bool) {
	u.follows = names
	u.followsNow.Store(&names)
}
