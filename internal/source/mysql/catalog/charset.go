package catalog

import "strings"

// Holds reports whether the column's character set has all letters of a text: else no row
// has the text, and the server would refuse to compare it. What is not known is left to
// the server.
func (c *Column) Holds(text string) bool {
	var last rune
	switch c.Charset {
	case "ascii":
		last = 0x7f
	case "latin1":
		last = 0xff
	case "utf8", "utf8mb3", "ucs2":
		last = 0xffff
	default:
		return true
	}
	for _, r := range text {
		switch {
		case c.Charset == "latin1" && r >= 0x80 && r < 0xa0:
			// Windows-1252 has other letters there, and gaps in five places.
			if !strings.ContainsRune("\u0081\u008d\u008f\u0090\u009d", r) {
				return false
			}
		case r > last && !(c.Charset == "latin1" && strings.ContainsRune(windows1252, r)):
			return false
		}
	}
	return true
}

// windows1252 are the letters of MySQL's latin1 that are not in ISO 8859-1.
const windows1252 = "€‚ƒ„…†‡ˆ‰Š‹ŒŽ" +
	"‘’“”•–—˜™š›œžŸ"
