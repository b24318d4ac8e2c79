package mysql

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// An image is one row as a write finds or leaves it.
type image struct {
	raw    []any // of all columns
	key    row.Key
	parent row.Key // of a child: the key of its parent
	tuple  source.Tuple
}

// images are rows by what names them: the key of their node.
type images map[row.Key]image

// lock reads the rows of the document that the write may change, and locks
// them. It reports whether there is a document, and takes the key as its row
// writes it.
func (wr *writer) lock(ctx context.Context) (bool, error) {
	root, op := wr.plan.root, wr.write.Op
	wr.before[root] = images{}
	if wr.key == "" {
		return false, nil
	}
	found, err := wr.images(ctx, root, root.keyCols, []row.Key{wr.key}, op != source.OpCreate)
	if err != nil || len(found) == 0 {
		return false, err
	}
	wr.before[root] = found
	for k := range found {
		wr.key = k
	}
	for _, kid := range root.kids {
		if op != source.OpDelete && !wr.write.Input.Present[kid.member] {
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
		if err := wr.lockKids(ctx, grandchild, slices.Sorted(maps.Keys(found))); err != nil {
			return err
		}
	}
	return nil
}

// images reads the rows of n whose columns have these keys, in the order of
// their own key: two writes that lock the same rows then wait for one another,
// and not each for the other.
func (wr *writer) images(
	ctx context.Context, n *node, by []*column, keys []row.Key, lock bool,
) (images, error) {
	found := images{}
	// Rows that the key is read back from may write it otherwise than asked.
	for _, k := range keys {
		args, ok := keyArgs(by, k)
		if !ok {
			continue
		}
		err := wr.c.query(ctx, n.imageSQL(by, lock), args, func(v []any) error {
			img, err := n.image(v)
			if err != nil {
				return err
			}
			if n.on != nil && slices.Equal(by, n.on) {
				img.parent = k
			}
			found[img.key] = img
			return nil
		})
		if err != nil && !noSuchText(err) {
			return nil, err
		}
	}
	return found, nil
}

// imageSQL returns the statement that reads whole rows by the values of columns.
func (n *node) imageSQL(by []*column, lock bool) string {
	exprs := make([]string, len(n.table.cols))
	for i := range n.table.cols {
		exprs[i] = n.table.cols[i].expr()
	}
	order := make([]string, len(n.keyCols))
	for i, col := range n.keyCols {
		order[i] = quote(col.Name)
	}
	sql := "SELECT " + strings.Join(exprs, ", ") + " FROM " + n.from + " WHERE " + oneOf(by, 1) +
		" ORDER BY " + strings.Join(order, ", ")
	if lock {
		sql += " FOR UPDATE"
	}
	return sql
}

// image reads one row of imageSQL's answer. Its tuple has every column that can
// be part of a key, of whatever resource: the changes that a write reports
// serve them all.
func (n *node) image(v []any) (image, error) {
	img := image{raw: v}
	for i := range n.table.cols {
		col := &n.table.cols[i]
		if col.Kind == row.JSON || col.Read != "" {
			continue
		}
		value, err := col.Value(v[i])
		if err != nil {
			return image{}, err
		}
		if cell, ok := col.Cell(value); ok {
			img.tuple = append(img.tuple, cell)
		}
	}
	img.key, _ = img.tuple.Key(names(n.keyCols))
	if n.on != nil {
		img.parent, _ = img.tuple.Key(names(n.on))
	}
	return img, nil
}

// changes compares the rows with what they were, and returns those that are not
// the same: changed, made, gone, or moved to another parent by a trigger.
func (wr *writer) changes(ctx context.Context) ([]source.Change, error) {
	var changes []source.Change
	for _, n := range wr.plan.nodes() {
		before := wr.before[n]
		keys := slices.Collect(maps.Keys(before))
		if n == wr.plan.root && wr.key != "" && !slices.Contains(keys, wr.key) {
			keys = append(keys, wr.key)
		}
		after, err := wr.images(ctx, n, n.keyCols, keys, false)
		if err != nil {
			return nil, err
		}
		if n.on != nil {
			more, err := wr.images(ctx, n, n.on, wr.parents[n], false)
			if err != nil {
				return nil, err
			}
			maps.Copy(after, more)
		}
		changes = append(changes, differences(n.name, before, after)...)
	}
	return changes, nil
}

// differences returns what changed between two sets of rows of one table.
func differences(table string, before, after images) []source.Change {
	var changes []source.Change
	for _, k := range slices.Sorted(maps.Keys(before)) {
		was, is := before[k], after[k]
		switch {
		case is.raw == nil:
			changes = append(changes, source.Change{Table: table, Op: source.Delete,
				Old: was.tuple})
		case !reflect.DeepEqual(was.raw, is.raw):
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
