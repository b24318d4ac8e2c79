package resource

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A List is what is known of the answer to a list in one representation. It is attached to the
// document that has the whole of the answer, with the entity tag of all that it says. It is
// never changed, but for used.
type List struct {
	// Lines are header lines that the front has made of where the list goes on.
	Lines string

	Rows    int  // documents in it
	Partial bool // all rows were counted, and there are more than Rows

	refused error               // why the rows that were read are no answer
	version uint64              // of the rows, whatever the representation: see listRead
	copy    *fresh.ReadSet      // nil: it is not kept
	by      []*fresh.TagColumns // by which what it depends on is told apart
	used    atomic.Int64        // when it has answered last, in seconds of the caller's clock

	kept *listStore // is told when it is evicted
	hash uint64     // by which that knows it
}

// ListOf returns what is known of the list whose answer a document is; nil: it is none.
func ListOf(doc *row.Document) *List {
	l, _ := doc.Attached().(*List)
	return l
}

// Size returns how many bytes of memory l takes.
func (l *List) Size() int { return 160 + len(l.Lines) + 8*len(l.by) + l.copy.Size() }

// Evicted notes that others needed the room of l.
func (l *List) Evicted() { l.kept.noteHash(l.hash, evicted) }

// use notes that the list was of use at a time, in seconds of the caller's clock.
func (l *List) use(now int64) {
	if l.used.Load() == now {
		return
	}
	l.used.Store(now)
	for _, tm := range l.by {
		if tm.Used.Load() < now {
			tm.Used.Store(now)
		}
	}
}

// A ListAnswer is a list with where it came from.
type ListAnswer struct {
	Doc *row.Document
	*List
	Origin Origin
	Token  Token         // covers what the answer shows
	Lag    time.Duration // how long ago the feed was known to be complete
}

// A ListAsk is a question for documents: those that a query finds, or a page of all of
// them in the order of their keys.
type ListAsk struct {
	Query *query.Query // which Resource.Query has read; nil: a page
	After *row.Key     // of a page: nil: from the beginning
	Limit int          // of a page

	// Variant tells apart questions for the same documents that are answered in different
	// versions. A resource has few of them, and there is no byte 0 in one.
	Variant string

	// Raw is the question as it was sent. Alone says that it and the representation say
	// what is asked for: then it is found by these bytes.
	Raw   string
	Alone bool

	// Access is Resource.AccessVersion of before it was asked who may read what the query
	// embeds. By its bytes alone the answer is found as long as that is the same.
	Access uint64

	// Pack makes the answer of what was found. It is called by a load, once for all who
	// wait, who get its error, too. It may keep nothing of p.
	Pack func(p *Page, of row.Format) (Packed, error)

	watched bool // it is kept even if nobody has asked before
}

// A Page is what was found for a list.
type Page struct {
	Docs  []*row.Document
	Keys  []row.Key // of Docs
	Shape *row.Shape
	Rows  []source.Loaded // of which Docs were made
	More  bool            // others follow
	Next  string          // the query of the page that follows; "": none is known
	Total int64           // of all rows that the filters find; -1: nobody asked
}

// Packed is what an answer with a list says.
type Packed struct {
	Body  []byte
	Lines string // header lines, with their ends
	Rows  int    // documents in Body
}

// question is the same for all spellings of the question, and for all representations of the
// answer.
func (a *ListAsk) question() string {
	if a.Query != nil {
		return "?" + a.Query.Key()
	}
	text := ";" + strconv.Itoa(a.Limit)
	if a.After != nil {
		text += ">" + string(*a.After)
	}
	return text
}

// unkept says why the answer may not be kept, "" if it may: no change of a row tells that it
// is another one.
func (a *ListAsk) unkept() string {
	switch {
	case a.Query == nil:
		return ""
	case a.Query.Count > query.CountExact:
		return "a planner's estimate is of no state of the rows"
	case a.Query.Searches():
		return "no feed tells when the database searches texts otherwise"
	}
	return ""
}

// Query reads the query of a list. It may embed rows of other resources if o.Reads says
// which of them the client may read.
func (r *Resource) Query(raw string, o query.Options) (*query.Query, error) {
	f := r.revision.Load()
	switch {
	case f.plan == nil:
		return nil, f.notReady()
	case f.table == nil:
		return nil, &source.Error{Class: source.Invalid, Message: r.name + " has no lists",
			Hint: "ask for documents by their keys"}
	case o.Reads != nil:
		o.Relations = f.relations()
	}
	q, err := query.Parse(raw, f.table, o)
	if err != nil { // it may name what is new
		f.recompileSoon()
		for _, g := range f.related(o.Relations) {
			g.recompileSoon()
		}
	}
	return q, err
}

// related returns the revisions that rows of f may embed.
func (f *revision) related(to func(of *query.Table) []query.Relation) []*revision {
	var list []*revision
	if to != nil {
		for _, r := range to(f.table) {
			list = append(list, r.Owner.(*revision))
		}
	}
	return list
}

// Keys returns up to limit keys that follow after (nil: from the beginning), in their
// order, read from the database, and whether there are more.
func (r *Resource) Keys(
	ctx context.Context, after *row.Key, limit int,
) (keys []row.Key, more bool, err error) {
	for begun := monotonic(); ; {
		f := r.revision.Load()
		found, err := f.page(ctx, after, limit)
		if r.outdated(f, err, begun) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		return keysOf(found.Rows), found.More, nil
	}
}

// page reads up to limit rows whose keys follow after.
func (f *revision) page(
	ctx context.Context, after *row.Key, limit int,
) (*source.Selected, error) {
	if f.plan == nil {
		return nil, f.notReady()
	}
	ask, err := f.own(&ListAsk{After: after, Limit: limit})
	if err != nil {
		return nil, err
	}
	f.src.wake(ctx)
	now := !f.src.asOf(monotonic()).Fresh
	found, _, err := f.readList(ctx, ask, func() bool { return now })
	return found, err
}

func keysOf(rows []source.Loaded) []row.Key {
	keys := make([]row.Key, len(rows))
	for i := range rows {
		keys[i] = rows[i].Key
	}
	return keys
}
