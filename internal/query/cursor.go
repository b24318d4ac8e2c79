package query

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/hotrow/hotrow/internal/row"
)

// Cursor returns the text of after= for the page that follows the row with these values of
// Order's columns. In a list of all rows in the order of the key it is the key. Else it is
// for programs: the values, and a hash of the filters and the order that they belong to.
func (q *Query) Cursor(values []Value) string {
	if q.Plain() {
		parts := make([]string, len(values))
		for i, v := range values {
			parts[i] = v.Text
		}
		return string(row.JoinKey(parts...))
	}
	b := binary.BigEndian.AppendUint64(nil, q.hash())
	for _, v := range values {
		if v.Null {
			b = append(b, 0)
			continue
		}
		b = append(binary.AppendUvarint(append(b, 1), uint64(len(v.Text))), v.Text...)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// hash is of what a cursor belongs to.
func (q *Query) hash() uint64 {
	return xxhash.Sum64String(q.Table.Name + "?" + q.where + "&order=" + q.order)
}

// after takes after.
func (p *parser) after() error {
	q := p.q
	text, ok := p.given["after"]
	if !ok {
		return nil
	}
	if _, given := p.given["offset"]; q.Offset > 0 && !given {
		return syntax("after does not go with a Range", "")
	}
	texts, err := q.cut(text)
	if err != nil {
		return err
	}
	for i, v := range texts {
		if !q.Order[i].isPlain() { // no text of it is sure to be the value
			return badCursor()
		}
		c := &p.t.Columns[q.Order[i].Column]
		if v.Null {
			if c.NotNull {
				return badCursor()
			}
			continue
		}
		if texts[i].Text, err = c.operand(Eq, v.Text); err != nil {
			return err
		}
	}
	q.After = texts
	return nil
}

func badCursor() error {
	return syntax("after is not a place in this list",
		"take it from the Link header of the page before, with the same filters and order")
}

// cut returns the values that a cursor is made of, not yet read as those of their columns.
func (q *Query) cut(text string) ([]Value, error) {
	var values []Value
	if q.Plain() {
		parts, ok := row.SplitKey(row.Key(text), len(q.Order))
		if !ok {
			return nil, badCursor()
		}
		for _, part := range parts {
			values = append(values, Value{Text: part})
		}
		return values, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 8 || binary.BigEndian.Uint64(b) != q.hash() {
		return nil, badCursor()
	}
	b = b[8:]
	for range q.Order {
		if len(b) == 0 || b[0] > 1 {
			return nil, badCursor()
		}
		if b[0] == 0 {
			values, b = append(values, Value{Null: true}), b[1:]
			continue
		}
		n, size := binary.Uvarint(b[1:])
		if size <= 0 || n > uint64(len(b)-1-size) {
			return nil, badCursor()
		}
		b = b[1+size:]
		values, b = append(values, Value{Text: string(b[:n])}), b[n:]
	}
	if len(b) > 0 {
		return nil, badCursor()
	}
	return values, nil
}

// Next returns the canonical query of the page that follows the row with these values of
// Order's columns. Without them the page is named by how many rows are passed over. That
// of a page too far is named, too: who asks for it is told so, and does not take a list to
// end where it does not.
func (q *Query) Next(values []Value) string {
	next := *q
	if next.Offset, next.After = 0, values; values == nil {
		next.Offset, next.After = q.Offset+q.Limit, q.After
	}
	return next.canonical()
}
