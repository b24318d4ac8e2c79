package sqlite

import (
	"fmt"
	"strings"

	lists "github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source/document"
)

// within returns what a path leads to in a column, see document.Filters. What is stored and is
// no JSON has nothing within.
func within(c document.Column, path lists.Path) document.Column {
	in := *native(c)
	name, at := columnExpr(in.Name), "'$"
	for _, s := range path.Steps() {
		switch {
		case !s.IsIndex:
			at += `."` + strings.ReplaceAll(s.Key, "'", "''") + `"`
		case s.Index >= 0:
			at += fmt.Sprintf("[%d]", s.Index)
		default:
			at += fmt.Sprintf("[#%d]", s.Index)
		}
	}
	at += "'"
	value := name + " -> " + at
	if path.IsText() {
		value = "CASE json_type(" + name + ", " + at + ") WHEN 'text' THEN json_extract(" + name +
			", " + at + ") WHEN 'null' THEN NULL ELSE " + value + " END"
		in.Kind, in.Native, in.affinity, in.collation = row.Text, "TEXT", affinityText, "BINARY"
	}
	in.within = "(CASE WHEN json_valid(" + name + ", 9) THEN " + value + " END)"
	return &in
}
