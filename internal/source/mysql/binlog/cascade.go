package binlog

import (
	"context"
	"maps"
	"slices"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// A cascade is what the change of some columns of a table does to others.
//
// InnoDB carries ON DELETE and ON UPDATE out itself, below what writes the
// binary log: the rows of the child that it deletes or changes are not there.
// So a change of the parent counts as one of the whole child.
type cascade struct {
	columns []int    // of the parent, as indexes; nil: not all are there
	tables  []string // IDs of watched tables
}

// readCascades reads the foreign keys by which a change may reach watched
// tables, over any number of tables in between, and adds those tables.
func (d *definitions) readCascades(ctx context.Context, r *catalog.Reader) error {
	keys, err := d.readForeignKeys(ctx, r)
	if err != nil {
		return err
	}
	reach := d.reach(keys)
	var more []catalog.Name
	for name := range reach {
		if d.tables[name] == nil {
			more = append(more, name)
		}
	}
	found, err := r.Tables(ctx, more...)
	if err != nil {
		return err
	}
	for _, t := range found {
		if reach[t.Named()] != nil && d.tables[t.Named()] == nil {
			d.add(t)
		}
	}
	for _, name := range more {
		if d.tables[name] == nil { // the user may not see it
			d.unobservable = appendNew(d.unobservable, reach[name]...)
			d.tables[name] = &tableDef{Table: &catalog.Table{
				Table: source.Table{Schema: name.Schema, Name: name.Table}}}
		}
	}
	for i := range keys {
		d.cascade(&keys[i], reach)
	}
	slices.Sort(d.names)
	d.names = slices.Compact(d.names)
	if len(d.unobservable) > 0 {
		slices.Sort(d.unobservable)
		for _, t := range d.tables {
			t.onDelete = appendNew(t.onDelete, d.unobservable...)
			t.onUpdate = append(t.onUpdate, cascade{t.referable(), d.unobservable})
		}
	}
	return nil
}

// referable returns the columns that foreign keys of tables which the user may not see can
// refer to, as indexes: those of the table's indexes; nil: any, as not all are shown.
func (t *tableDef) referable() []int {
	hidden := func(c catalog.Column) bool { return !c.Readable }
	if len(t.Indexes) == 0 || slices.ContainsFunc(t.Cols, hidden) {
		return nil
	}
	columns := make([]int, 0, len(t.Indexes))
	for _, index := range t.Indexes {
		for _, name := range index {
			i := t.Index(name)
			if i < 0 {
				return nil
			}
			columns = appendNew(columns, i)
		}
	}
	return columns
}

// appendNew appends what list does not have.
func appendNew[T comparable](list []T, more ...T) []T {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// reach returns for each table that is a parent which watched tables its changes
// may reach.
func (d *definitions) reach(keys []catalog.ForeignKey) map[catalog.Name][]string {
	parents := make(map[catalog.Name][]catalog.Name)
	for _, k := range keys {
		parents[k.Child] = appendNew(parents[k.Child], k.Parent)
	}
	reach := make(map[catalog.Name][]string)
	var visit func(child catalog.Name, ids []string)
	visit = func(child catalog.Name, ids []string) {
		for _, parent := range parents[child] {
			before := len(reach[parent])
			reach[parent] = appendNew(reach[parent], ids...)
			if more := reach[parent][before:]; len(more) > 0 {
				visit(parent, slices.Clone(more))
			}
		}
	}
	for name, t := range d.tables {
		visit(name, []string{t.id})
	}
	return reach
}

// cascade notes at the parent of k what a change of it reaches by way of k.
func (d *definitions) cascade(k *catalog.ForeignKey, reach map[catalog.Name][]string) {
	tables := slices.Clone(reach[k.Child])
	if child := d.tables[k.Child]; child != nil && child.id != "" {
		tables = appendNew(tables, child.id)
	}
	if len(tables) == 0 {
		return
	}
	parent := d.tables[k.Parent]
	d.names = append(d.names, k.Parent.Table, k.Child.Table)
	if k.Deletes() {
		parent.onDelete = appendNew(parent.onDelete, tables...)
	}
	if !k.Updates() {
		return
	}
	u := cascade{tables: tables}
	for _, name := range k.References {
		c := parent.Index(name)
		if c < 0 {
			u.columns = nil
			break
		}
		u.columns = append(u.columns, c)
	}
	parent.onUpdate = append(parent.onUpdate, u)
}

// readForeignKeys reads the foreign keys with actions of the watched tables, and of those
// that these refer to.
func (d *definitions) readForeignKeys(
	ctx context.Context, r *catalog.Reader,
) ([]catalog.ForeignKey, error) {
	var keys []catalog.ForeignKey
	asked := make(map[catalog.Name]bool, len(d.tables))
	for name := range d.tables {
		asked[name] = true
	}
	for next := slices.Collect(maps.Keys(asked)); len(next) > 0; {
		found, err := r.ForeignKeys(ctx, next...)
		if err != nil {
			return nil, err
		}
		next = nil
		for _, k := range found {
			if !k.Deletes() && !k.Updates() {
				continue
			}
			keys = append(keys, k)
			if !asked[k.Parent] {
				asked[k.Parent] = true
				next = append(next, k.Parent)
			}
		}
	}
	return keys, nil
}
