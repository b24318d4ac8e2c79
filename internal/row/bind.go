package row

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// A binder gives the nodes of a body the kinds of a Shape's fields.
type binder struct {
	src  string // the body, when it is JSON
	path []byte // of the value at hand
}

// bind returns what a body of format f means to s. src is the body when it is JSON,
// else "".
func bind(s *Shape, root *node, f Format, src string) (*Input, error) {
	b := binder{src: src}
	in, err := b.object(s.compiled(), root)
	if err != nil {
		return nil, err
	}
	in.Format = f
	return &in, nil
}

func (b *binder) fail(n *node, format string, args ...any) *DecodeError {
	return &DecodeError{
		Offset:  n.offset,
		Path:    string(b.path),
		Message: fmt.Sprintf(format, args...),
	}
}

// object reads a document of s.
func (b *binder) object(s *Shape, n *node) (Input, *DecodeError) {
	in := Input{
		Present: make([]bool, len(s.Fields)),
		Values:  make(Values, len(s.Fields)),
		Rows:    make([][]Input, len(s.Fields)),
	}
	if n.kind != nodeMap {
		return in, b.fail(n, "%s where an object is wanted", n)
	}
	for i := range n.items {
		m := &n.items[i]
		at, known := s.place(m.name)
		if !known {
			return in, b.unknown(s, m)
		}
		f, mark := &s.Fields[at], len(b.path)
		if mark > 0 {
			b.path = append(b.path, '.')
		}
		b.path = append(b.path, f.Name...)
		in.Present[at] = true
		var err *DecodeError
		if f.Kind == Rows {
			in.Rows[at], err = b.rows(f, m)
		} else {
			in.Values[at], err = b.field(f, m)
		}
		if err != nil && f.mayBeOdd() {
			if in.Odd == nil {
				in.Odd = make([]*DecodeError, len(s.Fields))
			}
			in.Values[at], in.Odd[at], err = b.untyped(m), err, nil
		}
		if err != nil {
			return in, err
		}
		b.path = b.path[:mark]
	}
	return in, nil
}

func (b *binder) unknown(s *Shape, m *node) *DecodeError {
	message := "there is no member " + quote(m.name)
	names := make([]string, len(s.Fields))
	for i := range s.Fields {
		names[i] = s.Fields[i].Name
	}
	if name := Nearest(m.name, names); name != "" {
		message += "; did you mean " + quote(name) + "?"
	}
	return &DecodeError{Offset: m.nameOffset, Path: string(b.path), Message: message,
		Unknown: m.name}
}

// rows reads embedded documents: nil when there are none.
func (b *binder) rows(f *Field, n *node) ([]Input, *DecodeError) {
	switch {
	case n.kind == nodeNull:
		return nil, nil
	case n.kind != nodeList:
		return nil, b.fail(n, "%s where an array of objects is wanted", n)
	case f.Shape == nil:
		return nil, b.fail(n, "this member cannot be written")
	}
	shape, mark := f.Shape.compiled(), len(b.path)
	var rows []Input
	for i := range n.items {
		b.path = strconv.AppendInt(append(b.path, '['), int64(i), 10)
		b.path = append(b.path, ']')
		in, err := b.object(shape, &n.items[i])
		if err != nil {
			return nil, err
		}
		rows = append(rows, in)
		b.path = b.path[:mark]
	}
	return rows, nil
}

// field reads the value of a member that is not embedded documents.
func (b *binder) field(f *Field, n *node) (Value, *DecodeError) {
	switch {
	case f.Kind != Array || f.Elem == Null:
		return b.value(f.Kind, n)
	case n.kind == nodeList:
		return b.array(f.Elem, n)
	case n.kind == nodeString: // the database's own text, where a list cannot say it
		return TextValue(Text, n.text), nil
	}
	return b.value(Array, n)
}

// array reads a list of values of kind elem. A list within it is one of them where
// elem is JSON, which has lists itself, else it is a further dimension.
func (b *binder) array(elem Kind, n *node) (Value, *DecodeError) {
	list, mark := make([]Value, len(n.items)), len(b.path)
	for i := range n.items {
		b.path = strconv.AppendInt(append(b.path, '['), int64(i), 10)
		b.path = append(b.path, ']')
		var err *DecodeError
		if item := &n.items[i]; item.kind == nodeList && elem != JSON {
			list[i], err = b.array(elem, item)
		} else {
			list[i], err = b.value(elem, item)
		}
		if err != nil {
			return Value{}, err
		}
		b.path = b.path[:mark]
	}
	return ArrayValue(list), nil
}

// value reads a value of kind k.
func (b *binder) value(k Kind, n *node) (Value, *DecodeError) {
	if n.kind == nodeNull {
		return Value{}, nil
	}
	var v Value
	ok := false
	switch k {
	case Bool:
		v, ok = BoolValue(n.truth), n.kind == nodeBool
	case Int, Uint, Float, Float32, Decimal:
		v, ok = n.number(k)
	case Text:
		v, ok = TextValue(Text, n.text), n.kind == nodeString
	case Bytes:
		v, ok = n.bytes()
	case JSON:
		return TextValue(JSON, b.json(n)), nil
	case Date, Time, Datetime, DatetimeTZ, UUID:
		v, ok = n.canonical(k)
	case Array:
		if n.kind == nodeList {
			return b.untyped(n), nil
		}
	case Null:
		return b.untyped(n), nil
	}
	if !ok {
		return v, b.fail(n, "%s is not %s", n, wanted(k))
	}
	return v, nil
}

// wanted says what a member of kind k has to be, for errors.
func wanted(k Kind) string {
	switch k {
	case Int:
		return "a 64-bit integer"
	case Float32:
		return "a floating-point number of 32 bits"
	case Text:
		return "a string"
	case Bytes:
		return "a string in base64 with padding"
	case Array:
		return "an array"
	}
	p := KeyPart{Kind: k}
	return p.want()
}

// number reads the numeric kinds.
func (n *node) number(k Kind) (Value, bool) {
	named := n.kind == nodeNamed
	if n.kind == nodeString && (n.text == "NaN" || n.text == "Infinity" || n.text == "-Infinity") {
		named = true
	}
	switch {
	case k == Decimal && named:
		return TextValue(Decimal, n.text), true
	case k == Decimal && (n.kind == nodeNumber || n.kind == nodeString):
		text, ok := bodyDecimal(n.text)
		return TextValue(Decimal, text), ok
	case (k == Float || k == Float32) && (named || n.kind == nodeNumber):
		bits := 64
		if k == Float32 {
			bits = 32
		}
		f, err := strconv.ParseFloat(n.text, bits)
		if k == Float32 {
			return Float32Value(float32(f)), err == nil
		}
		return FloatValue(f), err == nil
	case n.kind != nodeNumber:
		return Value{}, false
	}
	num, ok := parseNumber(n.text)
	text, whole := num.integer()
	if !ok || !whole {
		return Value{}, false
	}
	if k == Uint {
		u, err := strconv.ParseUint(text, 10, 64)
		return UintValue(u), err == nil
	}
	i, err := strconv.ParseInt(text, 10, 64)
	return IntValue(i), err == nil
}

// bodyDecimal returns the text of a Decimal. An exponent is bounded by what the
// databases hold, for 1e999999 is ten bytes here and a million there.
func bodyDecimal(s string) (string, bool) {
	const largest = 1000
	num, ok := parseNumber(s)
	if !ok || num.exponent > largest || num.exponent < -largest {
		return "", false
	}
	if isJSONNumber(s) {
		return s, true
	}
	return string(num.appendText(nil)), true
}

func (n *node) bytes() (Value, bool) {
	if n.kind == nodeBytes {
		return TextValue(Bytes, n.text), true
	}
	// The decoder skips line ends, which are no base64 here.
	if n.kind != nodeString || strings.ContainsAny(n.text, "\r\n") {
		return Value{}, false
	}
	data, err := base64.StdEncoding.Strict().DecodeString(n.text)
	return TextValue(Bytes, string(data)), err == nil
}

// canonical reads the kinds whose texts have one form.
func (n *node) canonical(k Kind) (Value, bool) {
	if n.kind == nodeTime && k == DatetimeTZ {
		return TextValue(k, n.text), true
	}
	if n.kind != nodeString {
		return Value{}, false
	}
	var text string
	var ok bool
	switch k {
	case Date:
		text, ok = canonicalDate(n.text)
	case Time:
		text, ok = canonicalTime(n.text, bodyFraction)
	case Datetime:
		text, ok = canonicalDatetime(n.text, bodyFraction)
	case DatetimeTZ:
		text, ok = canonicalDatetimeTZ(n.text, bodyFraction)
	case UUID:
		text, ok = canonicalUUID(n.text)
	}
	return TextValue(k, text), ok
}

// untyped reads a value by what it is.
func (b *binder) untyped(n *node) Value {
	switch n.kind {
	case nodeNull:
		return Value{}
	case nodeBool:
		return BoolValue(n.truth)
	case nodeNumber:
		if i, err := strconv.ParseInt(n.text, 10, 64); err == nil {
			return IntValue(i)
		}
		if u, err := strconv.ParseUint(n.text, 10, 64); err == nil {
			return UintValue(u)
		}
		return TextValue(Decimal, n.text)
	case nodeNamed:
		f, _ := strconv.ParseFloat(n.text, 64)
		return FloatValue(f)
	case nodeBytes:
		return TextValue(Bytes, n.text)
	case nodeTime:
		return TextValue(DatetimeTZ, n.text)
	case nodeList:
		list := make([]Value, len(n.items))
		for i := range n.items {
			list[i] = b.untyped(&n.items[i])
		}
		return ArrayValue(list)
	case nodeMap:
		return TextValue(JSON, b.json(n))
	}
	return TextValue(Text, n.text)
}

// json returns the JSON text of a value: as it was written, or made of a
// binary format.
func (b *binder) json(n *node) string {
	if b.src != "" {
		return b.src[n.offset:n.end]
	}
	return string(n.appendJSON(nil))
}

func (n *node) appendJSON(dst []byte) []byte {
	switch n.kind {
	case nodeNull:
		return append(dst, "null"...)
	case nodeBool:
		return strconv.AppendBool(dst, n.truth)
	case nodeNumber:
		return append(dst, n.text...)
	case nodeBytes:
		return appendJSONBytes(dst, n.text)
	case nodeList, nodeMap:
		open, end := byte('['), byte(']')
		if n.kind == nodeMap {
			open, end = '{', '}'
		}
		dst = append(dst, open)
		for i := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			if n.kind == nodeMap {
				dst = append(appendJSONString(dst, n.items[i].name), ':')
			}
			dst = n.items[i].appendJSON(dst)
		}
		return append(dst, end)
	}
	return appendJSONString(dst, n.text)
}
