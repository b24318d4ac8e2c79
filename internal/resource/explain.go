package resource

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A ListState is what memory would do with a question for a list.
type ListState string

// The states: a hit, and why memory has no answer.
const (
	ListHit       ListState = "hit"
	ListAbsent    ListState = "absent"    // it was not asked for lately
	ListOnce      ListState = "once"      // it was read once; the next read is kept
	ListTooLarge  ListState = "too_large" // see maxKeptList
	ListDiscarded ListState = "discarded" // a change came while it was read
	ListEvicted   ListState = "evicted"   // others needed its room
	ListDiffered  ListState = "differed"  // another answer was of another state of its rows
	ListMoved     ListState = "moved"     // a row changed that it depends on
	ListDirty     ListState = "dirty"     // such a change is not settled yet
	ListEpoch     ListState = "epoch"     // the feed may have missed something since
	ListForgotten ListState = "forgotten" // by an operator, or with a definition
	ListLagging   ListState = "lagging"   // the feed does not say that it is good
	ListUnkept    ListState = "unkept"    // lists like it are never kept
)

// stateOf are the states of lists that are not in memory.
var stateOf = [...]ListState{unheard: ListAbsent, onceAsked: ListOnce, tooLarge: ListTooLarge,
	discarded: ListDiscarded, evicted: ListEvicted, differed: ListDiffered}

// A ListExplanation says what memory has of a list, and why.
type ListExplanation struct {
	Key     string // which all spellings of the question have in common
	Spelled bool   // the bytes that were given are found without being parsed
	State   ListState
	Unkept  string // why lists like it are not kept

	Doc   *row.Document // that is in memory, good or not; nil: none
	Rows  int
	Token Token         // every change up to here is in the answer of a hit
	Lag   time.Duration // how long ago the feed was known to be complete

	Clock    uint64 // of versions, when Doc was read
	Versions []ListVersion
	Precise  bool // Doc depends on tags of rows alone

	Classes []ListTag   // that bound what can change the answer
	Coarse  string      // why it depends on all rows of its table; "": on Tags alone
	Within  []ListTable // whose rows are in its documents

	Guard *source.Guard // of the database's indexes; nil: none is needed
}

// A ListTag is a tag of rows, as the question names it.
type ListTag struct {
	Columns []string
	Values  []source.Cell
	By      []string // the columns by which changes tell it; nil: none yet
	Counts  bool     // from now on, and not once the changes under way are settled
}

// A ListTable is a table whose rows are within documents, and by which columns changes say
// in whose; nil: any change counts.
type ListTable struct {
	Table   string
	Columns []string
}

// A ListVersion is a version that a list in memory depends on.
type ListVersion struct {
	fresh.Version
	TableName string        // of the version, or of its tag
	Class     []source.Cell // of WordClass: what the question names; nil: rows that were read
}

// ExplainList says what memory has of a list in a format, and why it would not answer.
// It counts, keeps and loads nothing, and makes no list be told apart that was not.
func (r *Resource) ExplainList(
	ctx context.Context, ask *ListAsk, of row.Format,
) (*ListExplanation, error) {
	f := r.revision.Load()
	if f.plan == nil {
		return nil, f.notReady()
	}
	ask, err := f.own(ask)
	if err != nil {
		return nil, err
	}
	f.src.wake(ctx)
	at := f.src.asOf(monotonic())
	as := f.listing(ask, of)
	e := &ListExplanation{Key: ask.question(), Token: at.Token, Lag: at.Lag}
	f.explainTags(e, ask)
	if g, ok := f.plan.(source.Guarded); ok && ask.Query != nil {
		guard := g.Guard(ask.Query)
		e.Guard = &guard
	}
	if e.Unkept = f.unkept(ask); e.Unkept != "" {
		e.State = ListUnkept
		return e, nil
	}
	doc := f.held(&as.ref)
	if doc == nil {
		e.State = stateOf[f.kept.reason(as.ref)]
		return e, nil
	}
	access, ok := f.spelled(&as)
	e.Spelled = ask.Alone && ok && (access == 0 || access == f.kept.access.Load())
	f.explainKept(e, doc, &at, ask)
	return e, nil
}

// unkept says why a list like ask is never kept; "" if it may be.
func (f *revision) unkept(ask *ListAsk) string {
	switch {
	case f.spec.TTL > 0:
		return "the resource has a ttl: lists are kept only where a feed tells of changes"
	case f.memory == nil:
		return "the resource keeps nothing in memory"
	case !f.kept.keeps || f.lists == nil:
		return "there is no room for lists: see cache.memory"
	case !f.followed():
		return f.unfollowed()
	case !embedsFollowed(ask.Query):
		return "no feed tells of the changes of what it embeds"
	}
	return ask.unkept()
}

// explainKept fills in what memory has.
func (f *revision) explainKept(e *ListExplanation, doc *row.Document, at *AsOf, ask *ListAsk) {
	l := ListOf(doc)
	c := l.copy
	e.Doc, e.Rows, e.Clock, e.Precise = doc, l.Rows, c.Clock(), c.Precise()
	e.State = l.state(at)
	tables := f.src.tableNames()
	for _, g := range embedded(ask.Query) {
		tables[g.definition] = "the definition of " + g.r.name
	}
	classes := f.tagSlots(ask)
	for _, w := range c.Versions() {
		word := ListVersion{Version: w, TableName: tables[w.Table]}
		if w.Kind == fresh.VersionTag {
			if word.Class = classes[w.Slot]; word.Class != nil {
				word.TableName = f.table.Name
			}
		}
		e.Versions = append(e.Versions, word)
	}
}

// tagSlots returns the tags that a question names, by their versions.
func (f *revision) tagSlots(ask *ListAsk) map[uint32][]source.Cell {
	slots := make(map[uint32][]source.Cell)
	if f.root == nil || ask.Query == nil {
		return slots
	}
	for _, c := range ask.Query.Classes() {
		cells := cellsOf(c.Columns, c.Values)
		for _, tm := range *f.root.table.tagColumns.Load() {
			key, ok := cells.Values(tm.Columns, tm.Folded)
			class := fresh.Tag{Table: f.root.table.versions, TagColumns: tm, Key: key}
			if s, named := class.Slot(); ok && named {
				slots[s] = only(cells, tm.Columns)
			}
			class = unfolded(class)
			if s, named := class.Slot(); ok && named && len(tm.Folded) > 0 {
				slots[s] = notASCII(tm)
			}
		}
	}
	return slots
}

// notASCII names the tag of the rows whose texts do not fold.
func notASCII(tm *fresh.TagColumns) []source.Cell {
	return []source.Cell{{Column: strings.Join(tm.Folded, " or "), Text: "(not ASCII)"}}
}

// only returns the cells of some columns.
func only(cells source.Tuple, columns []string) []source.Cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c source.Cell) bool {
		return !slices.Contains(columns, c.Column)
	})
}
