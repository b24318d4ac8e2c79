package binlog

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// maxLocks rows of a transaction are remembered to prove it by: one would do, but
// the next writer may hold that one.
const maxLocks = 3

// decode reads a rows event as far as it matters. What the library decodes of a
// row is the whole of it, which costs more than anything else here. Rows that it cannot
// decode are left out: the event then counts as a change of its whole table.
func (r *reader) decode(e *replication.RowsEvent, data []byte) error {
	pos, err := e.DecodeHeader(data)
	if err != nil || r.group == nil {
		return err
	}
	var t *tableDef
	if r.holds() {
		t = r.table(e)
	}
	switch {
	case t == nil:
		r.keepLate(e, pos, data)
		return nil
	case !r.wants(t, e):
		return nil
	}
	if r.keepsAll {
		r.keepLate(e, pos, data)
	}
	if err := e.DecodeData(pos, data); err != nil {
		e.Rows, e.SkippedColumns = nil, nil
		if r.undecoded != nil {
			r.undecoded(nameOf(e))
		}
		return nil
	}
	r.whole[nameOf(e)] = true
	r.seal(e)
	return nil
}

// table returns the definition of the rows' table, or nil.
func (r *reader) table(e *replication.RowsEvent) *tableDef {
	t := r.defs.tables[nameOf(e)]
	if t == nil || len(t.Cols) != int(e.ColumnCount) {
		return nil
	}
	return t
}

func nameOf(e *replication.RowsEvent) catalog.Name {
	return catalog.Name{Schema: string(e.Table.Schema), Table: string(e.Table.Table)}
}

// wants reports whether the values of the rows matter.
func (r *reader) wants(t *tableDef, e *replication.RowsEvent) bool {
	bulk := r.group.rows[t.Named()] > source.BulkRows && len(r.group.locks) >= maxLocks
	if t.id != "" {
		return !bulk
	}
	return len(r.group.locks) < maxLocks ||
		len(t.onUpdate) > 0 && e.Type() == replication.EnumRowsEventTypeUpdate
}

// rows takes the rows of a table that one statement changed.
func (r *reader) rows(e *replication.RowsEvent) error {
	if r.group == nil {
		return errBinlog
	}
	if e.Table == nil {
		return r.unknown()
	}
	name := nameOf(e)
	id := r.watched[name]
	insert := e.Type() == replication.EnumRowsEventTypeInsert
	if !r.holds() {
		switch {
		case !insert: // which may cascade to any other
			r.group.all(r.ids)
		case id != "":
			r.group.batch.Table(id)
		}
		return nil
	}
	if r.defs.tables[name] == nil {
		if !insert {
			r.group.all(r.defs.unobservable)
		}
		return nil
	}
	t := r.table(e)
	if t == nil { // with columns that the catalogue does not show
		if insert && id != "" {
			r.group.batch.Table(id)
		} else if !insert {
			r.group.all(r.defs.tables[name].reached())
		}
		return nil
	}
	r.cascade(t, e)
	r.changes(t, e)
	return nil
}

// reached returns all watched tables that a change of t may change.
func (t *tableDef) reached() []string {
	ids := slices.Clone(t.onDelete)
	for _, u := range t.onUpdate {
		ids = append(ids, u.tables...)
	}
	if t.id != "" {
		ids = append(ids, t.id)
	}
	return ids
}

// cascade adds what the storage engine has changed along with the rows.
func (r *reader) cascade(t *tableDef, e *replication.RowsEvent) {
	switch e.Type() {
	case replication.EnumRowsEventTypeDelete:
		r.group.all(t.onDelete)
	case replication.EnumRowsEventTypeUpdate:
		for _, u := range t.onUpdate {
			if u.touched(e) {
				r.group.all(u.tables)
			}
		}
	}
}

// touched reports whether an update changes a column that a foreign key refers
// to, or may.
func (u *cascade) touched(e *replication.RowsEvent) bool {
	if u.columns == nil || len(e.Rows) == 0 {
		return true
	}
	for i := 0; i+1 < len(e.Rows); i += 2 {
		for _, c := range u.columns {
			if slices.Contains(e.SkippedColumns[i+1], c) {
				continue // not changed: it was left out of what the row has become
			}
			if slices.Contains(e.SkippedColumns[i], c) || !equal(e.Rows[i][c], e.Rows[i+1][c]) {
				return true
			}
		}
	}
	return false
}

// equal compares two values of one column.
func equal(a, b any) bool {
	x, ok := a.([]byte)
	y, too := b.([]byte)
	if ok && too {
		return bytes.Equal(x, y)
	}
	return reflect.DeepEqual(a, b)
}

// changes adds the rows of a watched table.
func (r *reader) changes(t *tableDef, e *replication.RowsEvent) {
	step := 1
	if e.Type() == replication.EnumRowsEventTypeUpdate {
		step = 2
	}
	n := max(1, len(e.Rows)/step)
	r.group.rows[t.Named()] += n
	if t.id != "" && (len(e.Rows) == 0 || r.group.rows[t.Named()] > source.BulkRows) {
		r.group.batch.Table(t.id)
	}
	for i := 0; i+step <= len(e.Rows); i += step {
		last := i + step - 1
		r.group.lock(t, e.Rows[last], e.SkippedColumns[last], e.Type())
		if t.id == "" || r.group.rows[t.Named()] > source.BulkRows {
			if len(r.group.locks) >= maxLocks {
				return
			}
			continue
		}
		c := source.Change{Table: t.id}
		ok, okOld := true, true
		switch e.Type() {
		case replication.EnumRowsEventTypeInsert:
			c.Op = source.Insert
		case replication.EnumRowsEventTypeDelete:
			c.Op = source.Delete
		default:
			c.Op = source.Update
		}
		if c.Op != source.Insert {
			c.Old, okOld = t.tuple(e.Rows[i], e.SkippedColumns[i])
		}
		if c.Op != source.Delete {
			c.New, ok = t.tuple(e.Rows[last], e.SkippedColumns[last])
		}
		if !ok || !okOld {
			r.group.batch.Table(t.id)
			continue
		}
		r.group.batch.Add(c)
	}
}

// tuple returns what a row says of the watched columns, and of those of values what it
// says. It reports false when it does not say all of the former: binlog_row_image is not
// FULL in every session.
func (t *tableDef) tuple(values []any, skipped []int) (source.Tuple, bool) {
	more := t.values.Load()
	out := make(source.Tuple, 0, len(t.watched)+len(more))
	for _, name := range t.watched {
		cell, ok := t.cell(name, values, skipped)
		if !ok {
			return nil, false
		}
		out = append(out, cell)
	}
	for _, name := range more {
		if slices.Contains(t.watched, name) {
			continue
		}
		if cell, ok := t.cell(name, values, skipped); ok {
			out = append(out, cell)
		}
	}
	return out, true
}

// cell returns what a row says of a column.
func (t *tableDef) cell(name string, values []any, skipped []int) (source.Cell, bool) {
	i := t.Index(name)
	if i < 0 || i >= len(values) || slices.Contains(skipped, i) {
		return source.Cell{}, false
	}
	if values[i] == nil {
		return source.Cell{Column: name, Null: true}, true
	}
	v, ok := decode(&t.Cols[i], values[i])
	return source.Cell{Column: name, Text: v.text}, ok
}

// lock remembers a row by which the transaction can be proven visible.
func (g *group) lock(
	t *tableDef, values []any, skipped []int, kind replication.EnumRowsEventType,
) {
	if len(g.locks) >= maxLocks || len(t.key) == 0 {
		return
	}
	l := lockRow{table: t, gone: kind == replication.EnumRowsEventTypeDelete, certain: true}
	for _, i := range t.key {
		if i >= len(values) || values[i] == nil || slices.Contains(skipped, i) {
			return
		}
		v, ok := decode(&t.Cols[i], values[i])
		if !ok || !exact(&t.Cols[i]) {
			return
		}
		l.key = append(l.key, v.bind)
		l.certain = l.certain && certain(&t.Cols[i])
	}
	g.locks = append(g.locks, l)
}

// exact reports whether a row is found by its value as it is bound.
func exact(c *catalog.Column) bool {
	return c.Kind != row.Float && c.Kind != row.Float32 && c.Type != "bit"
}

// certain reports whether a row is found by its value in every case: nothing stands
// between the two as a time zone does, or a spelling of a decimal.
func certain(c *catalog.Column) bool {
	switch c.Type {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "char", "varchar":
		return true
	}
	return false
}
