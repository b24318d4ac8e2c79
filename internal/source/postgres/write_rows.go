package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// An assignment gives one column a value: a parameter's text, or nil for NULL.
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
		texts, err := splitKey(key, fixed)
		if err != nil {
			return nil, err
		}
		for i, col := range fixed {
			list = append(list, assignment{col, texts[i]})
		}
	}
	for i, col := range n.fields {
		if col == nil || !in.Present[i] {
			continue
		}
		at := slices.IndexFunc(list, func(a assignment) bool { return a.col == col })
		if at >= 0 {
			text, ok := row.KeyText(in.Values[i])
			if want := keyPart(key, fixed, col); ok && text != want && !col.wide {
				return nil, invalid(fmt.Sprintf("%s is %q here, it cannot be %q",
					n.shape.Fields[i].Name, want, text))
			}
			continue
		}
		if col.Generated && !slices.Contains(n.keyCols, col) {
			continue
		}
		value, err := n.parameter(i, in.Values[i])
		if err != nil {
			return nil, err
		}
		list = append(list, assignment{col, value})
	}
	return list, nil
}

// keyPart returns the text that a key has for one of its columns.
func keyPart(key row.Key, cols []*column, col *column) string {
	parts, _ := row.SplitKey(key, len(cols))
	return parts[slices.Index(cols, col)]
}

// insert makes a row and returns its key. fixed columns have the values of key.
func (wr *writer) insert(
	ctx context.Context, n *node, in *row.Input, fixed []*column, key row.Key,
) (row.Key, error) {
	list, err := n.assignments(in, fixed, key)
	if err != nil {
		return "", err
	}
	cols, params, args := make([]string, len(list)), make([]string, len(list)), []any{binaryResults}
	for i, a := range list {
		cols[i] = pgx.Identifier{a.col.Name}.Sanitize()
		params[i] = fmt.Sprintf("$%d::%s", i+1, a.col.name)
		args = append(args, a.value)
	}
	values := "DEFAULT VALUES"
	if len(list) > 0 {
		values = fmt.Sprintf("(%s) VALUES (%s)", strings.Join(cols, ", "),
			strings.Join(params, ", "))
	}
	reads := make([]string, len(n.keyCols))
	for i, col := range n.keyCols {
		reads[i] = n.read(col)
	}
	sql := fmt.Sprintf("INSERT INTO %s AS %s %s RETURNING %s",
		n.target(), n.alias, values, strings.Join(reads, ", "))
	return wr.returning(ctx, n, sql, args)
}

// returning runs an INSERT and reads the key that it returns.
func (wr *writer) returning(
	ctx context.Context, n *node, sql string, args []any,
) (row.Key, error) {
	rows, err := wr.tx.Query(ctx, sql, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var key row.Key
	c := arrived(rows)
	for rows.Next() {
		c.data = rows.RawValues()
		values := make(row.Values, len(n.keyCols))
		at := make([]int, len(n.keyCols))
		for i, col := range n.keyCols {
			if values[i], err = n.decode(col.codec, c, i); err != nil {
				return "", err
			}
			at[i] = i
		}
		key, _ = keyOf(values, at)
	}
	if err := rows.Err(); err != nil {
		return "", err
	}
	if key == "" { // a trigger has swallowed the row, or it has no key
		return "", &source.Error{Class: source.Conflict,
			Message: "the database has not made the row of " + n.name}
	}
	return key, nil
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
		args = append(args, a.value)
		sets = append(sets, n.set(a.col, len(args)))
	}
	if whole {
		sets = append(sets, n.defaults(in)...)
	}
	if len(sets) == 0 {
		return nil
	}
	where, keyArgs, err := n.whereKey(key, len(args))
	if err != nil {
		return err
	}
	_, err = wr.tx.Exec(ctx, fmt.Sprintf("UPDATE %s AS %s SET %s WHERE %s",
		n.from, n.alias, strings.Join(sets, ", "), where), append(args, keyArgs...)...)
	return err
}

// set returns the assignment of the parameter with this number to a column. A column
// of type json keeps the blanks around its value, which no document has: they stay
// unless the value changes.
func (n *node) set(col *column, param int) string {
	name, value := pgx.Identifier{col.Name}.Sanitize(), fmt.Sprintf("$%d::%s", param, col.name)
	if col.kind == row.JSON && col.codec.oid == pgtype.JSONOID {
		value = fmt.Sprintf(`CASE pg_catalog.btrim(%[1]s::text, E' \t\n\r') WHEN $%[2]d::text
			THEN %[1]s ELSE $%[2]d::text::%[3]s END`, n.col(col), param, col.name)
	}
	return name + " = " + value
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
		sets = append(sets, pgx.Identifier{col.Name}.Sanitize()+" = DEFAULT")
	}
	return sets
}

// remove deletes the row of n with this key.
func (wr *writer) remove(ctx context.Context, n *node, key row.Key) error {
	where, args, err := n.whereKey(key, 0)
	if err != nil {
		return err
	}
	_, err = wr.tx.Exec(ctx, fmt.Sprintf("DELETE FROM %s AS %s WHERE %s",
		n.from, n.alias, where), args...)
	return err
}

// whereKey returns the condition that a row has this key, and its parameters,
// which are numbered after those that there are.
func (n *node) whereKey(key row.Key, after int) (string, []any, error) {
	texts, err := splitKey(key, n.keyCols)
	if err != nil {
		return "", nil, err
	}
	conds, args := make([]string, len(texts)), make([]any, len(texts))
	for i, col := range n.keyCols {
		conds[i] = fmt.Sprintf("%s = $%d::%s", n.col(col), after+i+1, col.base)
		args[i] = texts[i]
	}
	return strings.Join(conds, " AND "), args, nil
}

// target returns n where ONLY may not be written: a new row goes nowhere else.
func (n *node) target() string {
	return strings.TrimPrefix(n.from, "ONLY ")
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
	for i, grandchild := range kid.shapeKids() {
		if grandchild == nil || !in.Present[i] {
			continue
		}
		if err := wr.reconcile(ctx, grandchild, key, in.Rows[i]); err != nil {
			return err
		}
	}
	return nil
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
		at := slices.Index(n.fields, col)
		switch {
		case at >= 0 && in.Present[at] && !in.Values[at].IsNull():
			var ok bool
			if parts[i], ok = row.KeyText(in.Values[at]); !ok {
				return "", false
			}
		case parent != "" && slices.Contains(n.on, col):
			parts[i] = keyPart(parent, n.on, col)
		default:
			return "", false
		}
	}
	return row.JoinKey(parts...), true
}
