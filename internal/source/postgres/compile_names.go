package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// lookup returns the table that name means: "name" in the default schema or
// "schema.name".
func (c *compiler) lookup(name string) (*table, error) {
	ctx, cancel := c.src.begin(c.ctx, 1)
	defer cancel()
	var oid uint32
	err := c.src.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		oid = 0
		err := conn.QueryRow(ctx, `SELECT c.oid FROM pg_catalog.pg_class c
			JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND (n.nspname || '.' || c.relname = $1
				OR c.relname = $1 AND n.nspname = pg_catalog.current_schema())
			ORDER BY c.relname = $1 LIMIT 1`, name).Scan(&oid)
		if err == pgx.ErrNoRows {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look up table %s: %w", name, err)
	}
	if oid != 0 {
		tables, _, err := c.src.tables(c.ctx, []uint32{oid})
		if err != nil || len(tables) == 1 {
			return slices.Concat(tables, []*table{nil})[0], err
		}
	}
	return nil, c.noTable(name)
}

// noTable returns the error of a table that is not there.
func (c *compiler) noTable(name string) error {
	tables, _, err := c.src.tables(c.ctx, nil)
	if err != nil {
		return err
	}
	names := make([]string, 0, 2*len(tables))
	for _, t := range tables {
		names = append(names, t.Resource(), t.ID())
	}
	return &source.Error{Class: source.Missing,
		Message: fmt.Sprintf("there is no table %q%s", name, row.DidYouMean(name, names))}
}

// noColumn returns the error of a column that is not there.
func (t *table) noColumn(name string) error {
	names := make([]string, len(t.cols))
	for i := range t.cols {
		names[i] = t.cols[i].Name
	}
	what := t.ID()
	if t.oid == 0 {
		what = "the query's answer"
	}
	return &source.Error{Class: source.Missing,
		Message: fmt.Sprintf("there is no column %q in %s%s", name, what,
			row.DidYouMean(name, names))}
}

// allowed refuses tables whose documents could not be kept fresh, or that this
// user may not read.
func (c *compiler) allowed(t *table, spec *source.Spec) error {
	if why := t.unfollowed(); why != "" {
		return fmt.Errorf("table %s is %s", t.ID(), why)
	}
	if !t.readable {
		user := pgx.Identifier{c.src.cfg.ConnConfig.User}.Sanitize()
		return &source.Error{Class: source.Forbidden,
			Message: "no SELECT privilege on " + t.ID(),
			Hint: fmt.Sprintf("GRANT SELECT ON %s TO %s",
				pgx.Identifier{t.Schema, t.Name}.Sanitize(), user)}
	}
	if t.rls && !spec.RLSIgnore {
		return fmt.Errorf("table %s has row-level security: every reader would see the rows"+
			" that this user may see; rls: ignore says that this is meant", t.ID())
	}
	return nil
}

// keyColumns returns the columns that make a key, which must name one row.
func (t *table) keyColumns(names []string) ([]*column, error) {
	if len(names) == 0 {
		return nil, fmt.Errorf("table %s has no primary key: name the columns of a unique index"+
			" in key", t.ID())
	}
	cols, err := t.columnsOf(names)
	if err != nil {
		return nil, err
	}
	for _, col := range cols {
		if !col.canBeKey() {
			return nil, fmt.Errorf("column %s of %s is %s, which cannot be a key",
				col.Name, t.ID(), col.Native)
		}
	}
	if !t.View && t.oid != 0 && !t.isUnique(names) {
		list := strings.Join(names, ", ")
		return nil, fmt.Errorf("the key of %s is not unique, two rows can have the same %s: "+
			"CREATE UNIQUE INDEX ON %s (%s)",
			t.ID(), list, t.ID(), list)
	}
	return cols, nil
}

// columnsOf returns the columns with these names.
func (t *table) columnsOf(names []string) ([]*column, error) {
	cols := make([]*column, len(names))
	for i, name := range names {
		var ok bool
		if cols[i], ok = t.column(name); !ok {
			return nil, t.noColumn(name)
		}
	}
	return cols, nil
}

// parentColumns returns the columns of n that hold the key of parent: those
// that are named, or those of the one foreign key that does.
func (n *node) parentColumns(parent *node, names []string) ([]*column, error) {
	if len(names) == 0 {
		for _, f := range n.table.Foreign {
			if f.Table != parent.table.ID() || !slices.Equal(f.References,
				columnNames(parent.keyCols)) {
				continue
			}
			if names != nil {
				return nil, fmt.Errorf("%s has several foreign keys to %s: name the columns in on",
					n.name, parent.name)
			}
			names = f.Columns
		}
	}
	if len(names) != len(parent.keyCols) {
		return nil, fmt.Errorf("on needs %d columns of %s, which hold the key (%s) of %s",
			len(parent.keyCols), n.name, strings.Join(columnNames(parent.keyCols),
				", "), parent.name)
	}
	return n.table.columnsOf(names)
}

// columnNames returns the names of columns.
func columnNames(cols []*column) []string {
	names := make([]string, len(cols))
	for i, col := range cols {
		names[i] = col.Name
	}
	return names
}
