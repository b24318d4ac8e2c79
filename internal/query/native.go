package query

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// Native operators are those of PostgreSQL for arrays, ranges, JSON, regular expressions and
// full-text search. Other databases have none of them.

// A Content says what values consist of, for native operators.
type Content uint8

// The contents.
const (
	Single   Content = iota // one value, of which native operators take texts alone
	Elements                // an array
	Span                    // a range
	Spans                   // a multirange
	Tree                    // jsonb
	Prose                   // json: a text to full-text search
	Lexemes                 // a tsvector
)

// nativeContents are the contents that native operators take, by operators.
var nativeContents = map[Op][]Content{
	Cs: {Elements, Span, Spans, Tree}, Cd: {Elements, Span, Spans, Tree},
	Ov: {Elements, Span, Spans}, Sl: {Span, Spans}, Sr: {Span, Spans}, Nxl: {Span, Spans},
	Nxr: {Span, Spans}, Adj: {Span, Spans},
	Fts: {Lexemes, Tree, Prose}, Plfts: {Lexemes, Tree, Prose}, Phfts: {Lexemes, Tree, Prose},
	Wfts: {Lexemes, Tree, Prose},
}

// Native reports whether only PostgreSQL has the operator.
func (o Op) Native() bool { return o >= Match && o < And }

// Searches reports whether the operator is one of full-text search.
func (o Op) Searches() bool { return o >= Fts && o <= Wfts }

// Searches reports whether the answer depends on how the database searches texts. No change
// of a row tells that its configurations and dictionaries are others.
func (q *Query) Searches() (found bool) {
	q.mentionsTerm(func(t *Term) { found = found || t.Op.Searches() })
	for _, e := range q.Embeds() {
		e.Query.mentionsTerm(func(t *Term) { found = found || t.Op.Searches() })
	}
	return found
}

// takesNative refuses a native operator that the column does not have.
func (p *parser) takesNative(c *Column, op Op) error {
	switch {
	case !p.t.Native:
		return syntax(op.String()+" is an operator of PostgreSQL, and "+clip(c.Member)+
			" is in another database", "")
	case slices.Contains(nativeContents[op], c.Content),
		c.Matches && (op == Match || op == IMatch || op.Searches()):
		return nil
	}
	return syntax(op.String()+" is not for the type of "+clip(c.Member), "cs, cd and ov are for "+
		"arrays, ranges and jsonb (not ov); sl, sr, nxl, nxr and adj for ranges; match and "+
		"imatch for texts; fts, plfts, phfts and wfts for tsvector, texts and JSON")
}

// native returns the canonical text of the operand of a native operator.
func (c *Column) native(op Op, text string) (string, error) {
	if op == Match || op == IMatch || op.Searches() {
		return text, nil
	}
	r := contentReader{c: c, s: text, elem: Column{Member: c.Member, Part: c.Elem,
		Bool: c.Elem.Kind == row.Bool}}
	out, want := "", ""
	switch c.Content {
	case Tree:
		return c.document(text)
	case Elements:
		if out = r.array(1); !r.end() {
			want = `an array, such as {a,"b,c"}`
		}
	case Span:
		if out = r.span(); !r.end() {
			want = `a range, such as [1,5)`
		}
	case Spans:
		if out = r.spans(); !r.end() {
			want = `a multirange, such as {[1,5),[7,9)}`
		}
	}
	if r.err != nil {
		return "", r.err
	}
	if want != "" {
		return "", &Error{Code: CodeOperand,
			Message: clip(c.Member) + ": " + clip(text) + " is not " + want}
	}
	return out, nil
}

// document returns the text of a JSON value.
func (c *Column) document(text string) (string, error) {
	if !json.Valid([]byte(text)) {
		return "", &Error{Code: CodeOperand, Message: c.Part.Column + ": " + clip(text) +
			` is not JSON, such as {"a":1}`}
	}
	return text, nil
}

// maxNesting is how many dimensions an array of PostgreSQL has at most.
const maxNesting = 6

// A contentReader reads the text of an array, a range or a multirange.
type contentReader struct {
	c     *Column
	elem  Column // what one element, or bound, is an operand of
	s     string // what is left
	items int
	bad   bool
	err   error // why an element is no value
}

// end reports whether all of the text has been read and means something.
func (r *contentReader) end() bool {
	r.blanks()
	return r.s == "" && !r.bad
}

func (r *contentReader) blanks() { r.s = strings.TrimLeft(r.s, " \t\r\n") }

// take reads a byte if it comes next.
func (r *contentReader) take(b byte) bool {
	if r.s == "" || r.s[0] != b {
		return false
	}
	r.s = r.s[1:]
	return true
}

// fail ends the reading.
func (r *contentReader) fail() string {
	r.bad, r.s = true, ""
	return ""
}

// array reads {a,"b,c",{...},NULL}.
func (r *contentReader) array(depth int) string {
	r.blanks()
	if depth > maxNesting || !r.take('{') {
		return r.fail()
	}
	if r.blanks(); r.take('}') {
		return "{}"
	}
	var items []string
	for !r.bad {
		r.blanks()
		if strings.HasPrefix(r.s, "{") {
			items = append(items, r.array(depth+1))
		} else {
			items = append(items, r.element())
		}
		if r.blanks(); r.take('}') {
			break
		}
		if !r.take(',') {
			return r.fail()
		}
	}
	return "{" + strings.Join(items, ",") + "}"
}

// element reads one element of an array that is none itself.
func (r *contentReader) element() string {
	text, quoted := r.text(",{}")
	if !quoted {
		if strings.EqualFold(text, "null") {
			return "NULL"
		}
		if text == "" {
			return r.fail()
		}
	}
	return quote(r.value(text))
}

// text reads up to one of the bytes of end that is not in double quotes. Blanks at the ends
// that are neither are no part of it.
func (r *contentReader) text(end string) (text string, quoted bool) {
	var b strings.Builder
	within, kept := false, 0 // kept bytes are no blanks at the end
	r.blanks()
	for i := 0; i < len(r.s); i++ {
		switch c := r.s[i]; {
		case c == '"' && within && strings.HasPrefix(r.s[i+1:], `"`):
			b.WriteByte(c) // as ranges are written
			i++
		case c == '"':
			within, quoted = !within, true
		case c == '\\' && i+1 < len(r.s):
			i++
			b.WriteByte(r.s[i])
		case !within && strings.IndexByte(end, c) >= 0:
			r.s = r.s[i:]
			return b.String()[:kept], quoted
		case !within && strings.IndexByte(" \t\r\n", c) >= 0:
			b.WriteByte(c)
			continue
		default:
			b.WriteByte(c)
		}
		kept = b.Len()
	}
	return r.fail(), false
}

// value returns the canonical text of an element or a bound.
func (r *contentReader) value(text string) string {
	if r.items++; r.items > MaxItems && r.err == nil {
		r.err = beyond("more than "+strconv.Itoa(MaxItems)+" values of "+clip(r.c.Member), "")
	}
	value, err := r.elem.operand(Eq, text)
	if err != nil && r.err == nil {
		r.err = err
	}
	return value
}

// span reads [a,b), (a,b], [,b) or empty.
func (r *contentReader) span() string {
	r.blanks()
	if len(r.s) >= len("empty") && strings.EqualFold(r.s[:len("empty")], "empty") {
		r.s = r.s[len("empty"):]
		return "empty"
	}
	open, end := "[", "]"
	if !r.take('[') {
		if open = "("; !r.take('(') {
			return r.fail()
		}
	}
	from := r.bound(",")
	if !r.take(',') {
		return r.fail()
	}
	to := r.bound(")]")
	if !r.take(']') {
		if end = ")"; !r.take(')') {
			return r.fail()
		}
	}
	return open + from + "," + to + end
}

// bound reads one bound of a range; there may be none.
func (r *contentReader) bound(end string) string {
	text, quoted := r.text(end)
	if text == "" && !quoted {
		return ""
	}
	return quote(r.value(text))
}

// spans reads {[a,b),[c,d)}.
func (r *contentReader) spans() string {
	if r.blanks(); !r.take('{') {
		return r.fail()
	}
	if r.blanks(); r.take('}') {
		return "{}"
	}
	var items []string
	for !r.bad {
		items = append(items, r.span())
		if r.blanks(); r.take('}') {
			break
		}
		if !r.take(',') {
			return r.fail()
		}
	}
	return "{" + strings.Join(items, ",") + "}"
}

// cutConfig reads the text search configuration that is behind an operator: (english).
func cutConfig(word string) (config string, ok bool) {
	config, ok = strings.CutSuffix(word, ")")
	if !ok || config == "" {
		return "", false
	}
	for _, r := range config {
		if r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') &&
			(r < 'a' || r > 'z') {
			return "", false
		}
	}
	return config, true
}
