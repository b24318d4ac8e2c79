package query

import (
	"slices"
	"strings"
)

// selected takes select.
func (p *parser) selected() error {
	text, ok := p.given["select"]
	if !ok {
		if p.t != p.q.Table { // whole documents have more than the client may see
			p.q.Select = p.t.all()
		}
		return nil
	}
	rest, err := p.items(withoutBlanks(text))
	if err == nil && rest != "" {
		err = notSelected(rest)
	}
	if err != nil {
		return err
	}
	if !p.t.Embeds && slices.Equal(p.q.Select, p.t.all()) {
		p.q.Select = nil
	}
	return nil
}

// items reads the members of a query, up to what ends the list.
func (p *parser) items(text string) (rest string, err error) {
	seen := make(map[string]bool)
	for {
		var some []Member
		if some, text, err = p.member(text); err != nil {
			return "", err
		}
		for i := range some {
			for _, name := range some[i].shown() {
				if seen[name] {
					return "", syntax("select has "+clip(name)+" twice",
						"alias:column gives it another name")
				}
				seen[name] = true
			}
		}
		p.q.Select = append(p.q.Select, some...)
		switch {
		case strings.HasPrefix(text, ","):
			text = text[1:]
		case text == "" || text[0] == ')' && p.depth > 0:
			return text, nil
		default:
			return "", notSelected(text)
		}
	}
}

// withoutBlanks returns text without the blanks outside of double quotes.
func withoutBlanks(text string) string {
	if !strings.Contains(text, " ") {
		return text
	}
	b := make([]byte, 0, len(text))
	for quoted, i := false, 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted && i+1 < len(text):
			b = append(b, c)
			i++
		case c == ' ' && !quoted:
			continue
		}
		b = append(b, text[i])
	}
	return string(b)
}

// all returns all columns as members.
func (t *Table) all() []Member {
	var all []Member
	for i := range t.Columns {
		if m := t.Columns[i].Member; m != "" {
			all = append(all, Member{Column: i, Name: m})
		}
	}
	return all
}

// member reads one item of select.
func (p *parser) member(text string) (members []Member, rest string, err error) {
	if rest, ok := strings.CutPrefix(text, "*"); ok {
		return p.t.all(), rest, nil
	}
	if after, ok := strings.CutPrefix(text, "..."); ok {
		m, rest, err := p.spread(after)
		return []Member{m}, rest, err
	}
	name, rest, err := cutName(text)
	if err != nil {
		return nil, "", err
	}
	alias := ""
	if strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, "::") {
		alias = name
		if name, rest, err = cutName(rest[1:]); err != nil {
			return nil, "", err
		}
	}
	if strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, "!") {
		m, rest, err := p.embed(alias, name, rest)
		return []Member{m}, rest, err
	}
	m := Member{Name: alias}
	if m.Path, rest, err = cutPath(rest); err != nil {
		return nil, "", err
	}
	if m.Cast, rest, err = cutCast(rest); err != nil {
		return nil, "", err
	}
	if rest != "" && rest[0] != ',' && (rest[0] != ')' || p.depth == 0) {
		return nil, "", notSelected(rest)
	}
	if m.Column, err = p.t.column(name); err != nil {
		return nil, "", err
	}
	c := &p.t.Columns[m.Column]
	if _, err = p.t.within(c, m.Path); err == nil {
		err = m.noCast(c)
	}
	if err != nil {
		return nil, "", err
	}
	if alias == "" {
		m.Name = m.Path.member(c.Member)
	}
	return []Member{m}, rest, nil
}

// notSelected refuses what select has elsewhere, by its name.
func notSelected(rest string) error {
	what := "unexpected " + clip(rest)
	switch {
	case strings.HasPrefix(rest, "..."):
		what = "a spread (...)"
	case strings.HasPrefix(rest, "("), strings.HasPrefix(rest, "!"):
		what = "an embedded table"
	case strings.HasPrefix(rest, "."):
		what = "an aggregate (.sum() and its like)"
	}
	return syntax(what+" is not offered in select", "select takes *, column, alias:column, "+
		"column->path, column::type and alias:table(members)")
}
