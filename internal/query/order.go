package query

import (
	"slices"
	"strings"
)

// orders takes order and completes it by the key.
func (p *parser) orders() error {
	t, q := p.t, p.q
	for text := p.given["order"]; text != ""; {
		o, rest, err := p.orderItem(text)
		if err != nil {
			return err
		}
		if text = rest; text != "" {
			text = text[1:]
			if text == "" {
				return syntax("order ends with a comma", "")
			}
		}
		if !q.orders(o.Column, o.Path) {
			q.Order = append(q.Order, o)
		}
	}
	for i := range q.Order { // what follows the whole key orders nothing
		head := Query{Order: q.Order[:i]}
		if !slices.ContainsFunc(t.Key, func(k int) bool { return !head.orders(k, "") }) {
			q.Order = q.Order[:i]
			break
		}
	}
	q.Order = t.completed(q.Order)
	return nil
}

// orders reports whether the query is ordered by a column, or by what is within it.
func (q *Query) orders(column int, path Path) bool {
	return slices.ContainsFunc(q.Order, func(o Order) bool {
		return o.Column == column && o.Path == path
	})
}

// ordered returns an order by a column with the nulls where the database has them.
func (t *Table) ordered(column int, desc bool) Order { return t.orderedBy(column, "", desc) }

// orderedBy is ordered by what is within a column.
func (t *Table) orderedBy(column int, path Path, desc bool) Order {
	o := Order{Column: column, Path: path, Desc: desc}
	o.NullsFirst = !t.Filled(o) && desc == t.NullsHigh
	return o
}

// Filled reports whether what rows are ordered by is never null.
func (t *Table) Filled(o Order) bool { return o.Path == "" && t.Columns[o.Column].NotNull }

// orderItem reads one item of order.
func (p *parser) orderItem(text string) (o Order, rest string, err error) {
	name, rest, err := cutName(text)
	if err != nil {
		return o, "", err
	}
	if strings.HasPrefix(rest, "(") {
		return o, "", syntax("an order by embedded rows (order="+clip(text)+") is not offered",
			clip(name)+".order= orders these")
	}
	path, rest, err := cutPath(rest)
	if err != nil {
		return o, "", err
	}
	at, err := p.t.column(name)
	if err != nil {
		return o, "", err
	}
	c, err := p.t.within(&p.t.Columns[at], path)
	if err != nil {
		return o, "", err
	}
	if !c.Compares {
		return o, "", syntax("rows cannot be ordered by "+clip(name)+", its type has no order", "")
	}
	words, after, more := strings.Cut(rest, ",")
	if rest = ""; more {
		rest = "," + after
	}
	desc, nulls := false, ""
	fields := strings.Split(words, ".")
	if fields[0] != "" {
		return o, "", notOffered("order=" + text)
	}
	fields = fields[1:]
	if len(fields) > 0 && (fields[0] == "asc" || fields[0] == "desc") {
		desc = fields[0] == "desc"
		fields = fields[1:]
	}
	if len(fields) > 0 && (fields[0] == "nullsfirst" || fields[0] == "nullslast") {
		nulls = fields[0]
		fields = fields[1:]
	}
	if len(fields) > 0 {
		return o, "", syntax("unexpected ."+strings.Join(fields, ".")+" in order",
			"COLUMN, then .asc or .desc, then .nullsfirst or .nullslast")
	}
	if o = p.t.orderedBy(at, path, desc); nulls != "" && !p.t.Filled(o) {
		o.NullsFirst = nulls == "nullsfirst"
	}
	return o, rest, nil
}
