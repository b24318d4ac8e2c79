package mysql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// An assignment gives one column a value.
type assignment struct {
	col   *column
	value any
}

// assignments returns what the body gives columns of n, but for fixed, which
// have the values of key: those of its path, or those of the parent. A value
// that the body gives a fixed column must be the same. Columns that the
// database generates are left to it.
func (n *node) assignments(in *row.Input, fixed []*column, key row.Key) ([]assignment, error) {
	var list []assignment
	if key != "" {
		args, ok := keyArgs(fixed, key)
		if !ok {
			return nil, invalid(fmt.Sprintf("%q can be no key of %s", key, n.name))
		}
		for i, col := range fixed {
			list = append(list, assignment{col, args[i]})
		}
	}
	for i, col := range n.fields {
		if col == nil || !in.Present[i] || col.Generated {
			continue
		}
		if at := slices.Index(fixed, col); at >= 0 && key != "" {
			parts, _ := row.SplitKey(key, len(fixed))
			text, ok := col.KeyText(in.Values[i])
			if ok && text != parts[at] && !col.Wide {
				return nil, invalid(fmt.Sprintf("%s is %q here, it cannot be %q",
					n.shape.Fields[i].Name, parts[at], text))
			}
			continue
		}
		if col.Auto && in.Values[i].IsNull() {
			continue // "no key given"
		}
		list = append(list, assignment{col, col.Arg(in.Values[i])})
	}
	return list, nil
}

// insert makes a row and returns its key. fixed columns have the values of key.
func (wr *writer) insert(
	ctx context.Context, n *node, in *row.Input, fixed []*column, key row.Key,
) (row.Key, error) {
	list, err := n.assignments(in, fixed, key)
	if err != nil {
		return "", err
	}
	cols, marks := make([]string, len(list)), make([]string, len(list))
	args := make([]any, 0, len(list))
	for i, a := range list {
		cols[i], marks[i] = quote(a.col.Name), wr.made(a.col)
		args = appendTimes(args, a.value, strings.Count(marks[i], "?"))
	}
	sql := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", n.from, strings.Join(cols, ", "),
		strings.Join(marks, ", "))
	if wr.plan.insert {
		return wr.insertReturning(ctx, n, sql, args)
	}
	result, err := wr.c.ExecContext(ctx, sql, args...)
	if err != nil {
		return "", err
	}
	id, err := result.LastInsertId()
	if err != nil {
		return "", err
	}
	return n.insertedKey(list, id)
}

// insertReturning runs an INSERT on a server that can return the key.
func (wr *writer) insertReturning(
	ctx context.Context, n *node, sql string, args []any,
) (row.Key, error) {
	exprs := make([]string, len(n.keyCols))
	for i, col := range n.keyCols {
		exprs[i] = col.expr()
	}
	var key row.Key
	err := wr.c.query(ctx, sql+" RETURNING "+strings.Join(exprs, ", "), args,
		func(v []any) error {
			parts := make([]string, len(v))
			for i, col := range n.keyCols {
				value, err := col.Value(v[i])
				if err != nil {
					return err
				}
				var ok bool
				if parts[i], ok = col.KeyText(value); !ok {
					return nil
				}
			}
			key = row.JoinKey(parts...)
			return nil
		})
	if err == nil && key == "" {
		err = noKey(n)
	}
	return key, err
}

// insertedKey returns the key of a row that was made of list, where id is what
// the server gave its AUTO_INCREMENT column.
func (n *node) insertedKey(list []assignment, id int64) (row.Key, error) {
	parts := make([]string, len(n.keyCols))
	for i, col := range n.keyCols {
		at := slices.IndexFunc(list, func(a assignment) bool { return a.col == col })
		switch {
		case at >= 0:
			text, ok := argKeyText(col, list[at].value)
			if !ok {
				return "", noKey(n)
			}
			parts[i] = text
		case col.Auto && id != 0:
			parts[i] = fmt.Sprint(id)
		default:
			return "", noKey(n)
		}
	}
	return row.JoinKey(parts...), nil
}

// argKeyText returns the text in a key of a value that was bound for col.
func argKeyText(col *column, arg any) (string, bool) {
	var v any
	switch a := arg.(type) {
	case uint64:
		return col.KeyText(row.UintValue(a))
	case string:
		v = []byte(a)
	default:
		v = arg
	}
	value, err := col.Value(v)
	if err != nil {
		return "", false
	}
	return col.KeyText(value)
}

// noKey is the error of a row whose key the database has made otherwise than by
// AUTO_INCREMENT, or not at all.
func noKey(n *node) error {
	return &source.Error{Class: source.Invalid,
		Message: fmt.Sprintf("the key of the new row of %s cannot be told: give %s in the document",
			n.name, strings.Join(names(n.keyCols), ", "))}
}

// update changes the row of n with this key to what the body says. A row that
// is given as a whole (that of a replaced document, and every embedded one: RFC
// 7396 replaces arrays) gets the defaults of the columns that the body leaves
// out. A child's parent stays: the body may name it, but not another.
func (wr *writer) update(
	ctx context.Context, n *node, in *row.Input, key, parent row.Key, whole bool,
) error {
	list, err := n.assignments(in, n.keyCols, key)
	if err == nil && parent != "" {
		_, err = n.assignments(in, n.on, parent)
	}
	if err != nil {
		return err
	}
	var sets []string
	var args []any
	for _, a := range list {
		if slices.Contains(n.keyCols, a.col) || slices.Contains(n.on, a.col) {
			continue
		}
		mark := wr.changed(a.col)
		args = appendTimes(args, a.value, strings.Count(mark, "?"))
		sets = append(sets, quote(a.col.Name)+" = "+mark)
	}
	if whole {
		sets = append(sets, n.defaults(in)...)
	}
	if len(sets) == 0 {
		return nil
	}
	bound, ok := keyArgs(n.keyCols, key)
	if !ok {
		return noRow(n.name, key)
	}
	return wr.c.exec(ctx, fmt.Sprintf("UPDATE %s SET %s WHERE %s", n.from,
		strings.Join(sets, ", "), oneOf(n.keyCols, 1)), append(args, bound...)...)
}

// defaults returns the assignments that give the members which the body leaves
// out their default values. Keys and what holds the parent's stay.
func (n *node) defaults(in *row.Input) []string {
	var sets []string
	for i, col := range n.fields {
		if col == nil || in.Present[i] || col.Generated ||
			slices.Contains(n.keyCols, col) || slices.Contains(n.on, col) {
			continue
		}
		sets = append(sets, quote(col.Name)+" = DEFAULT")
	}
	return sets
}

// remove deletes the row of n with this key.
func (wr *writer) remove(ctx context.Context, n *node, key row.Key) error {
	args, ok := keyArgs(n.keyCols, key)
	if !ok {
		return noRow(n.name, key)
	}
	return wr.c.exec(ctx, "DELETE FROM "+n.from+" WHERE "+oneOf(n.keyCols, 1), args...)
}

// reconcileKids makes the rows embedded in the row of n with this key be those
// of the body. A member that the body does not have leaves its rows alone.
func (wr *writer) reconcileKids(ctx context.Context, n *node, key row.Key, in *row.Input) error {
	for _, kid := range n.kids {
		if !in.Present[kid.member] {
			continue
		}
		if err := wr.reconcile(ctx, kid, key, in.Rows[kid.member]); err != nil {
			return err
		}
	}
	return nil
}

// reconcile makes the rows of kid that belong to parent be those of the body:
// rows are matched by their keys, removed when the body does not have them,
// changed, and made. What goes goes first, so that a unique value can move. A
// row of another parent is a conflict: it is moved by writing it itself.
func (wr *writer) reconcile(ctx context.Context, kid *node, parent row.Key, in []row.Input) error {
	wr.parents[kid] = append(wr.parents[kid], parent)
	wanted := make(map[row.Key]bool, len(in))
	for i := range in {
		key, known := kid.inputKey(&in[i], parent)
		if known && wanted[key] {
			return invalid(fmt.Sprintf("two rows of %s have the key %q", kid.name, key))
		}
		wanted[key] = known
	}
	for _, key := range slices.Sorted(maps.Keys(wr.before[kid])) {
		if wr.before[kid][key].parent == parent && !wanted[key] {
			if err := wr.removeTree(ctx, kid, key); err != nil {
				return err
			}
		}
	}
	for i := range in {
		if err := wr.put(ctx, kid, parent, &in[i]); err != nil {
			return err
		}
	}
	return nil
}

// put changes the row of kid that the body means, or makes one, and reconciles
// what is embedded in it.
func (wr *writer) put(ctx context.Context, kid *node, parent row.Key, in *row.Input) error {
	key, known := kid.inputKey(in, parent)
	was, there := wr.before[kid][key]
	var err error
	if known && there && was.parent == parent {
		err = wr.update(ctx, kid, in, key, parent, true)
	} else {
		key, err = wr.insert(ctx, kid, in, kid.on, parent)
	}
	if err != nil {
		return err
	}
	return wr.reconcileKids(ctx, kid, key, in)
}

// removeTree deletes a row of a child table, and before it the rows that are
// embedded in it: the body has dropped them all.
func (wr *writer) removeTree(ctx context.Context, n *node, key row.Key) error {
	for _, kid := range n.kids {
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

// inputKey returns the key that a body gives a row of n, the parent's key
// included where columns hold it. It reports false when it gives none.
func (n *node) inputKey(in *row.Input, parent row.Key) (row.Key, bool) {
	parts := make([]string, len(n.keyCols))
	for i, col := range n.keyCols {
		at, on := slices.Index(n.fields, col), slices.Index(n.on, col)
		switch {
		case at >= 0 && in.Present[at] && !in.Values[at].IsNull():
			var ok bool
			if parts[i], ok = col.KeyText(in.Values[at]); !ok {
				return "", false
			}
		case parent != "" && on >= 0:
			texts, _ := row.SplitKey(parent, len(n.on))
			parts[i] = texts[on]
		default:
			return "", false
		}
	}
	return row.JoinKey(parts...), true
}
