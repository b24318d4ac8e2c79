package config

import (
	"fmt"
	"regexp"
	"strings"
)

// excerptWidth is how many characters of a line an excerpt shows.
const excerptWidth = 90

// mask stands for what must not be shown.
const mask = "****"

// Secrets within a line of a file: the password of a URL, of a connection
// string or query parameter, and the value of a key that looks like a secret's.
// The patterns rather hide too much.
var (
	urlPassword   = regexp.MustCompile(`(://[^:/@\s]*:).*@`)
	paramPassword = regexp.MustCompile(`(?i)(pass\w*|secret|token)=[^&\s"']+`)
	keyedSecret   = regexp.MustCompile(
		`(?i)((?:passw|secret|token|sha256)\w*["']?\s*:\s*)[^\s{\[].*`)
)

// maskSecrets returns s without the passwords in it.
func maskSecrets(s string) string {
	s = urlPassword.ReplaceAllString(s, "${1}"+mask+"@")
	return paramPassword.ReplaceAllString(s, "${1}="+mask)
}

// excerpt returns a line with its number and a mark below col.
func excerpt(lines []string, line, col int) string {
	if line < 1 || line > len(lines) {
		return ""
	}
	text := strings.TrimRight(lines[line-1], "\r")
	masked := keyedSecret.ReplaceAllString(maskSecrets(text), "${1}"+mask)
	runes, plain := []rune(strings.Map(printable, masked)), []rune(strings.Map(printable, text))
	// A mark below a line that is shorter than it was would mark the wrong place.
	before := max(0, min(col-1, len(plain)))
	marked := col <= len(plain)+1 && before <= len(runes) &&
		string(runes[:before]) == string(plain[:before])
	col = before + 1
	if !marked {
		col = 1
	}
	start := 0
	if col > excerptWidth {
		start = col - excerptWidth/2
	}
	end := min(len(runes), start+excerptWidth)
	head := fmt.Sprintf("%6d | ", line)
	indent := strings.Repeat(" ", len(head)-2) + "| "
	shown := strings.TrimRight(string(runes[start:end]), " ")
	if !marked {
		return head + shown
	}
	return head + shown + "\n" + indent + strings.Repeat(" ", col-1-start) + "^"
}

// printable keeps control characters of a file away from the terminal.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}
