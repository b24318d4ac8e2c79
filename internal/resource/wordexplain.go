package resource

import (
	"fmt"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// A WordExplanation says on which rows a document depends of which changes do not always name
// the keys, and what has become of them since it was read.
type WordExplanation struct {
	State   ListState
	Paths   []source.Path // by which rows lead to it; nil: rows have its key, or had
	Clock   uint64        // of words, when what is kept was read; 0: nothing is
	Words   []ListWord    // that it depends on
	Precise bool          // they are of values alone: no change of other rows counts
}

// ExplainWords says on which words the document of key depends, in a format; nil: it depends
// on none, for changes name it. It counts, keeps and loads nothing. Errors: row.ErrKey.
func (r *Resource) ExplainWords(key row.Key, of row.Format) (*WordExplanation, error) {
	f := r.form.Load()
	if f.worded == nil || f.memory == nil {
		return nil, nil
	}
	k, err := f.canonical(key)
	if err != nil {
		return nil, err
	}
	e := &WordExplanation{State: ListAbsent, Paths: f.worded.paths}
	doc := f.held(&tier.Ref{Resource: f.number, Format: of, Key: k})
	if doc == nil {
		return e, nil
	}
	c, at := copyOf(doc), f.src.asOf(monotonic())
	if c == nil { // a change of its row names it
		return nil, nil
	}
	e.Clock, e.Precise, e.State = c.Clock(), c.Precise(), wordState(c, &at)
	names, classes := f.src.tableNames(), f.worded.slots(k)
	for _, w := range c.Words() {
		word := ListWord{Word: w, TableName: names[w.Table]}
		if known := classes[w.Slot]; w.Kind == fresh.WordClass && known.TableName != "" {
			word.TableName, word.Class = known.TableName, known.Class
		}
		e.Words = append(e.Words, word)
	}
	return e, nil
}

// slots returns the classes that the key of a document names, by their words.
func (w *wordForm) slots(key row.Key) map[uint32]ListWord {
	slots, names := make(map[uint32]ListWord), w.f.src.tableNames()
	for _, c := range w.ask(key).Classes {
		slot, ok := c.Slot()
		if !ok {
			continue
		}
		word := ListWord{TableName: names[c.Table]}
		parts, ok := row.SplitKey(row.Key(c.Key), len(c.Template.Columns))
		switch {
		case c.Key == source.UnfoldedText && len(c.Template.Folded) > 0:
			word.Class = notASCII(c.Template)
		case c.Key == fresh.Unseen || !ok:
			word.Class = []source.Cell{{Column: fmt.Sprint(c.Template.Columns), Text: "(not told)"}}
		default:
			for i, column := range c.Template.Columns {
				word.Class = append(word.Class, source.Cell{Column: column, Text: parts[i]})
			}
		}
		slots[slot] = word
	}
	return slots
}

// state says what memory would do with l.
func (l *List) state(at *AsOf) ListState { return wordState(l.copy, at) }

// wordState says what memory would do with a copy.
func wordState(c *fresh.Copy, at *AsOf) ListState {
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
func (u *upstream) tableNames() map[*fresh.Table]string {
	names := make(map[*fresh.Table]string)
	u.tables.Range(func(name, t any) bool {
		names[t.(*listTable).words] = name.(string)
		return true
	})
	return names
}
