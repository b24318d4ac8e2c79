package resource

import (
	"fmt"
	"strings"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// noRoot is why lists of a view depend on whatever it reads.
const noRoot = "changes do not name its rows: it is a view"

// explainTags says what can change the answer to ask, as depsOf decides it.
func (f *revision) explainTags(e *ListExplanation, ask *ListAsk) {
	e.Within = append(e.Within, embeddedTables(ask.Query)...)
	r := f.root
	if r == nil {
		e.Coarse = noRoot
		return
	}
	if ask.Query == nil || ask.Query.Select == nil {
		for _, c := range r.children {
			e.Within = append(e.Within, ListTable{Table: c.name, Columns: c.columns})
		}
	}
	if e.Coarse = r.coarse(ask.Query); e.Coarse != "" {
		return
	}
	for _, c := range ask.Query.Classes() {
		class := ListTag{Columns: c.Columns, Values: cellsOf(c.Columns, c.Values)}
		tm, exact := r.table.find(&fresh.TagColumns{Columns: c.Columns, Folded: c.Folded,
			Forgets: !r.knows})
		if tm != nil {
			class.By, class.Counts = tm.Columns, tm.Counts()
		}
		e.Classes = append(e.Classes, class)
		if full := len(*r.table.tagColumns.Load()) >= maxTemplates; !exact && full && tm == nil {
			e.Coarse = fmt.Sprintf("%d sets of columns are told apart already, and none of them "+
				"is within %s", maxTemplates, strings.Join(c.Columns, ", "))
		}
	}
}

// embeddedTables returns the tables that a query embeds, each with the columns by whose values
// its rows are told apart, if they are.
func embeddedTables(q *query.Query) (list []ListTable) {
	if q == nil {
		return nil
	}
	for i := range q.Select {
		e := q.Select[i].Embed
		if e == nil {
			continue
		}
		c := embedTagOf(q, e)
		own := ListTable{Table: e.Table.Name}
		if c.own.precise() {
			own.Columns = c.own.columns
		}
		list = append(list, own)
		if e.Link != nil {
			link := ListTable{Table: e.Link.Table.Name}
			if c.link.precise() {
				link.Columns = c.link.columns
			}
			list = append(list, link)
		}
		list = append(list, embeddedTables(e.Query)...)
	}
	return list
}

// coarse says why the rows of the list cannot be told apart by its question; "" if they can.
func (r *listRoot) coarse(q *query.Query) string {
	switch {
	case q == nil:
		return "it is a page of all rows"
	case !r.knows && r.key == nil:
		return "the key of its documents is not what names a row to the feed"
	case len(q.Classes()) == 0:
		return untagged(q)
	case !r.knows && q.Offset > 0:
		return "with offset the feed has to tell what a row was (REPLICA IDENTITY FULL)"
	case !r.knows && q.Count != query.CountNone:
		return "with a count the feed has to tell what a row was (REPLICA IDENTITY FULL)"
	}
	return ""
}

// untagged says why a question names no tags.
func untagged(q *query.Query) string {
	if names := q.Blurred(); len(names) > 0 {
		return "equal values of " + strings.Join(names, ", ") +
			" may be spelled differently, or changes do not tell them"
	}
	if len(q.Where) == 0 {
		return "it has no filter"
	}
	return "no filter asks for equality, or for too many values"
}

// cellsOf returns the values of columns.
func cellsOf(columns []string, values []query.Value) source.Tuple {
	cells := make(source.Tuple, len(columns))
	for i, v := range values {
		cells[i] = source.Cell{Column: columns[i], Text: v.Text, Null: v.Null}
	}
	return cells
}

// Name says what moves the version.
func (w *ListVersion) Name() string {
	switch w.Kind {
	case fresh.VersionAll:
		return "everything"
	case fresh.VersionWhole:
		return w.TableName + " as a whole"
	case fresh.VersionAny:
		return "any row of " + w.TableName
	}
	if w.Class == nil {
		return fmt.Sprintf("rows that were read (slot %d)", w.Slot)
	}
	return fmt.Sprintf("%s %s (slot %d)", w.TableName, CellsText(w.Class), w.Slot)
}

// causeNames are the states of versions.
var causeNames = [...]string{fresh.Unmoved: "still", fresh.Dirty: "dirty", fresh.Changed: "moved"}

// State says what has become of the version since the list was read: still, moved, or dirty.
func (w *ListVersion) State() string { return causeNames[w.Cause] }

// Quiet reports whether the version is of a tag and has not moved: a list has many of those.
func (w *ListVersion) Quiet() bool { return w.Kind == fresh.VersionTag && w.Cause == fresh.Unmoved }

// OfAny reports whether the version is of any row of its table.
func (w *ListVersion) OfAny() bool { return w.Kind == fresh.VersionAny }

// CellsText is values of columns, for people.
func CellsText(cells []source.Cell) string {
	parts := make([]string, len(cells))
	for i, c := range cells {
		if parts[i] = c.Column + "=" + c.Text; c.Null {
			parts[i] = c.Column + " is null"
		}
	}
	return strings.Join(parts, ", ")
}
