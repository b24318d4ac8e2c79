package query

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/row"
)

// isNameRune reports whether a name may have r without quotes, besides inner hyphens.
func isNameRune(r rune) bool {
	return r == '_' || r == '$' || r == ' ' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// cutName reads the name that s begins with: letters, digits, _, $, blanks, and hyphens
// between them, or anything in double quotes.
func cutName(s string) (name, rest string, err error) {
	if strings.HasPrefix(s, `"`) {
		name, rest, ok := cutQuoted(s)
		if !ok || name == "" {
			return "", "", syntax("a quoted name has no end: "+clip(s), "")
		}
		return name, rest, nil
	}
	n := 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if r == '-' && n > 0 && n+1 < len(s) && s[n+1] != '>' {
			if next, _ := utf8.DecodeRuneInString(s[n+1:]); isNameRune(next) {
				n += size
				continue
			}
		}
		if !isNameRune(r) {
			break
		}
		n += size
	}
	name = strings.Trim(s[:n], " ")
	if name == "" {
		return "", "", syntax("a column's name is missing at "+clip(s), "")
	}
	return name, s[n:], nil
}

// cutQuoted reads the text in double quotes that s begins with; a backslash stands before
// a quote or a backslash within.
func cutQuoted(s string) (text, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			if i++; i == len(s) {
				return "", "", false
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}

// members reads "(term,term)" and what follows it. depth is that of the group.
func (p *parser) members(name, s string, depth int) (terms []Term, rest string, err error) {
	if depth > MaxDepth {
		return nil, "", beyond("groups are at most "+strconv.Itoa(MaxDepth)+" deep", "")
	}
	s, ok := strings.CutPrefix(strings.TrimLeft(s, " "), "(")
	if !ok {
		return nil, "", syntax("conditions of "+name+" must be in parentheses",
			name+"=(a.eq.1,b.eq.2)")
	}
	for {
		var term Term
		if term, s, err = p.term(strings.TrimLeft(s, " "), depth); err != nil {
			return nil, "", err
		}
		terms = append(terms, term)
		s = strings.TrimLeft(s, " ")
		switch {
		case strings.HasPrefix(s, ","):
			s = s[1:]
		case strings.HasPrefix(s, ")"):
			return terms, strings.TrimLeft(s[1:], " "), nil
		default:
			return nil, "", syntax("a comma or ) is missing in "+name+" at "+clip(s), "")
		}
	}
}

// term reads one condition of a group and what follows it.
func (p *parser) term(s string, depth int) (term Term, rest string, err error) {
	for _, g := range [...]struct {
		name string
		op   Op
		not  bool
	}{{"and", And, false}, {"or", Or, false}, {"not.and", And, true}, {"not.or", Or, true}} {
		inner, ok := strings.CutPrefix(s, g.name)
		if ok && strings.HasPrefix(strings.TrimLeft(inner, " "), "(") {
			term = Term{Op: g.op, Not: g.not}
			term.Terms, rest, err = p.members(g.name, inner, depth+1)
			return term, rest, err
		}
	}
	name, s, err := cutName(s)
	if err != nil {
		return term, "", err
	}
	path, s, err := cutPath(s)
	if err != nil {
		return term, "", err
	}
	s, ok := strings.CutPrefix(s, ".")
	if !ok {
		return term, "", notOffered(name + s)
	}
	at, err := p.t.column(name)
	if err != nil {
		return term, "", err
	}
	return p.comparison(at, path, s, true)
}

// comparison reads [not.]op[(any|all)].operand and, within a group, what follows it.
func (p *parser) comparison(
	column int, path Path, s string, inGroup bool,
) (Term, string, error) {
	term := Term{Column: column, Path: path}
	c, err := p.t.within(&p.t.Columns[column], path)
	if err != nil {
		return term, "", err
	}
	if *p.count++; *p.count > MaxTerms {
		return term, "", beyond("a query has at most "+strconv.Itoa(MaxTerms)+" conditions", "")
	}
	s, term.Not = strings.CutPrefix(s, "not.")
	word, operand, ok := strings.Cut(s, ".")
	name, quant, _ := strings.Cut(word, "(")
	op := slices.Index(opNames[:And], name)
	if !ok || op < 0 {
		return term, "", badOperator(word, c)
	}
	switch term.Op = Op(op); {
	case term.Op.Searches() && name != word:
		if term.Config, ok = cutConfig(quant); !ok {
			return term, "", syntax("the configuration of "+clip(word)+" is no name", name+
				"(english).WORDS")
		}
	case quant == "any)":
		term.Quant = Any
	case quant == "all)":
		term.Quant = All
	case name != word:
		return term, "", badOperator(word, c)
	}
	if term.Quant != One && !(term.Op == Eq || term.Op >= Gt && term.Op <= Lte ||
		term.Op == Like || term.Op == ILike || term.Op == Match || term.Op == IMatch) {
		return term, "", syntax(name+" takes no (any) or (all)", "")
	}
	takes := c.Takes
	if term.Op.Native() {
		takes = func(op Op) error { return p.takesNative(c, op) }
	}
	if err := takes(term.Op); err != nil {
		return term, "", err
	}
	return p.operands(term, c, operand, inGroup)
}

func badOperator(word string, c *Column) error {
	return syntax("unknown operator "+clip(word)+" for "+clip(c.Member),
		"eq neq gt gte lt lte in is isdistinct like ilike, not. before them, (any) and (all); "+
			"of PostgreSQL match imatch cs cd ov sl sr nxl nxr adj fts plfts phfts wfts")
}

// Takes refuses an operator, none of PostgreSQL alone, that the column's type does not have.
func (c *Column) Takes(op Op) error {
	switch {
	case op == Is:
		return nil
	case !c.Compares:
		return syntax(op.String()+" does not compare "+clip(c.Member)+
			": its type can only be asked for is.null", "")
	case (op == Like || op == ILike) && !c.Matches:
		return syntax(op.String()+" is for texts, and "+clip(c.Member)+" is none", "")
	}
	return nil
}

// operands reads what follows the operator of term.
func (p *parser) operands(
	term Term, c *Column, s string, inGroup bool,
) (Term, string, error) {
	var items []string
	rest, ok := "", true
	switch {
	case term.Op == In:
		if items, rest, ok = cutItems(s); !ok || !inGroup && rest != "" {
			return term, "", syntax("the list of "+clip(c.Member)+" must be in parentheses: "+
				"in.(10,20)", "a value with a comma or ) is in double quotes")
		}
	default:
		text := s
		if inGroup {
			if text, rest = cutOperand(s); c.Part.Kind != row.Text {
				text = strings.Trim(text, " ")
			}
		}
		items = []string{text}
		if term.Quant != One {
			if items, ok = cutArray(text); !ok {
				return term, "", syntax("the values of "+clip(c.Member)+" must be in braces: "+
					`{a,"b,c"}`, `a text null is in double quotes; is.null finds what has no value`)
			}
		}
	}
	longest := MaxItems
	if term.Op == In && p.t.isKey(term.Column) {
		longest = MaxKeys
	}
	if len(items) > longest {
		return term, "", beyond("more than "+strconv.Itoa(longest)+" values of "+clip(c.Member),
			"ask in several requests")
	}
	for i, item := range items {
		text, err := c.operand(term.Op, item)
		if err != nil {
			return term, "", err
		}
		items[i] = text
	}
	term.Values = items
	return term, rest, nil
}

// operand returns the canonical text of one operand.
func (c *Column) operand(op Op, text string) (string, error) {
	switch op {
	case Is:
		word := strings.ToLower(text)
		truth := word == "true" || word == "false" || word == "unknown"
		if word != "null" && word != "not_null" && !truth {
			return "", syntax(clip(c.Member)+" cannot be "+clip(text),
				"is. takes null, not_null, true, false, unknown")
		}
		if truth && !c.Bool {
			return "", syntax("is."+word+" is for booleans, and "+clip(c.Member)+" is none", "")
		}
		return word, nil
	case Like, ILike:
		return c.pattern(text)
	}
	if op.Native() {
		return c.native(op, text)
	}
	if c.Part.Kind == row.JSON {
		return c.document(text)
	}
	value, err := c.Part.Parse(text)
	if err != nil {
		if moment, ok := c.moment(op, text); ok {
			return moment, nil
		}
	}
	switch {
	case err != nil && c.Bool && (text == "true" || text == "false"):
		return c.truth(text), nil
	case err != nil:
		return "", &Error{Code: CodeOperand, Message: strings.TrimPrefix(err.Error(), "key ")}
	case c.Part.Kind == row.Decimal:
		return c.decimal(value)
	}
	return value, nil
}

// truth returns the text of a truth value as the column's: a number where it is one.
func (c *Column) truth(text string) string {
	switch {
	case c.Part.Kind != row.Int:
		return text
	case text == "true":
		return "1"
	}
	return "0"
}

// decimal returns a decimal without an exponent, which not every database takes, and
// without zeros that say nothing.
func (c *Column) decimal(text string) (string, error) {
	text, exponent, _ := strings.Cut(text, "e")
	n, err := strconv.Atoi(exponent)
	if exponent != "" && (err != nil || n > maxExponent || n < -maxExponent) {
		return "", &Error{Code: CodeOperand,
			Message: clip(c.Member) + ": the exponent of " + clip(text) + " is out of range"}
	}
	if text == "NaN" || strings.HasSuffix(text, "Infinity") {
		return text, nil
	}
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if n > 0 {
		fraction += strings.Repeat("0", max(n-len(fraction), 0))
		whole, fraction = whole+fraction[:n], fraction[n:]
	} else if n < 0 {
		whole = strings.Repeat("0", max(-n-len(whole), 0)) + whole
		whole, fraction = whole[:len(whole)+n], whole[len(whole)+n:]+fraction
	}
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if negative && whole != "0" {
		whole = "-" + whole
	}
	return whole, nil
}

// maxExponent bounds the exponent of a decimal: no database holds more digits.
const maxExponent = 400

// pattern returns a pattern in which % stands for any text, as an asterisk does that no
// backslash is before.
func (c *Column) pattern(text string) (string, error) {
	b := []byte(text)
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '*':
			b[i] = '%'
		case '\\':
			if i++; i == len(b) {
				return "", &Error{Code: CodePattern,
					Message: "the pattern of " + clip(c.Member) + " ends with a backslash",
					Hint:    `\\ is a backslash, \* an asterisk, \% a percent sign, \_ a _`}
			}
		}
	}
	return string(b), nil
}

// cutItems reads "(a,"b,c",d)" and what follows it. A value is all up to a comma or a
// parenthesis, or what is in double quotes if nothing but one of those follows.
func cutItems(s string) (items []string, rest string, ok bool) {
	s, ok = strings.CutPrefix(s, "(")
	if !ok {
		return nil, "", false
	}
	if rest, ok = strings.CutPrefix(s, ")"); ok {
		return nil, rest, true
	}
	for {
		item, after := cutValue(s)
		items = append(items, item)
		switch {
		case after == "":
			return nil, "", false
		case after[0] == ')':
			return items, after[1:], true
		}
		s = after[1:]
	}
}

// cutValue reads one value of a list or a group, up to a comma or a parenthesis.
func cutValue(s string) (value, rest string) {
	if strings.HasPrefix(s, `"`) {
		if text, rest, ok := cutQuoted(s); ok && (rest == "" || rest[0] == ',' || rest[0] == ')') {
			return text, rest
		}
	}
	n := strings.IndexAny(s, ",)")
	if n < 0 {
		n = len(s)
	}
	return s[:n], s[n:]
}

// cutOperand reads the operand of a condition in a group: in double quotes, in braces with
// no other braces in it but in double quotes, or up to a comma or a parenthesis.
func cutOperand(s string) (operand, rest string) {
	if !strings.HasPrefix(s, "{") {
		return cutValue(s)
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '}':
			return s[:i+1], s[i+1:]
		case '{':
			return cutValue(s)
		case '\\':
			i++
		case '"':
			_, behind, ok := cutQuoted(s[i:])
			if !ok {
				return cutValue(s)
			}
			i = len(s) - len(behind) - 1
		}
	}
	return cutValue(s)
}

// cutArray reads the values of {a,"b,c"}, as an array of PostgreSQL is written. It reports
// false for an array within it, and for a null.
func cutArray(s string) (items []string, ok bool) {
	s, opened := strings.CutPrefix(strings.Trim(s, " "), "{")
	s, closed := strings.CutSuffix(s, "}")
	if !opened || !closed {
		return nil, false
	}
	if s = strings.Trim(s, " "); s == "" {
		return nil, true
	}
	for {
		var item string
		if item, s, ok = cutElement(strings.TrimLeft(s, " ")); !ok {
			return nil, false
		}
		items = append(items, item)
		if s = strings.TrimLeft(s, " "); s == "" {
			return items, true
		}
		if s[0] != ',' {
			return nil, false
		}
		s = s[1:]
	}
}

// cutElement reads one element of an array and what follows it.
func cutElement(s string) (item, rest string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		return cutQuoted(s)
	}
	var b strings.Builder
	kept := 0 // bytes that are no blanks at the end
	i := 0
	for ; i < len(s) && s[i] != ','; i++ {
		switch s[i] {
		case '{', '}', '"':
			return "", "", false
		case '\\':
			if i++; i == len(s) {
				return "", "", false
			}
			b.WriteByte(s[i])
			kept = b.Len()
			continue
		}
		b.WriteByte(s[i])
		if s[i] != ' ' {
			kept = b.Len()
		}
	}
	item = b.String()[:kept]
	return item, s[i:], item != "" && !strings.EqualFold(item, "null")
}
