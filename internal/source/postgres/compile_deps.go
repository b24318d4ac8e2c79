package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
)

// rootDeps notes that the rows of the plan's own table, or the tables behind a
// view, feed its documents.
func (c *compiler) rootDeps(n *node) error {
	if n.table.oid == 0 { // a query: see queryDeps
		return nil
	}
	if n.table.View {
		return c.viewDeps(n, true)
	}
	dep := source.Dep{Table: n.name, Columns: columnNames(n.keyCols)}
	if !sameColumns(n.keyCols, n.idCols) {
		dep.Identity, dep.KnowsOld = columnNames(n.idCols), n.table.tellsOld()
		n.tells = true
	}
	c.deps = append(c.deps, dep)
	return nil
}

// childDeps notes that the rows of kid feed the documents of the root, which
// is its parent or further up. Only for a child of the root do the columns of a
// row say which document; and only when their texts are the texts of its key,
// which other types and wider equality do not promise. Else any change of the
// table concerns every document.
func (c *compiler) childDeps(kid, parent *node, root bool) error {
	if kid.table.View {
		return c.viewDeps(kid, false)
	}
	dep := source.Dep{Table: kid.name}
	exact := root
	for i, col := range kid.on {
		key := parent.keyCols[i]
		exact = exact && col.kind == key.kind && !col.wide && !key.wide
	}
	if exact {
		dep.Columns = columnNames(kid.on)
		if !sameColumns(kid.on, kid.idCols) {
			dep.Identity, dep.KnowsOld = columnNames(kid.idCols), kid.table.tellsOld()
			kid.tells = true
		}
	}
	c.deps = append(c.deps, dep)
	return nil
}

// tellsOld reports whether every feed tells the whole of a row as it was: the
// triggers always do, the log with this replica identity. A change that was logged
// with another identity, before the plan or after, concerns every document. A
// partition may have an identity of its own.
func (t *table) tellsOld() bool { return t.identity == "f" && t.kind == kindTable }

// sameColumns reports whether a and b are the same columns in any order.
func sameColumns(a, b []*column) bool {
	for _, col := range a {
		if !slices.Contains(b, col) {
			return false
		}
	}
	return len(a) == len(b)
}

// viewDeps notes the tables behind a view, which the Spec must name: what a
// row of each says about the key is not in the catalogue.
func (c *compiler) viewDeps(n *node, root bool) error {
	seen, err := c.readsOfView(n.table.oid)
	if err != nil {
		return err
	}
	var key []keyColumn
	if root {
		for _, col := range n.keyCols {
			key = append(key, keyColumn{col.Name, col.valueType, true})
		}
	}
	return c.declared(n.name, n.spec, seen, key)
}

// queryDeps notes the tables that a query reads.
func (c *compiler) queryDeps(p *plan, q *query) error {
	// The query as a view: its parameters are nulls of their types.
	sql := q.with(func(i int) string { return "(NULL::" + q.types[i].base + ")" })
	seen, err := c.readsOfQuery(sql)
	if err != nil {
		return err
	}
	key := make([]keyColumn, len(q.key))
	for i, name := range q.key {
		key[i] = keyColumn{name, q.types[i], p.keyRead}
	}
	if err := c.declared("the query", q.spec, seen, key); err != nil {
		return err
	}
	for i := range key {
		p.keys[i].Wide = p.keys[i].Wide || key[i].wide
	}
	return nil
}

// A keyColumn is one part of the key of a query or a view.
type keyColumn struct {
	column string
	valueType
	read bool // it comes back with the document
}

// declared checks that the Spec names every table that is read, and notes what
// it says about them. key is nil where no column can say which document.
func (c *compiler) declared(
	what string, spec *source.Spec, seen []*table, key []keyColumn,
) error {
	missing := make(map[string]*table, len(seen))
	for _, t := range seen {
		if why := t.unfollowed(); why != "" {
			return fmt.Errorf("%s reads %s, which is %s", what, t.ID(), why)
		}
		if t.rls && !spec.RLSIgnore {
			return fmt.Errorf("%s reads %s, which has row-level security; rls: ignore says that"+
				" one user's view may be everybody's", what, t.ID())
		}
		missing[t.ID()] = t
	}
	for _, d := range spec.Depends {
		t, err := c.lookup(d.Table)
		if err != nil {
			return fmt.Errorf("depends: %w", err)
		}
		dep, err := t.dependency(d, key)
		if err != nil {
			return fmt.Errorf("depends: %w", err)
		}
		c.deps = append(c.deps, dep)
		delete(missing, t.ID())
	}
	for _, t := range seen {
		if missing[t.ID()] != nil {
			return fmt.Errorf("%s reads %s, which depends does not name: add {table: %s} to drop"+
				" every document when it changes, or {table: %s, key: COLUMN} to drop one",
				what, t.ID(), t.Resource(), t.Resource())
		}
	}
	return nil
}

// dependency checks one entry of depends. The columns are kept only if their
// texts are those of the key; otherwise any change of the table concerns every
// document. So does, in a feed that does not know the old values of the columns,
// one that is more than an INSERT.
func (t *table) dependency(d source.Dep, key []keyColumn) (source.Dep, error) {
	dep := source.Dep{Table: t.ID()}
	if len(d.Columns) == 0 || key == nil {
		return dep, nil
	}
	cols, err := t.columnsOf(d.Columns)
	if err != nil {
		return dep, err
	}
	if len(cols) != len(key) {
		return dep, fmt.Errorf("%s: key needs %d columns, those that hold %s", t.ID(), len(key),
			strings.Join(keyNames(key), ", "))
	}
	exact := true
	for i, col := range cols {
		if col.kind != key[i].kind {
			return dep, fmt.Errorf("column %s of %s is %s, but the key's %s is %s: they would"+
				" not have the same text", col.Name, t.ID(), col.Native, key[i].column, key[i].name)
		}
		key[i].wide = key[i].wide || col.wide
		exact = exact && (key[i].read || !key[i].wide)
	}
	if exact {
		dep.Columns = d.Columns
	}
	return dep, nil
}

// keyNames returns the names of the key's parts.
func keyNames(key []keyColumn) []string {
	names := make([]string, len(key))
	for i := range key {
		names[i] = key[i].column
	}
	return names
}
