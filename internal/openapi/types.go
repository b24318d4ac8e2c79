package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// Types returns the TypeScript type Database that supabase-js and postgrest-js take: rows, what may
// be inserted, and foreign keys of each resource.
func Types(resources []Resource) []byte {
	t := &typeWriter{}
	t.line(0, "export type Json = string | number | boolean | null"+
		" | { [key: string]: Json | undefined } | Json[]")
	t.line(0, "")
	t.line(0, "export type Database = {")
	t.line(1, "public: {")
	t.line(2, "Tables: {")
	for i := range resources {
		t.table(&resources[i], resources)
	}
	t.line(2, "}")
	for _, none := range []string{"Views", "Functions", "Enums", "CompositeTypes"} {
		t.line(2, none+": { [_ in never]: never }")
	}
	t.line(1, "}")
	t.line(0, "}")
	return []byte(t.String())
}

// A typeWriter writes lines of TypeScript.
type typeWriter struct{ strings.Builder }

func (t *typeWriter) line(depth int, text string) {
	t.WriteString(strings.Repeat("  ", depth) + text + "\n")
}

// table writes the types of one resource.
func (t *typeWriter) table(r *Resource, all []Resource) {
	t.line(3, property(r.Name)+": {")
	t.members(r, "Row", func(*row.Field) bool { return false })
	t.members(r, "Insert", isOptional)
	t.members(r, "Update", func(*row.Field) bool { return true })
	t.relationships(r, all)
	t.line(3, "}")
}

// members writes the type of what a client reads or sends. Embedded documents are no columns.
func (t *typeWriter) members(r *Resource, name string, optional func(*row.Field) bool) {
	t.line(4, name+": {")
	var seen []string
	for i := range r.Shape.Fields {
		f := &r.Shape.Fields[i]
		if slices.Contains(seen, f.Name) || f.Kind == row.Rows || f.Kind == row.Row {
			continue
		}
		seen = append(seen, f.Name)
		mark, kind := "", typeOf(f, f.Kind)
		if optional(f) {
			mark = "?"
		}
		switch {
		case name != "Row" && f.Generated:
			mark, kind = "?", "never"
		case isNullable(f):
			kind += " | null"
		}
		t.line(5, property(f.Name)+mark+": "+kind)
	}
	t.line(4, "}")
}

// relationships writes the foreign keys of a resource that lead to others.
func (t *typeWriter) relationships(r *Resource, all []Resource) {
	var list []string
	for i := range r.Relations {
		rel := &r.Relations[i]
		served := slices.ContainsFunc(all, func(o Resource) bool { return o.Name == rel.Name })
		from, to := r.Table.Members(rel.From), rel.Table.Members(rel.To)
		if rel.Back || rel.Link != nil || !served || from == nil || to == nil {
			continue
		}
		name := rel.Hints[len(rel.Hints)-1] // the constraint, or the columns where it has no name
		list = append(list, fmt.Sprintf("{ foreignKeyName: %s; columns: %s; isOneToOne: %t;"+
			" referencedRelation: %s; referencedColumns: %s }", quoted(name), tuple(from),
			rel.Single, quoted(rel.Name), tuple(to)))
	}
	if len(list) == 0 {
		t.line(4, "Relationships: []")
		return
	}
	t.line(4, "Relationships: [")
	for _, one := range list {
		t.line(5, one+",")
	}
	t.line(4, "]")
}

// typeOf returns the type of a value of JSON.
func typeOf(f *row.Field, kind row.Kind) string {
	switch kind {
	case row.Bool:
		return "boolean"
	case row.Int, row.Uint, row.Float, row.Float32, row.Decimal:
		return "number"
	case row.Text, row.Bytes, row.UUID, row.Date, row.Datetime, row.DatetimeTZ, row.Time:
		return "string"
	case row.Array:
		if f.Elem == row.Null || f.Elem == row.JSON {
			return "Json[]"
		}
		return typeOf(f, f.Elem) + "[]"
	}
	return "Json"
}

// property returns a name as an object's type has it.
func property(name string) string {
	for i := range len(name) {
		c := name[i]
		isLetter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !isLetter && (i == 0 || c < '0' || c > '9') {
			return quoted(name)
		}
	}
	if name == "" {
		return `""`
	}
	return name
}

// quoted returns a literal of TypeScript: texts of JSON are such.
func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil { // which a string has none of
		return `""`
	}
	return string(text)
}

func tuple(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = quoted(name)
	}
	return "[" + strings.Join(list, ", ") + "]"
}
