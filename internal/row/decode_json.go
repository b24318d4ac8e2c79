package row

import "unicode/utf8"

// DecodeJSON reads the body of a write: one JSON object, whose members are those
// of the Shape. It is strict where encoding/json is lenient: an unknown member, a
// member that comes twice at any level, a surrogate without its other half,
// invalid UTF-8 and anything after the object are errors, each a *DecodeError.
// So is a body beyond MaxDepth or MaxElements. It keeps no part of body.
//
// Values are read by their Field's Kind:
//
//   - null is Null, of every kind.
//   - Int, Uint: numbers that are integers in the range of 64 bits, exactly, in
//     any form: 10, 10.0, 1e1.
//   - Float, Float32: numbers in range, or "NaN", "Infinity", "-Infinity".
//   - Decimal: numbers, or strings that hold one, with every digit; or the three
//     names.
//   - Bool: true, false. Text: strings.
//   - Bytes: strings in base64 with padding (RFC 4648 section 4).
//   - JSON: anything, kept as it is written.
//   - Date, Time, Datetime, DatetimeTZ: strings in the forms of RFC 3339, with a
//     space for the T if need be, at most nine digits of a fraction, years of four
//     digits; "infinity" and "-infinity". DatetimeTZ becomes UTC. A Date may be
//     written "1981-06-09T00:00:00Z", a Datetime with a Z at its end.
//   - UUID: strings in the forms that PostgreSQL takes.
//   - Array: arrays, whose elements are of Field.Elem, or arrays of them; or a
//     string, the database's own text of an array. Where Elem is not known an element
//     is an Int or Uint when it is an integer, a Decimal when it is another number, a
//     Text, Bool, Null or Array; an object is JSON. Columns of no known kind (Null)
//     are read so too.
//   - Rows: arrays of objects, which are read as the body is.
func (s *Shape) DecodeJSON(body []byte) (*Input, error) {
	p := jsonParser{scanner: scanner{src: string(body)}}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	return bind(s, &root, FormatJSON, p.src)
}

// A jsonParser reads a JSON text into nodes.
type jsonParser struct {
	scanner
	elements int
}

// fail returns the error of what is at pos.
func (p *jsonParser) fail(message string) *DecodeError {
	if p.pos >= len(p.src) {
		message = "the JSON ends too early"
	}
	return &DecodeError{Offset: p.pos, Message: message}
}

func (p *jsonParser) parse() (node, error) {
	if !utf8.ValidString(p.src) {
		return node{}, &DecodeError{Offset: validPrefix(p.src), Message: "invalid UTF-8"}
	}
	root, err := p.value(1)
	if err != nil {
		return node{}, err
	}
	if !p.end() {
		return node{}, p.fail("there is more after the JSON value")
	}
	return root, nil
}

// validPrefix returns where the first invalid UTF-8 of s is.
func validPrefix(s string) int {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(s)
}

// value reads one value, which is at this depth if it is an array or object.
func (p *jsonParser) value(depth int) (node, *DecodeError) {
	c := p.peek()
	n := node{offset: p.pos}
	if p.elements++; p.elements > MaxElements {
		return n, p.fail("too many values in one body")
	}
	switch {
	case c == '{' || c == '[':
		if depth > MaxDepth {
			return n, p.fail("nested too deeply")
		}
		if err := p.nested(&n, c == '{', depth); err != nil {
			return n, err
		}
	case c == '"':
		var err *DecodeError
		if n.kind, n.text, err = p.string(); err != nil {
			return n, err
		}
	case c == 'n' && p.word("null"):
	case c == 't' && p.word("true"):
		n.kind, n.truth = nodeBool, true
	case c == 'f' && p.word("false"):
		n.kind = nodeBool
	default:
		var ok bool
		if n.text, ok = p.number(); !ok {
			return n, p.fail("not a JSON value")
		}
		n.kind = nodeNumber
	}
	n.end = p.pos
	return n, nil
}

// nested reads an array or object into n.
func (p *jsonParser) nested(n *node, object bool, depth int) *DecodeError {
	n.kind = nodeList
	if object {
		n.kind = nodeMap
	}
	names := members{node: n}
	more, ok := p.open()
	for more && ok {
		var name string
		nameOffset := p.pos
		if object {
			var err *DecodeError
			if name, nameOffset, err = p.name(); err != nil {
				return err
			}
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return err.within(n, name)
		}
		v.name, v.nameOffset = name, nameOffset
		if !object {
			n.items = append(n.items, v)
		} else if !names.add(v) {
			return &DecodeError{
				Offset:  nameOffset,
				Message: "member " + quote(name) + " comes twice in one object",
			}
		}
		more, ok = p.next(object)
	}
	if !ok && object {
		return p.fail("want a comma or the end of the object")
	}
	if !ok {
		return p.fail("want a comma or the end of the array")
	}
	return nil
}

// name reads a member's name and the colon after it.
func (p *jsonParser) name() (string, int, *DecodeError) {
	if p.peek() != '"' {
		return "", 0, p.fail("want the name of a member, in quotes")
	}
	offset := p.pos
	_, name, err := p.string()
	if err == nil && !p.colon() {
		err = p.fail("want a colon after the name of a member")
	}
	return name, offset, err
}

func (p *jsonParser) string() (nodeKind, string, *DecodeError) {
	offset := p.pos
	raw, escaped, problem := p.str()
	if problem != "" {
		return nodeString, "", p.fail(problem)
	}
	if !escaped {
		return nodeString, raw, nil
	}
	text, lone := unescape(raw)
	if lone >= 0 {
		return nodeString, "", &DecodeError{
			Offset:  offset + 1 + lone,
			Message: "half of a surrogate pair: " + raw[lone:lone+6] + " is not a character",
		}
	}
	return nodeString, text, nil
}
