package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// dialect is how PostgreSQL writes what the engine asks. A row is another version when it
// is stored at another place.
var dialect = &document.Dialect{
	Column: func(n *document.Node, c document.Column) string { return native(c).in(n) },
	Compared: func(n *document.Node, c document.Column) string {
		return native(c).comparedIn(n)
	},
	Operator: operator,
	Read:     func(n *document.Node, c document.Column) string { return native(c).readIn(n) },
	Quote:    func(name string) string { return pgx.Identifier{name}.Sanitize() },
	Aliased:  true,
	Nested:   nested,
	Match:    match,
	Many:     true,
	Version:  "%s.tableoid::text || %s.ctid::text",
	Lock:     " FOR UPDATE OF %s",
	Made: func(_ *document.Node, c document.Column, param int) string {
		return fmt.Sprintf("$%d::%s", param, native(c).name)
	},
	Changed:   changed,
	Finish:    finish,
	Numbered:  true,
	Default:   func(document.Column) string { return "DEFAULT" },
	Empty:     "DEFAULT VALUES",
	Enforces:  true,
	Duplicate: func(err error) bool { return feed.SQLState(err) == "23505" },
	RowValues: true,
	Filters:   filters,
}

// native returns the column of ours that c is.
func native(c document.Column) *column { return c.(*column) }

// in returns the column of n as statements name it.
func (c *column) in(n *document.Node) string {
	name := n.Alias + "." + pgx.Identifier{c.Name}.Sanitize()
	if c.path == "" {
		return name
	}
	steps := c.path.Steps()
	for i, s := range steps {
		arrow := " -> "
		if i == len(steps)-1 && c.path.IsText() {
			arrow = " ->> "
		}
		if name += arrow; s.IsIndex {
			name += fmt.Sprintf("(%d)", s.Index)
		} else {
			name += "'" + strings.ReplaceAll(s.Key, "'", "''") + "'"
		}
	}
	return "(" + name + ")"
}

// comparedIn returns the column of n as it is compared. An index on the column serves it.
func (c *column) comparedIn(n *document.Node) string {
	if c.cast == "" {
		return c.in(n)
	}
	return c.in(n) + "::" + c.cast
}

// readIn returns the expression that reads the column of n.
func (c *column) readIn(n *document.Node) string {
	return strings.Replace(c.read, "%s", c.in(n), 1)
}

// match returns the condition that columns of n are those of one of keys: of several, as
// arrays.
func match(
	n *document.Node, cols []document.Column, keys []row.Key, after int,
) (string, []any, bool) {
	names, params := make([]string, len(cols)), make([]string, len(cols))
	for i, col := range cols {
		names[i] = native(col).comparedIn(n)
		params[i] = fmt.Sprintf("$%d::%s", after+i+1, native(col).base)
	}
	if len(keys) == 1 {
		args, ok := document.KeyArgs(cols, keys[0])
		for i := range names {
			names[i] += " " + operator(cols[i], nil, "=") + " " + params[i]
		}
		return strings.Join(names, " AND "), args, ok
	}
	args, err := keyArrays(keys, cols)
	if len(cols) == 1 {
		return fmt.Sprintf("%s %s ANY(%s[])", names[0], operator(cols[0], nil, "="), params[0]),
			args, err == nil
	}
	named := func(c document.Column) bool { return operator(c, nil, "=") != "=" }
	if slices.ContainsFunc(cols, named) {
		return sameAsOne(cols, names, params), args, err == nil
	}
	return fmt.Sprintf("(%s) IN (SELECT * FROM unnest(%s[]))", strings.Join(names, ", "),
		strings.Join(params, "[], ")), args, err == nil
}

// sameAsOne returns the condition that the columns with these names are those of one of the
// keys whose parts are these arrays, where no one operator compares all of them.
func sameAsOne(cols []document.Column, names, arrays []string) string {
	given, same := make([]string, len(cols)), make([]string, len(cols))
	for i, c := range cols {
		given[i] = fmt.Sprintf("k%d", i+1)
		same[i] = names[i] + " " + operator(c, nil, "=") + " k." + given[i]
	}
	return fmt.Sprintf("EXISTS (SELECT FROM unnest(%s[]) AS k(%s) WHERE %s)",
		strings.Join(arrays, "[], "), strings.Join(given, ", "), strings.Join(same, " AND "))
}

// operator returns how a comparison is written, see document.Dialect. That of a type which is
// not PostgreSQL's own is named with its schema: where that is not in the search path, citext =
// citext would be text = text.
func operator(a, b document.Column, sign string) string {
	of := native(a)
	if b != nil && native(b).oid != of.oid {
		return sign
	}
	if op := of.operators[sign]; op != "" {
		return op
	}
	return sign
}

// changed returns the expression that a column is changed to. One of type json keeps the
// blanks around its value, which no document has: they stay unless the value changes.
func changed(n *document.Node, c document.Column, param int) string {
	col := native(c)
	if col.kind == row.JSON && col.codec.oid == pgtype.JSONOID {
		return fmt.Sprintf(`CASE pg_catalog.btrim(%[1]s::text, E' \t\n\r') WHEN $%[2]d::text
			THEN %[1]s ELSE $%[2]d::text::%[3]s END`, col.in(n), param, col.name)
	}
	return fmt.Sprintf("$%d::%s", param, col.name)
}

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

// Field returns the column as a member of documents.
func (c *column) Field(bool) (row.Field, bool) {
	return row.Field{Kind: c.kind, Elem: c.elem}, true
}

// KeyPart returns the column as a part of a key.
func (c *column) KeyPart() row.KeyPart {
	p := c.keyPart(c.Name, c.maxLen)
	p.Wide = c.wide
	return p
}

// CanBeKey reports whether values of the column have a text that can name a row.
func (c *column) CanBeKey() bool { return c.canBeKey() }

// InTuple reports whether the column can be part of a key, of whatever resource: the
// changes that a write reports serve them all.
func (c *column) InTuple() bool { return c.kind != row.JSON && c.kind != row.Array }

// Auto reports whether the server makes a value where null is given: never.
func (c *column) Auto() bool { return false }

// KeyText returns the text of a value in a key.
func (c *column) KeyText(v row.Value) (string, bool) { return row.KeyText(v) }

// KeyArg returns the text of a key's part as the server reads it for the column.
func (c *column) KeyArg(text string) (any, error) { return c.keyText(text), nil }

// keyText is KeyArg.
func (c *column) keyText(text string) string {
	if c.kind == row.Bytes {
		return `\x` + text
	}
	return text
}

// Operand is KeyArg.
func (c *column) Operand(text string) (any, error) { return c.KeyArg(text) }

// Compares reports whether the type has an order and an equality.
func (c *column) Compares() bool { return c.ordered }

// Matches reports whether LIKE takes the type.
func (c *column) Matches() bool { return c.matches }

// Arg returns the text of a body's value as the server reads it for the column's type; nil
// is NULL.
func (c *column) Arg(v row.Value) (any, error) {
	switch {
	case v.IsNull() && c.kind == row.JSON && c.NotNull: // JSON's own null is meant
		return "null", nil
	case v.IsNull():
		return nil, nil
	case v.Kind() != row.Array:
		return scalarText(v), nil
	}
	return string(appendArray(nil, v.List(), c.codec.delim)), nil
}

// Value implements document.Row.
func (c *cells) Value(place int, it *document.Item) (row.Value, error) {
	data, err := c.at(place)
	if err != nil {
		return row.Value{}, err
	}
	codec, ok := native(it.Column).codec.of(c.oids[place])
	if !ok {
		return row.Value{}, source.ErrReshaped
	}
	v, err := codec.decode(data)
	if err != nil {
		err = fmt.Errorf("column %d: %w", place+1, err)
	}
	return v, err
}

// Cell implements document.Row.
func (c *cells) Cell(place int, col document.Column) (source.Cell, bool, error) {
	v, err := c.Value(place, &document.Item{Column: col})
	cell := source.Cell{Column: col.Info().Name, Null: v.IsNull()}
	if err != nil || cell.Null {
		return cell, err == nil, err
	}
	var ok bool
	cell.Text, ok = row.KeyText(v)
	return cell, ok, nil
}

// Version implements document.Row: dialect.Version comes first.
func (c *cells) Version() (any, error) {
	v, err := codecText.decode(c.data[0])
	return v.Text(), err
}

// codecText reads what the server has cast to text.
var codecText = codec{oid: pgtype.TextOID, kind: row.Text}
