package http1

// isToken says which bytes a method or a header's name may have (RFC 9110
// 5.6.2).
var isToken = set("!#$%&'*+-.^_`|~")

// isPath says which bytes a path has besides escapes: pchar of RFC 3986 and
// the slash.
var isPath = set("-._~!$&'()*+,;=:@/")

// isQuery says which bytes a query has besides escapes.
var isQuery = set("-._~!$&'()*+,;=:@/?")

// isHost says which bytes a Host has: those of RFC 3986's host and port, less
// the comma, by which a careless proxy joins two.
var isHost = set("-._~!$&'()*+;=:[]%")

// set returns a table of the bytes in chars and of letters and digits.
func set(chars string) (table [256]bool) {
	for i := range len(chars) {
		table[chars[i]] = true
	}
	for c := range 256 {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			table[c] = true
		}
	}
	return table
}

// IsToken reports whether s may be the name of a header.
func IsToken(s string) bool {
	for i := range len(s) {
		if !isToken[s[i]] {
			return false
		}
	}
	return s != ""
}

// allToken reports whether b is a token: at least one byte, and only token
// bytes.
func allToken(b []byte) bool {
	for _, c := range b {
		if !isToken[c] {
			return false
		}
	}
	return len(b) > 0
}

// validHost reports whether b has only bytes of a host and a port. It may be
// empty: so may the header.
func validHost(b []byte) bool {
	for _, c := range b {
		if !isHost[c] {
			return false
		}
	}
	return true
}

// pathLength returns how many bytes at the beginning of b are a well-formed
// path.
func pathLength(b []byte) int { return runLength(b, &isPath) }

// queryLength returns how many bytes at the beginning of b are a well-formed
// query.
func queryLength(b []byte) int { return runLength(b, &isQuery) }

// runLength returns how many bytes at the beginning of b are in the table or
// well-formed escapes.
func runLength(b []byte, table *[256]bool) int {
	for i := 0; i < len(b); i++ {
		if table[b[i]] {
			continue
		}
		if b[i] != '%' || i+2 >= len(b) || !isHex(b[i+1]) || !isHex(b[i+2]) {
			return i
		}
		i += 2
	}
	return len(b)
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// allTarget reports whether b has only bytes that a target of a relay may have. It
// is freer than RFC 3986, for programs send braces and bars, but nothing that two
// readers take for different targets: no fragment, no backslash, which some take
// for a slash, and nothing that is not ASCII.
func allTarget(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c >= 0x7f || c == '\\' || c == '#' {
			return false
		}
	}
	return true
}

// hasBlankOrControl reports whether b has a byte that no target may have
// whatever the scheme.
func hasBlankOrControl(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c == 0x7f {
			return true
		}
	}
	return false
}
