package sqlite

import (
	"math"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// quote writes an identifier for SQL, where there can be nothing but one.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// columnExpr writes a column for an expression. In double quotes SQLite takes one that is
// there no more for a text, and every row for the one of that key; it does not so in these.
func columnExpr(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// column returns the column called name.
func (t *table) column(name string) (*column, bool) {
	for i := range t.columns {
		if t.columns[i].Name == name {
			return &t.columns[i], true
		}
	}
	return nil, false
}

// names returns the names of the columns.
func (t *table) names() []string {
	out := make([]string, len(t.columns))
	for i := range t.columns {
		out[i] = t.columns[i].Name
	}
	return out
}

// isUnique reports whether a unique index has exactly these columns.
func (t *table) isUnique(columns []string) bool {
	for _, ix := range t.unique {
		n := len(columns)
		if !ix.partial && len(ix.columns) == n && len(union(ix.columns, columns)) == n {
			return true
		}
	}
	return false
}

// rowidName returns a name for the rowid that no column hides; "" if there is
// none.
func (t *table) rowidName() string {
next:
	for _, name := range []string{"rowid", "_rowid_", "oid"} {
		for i := range t.columns {
			if strings.EqualFold(t.columns[i].Name, name) && t.columns[i].Name != t.rowid {
				continue next
			}
		}
		return name
	}
	return ""
}

// reach returns how many columns, from the first, hold all of these.
func (t *table) reach(columns []string) int {
	n := 0
	for i := range t.columns {
		for _, c := range columns {
			if t.columns[i].Name == c {
				n = i + 1
			}
		}
	}
	return n
}

// tuple returns the cells of columns from the raw values of a row, and of more those that
// have a text. It reports false when one of the former has no text that a key could have,
// or is not a column any more: then nobody can say which documents the row feeds.
func (t *table) tuple(values []any, columns, more []string) (source.Tuple, bool) {
	out := make(source.Tuple, 0, len(columns)+len(more))
	for _, name := range columns {
		cell, ok := t.cell(name, values)
		if !ok {
			return nil, false
		}
		out = append(out, cell)
	}
	for _, name := range more {
		if cell, ok := t.cell(name, values); ok {
			out = append(out, cell)
		}
	}
	return out, true
}

// cell returns the cell of a column.
func (t *table) cell(name string, values []any) (source.Cell, bool) {
	i := 0
	for i < len(t.columns) && t.columns[i].Name != name {
		i++
	}
	if i >= len(values) || t.columns[i].virtual {
		return source.Cell{}, false
	}
	return cellOf(&t.columns[i], values[i])
}

// cellOf returns what a key needs to know of a value.
func cellOf(c *column, v any) (source.Cell, bool) {
	if v == nil {
		return source.Cell{Column: c.Name, Null: true}, true
	}
	text, ok := row.KeyText(valueOf(keyKind(c.Kind), v))
	return source.Cell{Column: c.Name, Text: text}, ok
}

// keyText returns the text of one column of a key.
func keyText(k row.Kind, v any) (string, bool) {
	if v == nil {
		return "", false
	}
	if !asKey(k, v) {
		return "", false
	}
	text, ok := row.KeyText(valueOf(k, v))
	if strings.IndexByte(text, 0) >= 0 {
		return "", false // the hook reads a text up to its first NUL
	}
	return text, ok
}

// asKey reports whether a stored value is found by its text in a key whose part is of
// kind k: else no path names the row. Texts are compared as the column prefers, so a
// number in a DATE column is found by its digits.
func asKey(k row.Kind, v any) bool {
	got := valueOf(k, v).Kind()
	switch v := v.(type) {
	case float64:
		return got == k || k == row.Text && !math.IsInf(v, 0)
	case []byte:
		return k == row.Bytes
	case string:
		return k != row.Bytes && (got == k || k == row.Null && got == row.Text)
	}
	return got == k || k == row.Text
}
