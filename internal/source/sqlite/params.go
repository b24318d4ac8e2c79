package sqlite

import (
	"fmt"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
)

// scanParams finds the parameters, :name, of a statement. It refuses other forms of
// parameters, and a second statement.
func scanParams(sql string) (*source.Template, error) {
	t, from := &source.Template{}, 0
	for i := 0; i < len(sql); {
		n := skip(sql[i:])
		switch {
		case n > 0:
			i += n
			continue
		case sql[i] == ';':
			return nil, fmt.Errorf("it is more than one statement")
		case sql[i] == '?' || sql[i] == '@' || sql[i] == '$':
			return nil, fmt.Errorf("parameter %c: write the key as :key", sql[i])
		case sql[i] == ':':
			end := i + 1
			for end < len(sql) && isWord(sql[end]) {
				end++
			}
			if end == i+1 {
				return nil, fmt.Errorf("a colon without a name at byte %d", i)
			}
			t.Texts, t.Params = append(t.Texts, sql[from:i]), append(t.Params, sql[i+1:end])
			i, from = end, end
			continue
		case isWord(sql[i]): // so that a name with a $ in it is one
			for i < len(sql) && (isWord(sql[i]) || sql[i] == '$') {
				i++
			}
			continue
		}
		i++
	}
	t.Texts = append(t.Texts, sql[from:])
	return t, nil
}

// skip returns the length of the string, quoted name or comment that sql
// begins with; 0 when it begins with none.
func skip(sql string) int {
	switch {
	case strings.HasPrefix(sql, "--"):
		return until(sql, 2, "\n")
	case strings.HasPrefix(sql, "/*"):
		return until(sql, 2, "*/")
	case sql[0] == '[':
		return until(sql, 1, "]")
	case sql[0] == '\'' || sql[0] == '"' || sql[0] == '`':
		// A doubled quote ends one string and begins the next: the same to us.
		return until(sql, 1, sql[:1])
	}
	return 0
}

// until returns the length of sql up to and with the first end after from.
func until(sql string, from int, end string) int {
	i := strings.Index(sql[from:], end)
	if i < 0 {
		return len(sql)
	}
	return from + i + len(end)
}

// isWord reports whether c can be within a name.
func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 0x80 ||
		c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
