package httpfront

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/row"
)

// A querySpec is what listQuery.parse knows of a resource.
type querySpec struct {
	columns  []string       // names of the key columns in documents, in the key's order
	position map[string]int // of a column by each of its names
	maxLimit int
}

// A listQuery is what the query of a list asks for.
type listQuery struct {
	format string
	limit  int       // 0: not given
	after  *row.Key  // nil: from the beginning
	keys   []row.Key // as asked for; used when filtered
	// filtered says that the query names documents by their keys.
	filtered bool
}

// querySpecOf returns the spec of a resource. A key column may be called by the
// name of its member or by its own, unless another member has that name.
func querySpecOf(key row.KeyType, shape *row.Shape, maxLimit int) querySpec {
	s := querySpec{position: make(map[string]int, len(key)), maxLimit: max(maxLimit, 1)}
	for i, part := range key {
		name := part.Column
		for _, f := range shape.Fields {
			if f.Column == part.Column {
				name = f.Name
				break
			}
		}
		s.columns = append(s.columns, name)
		s.position[name] = i
	}
	for i, part := range key {
		taken := slices.ContainsFunc(shape.Fields, func(f row.Field) bool {
			return f.Name == part.Column
		})
		if _, ok := s.position[part.Column]; !ok && !taken {
			s.position[part.Column] = i
		}
	}
	return s
}

// parse reads the query of a list into q, whose memory it uses again: format, limit,
// after, and filters by the key in PostgREST's spelling. Everything else is refused by
// name. What is escaped is written to text; both are returned grown. The texts of q are
// good for as long as raw and text.
func (q *listQuery) parse(raw string, s *querySpec, text []byte) ([]byte, error) {
	*q = listQuery{keys: q.keys[:0]}
	var seen uint64 // a bit for each column, and each other parameter
	var filters [][]row.Key
	if len(s.columns) > 1 {
		filters = make([][]row.Key, len(s.columns))
	}
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		var isName, isValue bool
		name, text, isName = unescape(name, text)
		value, text, isValue = unescape(value, text)
		if !isName || !isValue || strings.IndexByte(pair, ';') >= 0 {
			return text, problem{kind: kindBadQuery, detail: "the query cannot be read"}
		}
		bit, err := q.set(name, value, s, filters)
		switch {
		case err != nil:
			return text, err
		case seen&bit != 0:
			return text, givenTwice(name)
		}
		seen |= bit
	}
	if !q.filtered {
		return text, nil
	}
	if q.after != nil {
		return text, problem{kind: kindBadQuery, detail: "after does not go with a filter by key"}
	}
	if filters != nil {
		return text, q.join(filters, s)
	}
	return text, nil
}

// unescape undoes the percent-encoding of a name or value. What it has to write it
// appends to text.
func unescape(s string, text []byte) (plain string, grown []byte, ok bool) {
	// Fast path.
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return s, text, true
	}

	// Slow path.
	at := len(text)
	for i := 0; i < len(s); i++ {
		b := s[i]
		switch b {
		case '+':
			b = ' '
		case '%':
			if i+2 >= len(s) {
				return "", text, false
			}
			n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				return "", text, false
			}
			b = byte(n)
			i += 2
		}
		text = append(text, b)
	}
	return row.Alias(text[at:]), text, true
}

// The bits of parameters that are no columns.
const (
	sawFormat = 1 << (63 - iota)
	sawLimit
	sawAfter
)

// set takes one parameter, whose bit it returns. The values of the filters of a composite
// key go to filters, which are one for each column.
func (q *listQuery) set(
	name, value string, s *querySpec, filters [][]row.Key,
) (bit uint64, err error) {
	switch name {
	case "format":
		q.format = value
		return sawFormat, nil
	case "limit":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > s.maxLimit {
			return 0, problem{kind: kindBadQuery, detail: "limit must be a number from 1 to " +
				strconv.Itoa(s.maxLimit)}
		}
		q.limit = n
		return sawLimit, nil
	case "after":
		return sawAfter, q.setAfter(value, s)
	}
	i, ok := s.position[name]
	if !ok {
		return 0, problem{kind: kindBadQuery, detail: "unknown parameter " + clip(name),
			hint: "a list takes limit, after, format, and filters by key: " +
				strings.Join(s.columns, ", ")}
	}
	if q.filtered && filters == nil {
		return 0, givenTwice(name)
	}
	q.filtered = true
	if filters != nil {
		filters[i], err = appendFilter(nil, name, value)
	} else {
		q.keys, err = appendFilter(q.keys, name, value)
	}
	return 1 << i, err
}

func (q *listQuery) setAfter(value string, s *querySpec) error {
	if err := checkText(value); err != nil {
		return err
	}
	key := row.Key(value)
	if _, ok := row.SplitKey(key, len(s.columns)); !ok {
		return badParts(len(s.columns))
	}
	q.after = &key
	return nil
}

// appendFilter appends the values of "eq.VALUE" or "in.(VALUE,...)".
func appendFilter(dst []row.Key, name, value string) ([]row.Key, error) {
	operator, operand, ok := strings.Cut(value, ".")
	switch {
	case ok && operator == "eq":
		return append(dst, row.Key(operand)), checkText(operand)
	case ok && operator == "in":
		list, ok := appendItems(dst, operand)
		if !ok {
			return dst, problem{kind: kindBadQuery, detail: "the list of " + clip(name) +
				" must be in parentheses: in.(10,20); values with commas, in double quotes"}
		}
		if len(list)-len(dst) > front.ListKeys {
			return dst, problem{kind: kindBadQuery, detail: "more than 1000 keys are asked for",
				hint: "ask in several requests"}
		}
		for _, item := range list[len(dst):] {
			if err := checkText(string(item)); err != nil {
				return dst, err
			}
		}
		return list, nil
	}
	return dst, problem{kind: kindBadQuery, detail: "unknown operator " + clip(operator) + " for " +
		clip(name), hint: "the key is compared by eq.VALUE or in.(VALUE,VALUE)"}
}

// appendItems reads "(a,b,"c,d")": a value may be in double quotes, with \" and
// \\ within.
func appendItems(dst []row.Key, s string) ([]row.Key, bool) {
	s, opened := strings.CutPrefix(s, "(")
	s, closed := strings.CutSuffix(s, ")")
	if !opened || !closed {
		return dst, false
	}
	for s != "" {
		var item string
		var ok bool
		if s[0] == '"' {
			item, s, ok = cutQuoted(s[1:])
		} else {
			n := strings.IndexByte(s, ',')
			if n < 0 {
				n = len(s)
			}
			item, s, ok = s[:n], s[n:], n > 0 && isUnquoted(s[:n])
		}
		if !ok {
			return dst, false
		}
		dst = append(dst, row.Key(item))
		if s == "" {
			break
		}
		if s[0] != ',' || len(s) == 1 {
			return dst, false
		}
		s = s[1:]
	}
	return dst, true
}

// isUnquoted reports whether a value needs no quotes.
func isUnquoted(s string) bool {
	for i := range len(s) {
		if b := s[i]; b == '"' || b == '(' || b == ')' {
			return false
		}
	}
	return true
}

// cutQuoted returns what stands before the closing quote of s, and what follows.
func cutQuoted(s string) (item, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			i++
			if i == len(s) {
				return "", "", false
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}

// join makes the key of the values of its columns. A composite key needs one value for
// each of them.
func (q *listQuery) join(filters [][]row.Key, s *querySpec) error {
	parts := make([]string, len(filters))
	for i, f := range filters {
		if len(f) != 1 {
			return problem{kind: kindBadQuery,
				detail: "a composite key is compared by eq. on each of its columns: " +
					strings.Join(s.columns, ", ")}
		}
		parts[i] = string(f[0])
	}
	q.keys = append(q.keys, row.JoinKey(parts...))
	return nil
}

func badParts(n int) error {
	return problem{kind: kindBadKey, detail: "the key has " + strconv.Itoa(n) +
		" parts with commas between them", hint: "a comma within a part is written %2C"}
}
