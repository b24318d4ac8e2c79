package sqlread

// This file reads a value:
//
//	v := [-]number | 'string' | $n | TRUE | FALSE | NULL, each {::type[[]]}

// A Value is a value that stands in the text, or a parameter.
type Value struct {
	Kind  ValueKind
	Minus bool   // of a Number
	Text  string // of a Number, without its sign; of a String what is between its quotes
	Param int    // of a Parameter, from 1

	Casts int    // how many there are
	Cast  uint32 // the type of the last: its OID
	First uint32 // that of the first
	timed bool   // one of the casts is to a date or time
}

// A ValueKind is what a Value is.
type ValueKind uint8

// The kinds of values.
const (
	Null ValueKind = iota
	True
	False
	Number
	String
	Parameter
)

// isPlain reports whether v is a number or parameter and nothing more, as FETCH wants it.
func (v *Value) isPlain() bool {
	return (v.Kind == Number || v.Kind == Parameter) && !v.Minus && v.Casts == 0
}

// isValue reports whether a value begins here.
func (r *reader) isValue() bool {
	switch r.tok.kind {
	case number, str, param:
		return true
	}
	return r.isOp("-") || r.is("true") || r.is("false") || r.is("null")
}

// value reads a value and returns its place in Values.
func (r *reader) value() (place int, ok bool) {
	var v Value
	if r.isOp("-") {
		if v.Minus = true; !r.take() {
			return -1, false
		}
		if r.tok.kind != number {
			return -1, r.refuse(Operator)
		}
	}
	switch {
	case r.tok.kind == number:
		v.Kind, v.Text = Number, r.tok.text
	case r.tok.kind == str:
		v.Kind, v.Text = String, r.tok.text
	case r.tok.kind == param:
		v.Kind, v.Param = Parameter, r.tok.n
	case r.is("true"):
		v.Kind = True
	case r.is("false"):
		v.Kind = False
	case r.is("null"):
		v.Kind = Null
	default:
		return -1, r.unexpected()
	}
	if !r.take() {
		return -1, false
	}
	for r.isMark("::") {
		if !r.take() || !r.cast(&v) {
			return -1, false
		}
	}
	r.s.Values = append(r.s.Values, v)
	return len(r.s.Values) - 1, true
}

// cast reads the type behind ::.
func (r *reader) cast(v *Value) bool {
	t := lookCast(r.tok)
	if t == nil {
		return r.refuse(CastType)
	}
	// An answer calls a column that is a cast value by the server's own name of the type.
	r.space()
	r.s.shape = append(r.s.shape, t.name...)
	spelled := r.tok.word.text
	if !r.next() || !r.restOfType(spelled, &t) {
		return false
	}
	v.Casts++
	v.Cast, v.timed = t.oid, v.timed || t.timed
	if v.Casts == 1 {
		v.First = t.oid
	}
	if !r.isMark("[") {
		return true
	}
	if v.Cast = t.array; v.Casts == 1 {
		v.First = t.array
	}
	return r.take() && r.expectMark("]")
}

// restOfType passes over the other words of a type that has several.
func (r *reader) restOfType(first string, t **dataType) bool {
	switch {
	case r.isMark("("):
		return r.refuse(CastType)
	case first == "double":
		return r.pass("precision")
	case first == "timestamp" && (r.is("with") || r.is("without")):
		if r.is("with") {
			*t = castTypes["timestamptz"]
			r.s.shape = append(r.s.shape, "tz"...)
		}
		return r.next() && r.pass("time") && r.pass("zone")
	}
	return true
}

// pass passes over a word of a type.
func (r *reader) pass(text string) bool {
	if !r.is(text) {
		return r.refuse(CastType)
	}
	return r.next()
}
