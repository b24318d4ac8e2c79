package sqlite

import (
	"fmt"
	"slices"
	"strings"

	lists "github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source/document"
)

// SQLite stores times as texts, and programs spell them in their own ways: 2024-01-01 10:00:00,
// with a T, a Z, a fraction, without seconds. All begin with the day, so that an index finds
// the day; within it what is compared is the time of day in one spelling.

// clockOf is the time of day of a column's text, with %[1]s for the column: seconds are there,
// and no zero ends a fraction. That of a date is midnight.
const clockOf = `CASE WHEN length(%[1]s) = 10 THEN '00:00:00' ELSE (
	SELECT CASE WHEN length(c) = 5 THEN c || ':00' WHEN instr(c, '.') THEN rtrim(rtrim(c, '0'), '.')
		ELSE c END
	FROM (SELECT replace(replace(substr(%[1]s, 12), 'Z', ''), '+00:00', '') AS c)) END`

// moment returns the condition that a column which is declared for dates or times compares so
// with a time; see document.Filters. A key names its row by its own text.
func moment(
	n *document.Node, c document.Column, op lists.Op, text string, mark func(any) string,
) (string, bool) {
	kind := native(c).Kind
	ranged := op == lists.Gt || op == lists.Gte || op == lists.Lt || op == lists.Lte
	if kind != row.Date && kind != row.Datetime || !ranged && slices.Contains(n.KeyCols, c) {
		return "", false
	}
	name := columnName(n, c)
	sign := map[lists.Op]string{lists.Gt: ">", lists.Gte: ">=", lists.Lt: "<", lists.Lte: "<=",
		lists.Neq: "<>"}[op]
	if sign == "" {
		sign = "="
	}
	utc, ok := lists.InUTC(text)
	if !ok {
		return name + " " + sign + " " + mark(text), true
	}
	day, clock, _ := strings.Cut(strings.TrimSuffix(utc, "Z"), "T")
	of, end := fmt.Sprintf(clockOf, name), day+"~" // which follows every text of the day
	written := func(format string, args ...any) string {
		return fmt.Sprintf(format, append([]any{name}, args...)...)
	}
	switch op {
	case lists.Gt, lists.Gte:
		return written("%[1]s >= %[2]s AND (%[1]s > %[3]s OR %[4]s %[5]s %[6]s)",
			mark(day), mark(end), of, sign, mark(clock)), true
	case lists.Lt, lists.Lte:
		return written("%[1]s < %[2]s AND (%[1]s < %[3]s OR %[4]s %[5]s %[6]s)",
			mark(end), mark(day), of, sign, mark(clock)), true
	}
	equal := written("(%[1]s >= %[2]s AND %[1]s < %[3]s AND %[4]s = %[5]s)", mark(day), mark(end),
		of, mark(clock))
	if op == lists.Neq {
		return "NOT " + equal, true
	}
	return equal, true
}
