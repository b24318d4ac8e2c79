package resource

import (
	"slices"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// maxTemplates is by how many sets of columns the lists of a table are told apart. Each
// costs every change of a row two words; of further ones a part of the columns is used.
const maxTemplates = 16

// A listTable is a table that lists are made of: its words, and by which columns its
// lists are told apart.
type listTable struct {
	words *fresh.Table

	// columns are those of the templates, which the feed tells of each row if it can.
	columns source.ColumnSet

	templates atomic.Pointer[[]*fresh.Template] // written under upstream.apply
}

// table returns what lists know of a table. Whoever asks for it first is compiled, and
// not used yet: no transaction is applied meanwhile.
func (u *upstream) table(name string) *listTable {
	t, ok := u.tables.Load(name)
	if !ok {
		t, _ = u.tables.LoadOrStore(name, newListTable(u.domain))
	}
	return t.(*listTable)
}

func newListTable(d *fresh.Domain) *listTable {
	t := &listTable{words: d.NewTable()}
	t.templates.Store(new([]*fresh.Template))
	return t
}

// template returns the template of columns, made if there is room; else one of a part of
// them, the widest; nil: there is none.
func (u *upstream) template(
	t *listTable, columns []string, forgets, identity bool,
) *fresh.Template {
	tm, exact := t.find(columns, forgets)
	if exact {
		return tm
	}
	u.apply.Lock()
	defer u.apply.Unlock()
	if tm, exact = t.find(columns, forgets); exact || len(*t.templates.Load()) >= maxTemplates {
		return tm
	}
	tm = t.words.Register(&fresh.Template{
		Columns: slices.Clone(columns), Forgets: forgets, Identity: identity,
	})
	t.set(append(slices.Clone(*t.templates.Load()), tm))
	return tm
}

// find returns the template with the most of columns, and whether it has all of them.
func (t *listTable) find(columns []string, forgets bool) (best *fresh.Template, exact bool) {
	for _, tm := range *t.templates.Load() {
		if tm.Forgets != forgets || len(tm.Columns) > len(columns) {
			continue
		}
		if slices.Equal(tm.Columns, columns) {
			return tm, true
		}
		within := !slices.ContainsFunc(tm.Columns, func(c string) bool {
			return !slices.Contains(columns, c)
		})
		if within && (best == nil || len(tm.Columns) > len(best.Columns)) {
			best = tm
		}
	}
	return best, false
}

// forgetTemplates removes the templates of a table whose definition has changed: its
// columns may be other ones. Lists make them again. u.apply is held.
func (t *listTable) forgetTemplates() {
	for _, tm := range *t.templates.Load() {
		t.words.Remove(tm)
	}
	t.set(nil)
}

// set makes list the templates of t. upstream.apply is held.
func (t *listTable) set(list []*fresh.Template) {
	var columns []string
	for _, tm := range list {
		for _, c := range tm.Columns {
			if !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
	}
	t.templates.Store(&list)
	t.columns.Store(columns)
}

// A listDeps is what a list depends on.
type listDeps struct {
	fresh.Question
	table *fresh.Table    // whose rows, once they are read, are named too
	rows  *fresh.Template // by which they are; nil: they need not be
}

// A listRoot is the table whose rows the lists of a form are, where changes of its rows
// say which of them.
type listRoot struct {
	table *listTable
	key   []string      // the columns of the key, which name a row
	knows bool          // the feed says what a row was, or that the whole table has changed
	rest  []fresh.Class // what whole documents are made of besides
}

// rootOf returns the root of a form with these dependencies; nil: its lists depend on all
// rows of their tables. It runs where complete does.
func (f *form) rootOf(deps []source.Dep, classes []fresh.Class) *listRoot {
	own := deps[0] // of a view it is another table
	if f.table == nil || own.Table != f.table.Name || len(own.Columns) == 0 {
		return nil
	}
	if !own.KnowsOld && len(own.Identity) > 0 {
		return nil // the key does not name a row to the feed
	}
	return &listRoot{table: f.src.table(own.Table), key: own.Columns, knows: own.KnowsOld,
		rest: classes[1:]}
}

// depsOf returns what the answer to an ask depends on: classes of rows where the query
// says which, else all rows of the tables.
//
// Where the feed may not know what a row was, the rows that are read are named, and the
// one behind the last. An answer that tells of rows it has not read, by an offset or a
// count, depends on them all.
func (f *form) depsOf(ask *ListAsk) *listDeps {
	all := &listDeps{Question: *f.listDeps(ask)}
	r, q := f.root, ask.Query
	if r == nil || q == nil {
		return all
	}
	classes := q.Classes()
	if len(classes) == 0 || !r.knows && (q.Offset > 0 || q.Count != query.CountNone) {
		return all
	}
	d := &listDeps{}
	if !r.knows {
		d.table, d.rows = r.table.words, f.src.template(r.table, r.key, true, true)
		if d.rows == nil || len(d.rows.Columns) != len(r.key) {
			return all
		}
		d.Read = []*fresh.Table{d.table}
	}
	if q.Select == nil {
		d.Classes = slices.Clone(r.rest)
	}
	for i := range classes {
		c := r.class(f.src, &classes[i])
		if c.Template == nil {
			return all
		}
		d.Classes = append(d.Classes, c)
	}
	return d
}

// class returns a class of a query as words know it; one without a template cannot be
// told apart.
func (r *listRoot) class(u *upstream, c *query.Class) fresh.Class {
	identity := !r.knows && slices.Equal(c.Columns, r.key)
	tm := u.template(r.table, c.Columns, !r.knows, identity)
	if tm == nil {
		return fresh.Class{}
	}
	cells := make(source.Tuple, len(c.Columns))
	for i, v := range c.Values {
		cells[i] = source.Cell{Column: c.Columns[i], Text: v.Text, Null: v.Null}
	}
	key, _ := cells.Values(tm.Columns)
	return fresh.Class{Table: r.table.words, Template: tm, Key: key}
}

// found returns the rows that were read, as words know them.
func (d *listDeps) found(s *source.Selected) []fresh.Class {
	if d.rows == nil {
		return nil
	}
	list := make([]fresh.Class, 0, len(s.Rows)+1)
	add := func(k row.Key) {
		list = append(list, fresh.Class{Table: d.table, Template: d.rows, Key: string(k)})
	}
	for i := range s.Rows {
		add(s.Rows[i].Key)
	}
	if s.More {
		add(s.Beyond)
	}
	return list
}

// valuesOf returns what a change tells of a row.
func valuesOf(t source.Tuple) fresh.Values {
	return func(columns []string) (string, bool) { return t.Values(columns) }
}

// moves says what a transaction means for lists. u.apply is held.
func (u *upstream) moves(tx *source.Tx) *fresh.Moved {
	m := u.domain.Moves()
	if tx.All {
		m.Any()
	}
	for _, name := range tx.Tables {
		if t, ok := u.tables.Load(name); ok {
			m.Whole(t.(*listTable).words)
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
		m.Row(t.(*listTable).words, was, is)
	}
	return m
}
