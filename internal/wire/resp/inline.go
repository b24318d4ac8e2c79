package resp

import "bytes"

// inline reads a command that a person has typed: words of a line, in quotes if need be.
func inline(in []byte, args [][]byte, l *Limits) ([][]byte, int, int, error) {
	end := bytes.IndexByte(in, '\n')
	if end < 0 {
		if len(in) > l.Inline {
			return args, 0, 0, Error("too big inline request")
		}
		return args, 0, len(in) + 1, nil
	}
	if end > l.Inline {
		return args, 0, 0, Error("too big inline request")
	}
	line := bytes.TrimSuffix(in[:end], []byte{'\r'})
	args, ok := split(line, args)
	if !ok {
		return args, 0, 0, Error("unbalanced quotes in request")
	}
	return args, end + 1, 0, nil
}

// isBlank reports whether c stands between words.
func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' || c == 0 }

// split appends the words of a line. A word without quotes aliases the line.
func split(line []byte, args [][]byte) ([][]byte, bool) {
	for i := 0; ; {
		for i < len(line) && isBlank(line[i]) {
			i++
		}
		if i == len(line) {
			return args, true
		}
		begin := i
		for i < len(line) && !isBlank(line[i]) && line[i] != '"' && line[i] != '\'' {
			i++
		}
		if i == len(line) || isBlank(line[i]) { // Fast path: no quotes
			args = append(args, line[begin:i:i])
			continue
		}
		word, next, ok := quoted(line, begin, i)
		if !ok {
			return args, false
		}
		args, i = append(args, word), next
	}
}

// quoted reads a word that begins at begin and has its first quote at i.
func quoted(line []byte, begin, i int) (word []byte, next int, ok bool) {
	word = append(make([]byte, 0, len(line)-begin), line[begin:i]...)
	for i < len(line) && !isBlank(line[i]) {
		c := line[i]
		i++
		if c != '"' && c != '\'' {
			word = append(word, c)
			continue
		}
		if word, i, ok = untilQuote(line, i, c, word); !ok {
			return nil, 0, false
		}
		if i < len(line) && !isBlank(line[i]) { // a quote ends its word
			return nil, 0, false
		}
	}
	return word, i, true
}

// untilQuote appends what stands before the closing quote.
func untilQuote(line []byte, i int, quote byte, word []byte) ([]byte, int, bool) {
	for i < len(line) {
		c := line[i]
		i++
		switch {
		case c == quote:
			return word, i, true
		case c != '\\' || i == len(line):
			word = append(word, c)
		case quote == '\'':
			if line[i] == '\'' {
				c, i = '\'', i+1
			}
			word = append(word, c)
		case line[i] == 'x' && i+2 < len(line) && hex(line[i+1]) >= 0 && hex(line[i+2]) >= 0:
			word = append(word, byte(hex(line[i+1])<<4|hex(line[i+2])))
			i += 3
		default:
			word = append(word, escaped(line[i]))
			i++
		}
	}
	return nil, 0, false
}

// hex returns the value of a hexadecimal digit, or -1.
func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// escaped returns what \c stands for in double quotes.
func escaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}
