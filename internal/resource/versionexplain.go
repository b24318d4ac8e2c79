package resource

import (
	"fmt"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// A VersionExplanation says on which rows a document depends of which changes do not always name
// the keys, and what has become of them since it was read.
type VersionExplanation struct {
	State   ListState
	Paths   []source.Path // by which rows lead to it; nil: rows have its key, or had
	Clock   uint64        // of versions, when what is kept was read; 0: nothing is
	Words   []ListVersion // that it depends on
	Precise bool          // they are of values alone: no change of other rows counts
}

// ExplainVersions says on which versions the document of key depends, in a format; nil: it depends
// on none, for changes name it. It counts, keeps and loads nothing. Errors: row.ErrKey.
func (r *Resource) ExplainVersions(key row.Key, of row.Format) (*VersionExplanation, error) {
	f := r.revision.Load()
	if f.docDeps == nil || f.memory == nil {
		return nil, nil
	}
	k, err := f.canonical(key)
	if err != nil {
		return nil, err
	}
	e := &VersionExplanation{State: ListAbsent, Paths: f.docDeps.paths}
	doc := f.held(&tier.Ref{Resource: f.number, Format: of, Key: k})
	if doc == nil {
		return e, nil
	}
	c, at := copyOf(doc), f.src.asOf(monotonic())
	if c == nil { // a change of its row names it
		return nil, nil
	}
	e.Clock, e.Precise, e.State = c.Clock(), c.Precise(), versionState(c, &at)
	names, classes := f.src.tableNames(), f.docDeps.slots(k)
	for _, w := range c.Versions() {
		word := ListVersion{Version: w, TableName: names[w.Table]}
		if known := classes[w.Slot]; w.Kind == fresh.VersionTag && known.TableName != "" {
			word.TableName, word.Class = known.TableName, known.Class
		}
		e.Words = append(e.Words, word)
	}
	return e, nil
}

// slots returns the tags that the key of a document names, by their versions.
func (w *docDeps) slots(key row.Key) map[uint32]ListVersion {
	slots, names := make(map[uint32]ListVersion), w.f.src.tableNames()
	for _, c := range w.ask(key).Tags {
		slot, ok := c.Slot()
		if !ok {
			continue
		}
		word := ListVersion{TableName: names[c.Table]}
		parts, ok := row.SplitKey(row.Key(c.Key), len(c.TagColumns.Columns))
		switch {
		case c.Key == source.UnfoldedText && len(c.TagColumns.Folded) > 0:
			word.Class = notASCII(c.TagColumns)
		case c.Key == fresh.Unseen || !ok:
			columns := fmt.Sprint(c.TagColumns.Columns)
			word.Class = []source.Cell{{Column: columns, Text: "(not told)"}}
		default:
			for i, column := range c.TagColumns.Columns {
				word.Class = append(word.Class, source.Cell{Column: column, Text: parts[i]})
			}
		}
		slots[slot] = word
	}
	return slots
}

// state says what memory would do with l.
func (l *List) state(at *AsOf) ListState { return versionState(l.copy, at) }

// versionState says what memory would do with a copy.
func versionState(c *fresh.ReadSet, at *AsOf) ListState {
	epoch, forgotten := c.Outlived()
	switch cause := c.Check(); {
	case epoch:
		return ListEpoch
	case forgotten:
		return ListForgotten
	case cause == fresh.Changed:
		return ListMoved
	case cause == fresh.Dirty:
		return ListDirty
	case !at.Fresh:
		return ListLagging
	}
	return ListHit
}

// tableNames returns the names of the tables of which lists know something.
func (u *sourceState) tableNames() map[*fresh.Table]string {
	names := make(map[*fresh.Table]string)
	u.tables.Range(func(name, t any) bool {
		names[t.(*listTable).versions] = name.(string)
		return true
	})
	return names
}
