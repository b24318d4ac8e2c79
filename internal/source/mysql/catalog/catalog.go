// Package catalog reads what a MariaDB or MySQL server says of its tables, and knows
// how the values of a column are read, bound and spelled in keys.
//
// It is the one reader of the catalogue (information_schema): what is compiled, what
// the doctor looks at and what the feed follows are the same tables.
package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A Conn asks a server. Query calls each with the values of each row, which it may
// keep: int64, float32, float64, []byte or nil.
type Conn interface {
	Query(ctx context.Context, sql string, args []any, each func(values []any) error) error
}

// A Name names a table as the server and its binary log do.
type Name struct{ Schema, Table string }

// String returns the name as source.Table.ID gives it.
func (n Name) String() string { return n.Schema + "." + n.Table }

// Names returns what table an ID may mean: one of the connection's database, or one
// with its database in front.
func Names(id, home string) []Name {
	names := []Name{{home, id}}
	if schema, name, dotted := strings.Cut(id, "."); dotted {
		names = append(names, Name{schema, name})
	}
	return names
}

// A Table is one table of the catalogue, with what source.Table does not say. It has Cols, and no
// Columns.
type Table struct {
	source.Table
	Type    string     // BASE TABLE, SYSTEM VERSIONED or VIEW
	Engine  string     // InnoDB, ...; "" for a view
	Cols    []Column   // all that the user may see, in order
	Unique  [][]string // columns of its unique indexes; the primary key first
	Indexes [][]string // columns of all indexes in which rows are looked up

	may []string // what the user may do with some column: "select", ...
}

// May reports whether the user may do this with some column of the table: "SELECT", "INSERT"
// or "UPDATE", by whatever it was granted.
func (t *Table) May(privilege string) bool {
	return slices.Contains(t.may, strings.ToLower(privilege))
}

// Named returns the table's name.
func (t *Table) Named() Name { return Name{t.Schema, t.Name} }

// Index returns the place of the column called name among Cols, or -1.
func (t *Table) Index(name string) int {
	return slices.IndexFunc(t.Cols, func(c Column) bool { return c.Name == name })
}

// Readable reports whether this user may read some column of the table.
func (t *Table) Readable() bool {
	return slices.ContainsFunc(t.Cols, func(c Column) bool { return c.Readable })
}

// refusal says why the table cannot be a resource by itself, or "".
func (t *Table) refusal() string {
	if why := t.Unfollowed(); why != "" {
		return why
	}
	switch {
	case !t.Readable():
		return "no SELECT privilege"
	case t.View:
		return "a view: its key and the tables that it depends on must be configured"
	case len(t.Key) == 0:
		return "no primary key"
	}
	for _, k := range t.Key {
		i := slices.IndexFunc(t.Cols, func(c Column) bool { return strings.EqualFold(c.Name, k) })
		switch {
		case i < 0 || !t.Cols[i].Readable:
			return "no SELECT privilege on the key column " + k
		case !t.Cols[i].CanBeKey():
			return fmt.Sprintf("its key column %s is %s, which no path can name", k,
				t.Cols[i].Native)
		}
	}
	return ""
}

// CanBeKey reports whether values of the column have a text that can name a row.
func (c *Column) CanBeKey() bool { return c.Kind != row.JSON && c.Read == "" }

// Unfollowed says why documents of the table cannot be kept fresh, or "". Only
// InnoDB has snapshots of several statements, and locks by which it can be
// proved that a change is visible.
func (t *Table) Unfollowed() string {
	if t.View || t.Engine == "InnoDB" {
		return ""
	}
	return fmt.Sprintf("its engine is %s, whose reads are no snapshots: "+
		"ALTER TABLE %s ENGINE=InnoDB", t.Engine, QuoteTable(t.Schema, t.Name))
}

// IsUnique reports whether no two rows can have the same values in columns.
func (t *Table) IsUnique(columns []string) bool {
	return slices.ContainsFunc(t.Unique, func(u []string) bool { return Within(u, columns) })
}

// Within reports whether every one of names is among others; the server takes them in
// any case.
func Within(names, others []string) bool {
	for _, n := range names {
		if !slices.ContainsFunc(others, func(o string) bool { return strings.EqualFold(n, o) }) {
			return false
		}
	}
	return true
}

// Quote writes an identifier for SQL.
func Quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// QuoteTable writes the name of a table for SQL.
func QuoteTable(schema, name string) string { return Quote(schema) + "." + Quote(name) }
