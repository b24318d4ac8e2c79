package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// A result that changes while no table does cannot be kept: no feed tells when. So a query
// that calls such a function, or reads a view that does, is refused.

// dateFunctions are those whose results change by themselves only if they are asked for
// the present time: by the time value 'now', or by none.
var dateFunctions = []string{
	"date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff",
}

// fixed returns an error that names a function whose result changes by itself, if the
// program of q calls one. formats are the views that call strftime(), "" for q itself.
// (What a statement calls is not what an authorizer is told: that hears of the defaults of
// columns as well.)
func (q *query) fixed(ctx context.Context, c *conn, formats map[string]bool) error {
	volatile, err := volatileFunctions(ctx, c)
	if err != nil {
		return err
	}
	now, dated, found := false, "", ""
	err = c.queryOnce(ctx, "EXPLAIN "+q.text, make([]any, q.params),
		func(v []any) error {
			op, _ := v[1].(string)
			first, _ := v[3].(int64)
			p4, _ := v[5].(string)
			switch op {
			case "String", "String8":
				now = now || strings.EqualFold(p4, "now")
			case "Function", "PureFunc":
				name, _, _ := strings.Cut(p4, "(")
				date := slices.Contains(dateFunctions, name)
				if date {
					dated = name
				}
				if volatile[name] || date && first == 0 { // no register holds arguments
					found = name
				}
			}
			return nil
		})
	switch {
	case err != nil:
		return err
	case found != "":
		return changesByItself(found)
	case now && dated != "": // which register the text reaches is not followed
		return changesByItself(dated)
	}
	q.dates = dated != ""
	for view := range formats {
		if err := q.formatted(ctx, c, view); err != nil {
			return err
		}
	}
	return nil
}

// volatileFunctions returns the functions that SQLite itself does not call deterministic,
// without those of its version, which hold for a process.
func volatileFunctions(ctx context.Context, c *conn) (map[string]bool, error) {
	volatile := make(map[string]bool)
	err := c.queryOnce(ctx, `SELECT name FROM pragma_function_list
		WHERE type = 's' AND flags & 0x800 = 0 AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`, nil,
		func(v []any) error {
			name, _ := v[0].(string)
			volatile[name] = true
			return nil
		})
	return volatile, err
}

// formatted refuses a strftime() with a format and no time value, which means the present
// time. A program does not show how many arguments a function has; the text does.
func (q *query) formatted(ctx context.Context, c *conn, view string) error {
	text := q.text
	if view != "" {
		err := c.queryOnce(ctx, "SELECT sql FROM main.sqlite_schema WHERE type = 'view' "+
			"AND name = ? COLLATE NOCASE", []any{view}, func(v []any) error {
			text, _ = v[0].(string)
			return nil
		})
		if err != nil {
			return err
		}
	}
	words := sqlWords(text)
	for i, w := range words {
		if strings.EqualFold(w, "strftime") && arguments(words[i+1:]) == 1 {
			return changesByItself("strftime")
		}
	}
	return nil
}

// sqlWords returns the names, texts and marks of a statement. A name in quotes has none
// of them here; a text begins with one.
func sqlWords(sql string) []string {
	var words []string
	for i := 0; i < len(sql); {
		n := skip(sql[i:])
		switch {
		case n == 0:
			for n = 1; isWord(sql[i]) && i+n < len(sql) && isWord(sql[i+n]); {
				n++
			}
			if sql[i] > ' ' {
				words = append(words, sql[i:i+n])
			}
		case sql[i] == '\'':
			words = append(words, "'")
		case n > 1 && sql[i] != '-' && sql[i] != '/':
			words = append(words, sql[i+1:i+n-1])
		}
		i += n
	}
	return words
}

// arguments returns how many arguments stand in the parentheses that words begin with.
func arguments(words []string) int {
	depth, count := 0, 1
	for i, w := range words {
		switch w {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				if i == 1 {
					return 0
				}
				return count
			}
		case ",":
			if depth == 1 {
				count++
			}
		}
		if depth == 0 {
			break
		}
	}
	return 0
}

// changesByItself is the error of a result that no feed can tell about.
func changesByItself(name string) error {
	return fmt.Errorf("it calls %s(), whose result changes without a change of any table", name)
}

// checkKey refuses a key that a date function would take for the present time.
func (q *query) checkKey(parts []string) error {
	for _, part := range parts {
		if q.dates && strings.EqualFold(part, "now") {
			return fmt.Errorf("%w: %q would be the present time", row.ErrKey, part)
		}
	}
	return nil
}
