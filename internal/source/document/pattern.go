package document

import "strings"

// Escaped returns a pattern whose escapes are backslashes as one with the escape "!", which
// no mode of a server takes for something else.
func Escaped(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '\\':
			i++
			if c := pattern[i]; c == '%' || c == '_' || c == '!' {
				b.WriteByte('!')
			}
			b.WriteByte(pattern[i])
		case '!':
			b.WriteString("!!")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
