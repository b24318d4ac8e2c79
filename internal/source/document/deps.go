package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// rootDeps notes that the rows of the plan's own table, or the tables behind a
// view, feed its documents.
func (c *compiler) rootDeps(n *Node) error {
	if n.Table.View {
		return c.viewDeps(n, n.KeyCols)
	}
	if len(n.Spec.Depends) > 0 {
		return fmt.Errorf("depends is for queries and views: what the table %s depends on is found",
			n.Name)
	}
	dep := source.Dep{Table: n.Name, Columns: Names(n.KeyCols), KnowsOld: n.Table.ReportsOld}
	if !sameColumns(n.KeyCols, n.IDCols) {
		dep.Identity = Names(n.IDCols)
		n.namesRows = true
	}
	c.deps = append(c.deps, dep)
	return nil
}

// childDeps notes that the rows of kid feed the documents of the root. Only for a
// child of the root do the columns of a row say which document; and only when
// their texts are the texts of its key, which other types and wider equality do
// not promise. Else any change of the table concerns every document.
func (c *compiler) childDeps(kid *Node, ofRoot bool) error {
	if kid.Table.View {
		return c.viewDeps(kid, nil)
	}
	dep := source.Dep{Table: kid.Name}
	if ofRoot && kid.Exact {
		dep.Columns, dep.KnowsOld = Names(kid.On), kid.Table.ReportsOld
		if !sameColumns(kid.On, kid.IDCols) {
			dep.Identity = Names(kid.IDCols)
			kid.namesRows = true
		}
	}
	c.deps = append(c.deps, dep)
	return nil
}

// viewDeps notes the tables behind a view, which the Spec must name: what a row of
// each says about the key is not in the catalogue.
func (c *compiler) viewDeps(n *Node, key []Column) error {
	for _, d := range n.Spec.Depends {
		if d.Path != nil {
			return fmt.Errorf("view %s: depends: a path is for queries", n.Name)
		}
	}
	seen, err := c.Behind(n.Table)
	if err != nil {
		return fmt.Errorf("view %s: %w", n.Name, err)
	}
	if len(n.Spec.Depends) == 0 && len(seen) == 1 && seen[0].ID() == n.Table.ID() {
		c.deps = append(c.deps, source.Dep{Table: n.Table.ID()}) // it has rows of its own
		return c.Followed("it", n.Table, n.Spec)
	}
	var parts row.KeyType
	for _, col := range key {
		parts = append(parts, col.KeyPart())
	}
	return c.declared(n.Name, n.Spec, seen, &keyOf{parts, key, true})
}

// A keyOf is the key of a view or a query. It has no parts where no column can say
// which document.
type keyOf struct {
	parts row.KeyType
	cols  []Column
	read  bool // it comes back with the document
}

// declared checks that the Spec names every table that is read, and notes what it
// says about them.
func (c *compiler) declared(
	what string, spec *source.Spec, seen []*Table, key *keyOf,
) error {
	missing := make(map[string]bool, len(seen))
	for _, t := range seen {
		if err := c.Followed(what, t, spec); err != nil {
			return err
		}
		missing[t.ID()] = true
		c.depends(t, t.Cols...) // which of them it reads is not known
	}
	named, err := c.named(spec, missing)
	if err != nil {
		return fmt.Errorf("depends: %w", err)
	}
	for _, t := range seen {
		if missing[t.ID()] {
			return fmt.Errorf("%s reads %s, which depends does not name: add {table: %s} to drop"+
				" every document when it changes, or {table: %s, key: COLUMN} to drop one",
				what, t.ID(), t.Resource(), t.Resource())
		}
	}
	if slices.ContainsFunc(spec.Depends, func(d source.Dep) bool { return d.Path != nil }) {
		return c.pathsOf(what, spec, key)
	}
	for i, t := range named {
		dep, err := c.dependency(t, spec.Depends[i], key)
		if err != nil {
			return fmt.Errorf("depends: %w", err)
		}
		c.deps = append(c.deps, dep)
	}
	return nil
}

// named returns the tables that a Spec names, one for each of its dependencies but paths, and
// takes them all out of missing.
func (c *compiler) named(spec *source.Spec, missing map[string]bool) ([]*Table, error) {
	tables := make([]*Table, len(spec.Depends))
	for i, d := range spec.Depends {
		names := []string{d.Table}
		if d.Path != nil {
			names = d.Path.Tables()
		}
		for _, name := range names {
			t, err := c.Table(name)
			if err != nil {
				return nil, err
			}
			delete(missing, t.ID())
			tables[i] = t
		}
	}
	return tables, nil
}

// dependency checks one entry of depends. The columns are kept only if their texts
// are those of the key; otherwise any change of the table concerns every document.
func (c *compiler) dependency(t *Table, d source.Dep, key *keyOf) (source.Dep, error) {
	dep := source.Dep{Table: t.ID()}
	if len(d.Columns) == 0 || len(key.parts) == 0 {
		return dep, nil
	}
	cols, err := c.columns(t, d.Columns)
	if err != nil {
		return dep, err
	}
	if len(cols) != len(key.parts) {
		return dep, fmt.Errorf("%s: key needs %d columns, those that hold %s", t.ID(),
			len(key.parts), strings.Join(Names(key.cols), ", "))
	}
	exact := true
	for i, col := range cols {
		part := key.parts[i]
		if col.KeyPart().Kind != part.Kind {
			return dep, fmt.Errorf("column %s of %s is %s, but the key's %s is %s: they would"+
				" not have the same text", col.Info().Name, t.ID(), col.Info().Native,
				part.Column, key.cols[i].Info().Native)
		}
		exact = exact && !col.KeyPart().Wide && (key.read || !part.Wide)
	}
	// A row that is found by its own key has the key's text, whatever is equal to it.
	if exact || key.read && t.Unique(Names(cols)) {
		dep.Columns, dep.KnowsOld = Names(cols), t.ReportsOld
	}
	return dep, nil
}
