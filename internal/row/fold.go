package row

import "strings"

// Fold returns a text as collations compare it that pass over case, or blanks at the end,
// or both: letters in lower case, without these blanks. It reports false for a text that has
// anything else than the printable characters of ASCII: such collations may pass over it, or
// find it equal to others.
func Fold(text string) (string, bool) {
	text = strings.TrimRight(text, " ")
	upper := false
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' {
			return "", false
		}
		upper = upper || 'A' <= c && c <= 'Z'
	}
	if upper {
		text = strings.ToLower(text)
	}
	return text, true
}
