package document

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// An Assignment gives one column a value, as it is bound.
type Assignment struct {
	Column Column
	Value  any
}

// checkKey refuses a body that gives columns another value than key: that of its path, or
// that of the parent.
func (n *Node) checkKey(in *row.Input, fixed []Column, key row.Key) error {
	var parts []string
	for i, col := range n.Fields {
		if col == nil || !in.Present[i] {
			continue
		}
		at := slices.Index(fixed, col)
		if at < 0 || col.KeyPart().Wide {
			continue
		}
		want := string(key)
		if len(fixed) > 1 {
			if parts == nil {
				parts, _ = row.SplitKey(key, len(fixed))
			}
			want = parts[at]
		}
		if text, ok := col.KeyText(in.Values[i]); ok && text != want {
			return invalid(fmt.Sprintf("%s is %q here, it cannot be %q", n.Shape.Fields[i].Name,
				text, want))
		}
	}
	return nil
}

// assignments appends what the body gives columns of n, but for fixed ones. Columns that
// the database generates are left to it, and keys that are null.
func (n *Node) assignments(
	list []Assignment, in *row.Input, fixed func(Column) bool,
) ([]Assignment, error) {
	for i, col := range n.Fields {
		if col == nil || !in.Present[i] || fixed(col) {
			continue
		}
		isKey := slices.Contains(n.KeyCols, col)
		if col.Info().Generated && !isKey || in.Values[i].IsNull() && (isKey || col.Auto()) {
			continue
		}
		value, err := col.Arg(in.Values[i])
		if err != nil {
			return nil, invalid(fmt.Sprintf("member %q: %s", n.Shape.Fields[i].Name, err))
		}
		list = append(list, Assignment{col, value})
	}
	return list, nil
}

// appendArgs appends the arguments of the parameters in expr, the only one of which is
// value.
func (d *Dialect) appendArgs(args []any, expr string, value any) []any {
	args = append(args, value)
	for n := strings.Count(expr, "?"); !d.Numbered && n > 1; n-- {
		args = append(args, value)
	}
	return args
}

// insert makes a row and returns its key. fixed columns have the values of key.
func (wr *writer) insert(
	ctx context.Context, n *Node, in *row.Input, fixed []Column, key row.Key,
) (row.Key, error) {
	key, err := wr.insertRow(ctx, n, in, fixed, key)
	if err != nil {
		return "", err
	}
	return key, wr.foundling(ctx, n, key, in)
}

// insertRow is insert without a look at what is embedded in the row.
func (wr *writer) insertRow(
	ctx context.Context, n *Node, in *row.Input, fixed []Column, key row.Key,
) (row.Key, error) {
	list := make([]Assignment, 0, len(fixed)+len(n.Fields))
	if key != "" {
		values, ok := n.KeyArgs(fixed, key)
		if !ok {
			return "", invalid(fmt.Sprintf("%q can be no key of %s", key, n.Name))
		}
		for i, col := range fixed {
			list = append(list, Assignment{col, values[i]})
		}
		if err := n.checkKey(in, fixed, key); err != nil {
			return "", err
		}
	}
	list, err := n.assignments(list, in, func(col Column) bool {
		return key != "" && slices.Contains(fixed, col)
	})
	if err != nil {
		return "", err
	}
	d := wr.plan.Dialect
	cols, values := make([]string, len(list)), make([]string, len(list))
	args := make([]any, 0, len(list))
	for i, a := range list {
		cols[i], values[i] = d.Quote(a.Column.Info().Name), d.Made(n, a.Column, i+1)
		args = d.appendArgs(args, values[i], a.Value)
	}
	st := Statement{Node: n}
	sql := "INSERT INTO " + n.aliased(d, n.Table.Into) + " "
	if len(list) == 0 {
		sql += d.Empty
	} else {
		sql += "(" + strings.Join(cols, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
	}
	if st.SQL = sql; d.Inserted != nil {
		return d.Inserted(ctx, wr.c, &st, args, list)
	}
	return wr.returning(ctx, &st, args)
}

// aliased returns an item of FROM with its alias, where the dialect has them.
func (n *Node) aliased(d *Dialect, table string) string {
	if d.Aliased {
		return table + " AS " + n.Alias
	}
	return table
}

// returning runs an INSERT and reads the key that it returns.
func (wr *writer) returning(
	ctx context.Context, st *Statement, args []any,
) (row.Key, error) {
	n := st.Node
	exprs := make([]string, len(n.KeyCols))
	for i, col := range n.KeyCols {
		exprs[i] = wr.plan.Dialect.Read(n, col)
	}
	st.SQL += " RETURNING " + strings.Join(exprs, ", ")
	err := error(&source.Error{Class: source.Conflict, Message: "the database has not made the" +
		" row of " + n.Name + ", and the write was undone: a trigger or ON CONFLICT IGNORE" +
		" ignores it"})
	var key row.Key
	failed := wr.c.Query(ctx, st, args, func(r Row) error {
		parts := make([]string, len(n.KeyCols))
		err = nil
		for i, col := range n.KeyCols {
			cell, ok, failed := r.Cell(i, col)
			if failed != nil {
				return n.reshaped(failed)
			}
			if parts[i] = cell.Text; !ok || cell.Null {
				err = NoKey(n)
			}
		}
		key = row.JoinKey(parts...)
		return nil
	})
	if failed != nil {
		err = failed
	}
	return key, err
}

// NoKey is the error of a row whose key the database has made, or left out, so that
// it cannot be told.
func NoKey(n *Node) error {
	return &source.Error{Class: source.Invalid,
		Message: fmt.Sprintf("the key of the new row of %s cannot be told: give %s in the document",
			n.Name, strings.Join(Names(n.KeyCols), ", "))}
}

// update changes the rows of n with these keys to what the body says. A row that is
// given as a whole (that of a replaced document, and every embedded one: RFC 7396
// replaces arrays) gets the defaults of the columns that the body leaves out. A
// child's parent stays: the body may name it, but not another.
func (wr *writer) update(
	ctx context.Context, n *Node, in *row.Input, keys []row.Key, parent row.Key, whole bool,
) error {
	st, args, err := n.updating(wr.plan.Dialect, in, keys, parent, whole)
	if err != nil || st == nil {
		return err
	}
	_, err = wr.c.Exec(ctx, st, args)
	return err
}

// updating returns the statement of update and its arguments; nil when there is nothing
// to change.
func (n *Node) updating(
	d *Dialect, in *row.Input, keys []row.Key, parent row.Key, whole bool,
) (*Statement, []any, error) {
	for _, key := range keys {
		if err := n.checkKey(in, n.KeyCols, key); err != nil {
			return nil, nil, err
		}
	}
	if parent != "" {
		if err := n.checkKey(in, n.On, parent); err != nil {
			return nil, nil, err
		}
	}
	list, err := n.assignments(make([]Assignment, 0, len(n.Fields)), in, func(col Column) bool {
		return n.stays(col) || n.kept(in, col)
	})
	if err != nil {
		return nil, nil, err
	}
	sets, args := make([]string, 0, len(n.Fields)), make([]any, 0, len(n.Fields)+len(n.KeyCols))
	for _, a := range list {
		expr := d.Changed(n, a.Column, len(args)+1)
		args = d.appendArgs(args, expr, a.Value)
		sets = append(sets, d.Quote(a.Column.Info().Name)+" = "+expr)
	}
	if whole {
		sets = append(sets, n.defaults(d, in)...)
	}
	if len(sets) == 0 {
		return nil, nil, nil
	}
	where, keyArgs, ok := d.match(n, n.KeyCols, keys, len(args))
	if !ok {
		return nil, nil, noRow(n.Name, keys[0])
	}
	sql := "UPDATE " + n.aliased(d, n.Table.From) + " SET " + strings.Join(sets, ", ") +
		" WHERE " + where
	st := &Statement{SQL: sql, Node: n, Keys: len(keys)}
	if len(keys) == 1 {
		st.Use = UseUpdate
	}
	return st, append(args, keyArgs...), nil
}

// stays reports whether an update leaves the column alone: keys and what holds the
// parent's stay.
func (n *Node) stays(col Column) bool {
	return slices.Contains(n.KeyCols, col) || slices.Contains(n.On, col)
}

// kept reports whether the row keeps what it has in col: a value of another kind
// than the column's, perhaps.
func (n *Node) kept(in *row.Input, col Column) bool {
	return in.Kept != nil && in.Kept[slices.Index(n.Fields, col)]
}

// defaults returns the assignments that give the members which the body leaves out
// their default values.
func (n *Node) defaults(d *Dialect, in *row.Input) []string {
	var sets []string
	for i, col := range n.Fields {
		if col != nil && !in.Present[i] && !col.Info().Generated && !n.stays(col) {
			sets = append(sets, d.Quote(col.Info().Name)+" = "+d.Default(col))
		}
	}
	return sets
}

// remove deletes the rows of n with these keys.
func (wr *writer) remove(ctx context.Context, n *Node, keys ...row.Key) error {
	d := wr.plan.Dialect
	where, args, ok := d.match(n, n.KeyCols, keys, 0)
	if !ok {
		return noRow(n.Name, keys[0])
	}
	st := Statement{Node: n, SQL: "DELETE FROM " + n.aliased(d, n.Table.From) + " WHERE " + where}
	_, err := wr.c.Exec(ctx, &st, args)
	return err
}

// reconcileKids makes the rows embedded in the row of n with this key be those of
// the body. A member that the body does not have leaves its rows alone.
func (wr *writer) reconcileKids(ctx context.Context, n *Node, key row.Key, in *row.Input) error {
	for _, kid := range n.Kids {
		if !in.Present[kid.Member] {
			continue
		}
		if err := wr.reconcile(ctx, kid, key, in.Rows[kid.Member]); err != nil {
			return fmt.Errorf("%s%w", n.Shape.Fields[kid.Member].Name, err)
		}
	}
	return nil
}

// reconcile makes the rows of kid that belong to parent be those of the body: rows
// are matched by their keys, removed when the body does not have them (but for kid.Merge),
// changed, and made. What goes goes first, so that a unique value can move. A row of another
// parent is a conflict: it is moved by writing it itself. Errors begin with the
// place of a row in the list.
func (wr *writer) reconcile(ctx context.Context, kid *Node, parent row.Key, in []row.Input) error {
	if !slices.Contains(wr.parents[kid], parent) {
		wr.parents[kid] = append(wr.parents[kid], parent)
	}
	wanted := make(map[row.Key]bool, len(in))
	for i := range in {
		key, known := kid.inputKey(&in[i], parent)
		if known && wanted[key] {
			return fmt.Errorf("[%d]: %w", i,
				invalid(fmt.Sprintf("two rows of %s have the key %q", kid.Name, key)))
		}
		wanted[key] = known
	}
	for _, key := range slices.Sorted(maps.Keys(wr.before[kid])) {
		if !kid.Merge && wr.before[kid][key].parent == parent && !wanted[key] {
			if err := wr.removeTree(ctx, kid, key); err != nil {
				return fmt.Errorf(": %w", err)
			}
		}
	}
	for i := range in {
		if err := wr.put(ctx, kid, parent, &in[i]); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return nil
}

// put changes the row of kid that the body means, or makes one, and reconciles what
// is embedded in it.
func (wr *writer) put(ctx context.Context, kid *Node, parent row.Key, in *row.Input) error {
	key, known := kid.inputKey(in, parent)
	was, there := wr.before[kid][key]
	var err error
	if known && there && was.parent == parent {
		err = wr.update(ctx, kid, in, []row.Key{key}, parent, true)
	} else {
		key, err = wr.insert(ctx, kid, in, kid.On, parent)
	}
	if err != nil {
		return err
	}
	return wr.reconcileKids(ctx, kid, key, in)
}

// removeTree deletes a row of a child table, and before it the rows that are
// embedded in it: the body has dropped them all.
func (wr *writer) removeTree(ctx context.Context, n *Node, key row.Key) error {
	for _, kid := range n.Kids {
		for _, k := range slices.Sorted(maps.Keys(wr.before[kid])) {
			if wr.before[kid][k].parent == key {
				if err := wr.removeTree(ctx, kid, k); err != nil {
					return err
				}
			}
		}
	}
	return wr.remove(ctx, n, key)
}

// inputKey returns the key that a body gives a row of n, the parent's key included
// where columns hold it. It reports false when it gives none.
func (n *Node) inputKey(in *row.Input, parent row.Key) (row.Key, bool) {
	if len(n.KeyCols) == 1 {
		text, ok := n.inputPart(in, n.KeyCols[0], parent)
		return row.Key(text), ok
	}
	parts := make([]string, len(n.KeyCols))
	for i, col := range n.KeyCols {
		var ok bool
		if parts[i], ok = n.inputPart(in, col, parent); !ok {
			return "", false
		}
	}
	return row.JoinKey(parts...), true
}

// inputPart returns what inputKey makes of one column.
func (n *Node) inputPart(in *row.Input, col Column, parent row.Key) (string, bool) {
	at, on := slices.Index(n.Fields, col), slices.Index(n.On, col)
	switch {
	case at >= 0 && in.Present[at] && !in.Values[at].IsNull():
		return col.KeyText(in.Values[at])
	case parent != "" && on >= 0:
		texts, ok := row.SplitKey(parent, len(n.On))
		return texts[on], ok
	}
	return "", false
}
