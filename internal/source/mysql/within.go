package mysql

import (
	"fmt"
	"strings"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source/document"
)

// within returns what a path leads to in a column, see document.Filters. Texts are compared by
// their characters.
func within(c document.Column, path query.Path) document.Column {
	in := *native(c)
	name, at := quote(in.Name), "$"
	var arrays []string
	for _, s := range path.Steps() {
		if !s.IsIndex {
			at += `."` + strings.ReplaceAll(s.Key, "'", "''") + `"`
			continue
		}
		// An element of what is no array would be that itself.
		arrays = append(arrays, "JSON_TYPE(JSON_EXTRACT("+name+", '"+at+"')) = 'ARRAY'")
		switch {
		case s.Index >= 0:
			at += fmt.Sprintf("[%d]", s.Index)
		case s.Index == -1:
			at += "[last]"
		default:
			at += fmt.Sprintf("[last-%d]", -s.Index-1)
		}
	}
	value := "JSON_EXTRACT(" + name + ", '" + at + "')"
	if in.within = value; path.IsText() {
		in.within = "CASE JSON_TYPE(" + value + ") WHEN 'STRING' THEN JSON_UNQUOTE(" + value +
			") WHEN 'NULL' THEN NULL ELSE " + value + " END"
	}
	if len(arrays) > 0 {
		in.within = "CASE WHEN " + strings.Join(arrays, " AND ") + " THEN " + in.within + " END"
	}
	if in.within = "(" + in.within + ")"; path.IsText() {
		in.within = "(CONVERT(" + in.within + " USING utf8mb4) COLLATE utf8mb4_bin)"
		in.Kind, in.Type, in.Charset, in.Collation = row.Text, "longtext", "utf8mb4", "utf8mb4_bin"
	}
	return &in
}
