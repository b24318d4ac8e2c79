package document

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// A named is a column of which only the name is asked.
type named struct {
	Column
	name string
}

func (n named) Info() *source.Column { return &source.Column{Name: n.name} }

// conditionsOf reads a predicate of a table with some columns.
func conditionsOf(predicate string, fold bool) []query.Condition {
	n := &Node{Table: &Table{}}
	for _, name := range []string{"a", "b", "Odd one", "and", "lower"} {
		n.Table.Cols = append(n.Table.Cols, named{name: name})
	}
	return n.Conditions(predicate, fold, func(Column, *query.Condition) bool { return true })
}

func TestConditions_OfPartialIndexes(t *testing.T) {
	is := func(column, value string) query.Condition {
		return query.Condition{Column: column, Op: query.Is, Value: value}
	}
	eq := func(column, value string) query.Condition {
		return query.Condition{Column: column, Op: query.Eq, Value: value}
	}
	for predicate, want := range map[string][]query.Condition{
		"(a IS NOT NULL)": {query.IsNotNull("a")},
		"((a IS NULL) AND (\"Odd one\" IS NOT NULL))": {is("a", "null"), query.IsNotNull("Odd one")},
		"((a IS NULL) AND ((b IS NULL) AND b))":       {is("a", "null"), is("b", "null"), is("b", "true")},
		"(a IS NULL) AND (b IS NULL)":                 {is("a", "null"), is("b", "null")},
		"b":                                           {is("b", "true")},
		"(NOT b)":                                     {is("b", "false")},
		"(b = true)":                                  {is("b", "true")},
		"(b = false)":                                 {is("b", "false")},
		"a = 5 AND b='x'":                             {eq("a", "5"), eq("b", "'x'")},
		"(a = -5)":                                    {eq("a", "-5")},
		"\"and\" IS NULL":                             {is("and", "null")},

		"":                               nil,
		"c IS NULL":                      nil,
		"A IS NULL":                      nil,
		"NOT a IS NULL":                  nil,
		"a IS NULL OR b AND b IS NULL":   nil,
		"((a IS NULL) OR (b IS NULL))":   nil,
		"(NOT ((a IS NULL) AND b))":      nil,
		"(NOT a AND b) IS NULL":          nil,
		"lower(a AND b)":                 nil,
		"lower(a)":                       nil,
		"(a > 5)":                        nil,
		"(a BETWEEN 1 AND b)":            nil,
		"a = 'it''s'":                    nil,
		"a = 'x AND b IS NULL'":          nil,
		"((a)::text = 'x'::text)":        nil,
		"a = 5.0":                        nil,
		"a = b":                          nil,
		"a IS NOT TRUE":                  nil,
		"\"a\"\"b\" IS NULL":             nil,
		"CASE WHEN a THEN b ELSE a END":  nil,
		"a IS NULL AND":                  nil,
		"a IS NULL; AND b":               nil,
		"(ROW(a, b) IS NOT NULL)":        nil,
		"(a = ANY (ARRAY[1, 2]))":        nil,
		"a COLLATE nocase = 'x' AND b":   nil,
		"a IS NULL AND (b AND a IS NULL": {is("a", "null"), is("b", "true"), is("a", "null")},
	} {
		if d := cmp.Diff(want, conditionsOf(predicate, false)); d != "" {
			t.Errorf("%s:\n%s", predicate, d)
		}
	}
	if got := conditionsOf("A is not null and ODD = 1", true); got != nil {
		t.Errorf("a name that is none: %v", got)
	}
	if d := cmp.Diff([]query.Condition{query.IsNotNull("a"), is("b", "true")},
		conditionsOf("A is not null and B = True", true)); d != "" {
		t.Errorf("in any case:\n%s", d)
	}
}

// FuzzConditions: what is read of a predicate is all of it. Written anew it is the same, but
// for blanks, parentheses and case.
func FuzzConditions(f *testing.F) {
	for _, s := range []string{"(a IS NOT NULL)", "((a IS NULL) AND (NOT b))", "a = 5 AND b='x'",
		"\"Odd one\" IS NULL", "(a IS NULL) OR b", "NOT (a AND b)", "a = 'x AND b'", "(b = false)"} {
		f.Add(s)
	}
	ignored := regexp.MustCompile(`[() "]|= *(true|false)`)
	bare := func(s string) string { return ignored.ReplaceAllString(strings.ToLower(s), "") }
	f.Fuzz(func(t *testing.T, predicate string) {
		all := conditionsOf(predicate, false)
		parts := make([]string, len(all))
		for i, c := range all {
			switch {
			case c.Op == query.Eq:
				parts[i] = c.Column + "=" + c.Value
			case c.Not:
				parts[i] = c.Column + " is not null"
			case c.Value == "null":
				parts[i] = c.Column + " is null"
			case c.Value == "false" && strings.HasPrefix(strings.TrimLeft(
				strings.ToUpper(and.Split(predicate, -1)[i]), "( "), "NOT"):
				parts[i] = "not " + c.Column
			default:
				parts[i] = c.Column
			}
		}
		if all != nil && bare(predicate) != bare(strings.Join(parts, " and ")) {
			t.Errorf("%q is read as %q", predicate, parts)
		}
	})
}
