package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
)

// The dialects of the two products. MariaDB's INSERT can return the key (10.5).
var (
	dialectMySQL   = newDialect("%s", inserted)
	dialectMariaDB = newDialect("IFNULL(%s, ?)", nil)
)

// newDialect returns a dialect. parsed is a geometry of a text, %s, such that a text of
// none is an error: MariaDB would make NULL of it, MySQL says so itself.
func newDialect(parsed string, inserted insertFunc) *document.Dialect {
	return &document.Dialect{
		Column:     func(_ *document.Node, c document.Column) string { return native(c).quoted() },
		Read:       func(_ *document.Node, c document.Column) string { return native(c).expr() },
		Quote:      quote,
		Fold:       true,
		Param:      func(c document.Column) string { return native(c).Mark() },
		NoSuchText: noSuchText,
		Lock:       " FOR UPDATE",
		Ordered:    func(_ *document.Node, c document.Column) string { return native(c).ordered() },
		Present:    func(_ *document.Node, c document.Column) string { return native(c).present() },
		Made: func(_ *document.Node, c document.Column, _ int) string {
			return native(c).made(parsed)
		},
		Changed: func(_ *document.Node, c document.Column, _ int) string {
			return native(c).changed(parsed)
		},
		Default:   func(document.Column) string { return "DEFAULT" },
		Empty:     "() VALUES ()",
		Inserted:  inserted,
		Enforces:  true,
		Duplicate: func(err error) bool { return number(err) == errDuplicate },
		Filters:   filters,
	}
}

// native returns the column of ours that c is.
func native(c document.Column) *column { return c.(*column) }

// An insertFunc is a document.Dialect.Inserted.
type insertFunc = func(context.Context, document.Conn, *document.Statement, []any,
	[]document.Assignment) (row.Key, error)

// inserted runs an INSERT and returns the key of its row: of what was given, and of what
// the server gave the AUTO_INCREMENT column.
func inserted(
	ctx context.Context, c document.Conn, st *document.Statement, args []any,
	list []document.Assignment,
) (row.Key, error) {
	result, err := c.(engineConn).ExecContext(ctx, st.SQL, args...)
	if err != nil {
		return "", err
	}
	id, err := result.LastInsertId()
	if err != nil {
		return "", err
	}
	parts := make([]string, len(st.Node.KeyCols))
	for i, col := range st.Node.KeyCols {
		at := slices.IndexFunc(list, func(a document.Assignment) bool { return a.Column == col })
		switch {
		case at >= 0:
			text, ok := argKeyText(native(col), list[at].Value)
			if !ok {
				return "", document.NoKey(st.Node)
			}
			parts[i] = text
		case col.Auto() && id != 0:
			parts[i] = fmt.Sprint(id)
		default:
			return "", document.NoKey(st.Node)
		}
	}
	return row.JoinKey(parts...), nil
}

// argKeyText returns the text in a key of a value that was bound for col.
func argKeyText(col *column, arg any) (string, bool) {
	var v any
	switch a := arg.(type) {
	case uint64:
		return col.KeyText(row.UintValue(a))
	case string:
		v = []byte(a)
	default:
		v = arg
	}
	value, err := col.Value(v)
	if err != nil {
		return "", false
	}
	return col.KeyText(value)
}

// noSuchText reports whether err says that a text cannot be compared with the
// column's: its character set has not all of the letters, so no row has it.
func noSuchText(err error) bool {
	n := number(err)
	return n == errMixTwo || n == errMixThree || n == errMixMany || n == errNoLetter
}

// quoted returns the column as statements name it.
func (c *column) quoted() string {
	if c.within != "" {
		return c.within
	}
	return quote(c.Name)
}

// expr returns the expression that reads a column.
func (c *column) expr() string {
	if c.Read != "" {
		return strings.Replace(c.Read, "%s", quote(c.Name), 1)
	}
	return quote(c.Name)
}

// ordered returns the expression by which a list is ordered. An enum and a set are sorted by
// number and compared by text, which cannot both say where a page goes on.
func (c *column) ordered() string {
	if c.Type == "enum" || c.Type == "set" {
		return "CONCAT(" + quote(c.Name) + ")"
	}
	return c.quoted()
}

// present returns the condition that the column is not null, where it can be.
func (c *column) present() string {
	if c.NotNull {
		return ""
	}
	return quote(c.Name) + " IS NOT NULL"
}

// A geometry is read and written as text, and stored as neither. Beside the text it has a
// number that says what its coordinates are (SRID), which the text does not tell.

// made returns the expression, of placeholders for one value, that a new row's column is set
// to. A geometry has the SRID 0.
func (c *column) made(parsed string) string {
	switch {
	case c.geometry():
		return fmt.Sprintf(parsed, "ST_GeomFromText(?)")
	case c.Type == "vector":
		return "VEC_FromText(?)"
	}
	return "?"
}

// changed returns the expression that a row's column is changed to. A geometry whose text is
// what was read stays as it is, and another one keeps the SRID.
func (c *column) changed(parsed string) string {
	name := quote(c.Name)
	switch {
	case c.Kind == row.JSON && c.Charset != "":
		// MariaDB's JSON is a text, which keeps the blanks around its value. No document has
		// them: they stay unless the value changes.
		return "IF(BINARY REGEXP_REPLACE(" + name + ", '^[[:space:]]+|[[:space:]]+$', '')" +
			" <=> BINARY ?, " + name + ", ?)"
	case !c.geometry():
		return c.made(parsed)
	}
	return "IF(" + c.expr() + " <=> ?, " + name + ", " +
		fmt.Sprintf(parsed, "ST_GeomFromText(?, IFNULL(ST_SRID("+name+"), 0))") + ")"
}

// geometry reports whether the column holds geometries.
func (c *column) geometry() bool { return strings.HasPrefix(c.Read, "ST_AsText(") }

// What follows makes a column a document.Column.
var _ document.Column = (*column)(nil)

// Info returns what the catalogue says of the column.
func (c *column) Info() *source.Column { return &c.Column.Column }

// As returns a copy of the column under another name.
func (c *column) As(name string) document.Column {
	other := *c
	other.Name = name
	return &other
}

// Field returns the column as a member of documents. An INVISIBLE one is none.
func (c *column) Field(bool) (row.Field, bool) {
	f := row.Field{Kind: c.Kind}
	switch c.Kind {
	case row.Bool, row.Date, row.Time, row.Datetime, row.DatetimeTZ:
		f.Loose = true
	}
	return f, !c.Hidden
}

// Arg returns what a value is bound as. The server says what a column cannot hold.
func (c *column) Arg(v row.Value) (any, error) { return c.Column.Arg(v), nil }

// InTuple reports whether a Change tells the column's values.
func (c *column) InTuple() bool { return c.CanBeKey() }

// Auto reports whether the column is AUTO_INCREMENT.
func (c *column) Auto() bool { return c.Column.Auto }
