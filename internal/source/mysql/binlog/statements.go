package binlog

import (
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// A statementKind is what a statement in the binary log means for the feed.
type statementKind uint8

// The kinds of statements.
const (
	otherStatement  statementKind = iota // changes rows that the log does not name
	harmless                             // savepoints and the like
	beginStatement                       // of a transaction
	commitStatement                      // or the end of one that could not be undone
	xaStatement                          // XA COMMIT, XA ROLLBACK
	definition                           // changes what tables are
	truncation                           // empties tables
	privileges                           // changes who may see what
)

// firstWords tells statements apart by their first words. What is not here is
// taken to change rows: a statement of the STATEMENT format, which does not say
// which rows, nor which tables its triggers and cascades reach.
var firstWords = map[string]statementKind{
	"begin": beginStatement, "commit": commitStatement, "rollback": commitStatement,
	"rollback to": harmless, "savepoint": harmless, "release": harmless, "xa start": beginStatement,
	"xa begin": beginStatement, "xa end": harmless, "xa commit": xaStatement,
	"xa rollback": xaStatement,
	"create":      definition, "alter": definition, "drop": definition, "rename": definition,
	"analyze": definition, "optimize": definition, "repair": definition, "check": definition,
	"grant": privileges, "revoke": privileges, "flush": harmless, "install": harmless,
	"uninstall": harmless, "truncate": truncation, "start": beginStatement,
}

// kindOf returns the kind of a statement.
func kindOf(text string) statementKind {
	words := lexer{text: text}
	first := words.next()
	if first == "" {
		return harmless // a comment
	}
	if kind, ok := firstWords[first+" "+words.next()]; ok {
		return kind
	}
	return firstWords[first]
}

// A lexer splits a statement into its words, in lower case: names, keywords and
// numbers, wherever they stand, but for comments before the first word. It
// rather gives a word too much than one too few: it looks into texts and
// comments, which hold the names of MySQL's conditional syntax.
type lexer struct {
	text  string
	begun bool
}

// next returns the next word, or "" at the end.
func (l *lexer) next() string {
	if !l.begun {
		l.text = skipComments(l.text)
		l.begun = true
	}
	from := strings.IndexFunc(l.text, isWord)
	if from < 0 {
		l.text = ""
		return ""
	}
	rest := l.text[from:]
	to := strings.IndexFunc(rest, func(r rune) bool { return !isWord(r) })
	if to < 0 {
		to = len(rest)
	}
	l.text = rest[to:]
	return strings.ToLower(rest[:to])
}

// isWord reports whether r may stand in a name without quotes.
func isWord(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' ||
		r == '_' || r == '$' || r >= 0x80
}

// skipComments cuts comments and spaces off the beginning. Of a conditional
// comment, which the server runs, only the opening goes: "/*!40000 ALTER ...".
func skipComments(s string) string {
	for {
		s = strings.TrimLeft(s, " \t\r\n\f\v(;")
		end := "\n"
		switch {
		case strings.HasPrefix(s, "/*!"), strings.HasPrefix(s, "/*M!"):
			_, s, _ = strings.Cut(s, "!")
			s = strings.TrimLeft(s, "0123456789")
			continue
		case strings.HasPrefix(s, "/*"):
			end = "*/"
		case !strings.HasPrefix(s, "#") && !strings.HasPrefix(s, "--"):
			return s
		}
		_, s, _ = strings.Cut(s, end)
	}
}

// words returns all words of a text.
func words(text string) []string {
	var out []string
	l := lexer{text: text, begun: true}
	for w := l.next(); w != ""; w = l.next() {
		out = append(out, w)
	}
	return out
}

// mentions reports whether a statement that changes definitions may be about the
// table called name: whether it has the name's words in it, one after the other.
// A statement about a database is about all of its tables, and one with letters
// beyond ASCII may be in any encoding, as may be its names.
func mentions(statement []string, name string) bool {
	return mentionsAll(statement) || has(statement, words(name))
}

// mentionsAll reports whether a statement may be about any table, see mentions.
func mentionsAll(statement []string) bool {
	for i, w := range statement {
		if i < 4 && (w == "database" || w == "schema") || !isASCII(w) {
			return true
		}
	}
	return false
}

// has reports whether a statement has these words, one after the other.
func has(statement, want []string) bool {
	for i := 0; i+len(want) <= len(statement); i++ {
		if slices.Equal(statement[i:i+len(want)], want) {
			return true
		}
	}
	return false
}

// A nameIndex has names of tables by their last words ("": they have none): the first is often
// that of a database. A log may have thousands of statements, and be followed for thousands of
// tables.
type nameIndex map[string][]catalog.Name

// add adds a name.
func (x nameIndex) add(name catalog.Name) {
	last := ""
	if all := words(name.Table); len(all) > 0 {
		last = all[len(all)-1]
	}
	x[last] = append(x[last], name)
}

// mentioned returns the names for which mentions is true.
func (x nameIndex) mentioned(statement []string) (names []catalog.Name) {
	if mentionsAll(statement) {
		for _, some := range x {
			names = append(names, some...)
		}
		return names
	}
	names = append(names, x[""]...)
	for i, w := range statement {
		if slices.Contains(statement[:i], w) {
			continue
		}
		for _, name := range x[w] {
			if has(statement, words(name.Table)) {
				names = append(names, name)
			}
		}
	}
	return names
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
