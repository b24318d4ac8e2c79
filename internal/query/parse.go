package query

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Options are what a client says about a query elsewhere than in it.
type Options struct {
	Range string // the header of this name; "" when there is none
	Count Count

	// Relations returns the tables that may be embedded in rows of one. nil: none may.
	Relations func(of *Table) []Relation

	// Reads returns why the client may not read a resource, nil if it may. It is asked
	// before the query is told anything of it.
	Reads func(resource string) error

	// Sees returns a table as the client knows it: see Table.Only. nil: it sees all columns.
	Sees func(of *Table) *Table

	// Rows returns conditions that rows of a resource fulfil which the client may have; resource
	// is "" for that of the query itself. nil: it may have all.
	Rows func(resource string, of *Table) ([]Term, error)
}

// rows returns the conditions of Rows.
func (o *Options) rows(resource string, of *Table) ([]Term, error) {
	if o.Rows == nil {
		return nil, nil
	}
	return o.Rows(resource, of)
}

// seen returns a table as the client knows it.
func (o *Options) seen(of *Table) *Table {
	if o.Sees == nil {
		return of
	}
	return o.Sees(of)
}

// A parser reads one query.
type parser struct {
	t     *Table // as the client knows it
	q     *Query // of the whole table
	o     *Options
	name  string // of the resource; "": that of the query itself
	terms []Term
	given map[string]string // parameters that are no filters, by name
	count *int              // comparisons, of all queries within the first

	subs     map[string]*parser // of the embedded queries, by their members
	again    map[string]bool    // tables of which there are several spreads
	embedded *int               // how many there are
	depth    int                // how deep this one is
	one      bool               // it is about one row
	later    []parameter        // of embedded queries
}

// Parse reads the query of a URL, which is not unescaped. Every error is an *Error.
func Parse(raw string, t *Table, o Options) (*Query, error) {
	p := parser{t: o.seen(t), q: &Query{Table: t, Count: o.Count}, o: &o,
		given: make(map[string]string), count: new(int), embedded: new(int)}
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if pair == "" {
			continue
		}
		name, value, isPair := strings.Cut(pair, "=")
		name, isName := unescape(name)
		value, isValue := unescape(value)
		if !isName || !isValue || strings.IndexByte(pair, ';') >= 0 {
			return nil, syntax("the query cannot be read at "+clip(pair),
				"names and values are percent-encoded UTF-8 without NUL")
		}
		if err := p.parameter(name, value, isPair); err != nil {
			return nil, err
		}
	}
	if err := p.finish(o.Range); err != nil {
		return nil, err
	}
	return p.q, nil
}

// unescape undoes the percent-encoding of a name or a value.
func unescape(s string) (string, bool) {
	if strings.ContainsAny(s, "%+") {
		b := make([]byte, 0, len(s))
		for i := 0; i < len(s); i++ {
			switch c := s[i]; c {
			case '+':
				b = append(b, ' ')
			case '%':
				if i+2 >= len(s) {
					return "", false
				}
				n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
				if err != nil {
					return "", false
				}
				b = append(b, byte(n))
				i += 2
			default:
				b = append(b, c)
			}
		}
		s = string(b)
	}
	return s, utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}

// parameter takes one parameter.
func (p *parser) parameter(name, value string, isPair bool) error {
	switch name {
	case "select", "order", "limit", "offset", "after", "format":
		if _, twice := p.given[name]; twice {
			return syntax(name+" is given twice", "")
		}
		p.given[name] = value
		return nil
	case "and", "or", "not.and", "not.or":
		return p.group(name, value)
	case "columns", "on_conflict":
		return syntax(name+" belongs to a write", "quote the name if a column is meant: \""+
			name+"\"=eq.VALUE")
	}
	column, rest, err := cutName(name)
	var path Path
	if err == nil {
		path, rest, err = cutPath(rest)
	}
	if strings.HasPrefix(rest, ".") && p.depth == 0 {
		p.later = append(p.later, parameter{name, value, isPair})
		return nil
	}
	if err == nil && rest != "" {
		err = notOffered(name)
	}
	if err != nil {
		return err
	}
	if !isPair {
		return syntax("there is no = after "+clip(name), "a filter is COLUMN=OPERATOR.VALUE")
	}
	at, err := p.t.column(column)
	if err != nil {
		return err
	}
	term, rest, err := p.comparison(at, path, value, false)
	if err == nil && rest != "" {
		err = syntax("unexpected "+clip(rest)+" after the value of "+clip(name), "")
	}
	if err != nil {
		return err
	}
	p.terms = append(p.terms, term)
	return nil
}

// group takes and=(...), or=(...) and their negations.
func (p *parser) group(name, value string) error {
	bare := strings.TrimPrefix(name, "not.")
	term := Term{Op: And, Not: bare != name}
	if bare == "or" {
		term.Op = Or
	}
	terms, rest, err := p.members(name, value, 1)
	if err == nil && rest != "" {
		err = syntax("unexpected "+clip(rest)+" after "+name+"=(...)", "")
	}
	if err != nil {
		return err
	}
	term.Terms = terms
	p.terms = append(p.terms, term)
	return nil
}

// finish makes the query of what has been read.
func (p *parser) finish(header string) error {
	q := p.q
	q.Format = p.given["format"]
	if err := p.selected(); err != nil {
		return err
	}
	if err := p.embeds(); err != nil {
		return err
	}
	if err := p.conditions(); err != nil {
		return err
	}
	if err := p.window(header); err != nil {
		return err
	}
	if err := p.after(); err != nil {
		return err
	}
	q.text = q.canonical()
	return nil
}

// conditions takes the filters and order.
func (p *parser) conditions() error {
	q := p.q
	rows, err := p.o.rows(p.name, q.Table)
	if err != nil {
		return err
	}
	q.Where = p.normal(And, append(p.terms, rows...))
	q.where = q.Table.whereText(q.Where)
	if err := p.orders(); err != nil {
		return err
	}
	q.order = q.orderText()
	return nil
}

// window takes limit, offset and the header Range, which are one window.
func (p *parser) window(header string) error {
	q := p.q
	q.Limit = min(DefaultLimit, p.t.MaxLimit)
	if keys, ok := q.IsKey(); ok {
		q.Limit = max(q.Limit, len(keys))
	}
	longest := max(q.Limit, p.t.MaxLimit)
	text, limited := p.given["limit"]
	if limited {
		n, err := strconv.Atoi(text)
		switch {
		case err == nil && n < 0:
			return unsatisfiable("Limit should be greater than or equal to zero.")
		case err != nil || n > longest || text[0] == '+':
			return beyond("limit must be a number from 0 to "+strconv.Itoa(longest)+", not "+
				clip(text), "")
		}
		q.Limit = n
	}
	if text, ok := p.given["offset"]; ok {
		n, err := strconv.Atoi(text)
		if errors.Is(err, strconv.ErrRange) && text[0] == '-' {
			n, err = 0, nil
		}
		if err == nil && n > MaxOffset && text[0] != '+' && q.Count != CountNone {
			q.beyond(n)
			return nil
		}
		if err != nil || n > MaxOffset || text[0] == '+' {
			return beyond("offset must be a number up to "+strconv.Itoa(MaxOffset)+", not "+
				clip(text), "pages by after= have no such bound: order by columns whose values a "+
				"page can begin behind, not by very long texts")
		}
		q.Offset = max(n, 0)
	}
	return q.narrow(header, limited, longest)
}

// beyond makes the window an empty one that begins behind more rows than are passed over:
// of rows that are counted the answer says whether there are so many.
func (q *Query) beyond(offset int) { q.Offset, q.Limit = offset, 0 }

// narrow makes the window that of a header Range. limited says that the query has a limit;
// longest is the largest one.
func (q *Query) narrow(header string, limited bool, longest int) error {
	from, to, ok := parseRange(header)
	if !ok {
		return nil
	}
	if to >= 0 && to < from {
		return unsatisfiable("The lower boundary must be lower than or equal to the upper " +
			"boundary in the Range header.")
	}
	if from > MaxOffset && q.Count != CountNone {
		q.beyond(max(q.Offset, from))
		return nil
	}
	if from > MaxOffset {
		return beyond("the Range begins after row "+strconv.Itoa(MaxOffset),
			"a page by after= has no such bound: follow the Link header")
	}
	begin := max(q.Offset, from)
	end := begin + q.Limit
	switch {
	case limited:
		end = q.Offset + q.Limit
	case to >= 0:
		end = begin + longest
	}
	if to >= 0 {
		end = min(end, to+1)
	}
	q.Offset, q.Limit = begin, max(end-begin, 0)
	return nil
}

// IsRange reports whether the header Range asks for a range of rows, and not of bytes.
func IsRange(header string) bool {
	_, _, ok := parseRange(header)
	return ok
}

// parseRange reads "0-24" and "10-". to is -1 for an open end. It reports false for
// anything else.
func parseRange(header string) (from, to int, ok bool) {
	a, b, ok := strings.Cut(header, "-")
	from, isFrom := parseDigits(a)
	if !ok || !isFrom {
		return 0, 0, false
	}
	if b == "" {
		return from, -1, true
	}
	to, ok = parseDigits(b)
	return from, to, ok
}

// parseDigits reads a number that is digits and nothing else. A large one is cut.
func parseDigits(s string) (int, bool) {
	const largest = 1 << 30
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = min(n*10+int(s[i]-'0'), largest)
	}
	return n, s != ""
}

func unsatisfiable(detail string) *Error {
	return &Error{Code: CodeRange, Message: "Requested range not satisfiable", Detail: detail}
}

// notOffered refuses a name with something behind it.
func notOffered(name string) error {
	what := "unexpected characters in " + clip(name)
	switch {
	case strings.Contains(name, "::"):
		what = "a cast (" + clip(name) + ") is of select alone"
	case strings.Contains(name, "."):
		what = "conditions on embedded documents (" + clip(name) + ") are not offered"
	}
	return syntax(what, `a name with other than letters, digits, _, $, - is quoted: "a.b"`)
}
