package sqlread

import "strings"

// A kind is what a token is.
type kind uint8

const (
	end      kind = iota // of the text
	word                 // a keyword, or a name without quotes
	quoted               // a name in quotes
	str                  // a string
	number               // without a sign
	param                // $1
	operator             // a run of operator signs
	mark                 // one of ( ) , . ; [ ] and ::
)

// A token is the smallest part of a text.
type token struct {
	kind kind
	text string // of strings and quoted names what is between the quotes
	word known  // of a word
	n    int    // of a param
}

// A reader reads one text into s.
type reader struct {
	s     *Statement
	text  string
	at    int   // where the text behind tok begins
	tok   token // the one that is looked at
	last  kind  // of the token before it
	named bool  // it was taken as a name
	depth int   // brackets around conditions
	why   Reason

	lenient bool // every operator is one: see Effects
}

// refuse ends the reading. It returns false, as whatever calls it does.
func (r *reader) refuse(why Reason) bool {
	r.why = why
	return false
}

// next looks at the next token. It reports false if the text has none that is allowed.
func (r *reader) next() bool {
	if !r.skip() {
		return false
	}
	r.last, r.tok = r.tok.kind, token{}
	if r.at == len(r.text) {
		return true
	}
	switch c := r.text[r.at]; {
	case isWordByte(c) && !isDigit(c):
		return r.word()
	case c == '"':
		return r.quoted()
	case c == '\'':
		return r.str()
	case c == '$':
		return r.param()
	case isDigit(c), c == '.' && isDigit(r.byteAt(r.at+1)):
		return r.number()
	case strings.IndexByte("(),.;[]", c) >= 0:
		return r.token(mark, 1)
	case c == ':' && r.byteAt(r.at+1) == ':':
		return r.token(mark, 2)
	case isOperator(c):
		return r.operator()
	case c == ':' && r.lenient:
		return r.token(operator, 1)
	case c >= 0x80:
		return r.refuse(NonASCII)
	}
	return r.refuse(Character)
}

// token makes a token of the next n bytes.
func (r *reader) token(k kind, n int) bool {
	r.tok.kind, r.tok.text = k, r.text[r.at:r.at+n]
	r.at += n
	return true
}

// byteAt returns a byte of the text, 0 behind its end.
func (r *reader) byteAt(i int) byte {
	if i < len(r.text) {
		return r.text[i]
	}
	return 0
}

// skip passes over spaces and comments.
func (r *reader) skip() bool {
	for r.at < len(r.text) {
		rest := r.text[r.at:]
		n := 1
		switch {
		case rest[0] == ' ', rest[0] == '\t', rest[0] == '\n', rest[0] == '\r', rest[0] == '\f':
		case strings.HasPrefix(rest, "--"):
			if n = strings.IndexAny(rest, "\r\n"); n < 0 {
				n = len(rest)
			}
		case strings.HasPrefix(rest, "/*"):
			if n = commentLen(rest); n < 0 {
				return r.refuse(Unclosed)
			}
		default:
			return true
		}
		if n > 1 && strings.Contains(rest[:n], offMark) {
			return r.refuse(Off)
		}
		r.at += n
	}
	return true
}

// offMark is what a comment says that keeps a statement out of memory.
const offMark = "hotrow:off"

// commentLen returns the length of the comment that s begins with, in which comments may be
// nested; -1 if it does not end.
func commentLen(s string) int {
	open := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			open++
			i++
		case "*/":
			open--
			i++
			if open == 0 {
				return i + 1
			}
		}
	}
	return -1
}

func (r *reader) word() bool {
	i := r.at
	for i < len(r.text) && isWordByte(r.text[i]) {
		i++
	}
	switch c := r.byteAt(i); {
	case c == '\'':
		return r.refuse(StringForm) // E'', B'', X'', N''
	case c == '$':
		return r.refuse(Character)
	case c >= 0x80:
		return r.refuse(NonASCII)
	case i-r.at > maxName:
		return r.refuse(LongName)
	}
	r.tok.word = lookWord(r.text[r.at:i])
	return r.token(word, i-r.at)
}

func (r *reader) quoted() bool {
	from := r.at + 1
	n := strings.IndexByte(r.text[from:], '"')
	if n < 0 {
		return r.refuse(Unclosed)
	}
	name := r.text[from : from+n]
	for i := range len(name) {
		switch {
		case name[i] == '\\':
			return r.refuse(Backslash)
		case name[i] >= 0x80:
			return r.refuse(NonASCII)
		}
	}
	switch {
	case n == 0, r.byteAt(from+n+1) == '"':
		return r.refuse(NameForm)
	case n > maxName:
		return r.refuse(LongName)
	}
	r.tok.kind, r.tok.text = quoted, name
	r.at = from + n + 1
	return true
}

func (r *reader) str() bool {
	from := r.at + 1
	for i := from; i < len(r.text); i++ {
		switch {
		case r.text[i] == '\\':
			return r.refuse(Backslash)
		case r.text[i] != '\'':
		case r.byteAt(i+1) == '\'':
			i++
		default:
			r.tok.kind, r.tok.text = str, r.text[from:i]
			r.at = i + 1
			return true
		}
	}
	return r.refuse(Unclosed)
}

func (r *reader) param() bool {
	i, n := r.at+1, 0
	for i < len(r.text) && isDigit(r.text[i]) && n < maxParam {
		n = 10*n + int(r.text[i]-'0')
		i++
	}
	if n == 0 || n > maxParam || r.text[r.at+1] == '0' || isWordByte(r.byteAt(i)) ||
		r.byteAt(i) == '$' {
		return r.refuse(NumberForm)
	}
	r.tok.n = n
	return r.token(param, i-r.at)
}

// maxParam is the largest number of a parameter.
const maxParam = 1<<16 - 1

func (r *reader) number() bool {
	i := r.digits(r.at)
	if r.byteAt(i) == '.' {
		from := i + 1
		if i = r.digits(from); i == from {
			return r.refuse(NumberForm)
		}
	}
	if c := r.byteAt(i); c == 'e' || c == 'E' {
		from := i + 1
		if c := r.byteAt(from); c == '+' || c == '-' {
			from++
		}
		if i = r.digits(from); i == from {
			return r.refuse(NumberForm)
		}
	}
	switch c := r.byteAt(i); {
	case isWordByte(c), c == '.', c == '$', c == '"', c == '\'':
		return r.refuse(NumberForm)
	}
	return r.token(number, i-r.at)
}

// digits returns where the digits at i end.
func (r *reader) digits(i int) int {
	for i < len(r.text) && isDigit(r.text[i]) {
		i++
	}
	return i
}

// operator reads a run of operator signs as a whole: what part of it PostgreSQL would take for an
// operator need not be known.
func (r *reader) operator() bool {
	i := r.at
	for i < len(r.text) && isOperator(r.text[i]) && !(r.lenient && i > r.at && r.comments(i)) {
		i++
	}
	if r.lenient {
		return r.token(operator, i-r.at)
	}
	switch r.text[r.at:i] {
	case "=", "<>", "!=", "<", "<=", ">", ">=", "-", "*":
		return r.token(operator, i-r.at)
	}
	return r.refuse(Operator)
}

// comments reports whether a comment begins at i.
func (r *reader) comments(i int) bool {
	return strings.HasPrefix(r.text[i:], "--") || strings.HasPrefix(r.text[i:], "/*")
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isWordByte reports whether c may stand in a name without quotes.
func isWordByte(c byte) bool {
	return 'a' <= lower(c) && lower(c) <= 'z' || isDigit(c) || c == '_'
}

func isOperator(c byte) bool { return strings.IndexByte("+-*/<>=~!@#%^&|`?", c) >= 0 }
