package mysql

import (
	"fmt"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// rootDeps notes that the rows of the plan's own table, or the tables behind a
// view, feed its documents. A feed of the binlog has whole rows, old and new.
func (c *compiler) rootDeps(n *node) error {
	if n.table.View {
		return c.viewDeps(n, n.keyCols)
	}
	dep := source.Dep{Table: n.name, Columns: names(n.keyCols), KnowsOld: true}
	if !sameColumns(n.keyCols, n.idCols) {
		dep.Identity = names(n.idCols)
		n.tells = true
	}
	c.deps = append(c.deps, dep)
	return nil
}

// childDeps notes that the rows of kid feed the documents of the root. Only for
// a child of the root do the columns of a row say which document; and only when
// their texts are the texts of its key, which other types and wider equality do
// not promise. Else any change of the table concerns every document.
func (c *compiler) childDeps(kid *node, ofRoot bool) error {
	if kid.table.View {
		return c.viewDeps(kid, nil)
	}
	dep := source.Dep{Table: kid.name}
	if ofRoot && kid.exact {
		dep.Columns, dep.KnowsOld = names(kid.on), true
		if !sameColumns(kid.on, kid.idCols) {
			dep.Identity = names(kid.idCols)
			kid.tells = true
		}
	}
	c.deps = append(c.deps, dep)
	return nil
}

// sameColumns reports whether a and b are the same columns in any order.
func sameColumns(a, b []*column) bool {
	return len(a) == len(b) && catalog.Within(names(a), names(b))
}

// viewDeps notes the tables behind a view, which the Spec must name: what a row
// of each says about the key is not in the catalogue.
func (c *compiler) viewDeps(n *node, key []*column) error {
	r := &reading{c: c, seen: make(map[string]bool)}
	if err := r.view(n.table); err != nil {
		return fmt.Errorf("view %s: %w", n.name, err)
	}
	return c.declared(n.name, n.spec, r.tables, key, true)
}

// declared checks that the Spec names every table that is read, and notes what
// it says about them. key are the key's columns, nil where no column can say
// which document; read says that the key comes back with the document.
func (c *compiler) declared(
	what string, spec *source.Spec, seen []*table, key []*column, read bool,
) error {
	missing := make(map[string]bool, len(seen))
	for _, t := range seen {
		if why := t.Unfollowed(); why != "" {
			return fmt.Errorf("%s reads %s, but %s", what, t.ID(), why)
		}
		missing[t.ID()] = true
	}
	for _, d := range spec.Depends {
		t, err := c.lookup(d.Table)
		if err != nil {
			return fmt.Errorf("depends: %w", err)
		}
		dep, err := t.dependency(d, key, read)
		if err != nil {
			return fmt.Errorf("depends: %w", err)
		}
		c.deps = append(c.deps, dep)
		delete(missing, t.ID())
	}
	for _, t := range seen {
		if missing[t.ID()] {
			return fmt.Errorf("%s reads %s, which depends does not name: add {table: %s} to drop"+
				" every document when it changes, or {table: %s, key: COLUMN} to drop one",
				what, t.ID(), t.Resource(), t.Resource())
		}
	}
	return nil
}

// dependency checks one entry of depends. The columns are kept only if their
// texts are those of the key; otherwise any change of the table concerns every
// document.
func (t *table) dependency(d source.Dep, key []*column, read bool) (source.Dep, error) {
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
			strings.Join(names(key), ", "))
	}
	exact := true
	for i, col := range cols {
		if want := key[i].KeyPart().Kind; col.KeyPart().Kind != want {
			return dep, fmt.Errorf("column %s of %s is %s, but the key's %s is %s: they would"+
				" not have the same text", col.Name, t.ID(), col.Native, key[i].Name, key[i].Native)
		}
		exact = exact && !col.Wide && (read || !key[i].Wide)
	}
	// A row that is found by its own key has the key's text, whatever is equal to it.
	if exact || read && t.IsUnique(names(cols)) {
		dep.Columns, dep.KnowsOld = names(cols), true
	}
	return dep, nil
}
