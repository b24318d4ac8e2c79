package resource

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/source"
)

const (
	// maxTemplates is by how many sets of columns the lists of a table are told apart. Each
	// costs every change of a row two versions; of further ones a part of the columns is used.
	maxTemplates = 16

	// Where there is no room a template goes that was of no use for so many seconds. All
	// lists of the table are read again then, so that it is not often done.
	idleTemplate  = 60
	templatePause = 10
)

// A listTable is a table that lists are made of: its versions, and by which columns its
// lists are told apart.
type listTable struct {
	versions *fresh.Table

	// columns are those of the templates, which the feed tells of each row if it can.
	columns source.ColumnSet

	// Written under sourceState.apply: and, in seconds, when one of them last made room.
	tagColumns atomic.Pointer[[]*fresh.TagColumns]
	replaced   int64

	// needsOld says that lists were asked for which would be told apart if the feed said
	// what a row was.
	needsOld atomic.Bool
}

// table returns what lists know of a table. Whoever asks for it first is compiled, and
// not used yet: no transaction is applied meanwhile.
func (u *sourceState) table(name string) *listTable {
	t, ok := u.tables.Load(name)
	if !ok {
		t, _ = u.tables.LoadOrStore(name, newListTable(u.domain))
	}
	return t.(*listTable)
}

func newListTable(d *fresh.Domain) *listTable {
	t := &listTable{versions: d.NewTable(), replaced: seconds() - templatePause}
	t.tagColumns.Store(new([]*fresh.TagColumns))
	return t
}

// tagColumns returns the template that is like another, made if there is room; else one of a
// part of its columns, the widest; nil: there is none.
func (u *sourceState) tagColumns(t *listTable, like *fresh.TagColumns) *fresh.TagColumns {
	tm, exact := t.find(like)
	if exact {
		return tm
	}
	u.apply.Lock()
	defer u.apply.Unlock()
	tm, exact = t.find(like)
	now := seconds()
	if exact || !t.room(now) {
		return tm
	}
	tm = t.versions.Register(&fresh.TagColumns{
		Columns: slices.Clone(like.Columns), Folded: slices.Clone(like.Folded),
		Forgets: like.Forgets, Identity: like.Identity, OldUnknown: like.OldUnknown,
	})
	tm.Used.Store(now)
	t.set(append(slices.Clone(*t.tagColumns.Load()), tm))
	return tm
}

// room reports whether there is room for one more template, which the one that was of use
// least lately makes if it must and may. sourceState.apply is held.
func (t *listTable) room(now int64) bool {
	list := *t.tagColumns.Load()
	if len(list) < maxTemplates {
		return true
	}
	least := slices.MinFunc(list, func(a, b *fresh.TagColumns) int {
		return cmp.Compare(a.Used.Load(), b.Used.Load())
	})
	if now-least.Used.Load() < idleTemplate || now-t.replaced < templatePause {
		return false
	}
	t.replaced = now
	t.versions.Remove(least)
	t.set(slices.DeleteFunc(slices.Clone(list), func(tm *fresh.TagColumns) bool {
		return tm == least
	}))
	return true
}

// find returns the template with the most of like's columns, and whether it has all of them.
func (t *listTable) find(like *fresh.TagColumns) (best *fresh.TagColumns, exact bool) {
	for _, tm := range *t.tagColumns.Load() {
		if tm.Forgets != like.Forgets || tm.OldUnknown != like.OldUnknown ||
			len(tm.Columns) > len(like.Columns) {
			continue
		}
		within := !slices.ContainsFunc(tm.Columns, func(c string) bool {
			return !slices.Contains(like.Columns, c) ||
				slices.Contains(tm.Folded, c) != slices.Contains(like.Folded, c)
		})
		if within && slices.Equal(tm.Columns, like.Columns) {
			return tm, true
		}
		if within && (best == nil || len(tm.Columns) > len(best.Columns)) {
			best = tm
		}
	}
	return best, false
}

// forgetTagColumns removes the templates of a table whose definition has changed: its
// columns may be other ones. Lists make them again. u.apply is held.
func (t *listTable) forgetTagColumns() {
	for _, tm := range *t.tagColumns.Load() {
		t.versions.Remove(tm)
	}
	t.set(nil)
}

// set makes list the templates of t. sourceState.apply is held.
func (t *listTable) set(list []*fresh.TagColumns) {
	var columns []string
	for _, tm := range list {
		for _, c := range tm.Columns {
			if !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
	}
	t.tagColumns.Store(&list)
	t.columns.Store(columns)
}

// valuesOf returns what a change tells of a row.
func valuesOf(t source.Tuple) fresh.Values {
	return func(tm *fresh.TagColumns) (string, bool) { return t.Values(tm.Columns, tm.Folded) }
}

// invalidationSet says what a transaction means for lists. u.apply is held.
func (u *sourceState) invalidationSet(tx *source.Tx) *fresh.InvalidationSet {
	m := u.domain.NewSet()
	if tx.All {
		m.Any()
	}
	for _, name := range tx.Tables {
		if t, ok := u.tables.Load(name); ok {
			m.Whole(t.(*listTable).versions)
		}
	}
	for i := range tx.Changes {
		c := &tx.Changes[i]
		t, ok := u.tables.Load(c.Table)
		if !ok {
			continue
		}
		var was, is fresh.Values
		if c.Op != source.Insert {
			was = valuesOf(c.Old)
		}
		if c.Op != source.Delete {
			is = valuesOf(c.New)
		}
		m.Row(t.(*listTable).versions, was, is)
	}
	return m
}
