package document

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// An image is one row as a write finds or leaves it.
type image struct {
	version any // changes with every update of the row
	key     row.Key
	parent  row.Key // of a child: the key of its parent
	tuple   source.Tuple
}

// names reports whether the image has all of these columns, and none is null: then they
// make its key.
func (img *image) names(columns []string) bool {
	return !slices.ContainsFunc(columns, func(name string) bool {
		return !slices.ContainsFunc(img.tuple, func(c source.Cell) bool {
			return c.Column == name && !c.Null
		})
	})
}

// images are rows by what names them: the key of their node.
type images map[row.Key]image

// lock reads the rows of the document that the write may change, and locks them. It
// reports whether there is a document, and takes the key as its row writes it.
func (wr *writer) lock(ctx context.Context) (bool, error) {
	root, op := wr.plan.Root, wr.write.Op
	wr.before[root] = images{}
	if wr.key == "" {
		return false, nil
	}
	// A create does not need the privilege to update.
	found, err := wr.images(ctx, root, root.KeyCols, []row.Key{wr.key}, op != source.OpCreate)
	if err != nil || len(found) == 0 {
		return false, err
	}
	wr.before[root] = found
	for k := range found {
		wr.key = k
	}
	return true, wr.lockDocument(ctx)
}

// lockDocument reads and locks the embedded rows that the write may change.
func (wr *writer) lockDocument(ctx context.Context) error {
	if wr.write.Op == source.OpDelete && wr.plan.Dialect.ReportsChanges {
		return nil // what becomes of other rows is for foreign keys to say
	}
	for _, kid := range wr.plan.Root.Kids {
		if wr.write.Op != source.OpDelete && !wr.write.Input.Present[kid.Member] {
			continue
		}
		if err := wr.lockKids(ctx, kid, []row.Key{wr.key}); err != nil {
			return err
		}
	}
	return nil
}

// foundling reads and locks what is embedded in a row of n that was made just now: its
// key may have been that of a row that has gone, of which there still are children.
func (wr *writer) foundling(ctx context.Context, n *Node, key row.Key, in *row.Input) error {
	for _, kid := range n.Kids {
		if kid.bound || !in.Present[kid.Member] {
			continue
		}
		if err := wr.lockKids(ctx, kid, []row.Key{key}); err != nil {
			return err
		}
	}
	return nil
}

// lockKids reads and locks the rows of kid that belong to parents, and what is below
// them.
func (wr *writer) lockKids(ctx context.Context, kid *Node, parents []row.Key) error {
	found, err := wr.images(ctx, kid, kid.On, parents, true)
	if err != nil {
		return err
	}
	if wr.before[kid] == nil {
		wr.before[kid] = images{}
	}
	maps.Copy(wr.before[kid], found)
	wr.parents[kid] = append(wr.parents[kid], parents...)
	for _, grandchild := range kid.Kids {
		if err := wr.lockKids(ctx, grandchild, slices.Sorted(maps.Keys(found))); err != nil {
			return err
		}
	}
	return nil
}

// images reads the rows of n whose columns have these keys, in the order of their
// own key: two writes that lock the same rows then wait for one another, and not
// each for the other. Where texts do not say whose a row is, it asks for the rows of
// each key by itself.
func (wr *writer) images(
	ctx context.Context, n *Node, by []Column, keys []row.Key, lock bool,
) (images, error) {
	d := wr.plan.Dialect
	ofParent := n.On != nil && slices.Equal(by, n.On)
	per := 1
	if d.Many && (n.Exact || !ofParent) {
		per = max(1, len(keys))
	}
	found := images{}
	for some := range slices.Chunk(keys, per) {
		sql, args, ok := n.imageStatement(d, by, some, lock)
		if !ok {
			continue
		}
		cols := n.imageColumns(d)
		st := Statement{Node: n, Keys: len(some), SQL: sql}
		if slices.Equal(by, n.KeyCols) && !ofParent && !wr.plan.keys.Wide() {
			st.Use = UseByKey
		}
		err := wr.c.Query(ctx, &st, args, func(r Row) error {
			img, err := wr.image(n, cols, r)
			if err != nil {
				return err
			}
			switch {
			case img.names(n.keyNames):
			case ofParent && lock:
				return invalid("a row of " + n.Name + " has no key by which it could be matched")
			default:
				return nil // equal to the key asked for, but none itself
			}
			if ofParent && len(some) == 1 {
				img.parent = some[0]
			}
			found[img.key] = img
			return nil
		})
		if err != nil && !d.noSuchText(err) {
			return nil, err
		}
	}
	return found, nil
}

// noSuchText reports whether err says that no row has the text that was asked for.
func (d *Dialect) noSuchText(err error) bool { return d.NoSuchText != nil && d.NoSuchText(err) }

// imageStatement returns the statement that reads images of the rows whose columns have
// these keys, and its arguments.
func (n *Node) imageStatement(
	d *Dialect, by []Column, keys []row.Key, lock bool,
) (string, []any, bool) {
	if d.Match != nil {
		where, args, ok := d.Match(n, by, keys, 0)
		return n.imageSQL(d, where, 0, lock), args, ok
	}
	args, ok := n.KeyArgs(by, keys[0])
	return n.imageSQL(d, d.oneOf(n, by, 1), 0, lock), args, ok
}

// imageColumns returns the columns that an image of a row of n is made of.
func (n *Node) imageColumns(d *Dialect) []Column {
	switch {
	case d.ReportsChanges:
		return slices.Concat(n.KeyCols, n.On)
	case d.Version == "":
		return n.Table.Cols
	}
	return slices.DeleteFunc(slices.Clone(n.Table.Cols),
		func(col Column) bool { return !col.InTuple() })
}

// imageSQL returns the statement that reads images, so many at most; 0: of all rows.
func (n *Node) imageSQL(d *Dialect, where string, most int, lock bool) string {
	var exprs []string
	if d.Version != "" {
		exprs = append(exprs, strings.ReplaceAll(d.Version, "%s", n.Alias))
	}
	for _, col := range n.imageColumns(d) {
		exprs = append(exprs, d.Read(n, col))
	}
	order := make([]string, len(n.KeyCols))
	for i, col := range n.KeyCols {
		order[i] = d.Column(n, col)
	}
	sql := "SELECT " + strings.Join(exprs, ", ") + " FROM " + n.aliased(d, n.Table.From) +
		" WHERE " + where + " ORDER BY " + strings.Join(order, ", ")
	if most > 0 {
		sql += fmt.Sprintf(" LIMIT %d", most)
	}
	if lock {
		sql += strings.ReplaceAll(d.Lock, "%s", n.Alias)
	}
	return sql
}

// image reads one row of imageSQL's answer. Its tuple has every column that can be
// part of a key, of whatever resource: the changes that a write reports serve them
// all.
func (wr *writer) image(n *Node, cols []Column, r Row) (image, error) {
	var img image
	var err error
	at := 0
	if d := wr.plan.Dialect; !d.ReportsChanges {
		if img.version, err = r.Version(); err != nil {
			return image{}, err
		}
		if d.Version != "" {
			at = 1
		}
	}
	for i, col := range cols {
		if !col.InTuple() {
			continue
		}
		cell, ok, err := r.Cell(at+i, col)
		if err != nil {
			return image{}, n.reshaped(err)
		}
		if ok && len(cell.Text) <= row.MaxKey { // else no key of anything
			img.tuple = append(img.tuple, cell)
		}
	}
	img.key, _ = img.tuple.Key(n.keyNames)
	if n.On != nil {
		img.parent, _ = img.tuple.Key(n.onNames)
	}
	return img, nil
}

// changes compares the rows with what they were, and returns those that are not the
// same: changed, made, gone, or moved to another parent by a trigger.
func (wr *writer) changes(ctx context.Context) ([]source.Change, error) {
	var changes []source.Change
	for _, n := range wr.plan.Nodes() {
		before := wr.before[n]
		keys := slices.Sorted(maps.Keys(before))
		if n == wr.plan.Root {
			keys = slices.AppendSeq(keys, maps.Keys(wr.made))
			if wr.key != "" && !slices.Contains(keys, wr.key) {
				keys = append(keys, wr.key)
			}
		}
		after, err := wr.images(ctx, n, n.KeyCols, keys, false)
		if err != nil {
			return nil, err
		}
		if n.On != nil {
			more, err := wr.images(ctx, n, n.On, wr.parents[n], false)
			if err != nil {
				return nil, err
			}
			maps.Copy(after, more)
		}
		changes = append(changes, differences(n.Name, before, after)...)
	}
	return changes, nil
}

// differences returns what changed between two sets of rows of one table.
func differences(table string, before, after images) []source.Change {
	var changes []source.Change
	for _, k := range slices.Sorted(maps.Keys(before)) {
		was := before[k]
		is, there := after[k]
		switch {
		case !there:
			changes = append(changes, source.Change{Table: table, Op: source.Delete,
				Old: was.tuple})
		case !reflect.DeepEqual(was.version, is.version):
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
