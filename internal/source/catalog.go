package source

import (
	"strings"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
)

// A Catalog is what a database holds.
type Catalog struct {
	Server string // product and version, for people: "PostgreSQL 15.18"
	Tables []Table
}

// Table returns the table that name means: its ID, or its name alone when it
// is in the default schema.
func (c *Catalog) Table(name string) (*Table, bool) {
	for i := range c.Tables {
		if t := &c.Tables[i]; t.ID() == name || (t.Default && t.Name == name) {
			return t, true
		}
	}
	return nil, false
}

// A Table is one table as the catalogue has it.
type Table struct {
	Schema  string // "" where the database has none
	Name    string
	Default bool // its schema is the one that a bare name means
	View    bool
	Comment string
	Columns []Column
	Key     []string // primary key columns; empty: none
	Foreign []ForeignKey
	Refused string // why it cannot be a resource: "no primary key", ...; "" if it can
}

// ID returns the name by which changes, deps and logs call the table:
// "schema.name", or "name" where the database has no schemas.
func (t *Table) ID() string {
	if t.Schema == "" {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

// Resource returns the name of the resource that the table becomes by itself:
// "name" in the default schema, else "schema.name".
func (t *Table) Resource() string {
	if t.Default {
		return t.Name
	}
	return t.ID()
}

// Column returns the column called name.
func (t *Table) Column(name string) (*Column, bool) {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i], true
		}
	}
	return nil, false
}

// A Column is one column of a Table.
type Column struct {
	Name      string
	Native    string // the database's name for the type
	Comment   string
	Kind      row.Kind
	NotNull   bool
	Default   bool // has a default, or is an identity
	Generated bool // cannot be written
	Wide      bool // equality is wider than equality of bytes
	Folds     bool // of a Wide text: two for which row.Fold has a text are equal only if it is one
	Bits      int  // of an Int: 16, 32, 64

	// Content says what values consist of, and Elem how the text of an element, or of the bound
	// of a range, is read: see package query.
	Content query.Content
	Elem    row.KeyPart

	// Volatile says why the column's value changes without a change of its row: it is made
	// when it is read. "": it does not.
	Volatile string
}

// A ForeignKey says that Columns hold the key of a row of Table.
type ForeignKey struct {
	Name       string // of the constraint; "" where the database has none
	Columns    []string
	Table      string // its ID
	References []string
}

// IsSecret reports whether a column's name looks like that of a secret:
// password, passwd, secret, token, *_hash, *_key. Callers except key columns.
func IsSecret(column string) bool {
	n := strings.ToLower(column)
	for _, s := range []string{"password", "passwd", "secret", "token"} {
		if strings.Contains(n, s) {
			return true
		}
	}
	return strings.HasSuffix(n, "_hash") || strings.HasSuffix(n, "_key")
}
