package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// codecText reads what the server has cast to text.
var codecText = codec{oid: pgtype.TextOID, kind: row.Text}

// An image is one row as a write finds or leaves it.
type image struct {
	version string // changes with every update of the row: where it is stored
	key     row.Key
	parent  row.Key // of a child: the key of its parent
	tuple   source.Tuple
}

// images are rows by what names them: the key of their node.
type images map[row.Key]image

// lock reads the rows of the document that the write may change, and locks
// them. It reports whether there is a document.
func (wr *writer) lock(ctx context.Context) (bool, error) {
	root, op := wr.plan.root, wr.write.Op
	wr.before[root] = images{}
	exists := false
	if wr.key != "" {
		var err error
		// A create does not need the privilege to update.
		wr.before[root], err = wr.images(ctx, root, root.keyCols, []row.Key{wr.key},
			op != source.OpCreate)
		if err != nil {
			return false, err
		}
		exists = len(wr.before[root]) > 0
	}
	if !exists {
		return false, nil
	}
	for i, kid := range root.shapeKids() {
		if kid == nil || op != source.OpDelete && !wr.write.Input.Present[i] {
			continue
		}
		if err := wr.lockKids(ctx, kid, []row.Key{wr.key}); err != nil {
			return false, err
		}
	}
	return true, nil
}

// lockKids reads and locks the rows of kid that belong to parents, and what is
// below them.
func (wr *writer) lockKids(ctx context.Context, kid *node, parents []row.Key) error {
	found, err := wr.images(ctx, kid, kid.on, parents, true)
	if err != nil {
		return err
	}
	wr.before[kid], wr.parents[kid] = found, parents
	for _, grandchild := range kid.kids {
		err := wr.lockKids(ctx, grandchild, slices.Sorted(maps.Keys(found)))
		if err != nil {
			return err
		}
	}
	return nil
}

// images reads the rows of n whose columns have these keys.
func (wr *writer) images(
	ctx context.Context, n *node, by []*column, keys []row.Key, lock bool,
) (images, error) {
	found := images{}
	if len(keys) == 0 {
		return found, nil
	}
	args, err := keyArrays(keys, by)
	if err != nil {
		return nil, err
	}
	rows, err := wr.tx.Query(ctx, n.imageSQL(by, lock), append([]any{binaryResults}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	c := arrived(rows)
	for rows.Next() {
		c.data = rows.RawValues()
		img, err := n.image(c)
		if err != nil {
			return nil, err
		}
		found[img.key] = img
	}
	return found, rows.Err()
}

// imageSQL returns the statement that reads rows by the values of columns, in
// the order of their key: two writes that lock the same rows then wait for one
// another, and not each for the other.
func (n *node) imageSQL(by []*column, lock bool) string {
	exprs := []string{n.alias + ".tableoid::text || " + n.alias + ".ctid::text"}
	for i := range n.table.cols {
		if col := &n.table.cols[i]; col.inTuple() {
			exprs = append(exprs, n.read(col))
		}
	}
	cols, arrays := make([]string, len(by)), make([]string, len(by))
	for i, col := range by {
		cols[i] = n.col(col)
		arrays[i] = fmt.Sprintf("$%d::%s[]", i+1, col.base)
	}
	where := fmt.Sprintf("(%s) IN (SELECT * FROM unnest(%s))",
		strings.Join(cols, ", "), strings.Join(arrays, ", "))
	if len(by) == 1 {
		where = fmt.Sprintf("%s = ANY(%s)", cols[0], arrays[0])
	}
	order := make([]string, len(n.keyCols))
	for i, col := range n.keyCols {
		order[i] = n.col(col)
	}
	sql := fmt.Sprintf("SELECT %s FROM %s AS %s WHERE %s ORDER BY %s",
		strings.Join(exprs, ", "), n.from, n.alias, where, strings.Join(order, ", "))
	if lock {
		sql += " FOR UPDATE OF " + n.alias
	}
	return sql
}

// inTuple reports whether the column can be part of a key, of whatever
// resource: the changes that a write reports serve them all.
func (c *column) inTuple() bool {
	return c.kind != row.JSON && c.kind != row.Array
}

// image reads one row of imageSQL's answer.
func (n *node) image(c cells) (image, error) {
	version, err := codecText.decode(c.data[0])
	if err != nil {
		return image{}, err
	}
	img := image{version: version.Text()}
	at := 1
	for i := range n.table.cols {
		col := &n.table.cols[i]
		if !col.inTuple() {
			continue
		}
		v, err := n.decode(col.codec, c, at)
		if err != nil {
			return image{}, err
		}
		at++
		cell := source.Cell{Column: col.Name, Null: v.IsNull()}
		if !cell.Null {
			var ok bool
			if cell.Text, ok = row.KeyText(v); !ok || len(cell.Text) > row.MaxKey {
				continue // no key of anything
			}
		}
		img.tuple = append(img.tuple, cell)
	}
	img.key, _ = img.tuple.Key(columnNames(n.keyCols))
	if n.on != nil {
		img.parent, _ = img.tuple.Key(columnNames(n.on))
	}
	return img, nil
}

// changes compares the rows with what they were, and returns those that are not
// the same: changed, made, gone, or moved to another parent by a trigger.
func (wr *writer) changes(ctx context.Context) ([]source.Change, error) {
	var changes []source.Change
	var visit func(n *node) error
	visit = func(n *node) error {
		before := wr.before[n]
		keys := slices.Collect(maps.Keys(before))
		if n == wr.plan.root && wr.key != "" {
			keys = append(keys, wr.key)
		}
		after, err := wr.images(ctx, n, n.keyCols, keys, false)
		if err != nil {
			return err
		}
		if n.on != nil {
			more, err := wr.images(ctx, n, n.on, wr.parents[n], false)
			if err != nil {
				return err
			}
			maps.Copy(after, more)
		}
		changes = append(changes, differences(n.name, before, after)...)
		for _, kid := range n.kids {
			if err := visit(kid); err != nil {
				return err
			}
		}
		return nil
	}
	err := visit(wr.plan.root)
	return changes, err
}

// differences returns what changed between two sets of rows of one table.
func differences(table string, before, after images) []source.Change {
	var changes []source.Change
	for _, k := range slices.Sorted(maps.Keys(before)) {
		was, is := before[k], after[k]
		switch {
		case is.version == "":
			changes = append(changes, source.Change{Table: table, Op: source.Delete,
				Old: was.tuple})
		case is.version != was.version:
			changes = append(changes, source.Change{
				Table: table, Op: source.Update, Old: was.tuple, New: is.tuple})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(after)) {
		if _, old := before[k]; !old {
			changes = append(changes, source.Change{
				Table: table, Op: source.Insert, New: after[k].tuple})
		}
	}
	return changes
}
