package row

import (
	"math"
	"slices"
	"strings"
)

// A document does not say all of its row: null stands for SQL's NULL and for the null
// of JSON, MessagePack and CBOR have no text of a JSON number, U+FFFD stands for
// bytes that are no UTF-8. Keep makes up for that in a write, which sees the row: what
// comes back as it was read stays what it is.

// Uncertain reports whether in has members that can stand for more than one value,
// so that a write of it has to look at the row (see Keep).
func (s *Shape) Uncertain(in *Input) bool { return s.uncertain(in, in.Format) }

func (s *Shape) uncertain(in *Input, f Format) bool {
	for i := range s.Fields {
		field := &s.Fields[i]
		switch {
		case !in.Present[i]:
		case field.Kind == Rows && field.Shape != nil:
			kid := field.Shape.compiled()
			for j := range in.Rows[i] {
				if kid.uncertain(&in.Rows[i][j], f) {
					return true
				}
			}
		case in.odd(i) != nil, field.uncertain(&in.Values[i], f):
			return true
		}
	}
	return false
}

// uncertain reports whether v, of a body in format, can stand for several values.
func (f *Field) uncertain(v *Value, format Format) bool {
	switch {
	case f.Kind == JSON && v.IsNull(), f.Dynamic && f.ambiguous(v, format):
		return true
	case f.json():
		return format != FormatJSON
	case v.kind == Array:
		list := v.List()
		return slices.ContainsFunc(list, func(e Value) bool { return f.uncertain(&e, format) })
	}
	return v.kind == Text && strings.ContainsRune(v.text, '\uFFFD')
}

// ambiguous reports whether v, of a body in format, can stand for a value of another kind
// in a column that may hold any.
func (f *Field) ambiguous(v *Value, format Format) bool {
	switch f.Kind {
	case Null, JSON, Date, Time, Datetime:
		return !v.IsNull()
	case Decimal:
		return namedNumber(v.text) != ""
	case Float:
		return math.IsInf(v.Float(), 0) || math.IsNaN(v.Float())
	case Bytes:
		return !v.IsNull()
	case Text:
		return format == FormatJSON && (isBase64(v.text) || namedNumber(v.text) != "")
	}
	return false
}

// confused reports whether v, of a body in format, can be meant for bytes where the row has
// a text, or the other way round.
func (f *Field) confused(row, v *Value, format Format) bool {
	switch f.Kind {
	case Bytes:
		return row.kind == Text && v.kind == Bytes
	case Text, Null:
		return format == FormatJSON && row.kind == Bytes && v.kind == Text && isBase64(v.text)
	}
	return false
}

// isBase64 reports whether s is what JSON shows of some bytes.
func isBase64(s string) bool {
	n := node{kind: nodeString, text: s}
	_, ok := n.bytes()
	return ok
}

// mayBeOdd reports whether a row may have a value that the member is not declared for.
func (f *Field) mayBeOdd() bool {
	return (f.Loose || f.Dynamic && !f.Key) && f.Kind != Rows
}

// json reports whether the member is JSON, or a list of JSON.
func (f *Field) json() bool { return f.Kind == JSON || f.Kind == Array && f.Elem == JSON }

// Keep sets the uncertain members of in to what they are to be, given the row as it
// is. body is the body as it was decoded (in itself is written to, and may have been
// by a Keep before). A member that says what the row's own document says of it gets
// the row's value; of others that stand for JSON of which the body's format cannot
// hold all, the error is a *DecodeError that names the member.
func (s *Shape) Keep(in, body *Input, row Values) error {
	return s.keep(in, body, row, body.Format)
}

func (s *Shape) keep(in, body *Input, row Values, format Format) error {
	for i := range s.Fields {
		f := &s.Fields[i]
		if !body.Present[i] || i >= len(row) {
			continue
		}
		if f.Kind == Rows {
			if err := f.keepRows(in.Rows[i], body.Rows[i], row[i].Rows(), format); err != nil {
				return err
			}
			continue
		}
		in.Values[i] = body.Values[i]
		in.keeps(i, false)
		odd := body.odd(i)
		if odd == nil && (row[i].IsNull() || !f.uncertain(&body.Values[i], format)) {
			continue
		}
		said, whole := f.said(&row[i], format)
		switch {
		case sameValue(&said, &body.Values[i]):
			in.Values[i] = row[i]
			in.keeps(i, true)
		case odd != nil:
			return odd
		case f.Dynamic && f.confused(&row[i], &body.Values[i], format):
			return &DecodeError{Offset: -1, Path: f.Name, Message: "bytes and texts look alike " +
				"here, and the row has the other of the two: set it to null before"}
		case !whole && !body.Values[i].IsNull():
			return &DecodeError{Offset: -1, Path: f.Name, Message: "the database has a value of " +
				"which " + format.title() + " cannot hold all: send this document as JSON"}
		}
	}
	return nil
}

// keepRows is keep of embedded documents. They are found by their keys.
func (f *Field) keepRows(in, body []Input, rows []Values, format Format) error {
	if f.Shape == nil || len(body) == 0 {
		return nil
	}
	s := f.Shape.compiled()
	byKey := make(map[Key]Values, len(rows))
	for _, row := range rows {
		if key, ok := s.rowKey(row); ok {
			byKey[key] = row
		}
	}
	for i := range body {
		key, ok := s.rowKey(body[i].Values)
		if row := byKey[key]; ok && row != nil {
			if err := s.keep(&in[i], &body[i], row, format); err != nil {
				err := *err.(*DecodeError)
				if err.Offset >= 0 { // it is one of Odd, which says where
					return &err
				}
				return err.within(&node{kind: nodeMap}, f.Name)
			}
		} else if err := body[i].FirstOdd(); err != nil {
			return err
		}
	}
	return nil
}

// rowKey returns the key of an embedded document, as far as its members have it. It
// reports false when a part is missing.
func (s *Shape) rowKey(v Values) (Key, bool) {
	var parts []string
	for i := range s.Fields {
		if !s.Fields[i].Key {
			continue
		}
		text, ok := "", false
		if i < len(v) {
			text, ok = KeyText(v[i])
		}
		if !ok {
			return "", false
		}
		parts = append(parts, text)
	}
	return JoinKey(parts...), len(parts) > 0
}

// said returns what a document in format says of v, decoded as a body is, and whether
// that is all of v.
func (f *Field) said(v *Value, format Format) (said Value, whole bool) {
	one := *f
	one.OmitNull = false
	s := NewShape([]Field{one})
	var doc []byte
	switch format {
	case FormatMsgPack:
		doc = s.AppendMsgPack(nil, Values{*v})
	case FormatCBOR:
		doc = s.AppendCBOR(nil, Values{*v})
	default:
		doc = s.AppendJSON(nil, Values{*v})
	}
	in, err := s.Decode(format, doc)
	if err != nil {
		return Value{}, format == FormatJSON
	}
	return in.Values[0], format == FormatJSON || !f.json() || sameValue(&in.Values[0], v)
}

// sameValue compares two values of one member. Of JSON white space, the order of
// members and how a number is written do not count.
func sameValue(a, b *Value) bool {
	if a.kind != b.kind {
		return false
	}
	if a.kind == Array {
		same := func(x, y Value) bool { return sameValue(&x, &y) }
		return slices.EqualFunc(a.List(), b.List(), same)
	}
	return a.num == b.num && (a.text == b.text || a.kind == JSON && sameJSON(a.text, b.text))
}

// sameJSON compares two JSON texts. Those that no body can have, such as one with a
// name twice, are the same as no other.
func sameJSON(a, b string) bool {
	x, y := jsonParser{scanner: scanner{src: a}}, jsonParser{scanner: scanner{src: b}}
	m, err := x.parse()
	if err != nil {
		return false
	}
	n, err := y.parse()
	return err == nil && m.same(&n)
}

// same compares two values of JSON.
func (n *node) same(m *node) bool {
	if n.kind != m.kind || n.truth != m.truth || len(n.items) != len(m.items) {
		return false
	}
	switch n.kind {
	case nodeNumber:
		return sameNumber(n.text, m.text)
	case nodeMap:
		byName := func(a, b node) int { return strings.Compare(a.name, b.name) }
		slices.SortFunc(n.items, byName)
		slices.SortFunc(m.items, byName)
	}
	return n.text == m.text && slices.EqualFunc(n.items, m.items, func(a, b node) bool {
		return a.name == b.name && a.same(&b)
	})
}

// sameNumber compares two numbers in JSON's grammar by their values.
func sameNumber(a, b string) bool {
	x, ok1 := parseNumber(a)
	y, ok2 := parseNumber(b)
	if !ok1 || !ok2 {
		return a == b
	}
	digitsX, powerX := x.significant()
	digitsY, powerY := y.significant()
	return x.negative == y.negative && digitsX == digitsY && powerX == powerY
}

// significant returns the number's digits without zeros at either end, and the power
// of ten of the last of them.
func (n *number) significant() (text string, power int) {
	text = strings.TrimLeft(n.whole+n.fraction, "0")
	if text == "" {
		return "", 0
	}
	short := strings.TrimRight(text, "0")
	return short, n.exponent - len(n.fraction) + len(text) - len(short)
}
