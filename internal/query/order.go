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
		if !q.orders(o) {
			q.Order = append(q.Order, o)
		}
	}
	for i := range q.Order { // what follows the whole key orders nothing
		head := Query{Order: q.Order[:i]}
		if !slices.ContainsFunc(t.Key, func(k int) bool { return !head.orders(Order{Column: k}) }) {
			q.Order = q.Order[:i]
			break
		}
	}
	q.Order = t.completed(q.Order)
	return nil
}

// orders reports whether the query is ordered by what by is of.
func (q *Query) orders(by Order) bool {
	return slices.ContainsFunc(q.Order, func(o Order) bool {
		return o.Column == by.Column && o.Path == by.Path && o.Of == by.Of
	})
}

// OrderedBy reports whether rows are ordered by what e embeds in them.
func (q *Query) OrderedBy(e *Embed) bool {
	return slices.ContainsFunc(q.Order, func(o Order) bool { return o.Of == e })
}

// ordered returns an order by a column with the nulls where the database has them.
func (t *Table) ordered(column int, desc bool) Order {
	return t.usual(Order{Column: column, Desc: desc})
}

// usual returns an order with the nulls where the database has them.
func (t *Table) usual(o Order) Order {
	o.NullsFirst = !t.Filled(o) && o.Desc == t.NullsHigh
	return o
}

// Filled reports whether what rows are ordered by is never null.
func (t *Table) Filled(o Order) bool { return o.isPlain() && t.Columns[o.Column].NotNull }

// isPlain reports whether rows are ordered by a column of theirs.
func (o Order) isPlain() bool { return o.Path == "" && o.Of == nil }

// orderOf reads what order has behind the name of an embedded row: (column.
func (p *parser) orderOf(name, rest string) (e *Embed, column, after string, err error) {
	sub := p.subs[name]
	i := slices.IndexFunc(p.q.Select, func(m Member) bool {
		return m.Embed != nil && m.Name == name
	})
	if sub == nil || i < 0 || p.depth > 0 {
		return nil, "", "", syntax("nothing called "+clip(name)+" is embedded that rows can be "+
			"ordered by", "embed it: select=*,"+clip(name)+"(*)")
	}
	e = p.q.Select[i].Embed
	if !e.One || e.Link != nil {
		return nil, "", "", syntax("rows are ordered by one embedded row, and "+clip(name)+
			" are many", clip(name)+".order= orders these")
	}
	if len(sub.terms) > 0 && !e.Inner {
		return nil, "", "", syntax("an order by "+clip(name)+" does not go with filters of it",
			clip(name)+"!inner(...) leaves out the rows that have none")
	}
	column, after, err = cutName(rest[1:])
	if err == nil && !strings.HasPrefix(after, ")") {
		err = syntax("a ) is missing behind the column of "+clip(name)+" in order", "")
	}
	return e, column, strings.TrimPrefix(after, ")"), err
}

// orderItem reads one item of order.
func (p *parser) orderItem(text string) (o Order, rest string, err error) {
	name, rest, err := cutName(text)
	if err != nil {
		return o, "", err
	}
	of := p.t
	if strings.HasPrefix(rest, "(") {
		if o.Of, name, rest, err = p.orderOf(name, rest); err != nil {
			return o, "", err
		}
		of = p.o.seen(o.Of.Table)
	} else if o.Path, rest, err = cutPath(rest); err != nil {
		return o, "", err
	}
	if o.Column, err = of.column(name); err != nil {
		return o, "", err
	}
	c, err := of.within(&of.Columns[o.Column], o.Path)
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
	nulls := ""
	fields := strings.Split(words, ".")
	if fields[0] != "" {
		return o, "", notOffered("order=" + text)
	}
	fields = fields[1:]
	if len(fields) > 0 && (fields[0] == "asc" || fields[0] == "desc") {
		o.Desc = fields[0] == "desc"
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
	if o = p.t.usual(o); nulls != "" && !p.t.Filled(o) {
		o.NullsFirst = nulls == "nullsfirst"
	}
	return o, rest, nil
}
