package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// lookup returns the table that name means: "name" in the URL's database or
// "database.name".
func (c *compiler) lookup(name string) (*table, error) {
	home := c.src.cfg.DBName
	tables, v, err := c.src.tables(c.ctx, home, name)
	if err == nil && len(tables) != 1 {
		if schema, bare, dotted := strings.Cut(name, "."); dotted {
			tables, v, err = c.src.tables(c.ctx, schema, bare)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("look up table %s: %w", name, err)
	}
	c.server = v
	if len(tables) != 1 {
		return nil, c.noTable(name)
	}
	return tables[0], nil
}

// noTable returns the error of a table that is not there.
func (c *compiler) noTable(name string) error {
	tables, _, err := c.src.tables(c.ctx, c.src.cfg.DBName, "")
	if err != nil {
		return err
	}
	all := make([]string, 0, 2*len(tables))
	for _, t := range tables {
		all = append(all, t.Resource(), t.ID())
	}
	return &source.Error{Class: source.Missing,
		Message: fmt.Sprintf("there is no table %q%s", name, row.DidYouMean(name, all))}
}

// noColumn returns the error of a column that is not there.
func (t *table) noColumn(name string) error {
	all := make([]string, len(t.cols))
	for i := range t.cols {
		all[i] = t.cols[i].Name
	}
	what := t.ID()
	if t.Name == "" {
		what = "the query's answer"
	}
	return &source.Error{Class: source.Missing,
		Message: fmt.Sprintf("there is no column %q in %s%s",
			name, what, row.DidYouMean(name, all))}
}

// allowed refuses tables whose documents could not be kept fresh, or that this
// user may not read.
func (c *compiler) allowed(t *table) error {
	if why := t.Unfollowed(); why != "" {
		return fmt.Errorf("table %s cannot be a resource: %s", t.ID(), why)
	}
	if !t.Readable() {
		return &source.Error{Class: source.Forbidden, Message: "no SELECT privilege on " + t.ID(),
			Hint: fmt.Sprintf("GRANT SELECT ON %s TO the user %s", quoteTable(t.Schema, t.Name),
				c.src.cfg.User)}
	}
	return nil
}

// keyColumns returns the columns that make a key, which must name one row.
func (t *table) keyColumns(key []string) ([]*column, error) {
	if len(key) == 0 {
		return nil, fmt.Errorf("table %s has no primary key: name the columns of a unique index"+
			" in key", t.ID())
	}
	cols, err := t.columnsOf(key)
	if err != nil {
		return nil, err
	}
	for _, col := range cols {
		if !col.CanBeKey() {
			return nil, fmt.Errorf("column %s of %s is %s, which cannot be a key",
				col.Name, t.ID(), col.Native)
		}
	}
	if !t.View && !t.IsUnique(names(cols)) {
		list := strings.Join(names(cols), ", ")
		return nil, fmt.Errorf("the key of %s is not unique, two rows can have the same %s: "+
			"ALTER TABLE %s ADD UNIQUE (%s)", t.ID(), list, t.ID(), list)
	}
	return cols, nil
}

// columnsOf returns the columns with these names.
func (t *table) columnsOf(list []string) ([]*column, error) {
	cols := make([]*column, len(list))
	for i, name := range list {
		var ok bool
		if cols[i], ok = t.column(name); !ok {
			return nil, t.noColumn(name)
		}
	}
	return cols, nil
}

// parentColumns returns the columns of n that hold the key of parent: those
// that are named, or those of the one foreign key that does.
func (n *node) parentColumns(parent *node, on []string) ([]*column, error) {
	if len(on) == 0 {
		for _, f := range n.table.Foreign {
			if f.Table != parent.table.ID() || !slices.Equal(f.References, names(parent.keyCols)) {
				continue
			}
			if on != nil {
				return nil, fmt.Errorf("%s has several foreign keys to %s: name the columns in on",
					n.name, parent.name)
			}
			on = f.Columns
		}
	}
	if len(on) != len(parent.keyCols) {
		return nil, fmt.Errorf("on needs %d columns of %s, which hold the key (%s) of %s",
			len(parent.keyCols), n.name, strings.Join(names(parent.keyCols), ", "), parent.name)
	}
	return n.table.columnsOf(on)
}
