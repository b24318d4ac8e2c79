package document

import (
	"regexp"
	"strings"

	"github.com/hotrow/hotrow/internal/query"
)

// These are the conditions that are read of a predicate of a partial index. What is in
// parentheses with more than one of them beside NOT, or anything else, matches none.
var conditions = []struct {
	sql  *regexp.Regexp
	says query.Condition
}{
	{matches(`NAME`), query.Condition{Op: query.Is, Value: "true"}},
	{matches(`NOT NAME`), query.Condition{Op: query.Is, Value: "false"}},
	{matches(`NAME = TRUE`), query.Condition{Op: query.Is, Value: "true"}},
	{matches(`NAME = FALSE`), query.Condition{Op: query.Is, Value: "false"}},
	{matches(`NAME IS NULL`), query.Condition{Op: query.Is, Value: "null"}},
	{matches(`NAME IS NOT NULL`), query.IsNotNull("")},
	{matches(`NAME ?= ?(-?\d+|'[^'\s]*')`), query.Condition{Op: query.Eq}},
}

// matches is an expression for all of a condition, whose first group is a column's name.
func matches(condition string) *regexp.Regexp {
	const name = `([a-z_]\w*|"[^"]+")`
	return regexp.MustCompile("^(?i:" + strings.Replace(condition, "NAME", name, 1) + ")$")
}

var and = regexp.MustCompile(`(?i) AND `)

// Conditions reads the predicate of a partial index of n, in which there is one blank between
// words, and names are in any case if fold. The answer is nil unless each of its conditions
// is known, and provable: the planner sees that a statement with the same condition finds
// only rows that are in the index. The Value of Eq is given as the literal, and changed to be
// as in a query.
func (n *Node) Conditions(
	predicate string, fold bool, provable func(Column, *query.Condition) bool,
) (all []query.Condition) {
	for _, part := range and.Split(predicate, -1) {
		c, ok := n.condition(strings.Trim(part, "() "), fold, provable)
		if !ok {
			return nil
		}
		all = append(all, c)
	}
	return all
}

// condition reads one condition.
func (n *Node) condition(
	text string, fold bool, provable func(Column, *query.Condition) bool,
) (c query.Condition, ok bool) {
	for i := range conditions {
		m := conditions[i].sql.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		col, ok := n.Table.column(strings.Trim(m[1], `"`), fold)
		if !ok {
			return c, false
		}
		if c = conditions[i].says; c.Op == query.Eq {
			c.Value = m[2]
		}
		c.Column = col.Info().Name
		return c, provable(col, &c)
	}
	return c, false
}
