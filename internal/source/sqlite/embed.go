package sqlite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// embed adds the documents that spec puts into those of n. kt is the type of
// n's key, level says how deep the new ones are.
func (k *compiler) embed(n *node, spec *source.Spec, kt row.KeyType, level int) error {
	for i := range spec.Embeds {
		e := &spec.Embeds[i]
		if err := k.embedOne(n, e, kt, level); err != nil {
			return fmt.Errorf("embed %s: %w", e.Name, err)
		}
	}
	return n.distinct()
}

// embedOne adds the documents of one child table.
func (k *compiler) embedOne(n *node, e *source.Embed, kt row.KeyType, level int) error {
	switch {
	case level > maxLevels:
		return fmt.Errorf("documents are embedded at most %d levels deep", maxLevels)
	case e.Spec == nil || e.Spec.Query != "":
		return fmt.Errorf("only a table can be embedded")
	}
	t, err := k.find(e.Spec.Table)
	if err != nil {
		return err
	}
	key := e.Spec.Key
	if len(key) == 0 {
		key = t.Key
	}
	on, err := t.resolve(e.On)
	if err != nil {
		return fmt.Errorf("on: %w", err)
	}
	if key, err = t.resolve(key); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if len(on) != len(kt) {
		return fmt.Errorf("on has %d columns, but the key that they hold has %d", len(on), len(kt))
	}
	child, err := newTableNode(n.path+"."+e.Name, t, e.Spec, key)
	if err != nil {
		return err
	}
	child.member = len(n.fields)
	child.on = child.place(on, t.kind)
	child.exact = sameText(t, on, kt)
	if child.order, err = orderBy(t, e.Order, key); err != nil {
		return fmt.Errorf("order: %w", err)
	}
	k.childDep(child, level)
	n.fields = append(n.fields, field{at: -1, embed: child})
	n.embeds = append(n.embeds, child)
	n.shape.Fields = append(n.shape.Fields,
		row.Field{Name: e.Name, Kind: row.Rows, Shape: child.shape})
	return k.embed(child, e.Spec, keyType(t, key), level+1)
}

// childDep says how rows of the child's table feed documents: by the parent's
// key that they hold, where its text is that of the parent's own; else, and
// at deeper levels, any change of the table touches every document.
func (k *compiler) childDep(child *node, level int) {
	t := child.table
	dep := source.Dep{Table: t.Name}
	if level == 1 && child.exact && len(t.Key) > 0 {
		dep.Columns, dep.Identity, dep.KnowsOld = child.on.columns, t.Key, true
		child.ident = child.place(t.Key, t.kind)
	}
	for _, d := range k.deps {
		if d.Table == dep.Table && len(d.Columns) == 0 && len(dep.Columns) == 0 {
			return
		}
	}
	k.deps = append(k.deps, dep)
}

// resolve returns the columns called names, as the table spells them.
func (t *table) resolve(names []string) ([]string, error) {
	out := make([]string, len(names))
	for i, name := range names {
		c, err := t.need(name)
		if err != nil {
			return nil, err
		}
		out[i] = c.Name
	}
	return out, nil
}

// sameText reports whether a row's columns equal a key of type kt only if
// their texts are that key's: then a change of the row names the document.
func sameText(t *table, columns []string, kt row.KeyType) bool {
	for i, c := range columns {
		col, _ := t.column(c)
		if !col.exact() || kt[i].Wide || keyKind(col.Kind) != kt[i].Kind {
			return false
		}
	}
	return true
}

// orderBy writes the ORDER BY of embedded documents. A column may be followed
// by "desc".
func orderBy(t *table, order, key []string) (string, error) {
	if len(order) == 0 {
		order = key
	}
	var out, named []string
	for _, o := range order {
		name, direction, _ := strings.Cut(strings.TrimSpace(o), " ")
		c, err := t.need(name)
		if err != nil {
			return "", err
		}
		switch strings.ToLower(strings.TrimSpace(direction)) {
		case "", "asc":
			direction = ""
		case "desc":
			direction = " DESC"
		default:
			return "", fmt.Errorf("%q: want a column, or a column and desc", o)
		}
		out, named = append(out, quote(c.Name)+direction), append(named, c.Name)
	}
	for _, c := range key { // one order, whatever is equal
		if !slices.Contains(named, c) {
			out = append(out, quote(c))
		}
	}
	return strings.Join(out, ", "), nil
}
