package sqlite

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
)

// dialect is how SQLite writes what the engine asks.
var dialect = &document.Dialect{
	Column:         columnName,
	Read:           readColumn,
	Quote:          quote,
	Fold:           true,
	Param:          func(document.Column) string { return "?" },
	KeyParam:       keyParam,
	Ordered:        columnName,
	Present:        present,
	RowValues:      true,
	BindAsParent:   true,
	ReportsChanges: true,
	Made:           placeholder,
	Changed:        changed,
	Default:        preset,
	Empty:          "DEFAULT VALUES",
	Duplicate:      func(error) bool { return false }, // nobody else writes meanwhile
	Filters:        filters,
}

// native returns the column of ours that c is.
func native(c document.Column) *column { return c.(*column) }

// columnName returns a column as statements name it.
func columnName(_ *document.Node, c document.Column) string {
	if in := native(c).within; in != "" {
		return in
	}
	return columnExpr(c.Info().Name)
}

// readColumn returns the expression that reads a column. The unary plus takes the declared
// type off it: the driver would make a time.Time of a DATE.
func readColumn(n *document.Node, c document.Column) string {
	name := columnName(n, c)
	if native(c).Kind == row.JSON { // jsonb() makes bytes of it, which mean the same
		return fmt.Sprintf("CASE WHEN typeof(%[1]s) = 'blob' AND json_valid(%[1]s, 8)"+
			" THEN json(%[1]s) ELSE +%[1]s END", name)
	}
	return "+" + name
}

// changed returns what a column of a row is set to. JSON that is stored as bytes stays so.
func changed(n *document.Node, c document.Column, param int) string {
	mark := placeholder(n, c, param)
	if native(c).Kind != row.JSON {
		return mark
	}
	return fmt.Sprintf("(SELECT CASE WHEN typeof(%[1]s) = 'blob' AND json_valid(%[1]s, 8) AND"+
		" typeof(v) = 'text' AND json_valid(v) THEN jsonb(v) ELSE v END FROM (SELECT %[2]s AS v))",
		columnName(n, c), mark)
}

// keyParam hides a parameter from the planner. After an ANALYZE it would look at the value,
// and SQLite then prepares the statement anew for every other one.
const keyParam = "+?"

// placeholder returns that of a value that is stored.
func placeholder(*document.Node, document.Column, int) string { return "?" }

// present returns the condition that a row's value can be a key of the column's type.
func present(n *document.Node, c document.Column) string {
	switch name := c.Info().Name; {
	case name == n.Table.Native.(*table).rowid:
		return ""
	case c.KeyPart().Kind == row.Int:
		return "typeof(" + columnExpr(name) + ") = 'integer'"
	default:
		return columnExpr(name) + " IS NOT NULL"
	}
}

// preset returns the expression of a column's default value.
func preset(c document.Column) string {
	p := native(c).preset
	switch {
	case p == "":
		return "NULL"
	case quotedText.MatchString(p):
		text := strings.ReplaceAll(p[1:len(p)-1], `""`, `"`)
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return "(" + p + ")"
}

// quotedText is a default value that is a text in double quotes. In a statement it would be
// the column of that name, where there is one.
var quotedText = regexp.MustCompile(`^"([^"]|"")*"$`)

// What follows makes a column a document.Column.
var _ document.Column = (*column)(nil)

// Info returns what the catalogue says of the column.
func (c *column) Info() *source.Column { return &c.Column }

// As returns a copy of the column under another name.
func (c *column) As(name string) document.Column {
	other := *c
	other.Name = name
	return &other
}

// Field returns the column as a member of documents. A key is named as it is written. What
// SQLite prefers to be a number, and is not named as one, LONG or UUID, may be either.
func (c *column) Field(key bool) (row.Field, bool) {
	f := row.Field{Kind: c.Kind, Dynamic: true}
	if key {
		f.Kind = keyKind(c.Kind)
	}
	if f.Kind == row.Text && c.affinity == affinityNumeric {
		f.Kind = row.Null
	}
	return f, true
}

// KeyPart returns the column as a part of a key.
func (c *column) KeyPart() row.KeyPart {
	p := row.KeyPart{Column: c.Name, Kind: keyKind(c.Kind), Wide: !c.exact()}
	if p.Kind == row.Int {
		p.Bits = 64
	}
	return p
}

// CanBeKey reports whether values of the column have a text that can name a row.
func (c *column) CanBeKey() bool { return c.Native != "" && c.Kind != row.JSON }

// InTuple reports whether a Change tells the column's values.
func (c *column) InTuple() bool { return true }

// Auto reports whether SQLite makes a value where null is given: only of keys.
func (c *column) Auto() bool { return false }

// KeyText returns the text of a value in a key.
func (c *column) KeyText(v row.Value) (string, bool) {
	text, ok := row.KeyText(v)
	return text, ok && strings.IndexByte(text, 0) < 0 // the hook reads a text up to its first NUL
}

// KeyArg returns what the text of a key's part is bound as.
func (c *column) KeyArg(text string) (any, error) { return keyArg(keyKind(c.Kind), text) }

// Operand is KeyArg: SQLite compares values of any kinds.
func (c *column) Operand(text string) (any, error) { return c.KeyArg(text) }

// Compares reports whether the column can be ordered: JSON is text to SQLite, and means
// more.
func (c *column) Compares() bool { return c.Native != "" && c.Kind != row.JSON }

// Matches reports whether the column holds texts.
func (c *column) Matches() bool { return c.Kind == row.Text && c.affinity == affinityText }

// Arg returns what a value of a body is bound as.
func (c *column) Arg(v row.Value) (any, error) {
	arg, why := boundAs(c.Kind, v)
	if why != "" {
		return nil, errors.New(why)
	}
	return arg, nil
}

// An engineConn is a connection as the engine sees it. It implements document.Conn.
type engineConn struct{ *conn }

// Query implements document.Conn.
func (c engineConn) Query(
	ctx context.Context, st *document.Statement, args []any, each func(document.Row) error,
) error {
	run := c.query
	switch {
	case st.Use == document.UseByKey:
		run = c.queryBrief
	case st.Use == document.UseByParent && st.Keys == 1 && isBrief(st.Node).read:
		run = c.queryHeld
	}
	r := &values{}
	return run(ctx, st.SQL, args, func(v []any) error {
		r.v = v
		return each(r)
	})
}

// Exec implements document.Conn.
func (c engineConn) Exec(
	ctx context.Context, st *document.Statement, args []any,
) (int64, error) {
	run := c.run
	if st.Use == document.UseUpdate && isBrief(st.Node).update {
		run = c.runBrief
	}
	res, err := run(ctx, st.SQL, args)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// values are one row as the driver gives it. It implements document.Row.
type values struct{ v []any }

// Value implements document.Row. A column without a type holds anything, as it is.
func (r *values) Value(place int, it *document.Item) (row.Value, error) {
	kind := it.Kind
	if it.Column.Info().Kind == row.Null {
		kind = row.Null
	}
	return valueOf(kind, r.v[place]), nil
}

// Cell implements document.Row.
func (r *values) Cell(place int, col document.Column) (source.Cell, bool, error) {
	cell := source.Cell{Column: col.Info().Name, Null: r.v[place] == nil}
	if cell.Null {
		return cell, true, nil
	}
	kind := col.Info().Kind
	if kind != row.Null { // which compares nothing but equal values
		kind = keyKind(kind)
	}
	var ok bool
	cell.Text, ok = keyText(kind, r.v[place])
	return cell, ok, nil
}

// Version implements document.Row. It is not asked: see dialect.TellsChanges.
func (r *values) Version() (any, error) { return nil, nil }
