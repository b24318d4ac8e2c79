package sqlite

import (
	"context"
	"fmt"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// reconcile makes the rows embedded in the document of key those that the body
// lists. A member that the body does not have leaves its rows alone.
func (n *node) reconcile(ctx context.Context, c *conn, in *row.Input, key []any) error {
	for _, e := range n.embeds {
		if !in.Present[e.member] {
			continue
		}
		if err := e.reconcileRows(ctx, c, in.Rows[e.member], key); err != nil {
			return fmt.Errorf("%s: %w", n.shape.Fields[e.member].Name, err)
		}
	}
	return nil
}

// reconcileRows matches the rows of one parent with those listed, by key:
// listed and there is changed, listed and not there is made, there and not
// listed is deleted. Deletes come first, so that a unique value can move.
func (n *node) reconcileRows(
	ctx context.Context, c *conn, list []row.Input, parent []any,
) error {
	if len(n.key.columns) == 0 {
		return invalid(fmt.Sprintf("table %s has no key by which rows could be matched",
			n.table.Name))
	}
	there := make(map[row.Key][]any)
	err := c.query(ctx, n.selectByOn(1), parent, func(v []any) error {
		raw := n.key.raw(v)
		k, ok := keyOf(n.key.kinds, raw)
		if !ok {
			return invalid(fmt.Sprintf("a row of table %s has no key", n.table.Name))
		}
		there[k] = raw
		return nil
	})
	if err != nil {
		return err
	}
	keys, err := n.listedKeys(list, parent)
	if err != nil {
		return err
	}
	listed := make(map[row.Key]bool, len(keys))
	for _, k := range keys {
		listed[k] = true
	}
	for k, raw := range there {
		if !listed[k] {
			if err := n.remove(ctx, c, raw); err != nil {
				return err
			}
		}
	}
	for i := range list {
		if err := n.put(ctx, c, &list[i], there[keys[i]], parent); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return nil
}

// put changes the row of key, or makes one when key is nil, and reconciles
// what is embedded in it.
func (n *node) put(
	ctx context.Context, c *conn, in *row.Input, key []any, parent []any,
) error {
	var err error
	if key != nil {
		err = n.update(ctx, c, in, key, true)
	} else if key, err = n.insert(ctx, c, in, n.on.columns, parent); source.ClassOf(err) ==
		source.Conflict {
		return fmt.Errorf("%w; a row of another document is moved by writing that row itself", err)
	}
	if err != nil {
		return err
	}
	return n.reconcile(ctx, c, in, key)
}

// listedKeys returns the key of each listed row; "" where the database is to
// make it. Key columns that hold the parent's key may be left out.
func (n *node) listedKeys(list []row.Input, parent []any) ([]row.Key, error) {
	keys := make([]row.Key, len(list))
	seen := make(map[row.Key]bool, len(list))
	for i := range list {
		if err := n.sameParent(&list[i], parent); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		k, err := n.listedKey(&list[i], parent)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		if k != "" && seen[k] {
			return nil, fmt.Errorf("[%d]: %w", i, invalid(fmt.Sprintf("key %s is listed twice", k)))
		}
		keys[i], seen[k] = k, true
	}
	return keys, nil
}

// sameParent refuses a row that says that it belongs to another document.
func (n *node) sameParent(in *row.Input, parent []any) error {
	for i, c := range n.on.columns {
		v, present := n.input(in, c)
		if !present {
			continue
		}
		text, ok := row.KeyText(v)
		want, known := keyOf(n.on.kinds[i:i+1], parent[i:i+1])
		if ok && known && row.Key(text) != want {
			return invalid(fmt.Sprintf("%s is %q here, it cannot be %q", c, want, text))
		}
	}
	return nil
}

// listedKey returns the key of one listed row.
func (n *node) listedKey(in *row.Input, parent []any) (row.Key, error) {
	raw := make([]any, len(n.key.columns))
columns:
	for i, c := range n.key.columns {
		for j, on := range n.on.columns {
			if on == c {
				raw[i] = parent[j]
				continue columns
			}
		}
		v, present := n.input(in, c)
		if !present || v.IsNull() {
			return "", nil
		}
		raw[i] = valueArg(v)
	}
	k, ok := keyOf(n.key.kinds, raw)
	if !ok {
		return "", invalid("its key cannot be a key of the table")
	}
	return k, nil
}
