package sourcetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
)

// Text writes a transaction as "dept U (deptno=10)->(deptno=11); emp*", without the
// schemas of tables.
func Text(tx *source.Tx) string {
	bare := func(id string) string { return id[strings.LastIndexByte(id, '.')+1:] }
	var parts []string
	if tx.All {
		parts = append(parts, "all")
	}
	for _, c := range tx.Changes {
		parts = append(parts, fmt.Sprintf("%s %c %s->%s", bare(c.Table), "IUD"[c.Op],
			tupleText(c.Old), tupleText(c.New)))
	}
	tables := slices.Clone(tx.Tables)
	slices.Sort(tables)
	for _, t := range tables {
		parts = append(parts, bare(t)+"*")
	}
	return strings.Join(parts, "; ")
}

func tupleText(t source.Tuple) string {
	if t == nil {
		return ""
	}
	var parts []string
	for _, c := range t {
		if c.Null {
			parts = append(parts, c.Column+" null")
		} else {
			parts = append(parts, c.Column+"="+c.Text)
		}
	}
	return "(" + strings.Join(parts, " ") + ")"
}
