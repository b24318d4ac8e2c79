package resource

import (
	"slices"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
)

// Where the database finds texts equal that are not the same, a change of a row names the
// text that the row has, and not the others that lead to it: BOB where the row has bob. What
// was found under such a text, a row or none, depends on versions as the list of the same
// question does: on the tag of the rows whose key is equal, where its text folds, and else
// on all rows.

// askEqual adds to a what the answer to key depends on of the root, under whatever text the
// row has its key. It reports false where that is the tag of the row's own text as well,
// which is still to be added.
func (w *docDeps) askEqual(a *docQuestion, key row.Key) bool {
	d, q := &listDeps{}, w.equals(key)
	if q != nil && w.root.tags(w.f.src, d, q) {
		for i := range d.Tags {
			pin(d.Tags[i].TagColumns)
		}
		if pin(d.rows.by); d.rows.by != nil {
			a.Read = append(a.Read, d.rows.table)
		}
		a.Tags, a.own = append(a.Tags, d.Tags...), d.rows
		return true
	}
	root := w.f.src.table(w.deps[0].Table).versions
	if w.named {
		a.Tags = append(a.Tags, fresh.Tag{Table: root})
		return true
	}
	a.Read, a.unnamed = append(a.Read, root), root
	return false
}

// equals returns the query for the rows whose key is equal to key; nil: there is none.
func (w *docDeps) equals(key row.Key) *query.Query {
	t := w.f.table
	parts, ok := row.SplitKey(key, len(w.f.key))
	if w.root == nil || !ok || len(t.Key) != len(parts) {
		return nil
	}
	q := &query.Query{Table: t}
	for i, column := range t.Key {
		q.Where = append(q.Where,
			query.Term{Column: column, Op: query.Eq, Values: []string{parts[i]}})
	}
	slices.SortFunc(q.Where, func(a, b query.Term) int { return a.Column - b.Column })
	return q
}

// rowOf returns the key of the row that a copy is of, where that is another text than the key
// which it is kept under; "": it is not.
func rowOf(doc *row.Document) row.Key {
	if c := copyOf(doc); c != nil {
		return c.Row
	}
	return ""
}

// isOwn reports whether event loops may give a copy as the document of the key that it is kept
// under. Of another Load says which row it is.
func (f *revision) isOwn(doc *row.Document) bool { return !f.wide || rowOf(doc) == "" }
