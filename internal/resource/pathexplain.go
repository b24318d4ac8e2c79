package resource

import (
	"fmt"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A PathExplanation says on which rows a document depends by paths, and what has become of
// them since it was read.
type PathExplanation struct {
	State   ListState
	Paths   []source.Path
	Clock   uint64     // of words, when what is kept was read; 0: nothing is
	Words   []ListWord // that it depends on
	Precise bool       // they are of values alone: no change of other rows counts
}

// ExplainPaths says on what the document of key depends by paths, in a format; nil: it does
// not by paths. It counts, keeps and loads nothing. Errors: row.ErrKey.
func (r *Resource) ExplainPaths(key row.Key, of row.Format) (*PathExplanation, error) {
	f := r.form.Load()
	if f.paths == nil {
		return nil, nil
	}
	k, err := f.canonical(key)
	if err != nil {
		return nil, err
	}
	e := &PathExplanation{State: ListAbsent, Paths: f.paths.paths}
	slot := f.kept.get(listKey{f.number, of, string(k)})
	if slot == nil {
		return e, nil
	}
	l := slot.list.Load()
	if l == nil {
		return e, nil
	}
	at := f.src.asOf(monotonic())
	e.Clock, e.Precise, e.State = l.copy.Clock(), l.copy.Precise(), l.state(&at)
	names, classes := f.src.tableNames(), f.paths.slots(k)
	for _, w := range l.copy.Words() {
		word := ListWord{Word: w, TableName: names[w.Table]}
		if c := classes[w.Slot]; w.Kind == fresh.WordClass && c.TableName != "" {
			word.TableName, word.Class = c.TableName, c.Class
		}
		e.Words = append(e.Words, word)
	}
	return e, nil
}

// slots returns the classes that the key of a document names, by their words.
func (p *pathForm) slots(key row.Key) map[uint32]ListWord {
	slots := make(map[uint32]ListWord)
	parts, ok := row.SplitKey(key, len(p.f.key))
	if !ok {
		return slots
	}
	ask := p.ask(key)
	names := p.f.src.tableNames()
	for i := range p.paths {
		for j, n := range ask.steps[i] {
			if n.by == nil {
				continue
			}
			word := ListWord{TableName: names[n.table]}
			if unseen := n.class(fresh.Unseen); n.by.OldUnknown {
				word.Class = []source.Cell{{Column: fmt.Sprint(p.paths[i].Steps[j].On),
					Text: "(not told)"}}
				slot, _ := unseen.Slot()
				slots[slot] = word
			}
			if j > 0 {
				continue
			}
			word.Class = nil
			ends := make([]string, len(p.paths[i].Parts))
			for k, part := range p.paths[i].Parts {
				ends[k] = parts[part]
				word.Class = append(word.Class, source.Cell{Column: n.by.Columns[k], Text: ends[k]})
			}
			class := n.class(string(row.JoinKey(ends...)))
			slot, _ := class.Slot()
			slots[slot] = word
		}
	}
	return slots
}

// state says what memory would do with l.
func (l *List) state(at *AsOf) ListState {
	epoch, forgotten := l.copy.Outlived()
	switch cause := l.copy.Check(); {
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
