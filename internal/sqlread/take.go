package sqlread

// This file takes tokens: it appends each to the shape and looks at the next.

// take takes the token that is looked at, which is no name.
func (r *reader) take() bool {
	s := r.s
	switch r.tok.kind {
	case word:
		r.space()
		for i := range len(r.tok.text) {
			c := lower(r.tok.text[i])
			if 'a' <= c && c <= 'z' {
				c -= 'a' - 'A'
			}
			s.shape = append(s.shape, c)
		}
	case number:
		r.put("?")
	case str:
		r.put("'?'")
	case operator:
		if r.tok.text == "!=" {
			r.put("<>")
			break
		}
		r.put(r.tok.text)
	default:
		r.put(r.tok.text)
	}
	r.named = false
	return r.next()
}

// name takes a name.
func (r *reader) name() (Name, bool) {
	if r.tok.kind != quoted && (r.tok.kind != word || r.tok.word.class == kept) {
		return Name{}, r.unexpected()
	}
	n := Name{r.tok.text, r.tok.kind == quoted}
	r.space()
	r.s.shape = n.appendTo(r.s.shape)
	r.named = true
	return n, r.next()
}

// put appends a token to the shape.
func (r *reader) put(token string) {
	switch token {
	case ")", ",", ".", "[", "]", "::":
	case "(":
		if !r.named {
			r.space()
		}
	default:
		r.space()
	}
	r.s.shape = append(r.s.shape, token...)
}

// space appends the space before a token to the shape.
func (r *reader) space() {
	if n := len(r.s.shape); n > 0 {
		switch r.s.shape[n-1] {
		case '(', '.', '[', ':', '-':
		default:
			r.s.shape = append(r.s.shape, ' ')
		}
	}
}

// is reports whether the token is a word of the grammar.
func (r *reader) is(text string) bool { return r.tok.kind == word && r.tok.word.text == text }

func (r *reader) isMark(text string) bool { return r.tok.kind == mark && r.tok.text == text }

func (r *reader) isOp(text string) bool { return r.tok.kind == operator && r.tok.text == text }

// expect takes a word that must stand here.
func (r *reader) expect(text string) bool {
	if !r.is(text) {
		return r.unexpected()
	}
	return r.take()
}

// expectMark takes a mark that must stand here.
func (r *reader) expectMark(text string) bool {
	if !r.isMark(text) {
		return r.unexpected()
	}
	return r.take()
}

// unexpected refuses a token that may not stand here.
func (r *reader) unexpected() bool {
	switch r.tok.kind {
	case word:
		return r.refuse(r.tok.word.why.orSyntax())
	case str:
		if r.last == str {
			return r.refuse(StringForm)
		}
	case operator:
		return r.refuse(Operator)
	case mark:
		switch {
		case r.tok.text == "::":
			return r.refuse(Cast)
		case r.tok.text == "." && r.named:
			return r.refuse(Qualifier) // of three parts, or a part of a value
		case r.tok.text == "(" && r.named:
			return r.refuse(Function)
		case r.tok.text == "(", r.tok.text == "[":
			return r.refuse(Expression)
		}
	}
	return r.refuse(Syntax)
}

// orSyntax is Syntax for a word that nothing is known of.
func (why Reason) orSyntax() Reason {
	if why == Eligible {
		return Syntax
	}
	return why
}
