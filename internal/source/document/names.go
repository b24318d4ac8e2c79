package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// NoTable returns the error of a table that is not there. tables are those that
// are.
func NoTable(name string, tables []source.Table) error {
	all := make([]string, 0, 2*len(tables))
	for i := range tables {
		all = append(all, tables[i].Resource(), tables[i].ID())
	}
	return &source.Error{Class: source.Missing,
		Message: fmt.Sprintf("there is no table %q%s", name, row.DidYouMean(name, all))}
}

// column returns the column of t called name.
func (c *compiler) column(t *Table, name string) (Column, error) {
	if col, ok := t.column(name, c.dialect.Fold); ok {
		return col, nil
	}
	what := t.ID()
	if t.Result {
		what = "the query's answer"
	}
	return nil, &source.Error{Class: source.Missing,
		Message: fmt.Sprintf("there is no column %q in %s%s", name, what,
			row.DidYouMean(name, Names(t.Cols)))}
}

// columns returns the columns of t with these names.
func (c *compiler) columns(t *Table, names []string) ([]Column, error) {
	cols := make([]Column, len(names))
	for i, name := range names {
		var err error
		if cols[i], err = c.column(t, name); err != nil {
			return nil, err
		}
	}
	return cols, nil
}

// keyColumns returns the columns that make a key, which must name one row.
func (c *compiler) keyColumns(t *Table, key []string) ([]Column, error) {
	if len(key) == 0 {
		return nil, fmt.Errorf("table %s has no primary key: name the columns of a unique index"+
			" in key", t.ID())
	}
	cols, err := c.columns(t, key)
	if err != nil {
		return nil, err
	}
	for _, col := range cols {
		if !col.CanBeKey() {
			return nil, fmt.Errorf("column %s of %s is %s, which cannot be a key",
				col.Info().Name, t.ID(), col.Info().Native)
		}
	}
	if !t.View && !t.Unique(Names(cols)) {
		list := strings.Join(Names(cols), ", ")
		return nil, fmt.Errorf("the key of %s is not unique, two rows can have the same %s: "+
			"CREATE UNIQUE INDEX %s ON %s (%s)", t.ID(), list,
			strings.Join(append([]string{t.Name}, Names(cols)...), "_"), t.ID(), list)
	}
	return cols, nil
}

// parentColumns returns the columns of n that hold the key of parent: those that
// are named, or those of the one foreign key that does.
func (c *compiler) parentColumns(n, parent *Node, on []string) ([]Column, error) {
	if len(on) == 0 {
		for _, f := range n.Table.Foreign {
			if f.Table != parent.Table.ID() || !slices.Equal(f.References, Names(parent.KeyCols)) {
				continue
			}
			if on != nil {
				return nil, fmt.Errorf("%s has several foreign keys to %s: name the columns in on",
					n.Name, parent.Name)
			}
			on = f.Columns
		}
	}
	if len(on) != len(parent.KeyCols) {
		return nil, fmt.Errorf("on needs %d columns of %s, which hold the key (%s) of %s",
			len(parent.KeyCols), n.Name, strings.Join(Names(parent.KeyCols), ", "), parent.Name)
	}
	return c.columns(n.Table, on)
}
