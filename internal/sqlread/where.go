package sqlread

// This file reads a condition:
//
//	or    := and {OR and}    and := not {AND not}    not := {NOT} pred
//	pred  := ( or ) | x (= <> != < <= > >=) x | x IS [NOT] NULL|TRUE|FALSE
//	       | x [NOT] IN ( v|(v) {, ...} ) | x = ANY ( v ) | x [NOT] BETWEEN v AND v
//	       | x [NOT] LIKE|ILIKE v | col
//	x     := col | (col) | v

// A Term is one condition, or a group of those that follow it.
type Term struct {
	Op  Op
	Not bool // the condition is the opposite

	// Left and Right are places in Columns; -1: there is none.
	Left, Right int

	// Values[From:To] are the values that the condition compares with.
	From, To int

	// End is the place in Where behind the last condition of a group, or behind the condition.
	End int
}

// An Op is what a Term says.
type Op uint8

// The operators. What Other compares does not matter: memory never evaluates a condition.
const (
	Or      Op = iota // one at least of the terms in it, each an And
	And               // all of the terms in it
	Truth             // the column Left is true
	Eq                // Left equals Right, or the value
	In                // Left is one of the values
	Any               // Left is an element of the value, which is an array
	IsNull            // Left is NULL
	IsTrue            // Left is true, and never NULL
	IsFalse           // Left is false, and never NULL
	Other             // another comparison
)

// where reads the condition, if there is one.
func (r *reader) where() bool {
	if !r.is("where") {
		return true
	}
	return r.take() && r.or(false)
}

// group begins a group.
func (r *reader) group(op Op, not bool) (place int) {
	r.s.Where = append(r.s.Where, Term{Op: op, Not: not, Left: -1, Right: -1})
	return len(r.s.Where) - 1
}

// or reads a group of conditions; not says that NOT stands before it.
func (r *reader) or(not bool) bool {
	place := r.group(Or, not)
	for {
		if !r.and() {
			return false
		}
		if !r.is("or") {
			r.s.Where[place].End = len(r.s.Where)
			return true
		}
		if !r.take() {
			return false
		}
	}
}

func (r *reader) and() bool {
	place := r.group(And, false)
	for {
		if !r.not() {
			return false
		}
		if !r.is("and") {
			r.s.Where[place].End = len(r.s.Where)
			return true
		}
		if !r.take() {
			return false
		}
	}
}

func (r *reader) not() bool {
	not := false
	for r.is("not") {
		if not = !not; !r.take() {
			return false
		}
	}
	if r.isMark("(") {
		return r.bracket(not)
	}
	left, ok := r.operand()
	return ok && r.predicate(left, not)
}

// bracket reads ( or ), or a predicate that begins with (col).
func (r *reader) bracket(not bool) bool {
	if r.depth++; r.depth > maxDepth {
		return r.refuse(TooDeep)
	}
	place := len(r.s.Where)
	if !r.take() || !r.or(not) || !r.expectMark(")") {
		return false
	}
	r.depth--
	group := r.s.Where[place:]
	if len(group) == 3 && group[2].Op == Truth && !group[2].Not && r.comparing() {
		left := operand{column: group[2].Left, from: len(r.s.Values)}
		r.s.Where = r.s.Where[:place]
		return r.predicate(left, not)
	}
	return true
}

// comparing reports whether what follows compares what stands before it.
func (r *reader) comparing() bool {
	return r.tok.kind == operator || r.is("is") || r.is("in") || r.is("not") ||
		r.is("between") || r.is("like") || r.is("ilike")
}

// An operand is a column, or a value.
type operand struct {
	column int // place in Columns; -1: a value
	from   int // place in Values of what the condition compares with
}

// operand reads a column without brackets, or a value.
func (r *reader) operand() (o operand, ok bool) {
	o = operand{column: -1, from: len(r.s.Values)}
	if r.isValue() {
		_, ok = r.value()
		return o, ok
	}
	o.column, ok = r.column()
	return o, ok
}

// predicate reads what is said of left.
func (r *reader) predicate(left operand, not bool) bool {
	t := Term{Not: not, Left: left.column, Right: -1, From: left.from}
	var ok bool
	switch {
	case r.tok.kind == operator:
		ok = r.comparison(&t)
	case r.is("is"):
		ok = r.isWhat(&t)
	case r.is("not"):
		if t.Not = !t.Not; !r.take() {
			return false
		}
		ok = r.among(&t)
	case r.comparing():
		ok = r.among(&t)
	case left.column < 0:
		return r.refuse(Expression)
	default:
		t.Op, ok = Truth, true
	}
	t.To, t.End = len(r.s.Values), len(r.s.Where)+1
	r.s.Where = append(r.s.Where, t)
	return ok
}

// comparison reads an operator and what stands on its right.
func (r *reader) comparison(t *Term) bool {
	switch r.tok.text {
	case "=":
		t.Op = Eq
	case "-", "*":
		return r.refuse(Operator)
	default:
		t.Op = Other
	}
	if !r.take() {
		return false
	}
	if t.Op == Eq && r.is("any") {
		t.Op = Any
		return r.take() && r.expectMark("(") && r.anyValue() && r.expectMark(")")
	}
	bracket := r.isMark("(")
	if bracket && !r.take() {
		return false
	}
	if !bracket && r.isValue() {
		return r.anyValue()
	}
	var ok bool
	if t.Right, ok = r.column(); !ok {
		return false
	}
	return !bracket || r.expectMark(")")
}

// anyValue reads a value.
func (r *reader) anyValue() bool {
	_, ok := r.value()
	return ok
}

// isWhat reads IS [NOT] NULL, TRUE or FALSE.
func (r *reader) isWhat(t *Term) bool {
	if !r.take() {
		return false
	}
	if r.is("not") {
		if t.Not = !t.Not; !r.take() {
			return false
		}
	}
	switch {
	case r.is("null"):
		t.Op = IsNull
	case r.is("true"):
		t.Op = IsTrue
	case r.is("false"):
		t.Op = IsFalse
	default:
		return r.unexpected()
	}
	return r.take()
}

// among reads IN, BETWEEN, LIKE or ILIKE with its values.
func (r *reader) among(t *Term) bool {
	t.Op = Other
	switch {
	case r.is("in"):
		t.Op = In
		return r.take() && r.list()
	case r.is("between"):
		return r.take() && r.anyValue() && r.expect("and") && r.anyValue()
	case r.is("like"), r.is("ilike"):
		return r.take() && r.anyValue()
	}
	return r.unexpected()
}

// list reads the values of IN.
func (r *reader) list() bool {
	if !r.expectMark("(") {
		return false
	}
	for {
		bracket := r.isMark("(")
		if bracket && !r.take() || !r.anyValue() || bracket && !r.expectMark(")") {
			return false
		}
		if !r.isMark(",") {
			return r.expectMark(")")
		}
		if !r.take() {
			return false
		}
	}
}
