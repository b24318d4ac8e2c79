package httpfront

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/row"
)

// pathKind says what a path names.
type pathKind uint8

const (
	pathIndex    pathKind = iota // /
	pathSystem                   // /-/...
	pathList                     // /{resource}
	pathDocument                 // /{resource}/{key}
	pathFunction                 // rpc/{function} of the profile
)

// A target is what a path names.
type target struct {
	kind pathKind
	name string // of the resource, decoded; of a system path, what follows "/-"
	key  string // of a document, as sent: its commas are still told from %2C

	profile bool  // it is below Options.Postgrest
	refused error // why only Options.Fallback may answer; nil: it need not
}

// parse reads a path as it was sent, percent-encoding and all. Segments are
// split before they are decoded, and decoded once, so that an encoded slash,
// comma or percent sign is data.
func (t *target) parse(escaped string) (err error) {
	// Fast path: a document whose name and key stand for themselves.
	if at := plainSlash(escaped); at > 0 {
		t.kind, t.name, t.key = pathDocument, escaped[1:at], escaped[at+1:]
		return nil
	}

	// Slow path.
	*t, err = parsePath(escaped)
	return err
}

// parsePath is parse for any path.
func parsePath(escaped string) (target, error) {
	rest, ok := strings.CutPrefix(escaped, "/")
	if !ok {
		return target{}, problem{kind: kindBadPath, detail: "the path must begin with a slash"}
	}
	if rest == "" {
		return target{kind: pathIndex}, nil
	}
	first, key, hasKey := strings.Cut(rest, "/")
	name, err := decodeSegment(first)
	if err != nil {
		return target{}, err
	}
	if name == "-" {
		return target{kind: pathSystem, name: strings.TrimPrefix(rest, first)}, nil
	}
	if !hasKey {
		return target{kind: pathList, name: name}, nil
	}
	switch {
	case name == "" || strings.Contains(key, "/"):
		return target{}, problem{kind: kindNotFound, detail: "no path has this many segments",
			hint: "paths are /{resource} and /{resource}/{key}; a slash in a key is written %2F"}
	case key == "":
		return target{}, problem{kind: kindNotFound, detail: "a document has a key",
			hint: "leave the final slash out to list the resource"}
	}
	if _, err := decodeSegment(key); err != nil {
		return target{}, err
	}
	return target{kind: pathDocument, name: name, key: key}, nil
}

// plainSlash returns where the second slash is of a path of a document in which nothing
// is escaped; 0: it may be none.
func plainSlash(path string) int {
	if len(path) < 4 || len(path) > row.MaxKey || path[0] != '/' {
		return 0
	}
	at := 0
	for i := 1; i < len(path); i++ {
		switch b := path[i]; {
		case isLiteral[b]:
		case b == '/' && at == 0:
			at = i
		default:
			return 0
		}
	}
	if at < 2 || at == len(path)-1 || path[1] == '-' || path[1] == '.' || path[at+1] == '.' {
		return 0
	}
	return at
}

// isLiteral says which bytes of a segment stand for themselves.
var isLiteral = func() (table [256]bool) {
	for b := 1; b < utf8.RuneSelf; b++ {
		table[b] = b != '%' && b != '/'
	}
	return table
}()

// decodeSegment undoes the percent-encoding of one segment. Dot segments are
// refused in every spelling (RFC 3986 6.2.2.3 lets anybody on the way remove
// them), and so is what no text of a database can hold.
func decodeSegment(s string) (string, error) {
	// Fast path: most are short, and letters and digits.
	if isSimple(s) {
		return s, nil
	}

	// Slow path.
	text, err := url.PathUnescape(s)
	if err != nil {
		return "", errPercent
	}
	if text == "." || text == ".." {
		return "", problem{kind: kindBadPath, detail: "dot segments are not followed"}
	}
	return text, checkText(text)
}

// isSimple reports whether a segment stands for itself and may be a name or key.
func isSimple(s string) bool {
	if s == "" || s[0] == '.' || len(s) > row.MaxKey {
		return false
	}
	for i := range len(s) {
		if b := s[i]; b == '%' || b == 0 || b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

var errPercent = problem{kind: kindBadPath,
	detail: "a percent sign must be followed by two hexadecimal digits"}

// checkText refuses what no key holds.
func checkText(s string) error {
	switch {
	case len(s) > row.MaxKey:
		return problem{kind: kindTooLong}
	case !utf8.ValidString(s):
		return problem{kind: kindBadPath, detail: "the name or key is not valid UTF-8"}
	case strings.IndexByte(s, 0) >= 0:
		return problem{kind: kindBadPath, detail: "the name or key holds a NUL"}
	}
	return nil
}

// parseKey reads the key of a document of n key columns from its segment. The
// columns of a composite key are parted by plain commas; %2C is a comma within
// one. The spelling of each part is kept: package resource knows the types.
func parseKey(segment string, n int) (row.Key, error) {
	if n <= 1 {
		text, err := decodeSegment(segment)
		return row.Key(text), err
	}

	// Fast path: the parts stand for themselves.
	if strings.Count(segment, ",") == n-1 && isSimple(segment) {
		return row.Key(segment), nil
	}

	// Slow path.
	parts := strings.Split(segment, ",")
	if len(parts) != n {
		return "", badParts(n)
	}
	for i, p := range parts {
		text, err := url.PathUnescape(p)
		if err != nil {
			return "", errPercent
		}
		if err := checkText(text); err != nil {
			return "", err
		}
		parts[i] = text
	}
	key := row.JoinKey(parts...)
	if len(key) > row.MaxKey {
		return "", problem{kind: kindTooLong}
	}
	return key, nil
}

// DocumentPath returns the path of a document below the base path, in the one
// spelling that links use. n is the number of key columns.
func DocumentPath(name string, key row.Key, n int) string {
	parts, ok := row.SplitKey(key, n)
	if !ok {
		parts = []string{string(key)}
	}
	var b strings.Builder
	b.WriteByte('/')
	b.WriteString(url.PathEscape(name))
	for i, p := range parts {
		if i == 0 {
			b.WriteByte('/')
		} else {
			b.WriteByte(',')
		}
		b.WriteString(url.PathEscape(p))
	}
	return b.String()
}
