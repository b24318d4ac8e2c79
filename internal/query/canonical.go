package query

import (
	"slices"
	"strconv"
	"strings"
)

// normal returns terms, which op joins, in the one form that they have: groups of the same
// kind are opened, terms are sorted, none is there twice.
func (p *parser) normal(op Op, terms []Term) []Term {
	type texted struct {
		Term
		text string
	}
	var out []texted
	for _, t := range terms {
		if t = p.simple(t); t.Op == op && !t.Not {
			for _, inner := range t.Terms {
				out = append(out, texted{inner, p.q.Table.termText(&inner)})
			}
			continue
		}
		out = append(out, texted{t, p.q.Table.termText(&t)})
	}
	slices.SortFunc(out, func(a, b texted) int { return strings.Compare(a.text, b.text) })
	out = slices.CompactFunc(out, func(a, b texted) bool { return a.text == b.text })
	var plain []Term
	for _, t := range out {
		plain = append(plain, t.Term)
	}
	return plain
}

// simple returns the one form of a term.
func (p *parser) simple(t Term) Term {
	if t.Op < And {
		return simpleComparison(t)
	}
	t.Terms = p.normal(t.Op, t.Terms)
	if len(t.Terms) > 1 {
		return t
	}
	one := t.Terms[0]
	if t.Not {
		one.Not = !one.Not
		if one.Op < And {
			one = simpleComparison(one)
		}
	}
	return one
}

// simpleComparison returns the one form of a comparison: values are sorted, and of two
// operators that mean the same the simpler one is used.
func simpleComparison(t Term) Term {
	if len(t.Values) > 1 {
		slices.Sort(t.Values)
		t.Values = slices.Compact(t.Values)
	}
	if t.Quant != One && len(t.Values) == 1 {
		t.Quant = One
	}
	switch {
	case t.Op == Eq && t.Quant == Any:
		t.Op, t.Quant = In, One
	case t.Op == Is && t.Values[0] == "not_null":
		t.Not, t.Values = !t.Not, []string{"null"}
	case t.Op == Is && t.Values[0] == "unknown":
		t.Values = []string{"null"}
	}
	if t.Op == In && len(t.Values) == 1 {
		t.Op = Eq
	}
	switch {
	case t.Not && t.Op == Eq && t.Quant == One:
		t.Op, t.Not = Neq, false
	case t.Not && t.Op == Neq:
		t.Op, t.Not = Eq, false
	}
	return t
}

// canonical returns the text of the query.
func (q *Query) canonical() string {
	var parts []string
	if q.Select != nil {
		parts = append(parts, "select="+q.Table.selectText(q.Select))
	}
	if q.where != "" {
		parts = append(parts, q.where)
	}
	if q.order != "" {
		parts = append(parts, "order="+q.order)
	}
	parts = append(append(parts, q.embedParts("")...), "limit="+strconv.Itoa(q.Limit))
	if q.Offset > 0 {
		parts = append(parts, "offset="+strconv.Itoa(q.Offset))
	}
	if q.After != nil {
		parts = append(parts, "after="+escape(q.Cursor(q.After)))
	}
	return strings.Join(parts, "&")
}

func (t *Table) selectText(members []Member) string {
	items := make([]string, 0, len(members))
	if all := t.all(); len(all) > 1 && len(members) >= len(all) &&
		slices.Equal(members[:len(all)], all) {
		items, members = append(items, "*"), members[len(all):]
	}
	for _, m := range members {
		if m.Embed != nil {
			items = append(items, embedText(&m))
			continue
		}
		name := t.Columns[m.Column].Member
		text := escape(quoteName(name)) + m.castText()
		if m.Name != m.Path.member(name) {
			text = escape(quoteName(m.Name)) + ":" + text
		}
		items = append(items, text)
	}
	return strings.Join(items, ",")
}

// orderText returns the text of an order without what is added by itself: the key at
// its end, directions and nulls as they are anyway. It is "" for the order of the key.
func (q *Query) orderText() string {
	t, order := q.Table, q.Order
	end := 0
	for !slices.Equal(t.completed(order[:end]), order) {
		end++
	}
	items := make([]string, end)
	for i, o := range order[:end] {
		items[i] = escape(q.orderName(o))
		if o.Desc {
			items[i] += ".desc"
		}
		if usual := t.usual(o); o.NullsFirst != usual.NullsFirst {
			if items[i] += ".nullslast"; o.NullsFirst {
				items[i] = strings.TrimSuffix(items[i], "last") + "first"
			}
		}
	}
	return strings.Join(items, ",")
}

// orderName returns what rows are ordered by.
func (q *Query) orderName(o Order) string {
	if o.Of == nil {
		return quoteName(q.Table.Columns[o.Column].Member) + string(o.Path)
	}
	i := slices.IndexFunc(q.Select, func(m Member) bool { return m.Embed == o.Of })
	return quoteName(q.Select[i].Name) + "(" + quoteName(o.Of.Table.Columns[o.Column].Member) + ")"
}

// completed returns an order with the key behind it.
func (t *Table) completed(order []Order) []Order {
	q := Query{Order: slices.Clone(order)}
	for _, k := range t.Key {
		if !q.orders(Order{Column: k}) {
			q.Order = append(q.Order, t.ordered(k, false))
		}
	}
	return q.Order
}

// whereText returns the text of the filters.
func (t *Table) whereText(terms []Term) string {
	parts := make([]string, len(terms))
	for i := range terms {
		term := &terms[i]
		not := ""
		if term.Not {
			not = "not."
		}
		if term.Op >= And {
			parts[i] = not + term.Op.String() + "=" + escape(t.groupText(term))
			continue
		}
		name := t.termName(term)
		parts[i] = escape(name) + "=" + escape(not+opText(term)+term.operandText())
	}
	return strings.Join(parts, "&")
}

// termText returns the text of a term as one of a group.
func (t *Table) termText(term *Term) string {
	not := ""
	if term.Not {
		not = "not."
	}
	if term.Op >= And {
		return not + term.Op.String() + t.groupText(term)
	}
	operand := term.operandText()
	if term.Op != In && !isWord(operand) {
		operand = quote(operand)
	}
	return t.termName(term) + "." + not + opText(term) + operand
}

// termName returns what a comparison is of.
func (t *Table) termName(term *Term) string {
	return Quoted(t.Columns[term.Column].Member) + string(term.Path)
}

// groupText returns the text of a group behind its operator.
func (t *Table) groupText(group *Term) string {
	parts := make([]string, len(group.Terms))
	for i := range group.Terms {
		parts[i] = t.termText(&group.Terms[i])
	}
	return "(" + strings.Join(parts, ",") + ")"
}

// opText returns the operator of a comparison with the dot behind it.
func opText(t *Term) string {
	switch t.Quant {
	case Any:
		return t.Op.String() + "(any)."
	case All:
		return t.Op.String() + "(all)."
	}
	if t.Config != "" {
		return t.Op.String() + "(" + t.Config + ")."
	}
	return t.Op.String() + "."
}

// operandText returns the operand of a comparison as it is written outside of groups.
func (t *Term) operandText() string {
	open, end := "(", ")"
	switch {
	case t.Op == In:
	case t.Quant != One:
		open, end = "{", "}"
	default:
		return t.Values[0]
	}
	items := make([]string, len(t.Values))
	for i, v := range t.Values {
		if items[i] = v; !isWord(v) || v == "" || strings.EqualFold(v, "null") {
			items[i] = quote(v)
		}
	}
	return open + strings.Join(items, ",") + end
}

// isWord reports whether a value means itself without quotes wherever it stands.
func isWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') &&
			strings.IndexByte("-_.:+%", c) < 0 && c < 0x80 {
			return false
		}
	}
	return true
}

// reserved are the names that mean something else than a column where nothing is quoted.
var reserved = []string{"select", "order", "limit", "offset", "and", "or", "not", "columns",
	"on_conflict", "after", "format"}

func isReserved(name string) bool { return slices.Contains(reserved, name) }

// Quoted returns a column's name as the parameter that filters by it, and an order, call it.
func Quoted(name string) string {
	if isReserved(name) {
		return quote(name)
	}
	return quoteName(name)
}

// quoteName returns a name as queries write it.
func quoteName(name string) string {
	got, rest, err := cutName(name)
	if err != nil || rest != "" || got != name || strings.Contains(name, " ") {
		return quote(name)
	}
	return name
}

// quote writes a text in double quotes.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// escape is AppendEscaped alone.
func escape(s string) string { return string(AppendEscaped(make([]byte, 0, len(s)), s)) }

// AppendEscaped appends a name or a value for a URL: percent-encoded but for what is safe
// and makes it legible.
func AppendEscaped(dst []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		if c := s[i]; isPlain[c] {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	return dst
}

// isPlain says which bytes of a URL's query stand for themselves.
var isPlain = func() (table [256]bool) {
	for c := byte('!'); c < 0x7f; c++ {
		table[c] = strings.IndexByte(`%&+;=#\"<>^|`+"`", c) < 0
	}
	return table
}()
