package query

import (
	"slices"
	"strconv"
	"strings"
)

// Limits of what is embedded.
const (
	MaxEmbeds     = 8      // in one query, at all levels
	MaxEmbedDepth = 3      // of embedded rows within embedded rows
	MaxEmbedded   = 10_000 // embedded rows of one answer
)

// AllRows is the Limit of an embedded Query without one.
const AllRows = -1

// A Relation is a way from the rows of one table to those of another, along a foreign key
// of either, or along two of a table between them.
type Relation struct {
	Name  string // of the other resource
	Table *Table // of the other resource
	One   bool   // there is one row, or none

	// Back says that the foreign key is of the other table. Of one that is not, Single says that
	// no two rows of this table lead to the same row.
	Back, Single bool

	// Hints are names that a query may call the relation by, where there are several
	// between two tables: of the constraint, of its columns.
	Hints []string

	// From and To are columns of the two tables that are equal; or, where there is a Link,
	// equal to columns of that.
	From, To []string
	Link     *Link

	// Plan and Owner are what whoever made the relation has of the other table.
	Plan, Owner any

	hint string // by which the canonical text calls it; "": it needs none
}

// A Link is a table between two others.
type Link struct {
	Name        string // of its resource
	Table       *Table
	From, To    []string // which Relation.From and Relation.To are equal to
	Plan, Owner any

	// Observed says that a list depends on where its rows lead.
	Observed bool
}

// Of how many rows of a Link it is told at most: of one row that they lead from, and of an answer.
const (
	MaxLinks  = 128
	MaxLinked = 512
)

// An Embed is rows of another table within those of a query.
type Embed struct {
	*Relation
	Inner  bool   // rows that have none are left out
	Spread bool   // its members are members of the row that it is embedded in
	Query  *Query // of the other table. Its Limit may be AllRows; it has no Offset
}

// Embeds returns what q embeds, at all levels.
func (q *Query) Embeds() []*Embed {
	var list []*Embed
	for _, m := range q.Select {
		if m.Embed != nil {
			list = append(append(list, m.Embed), m.Embed.Query.Embeds()...)
		}
	}
	return list
}

// spread reads ...table[!hint][!inner](members).
func (p *parser) spread(text string) (m Member, rest string, err error) {
	name, rest, err := cutName(text)
	if err != nil {
		return m, "", err
	}
	if !strings.HasPrefix(rest, "(") && !strings.HasPrefix(rest, "!") {
		return m, "", syntax("a spread is ...table(members), not ..."+clip(text), "")
	}
	key := name
	spreads := slices.DeleteFunc(slices.Clone(p.q.Select), func(m Member) bool {
		return m.Embed == nil || !m.Embed.Spread || m.Embed.Name != name
	})
	if len(spreads) > 0 { // their members have names: the table's says nothing here
		if p.again == nil {
			p.again = make(map[string]bool)
		}
		p.again[name] = true
		key += "\x00" + strconv.Itoa(len(p.subs)) // which is no name that a query can have
	}
	if m, rest, err = p.embed(key, name, rest); err != nil {
		return m, "", err
	}
	if !m.Embed.One {
		return m, "", syntax("a spread of many rows (..."+clip(name)+") is not offered",
			clip(name)+"(...) embeds them as an array")
	}
	m.Embed.Spread = true
	return m, rest, nil
}

// shown returns the names of the members that m is in documents.
func (m *Member) shown() []string {
	if m.Embed == nil || !m.Embed.Spread {
		return []string{m.Name}
	}
	var names []string
	for i := range m.Embed.Query.Select {
		names = append(names, m.Embed.Query.Select[i].shown()...)
	}
	return names
}

// embed reads what follows the name of an embedded table: [!hint][!inner](members).
func (p *parser) embed(alias, name, rest string) (m Member, after string, err error) {
	e, hint := new(Embed), ""
	for strings.HasPrefix(rest, "!") {
		var word string
		if word, rest, err = cutName(rest[1:]); err != nil {
			return m, "", err
		}
		switch {
		case word == "inner":
			e.Inner = true
		case word == "left": // as without it
		case hint != "":
			return m, "", syntax("two hints for "+clip(name)+": "+clip(hint)+" and "+clip(word), "")
		default:
			hint = word
		}
	}
	rest, ok := strings.CutPrefix(rest, "(")
	if !ok || p.o.Relations == nil {
		return m, "", notSelected("(" + rest)
	}
	if p.depth == MaxEmbedDepth {
		return m, "", beyond("rows are embedded at most "+strconv.Itoa(MaxEmbedDepth)+" deep", "")
	}
	if *p.embedded++; *p.embedded > MaxEmbeds {
		return m, "", beyond("a query embeds at most "+strconv.Itoa(MaxEmbeds)+" tables", "")
	}
	if e.Relation, err = p.related(name, hint); err != nil {
		return m, "", err
	}
	if m.Name = alias; alias == "" {
		m.Name = name
	}
	sub := &parser{t: p.o.seen(e.Table), q: &Query{Table: e.Table, Limit: AllRows}, o: p.o,
		given: make(map[string]string), count: p.count, embedded: p.embedded, depth: p.depth + 1,
		name: e.Name,
		one:  e.One}
	if strings.HasPrefix(rest, ")") {
		return m, "", syntax("nothing of "+clip(name)+" is selected", clip(name)+"(*) selects all")
	}
	if rest, err = sub.items(rest); err != nil {
		return m, "", err
	}
	if !strings.HasPrefix(rest, ")") {
		return m, "", syntax("a ) is missing behind the members of "+clip(name), "")
	}
	if p.subs[m.Name] != nil {
		return m, "", syntax("select has "+clip(m.Name)+" twice",
			"alias:table(...) calls it otherwise")
	}
	if p.subs == nil {
		p.subs = make(map[string]*parser)
	}
	e.Query, m.Embed, m.Column = sub.q, e, -1
	p.subs[m.Name] = sub
	return m, rest[1:], nil
}

// related returns the relation that a query means. Whether the client may read the other
// table is asked before anything of it is told.
func (p *parser) related(name, hint string) (*Relation, error) {
	every := p.o.Relations(p.q.Table)
	all := slices.DeleteFunc(slices.Clone(every), func(r Relation) bool { return !p.knows(&r) })
	named := slices.DeleteFunc(slices.Clone(all), func(r Relation) bool { return r.Name != name })
	if len(named) > 0 {
		if err := p.o.Reads(name); err != nil {
			return nil, err
		}
	}
	var refused error
	named = slices.DeleteFunc(named, func(r Relation) bool {
		if r.Link == nil {
			return false
		}
		err := p.o.Reads(r.Link.Name)
		if err == nil { // rows between two others are not filtered
			var rows []Term
			if rows, err = p.o.rows(r.Link.Name, r.Link.Table); rows != nil && err == nil {
				err = beyond("no rows are embedded by way of "+clip(r.Link.Name), "")
			}
		}
		if err != nil {
			refused = err
		}
		return err != nil
	})
	found := slices.DeleteFunc(slices.Clone(named), func(r Relation) bool {
		return hint != "" && !slices.Contains(r.Hints, hint)
	})
	switch {
	case len(found) == 1:
		r := found[0]
		others := slices.DeleteFunc(every, func(r Relation) bool { return r.Name != name })
		if r.hint = ""; len(others) > 1 { // the text means the same whoever asks
			r.hint = r.alone(others)
		}
		return &r, nil
	case len(found) > 1:
		return nil, p.ambiguous(name, found)
	case len(named) == 0 && refused != nil:
		return nil, refused
	}
	return nil, p.unrelated(name, hint, all)
}

// knows reports whether the client may see the columns that a relation is made of.
func (p *parser) knows(r *Relation) bool {
	if p.o.Sees == nil {
		return true
	}
	ends := p.t.shows(r.From) && p.o.Sees(r.Table).shows(r.To)
	if r.Link == nil {
		return ends
	}
	link := p.o.Sees(r.Link.Table)
	return ends && link.shows(r.Link.From) && link.shows(r.Link.To)
}

// alone returns the first hint that none of the others has.
func (r *Relation) alone(named []Relation) string {
	for _, h := range r.Hints {
		n := 0
		for i := range named {
			if slices.Contains(named[i].Hints, h) {
				n++
			}
		}
		if n == 1 {
			return h
		}
	}
	return ""
}

// ambiguous is the error of a table that is related in several ways.
func (p *parser) ambiguous(name string, found []Relation) error {
	slices.SortFunc(found, func(a, b Relation) int {
		return strings.Compare(a.Hints[0], b.Hints[0])
	})
	ways, calls := make([]string, len(found)), make([]string, len(found))
	for i := range found {
		r := &found[i]
		kind := "many rows"
		if r.One {
			kind = "one row"
		}
		ways[i] = kind + " by " + strings.Join(r.From, ",") + " = " + strings.Join(r.To, ",")
		if r.Link != nil {
			ways[i] = kind + " through " + r.Link.Name
		}
		calls[i] = quoteName(name) + "!" + quoteName(r.alone(found))
	}
	return &Error{Code: CodeAmbiguous, Message: "there is more than one relation between " +
		clip(p.t.Name) + " and " + clip(name), Detail: strings.Join(ways, "; "),
		Hint: "say which: " + strings.Join(calls, ", ")}
}

// unrelated is the error of a table that no foreign key leads to. It names those that the
// client may read.
func (p *parser) unrelated(name, hint string, all []Relation) error {
	message := "there is no relation between " + clip(p.t.Name) + " and " + clip(name)
	if hint != "" {
		message += " by " + clip(hint)
	}
	var names []string
	for i := range all {
		r := &all[i]
		if !slices.Contains(names, r.Name) && p.o.Reads(r.Name) == nil &&
			(r.Link == nil || p.o.Reads(r.Link.Name) == nil) {
			names = append(names, r.Name)
		}
	}
	e := &Error{Code: CodeUnrelated, Message: message,
		Detail: "no foreign key leads from one to the other, or one of them is not served"}
	if len(names) > 0 {
		e.Hint = "related are " + strings.Join(names, ", ")
	}
	return e
}

// A parameter is one of a URL's query.
type parameter struct {
	name, value string
	isPair      bool
}

// inner gives a parameter to the embedded query that it is about: "comments.author.name".
func (p *parser) inner(a parameter) error {
	name := a.name
	for {
		first, rest, err := cutName(name)
		sub := p.subs[first]
		switch {
		case err != nil:
			return err
		case isGroup(name) || rest == "":
			return p.own(name, a)
		case rest[0] != '.':
			return notOffered(a.name)
		case p.again[first]:
			return syntax(clip(first)+" is spread twice, so that it is not clear what "+
				clip(a.name)+" is about", "alias:"+clip(first)+"(...) has a name of its own")
		case sub == nil:
			return syntax("nothing called "+clip(first)+" is embedded, so that "+clip(a.name)+
				" has no meaning", "embed it: select=*,"+clip(first)+"(*)")
		}
		p, name = sub, rest[1:]
	}
}

// own takes a parameter of an embedded query.
func (p *parser) own(name string, a parameter) error {
	switch name {
	case "order", "limit":
		if p.one {
			return syntax(clip(a.name)+" is about one row", "")
		}
	case "select", "offset", "after", "format", "columns", "on_conflict":
		return syntax(clip(a.name)+" is not offered",
			"what is embedded takes filters, order and limit")
	}
	return p.parameter(name, a.value, a.isPair)
}

func isGroup(name string) bool {
	return name == "and" || name == "or" || name == "not.and" || name == "not.or"
}

// embeds completes what is embedded.
func (p *parser) embeds() error {
	for _, a := range p.later {
		if err := p.inner(a); err != nil {
			return err
		}
	}
	return p.complete()
}

// complete completes the queries embedded in p's.
func (p *parser) complete() error {
	for _, m := range p.q.Select {
		if m.Embed == nil {
			continue
		}
		sub := p.subs[m.Name]
		if err := sub.conditions(); err != nil {
			return err
		}
		if text, ok := sub.given["limit"]; ok {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n > MaxEmbedded || text[0] == '+' {
				return beyond(clip(m.Name)+".limit must be a number from 0 to "+
					strconv.Itoa(MaxEmbedded)+", not "+clip(text), "")
			}
			sub.q.Limit = n
		}
		if err := sub.complete(); err != nil {
			return err
		}
	}
	return nil
}

// embedText returns the canonical text of an embedded table in select.
func embedText(m *Member) string {
	e := m.Embed
	text := escape(quoteName(e.Name))
	switch {
	case e.Spread:
		text = "..." + text
	case m.Name != e.Name:
		text = escape(quoteName(m.Name)) + ":" + text
	}
	if e.hint != "" {
		text += "!" + escape(quoteName(e.hint))
	}
	if e.Inner {
		text += "!inner"
	}
	return text + "(" + e.Table.selectText(e.Query.Select) + ")"
}

// embedParts returns the canonical parameters of what is embedded in q, which prefix leads
// to.
func (q *Query) embedParts(prefix string) []string {
	var parts []string
	for i := range q.Select {
		m := &q.Select[i]
		if m.Embed == nil {
			continue
		}
		sub, to := m.Embed.Query, prefix+escape(quoteName(m.Name))+"."
		for j := range sub.Where {
			parts = append(parts, to+sub.Table.whereText(sub.Where[j:j+1]))
		}
		if sub.order != "" {
			parts = append(parts, to+"order="+sub.order)
		}
		if sub.Limit != AllRows {
			parts = append(parts, to+"limit="+strconv.Itoa(sub.Limit))
		}
		parts = append(parts, sub.embedParts(to)...)
	}
	return parts
}
