package httpfront

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

const (
	maxKeys      = 1000 // of one in.(...)
	defaultLimit = 100  // documents of a list that names no limit
)

// A querySpec is what parseQuery knows of a resource.
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

// parseQuery reads the query of a list: format, limit, after, and filters by
// the key in PostgREST's spelling. Everything else is refused by name.
func parseQuery(raw string, s querySpec) (listQuery, error) {
	var q listQuery
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, problem{kind: kindBadQuery, detail: "the query cannot be read"}
	}
	filters := make([][]string, len(s.columns))
	for _, name := range slices.Sorted(mapKeys(values)) {
		v := values[name]
		if len(v) > 1 {
			return q, givenTwice(name)
		}
		if err := q.set(name, v[0], s, filters); err != nil {
			return q, err
		}
	}
	if q.filtered {
		if q.after != nil {
			return q, problem{kind: kindBadQuery, detail: "after does not go with a filter by key"}
		}
		q.keys, err = joinFilters(filters, s)
	}
	return q, err
}

// mapKeys iterates over the names of parameters.
func mapKeys(values url.Values) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range values {
			if !yield(name) {
				return
			}
		}
	}
}

// set takes one parameter. The values of a filter go to filters.
func (q *listQuery) set(name, value string, s querySpec, filters [][]string) error {
	switch name {
	case "format":
		q.format = value
		return nil
	case "limit":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > s.maxLimit {
			return problem{kind: kindBadQuery, detail: "limit must be a number from 1 to " +
				strconv.Itoa(s.maxLimit)}
		}
		q.limit = n
		return nil
	case "after":
		if err := checkText(value); err != nil {
			return err
		}
		if _, ok := row.SplitKey(row.Key(value), len(s.columns)); !ok {
			return badParts(len(s.columns))
		}
		key := row.Key(value)
		q.after = &key
		return nil
	}
	i, ok := s.position[name]
	if !ok {
		return problem{kind: kindBadQuery, detail: "unknown parameter " + clip(name),
			hint: "a list takes limit, after, format, and filters by key: " +
				strings.Join(s.columns, ", ")}
	}
	if filters[i] != nil {
		return givenTwice(name)
	}
	q.filtered = true
	var err error
	filters[i], err = parseFilter(name, value)
	return err
}

// parseFilter reads "eq.VALUE" or "in.(VALUE,...)". The result is not nil.
func parseFilter(name, value string) ([]string, error) {
	operator, operand, ok := strings.Cut(value, ".")
	switch {
	case ok && operator == "eq":
		return []string{operand}, checkText(operand)
	case ok && operator == "in":
		items, ok := parseItems(operand)
		if !ok {
			return nil, problem{kind: kindBadQuery, detail: "the list of " + clip(name) +
				" must be in parentheses: in.(10,20); values with commas, in double quotes"}
		}
		if len(items) > maxKeys {
			return nil, problem{kind: kindBadQuery, detail: "more than 1000 keys are asked for",
				hint: "ask in several requests"}
		}
		for _, item := range items {
			if err := checkText(item); err != nil {
				return nil, err
			}
		}
		return items, nil
	}
	return nil, problem{kind: kindBadQuery, detail: "unknown operator " + clip(operator) + " for " +
		clip(name), hint: "the key is compared by eq.VALUE or in.(VALUE,VALUE)"}
}

// parseItems reads "(a,b,"c,d")": a value may be in double quotes, with \" and
// \\ within. The result is not nil.
func parseItems(s string) ([]string, bool) {
	s, opened := strings.CutPrefix(s, "(")
	s, closed := strings.CutSuffix(s, ")")
	if !opened || !closed {
		return nil, false
	}
	items := []string{}
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
			item, s, ok = s[:n], s[n:], n > 0 && !strings.ContainsAny(s[:n], `"()`)
		}
		if !ok {
			return nil, false
		}
		items = append(items, item)
		if s == "" {
			break
		}
		if s[0] != ',' || len(s) == 1 {
			return nil, false
		}
		s = s[1:]
	}
	return items, true
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

// joinFilters makes keys of the values of the key columns. A composite key
// needs one value for each of its columns.
func joinFilters(filters [][]string, s querySpec) ([]row.Key, error) {
	keys := []row.Key{}
	if len(filters) == 1 {
		for _, v := range filters[0] {
			keys = append(keys, row.Key(v))
		}
		return keys, nil
	}
	parts := make([]string, len(filters))
	for i, f := range filters {
		if len(f) != 1 {
			return nil, problem{kind: kindBadQuery,
				detail: "a composite key is compared by eq. on each of its columns: " +
					strings.Join(s.columns, ", ")}
		}
		parts[i] = f[0]
	}
	return append(keys, row.JoinKey(parts...)), nil
}

func badParts(n int) error {
	return problem{kind: kindBadKey, detail: "the key has " + strconv.Itoa(n) +
		" parts with commas between them", hint: "a comma within a part is written %2C"}
}
