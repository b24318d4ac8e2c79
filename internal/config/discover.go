package config

import (
	"fmt"
	"slices"
	"sort"

	"github.com/hotrow/hotrow/internal/source"
)

// An Omission is a table or a column that is not served though the database
// has it.
type Omission struct {
	What     string // "table public.log"
	Why      string
	Conflict bool // a name decided, which only a configuration can change
}

// String returns a line.
func (o Omission) String() string { return o.What + ": " + o.Why }

// Discover returns c with a resource of the source called src for every table
// of cat that can be one, in the place of the resources that c had, and what is
// left out: tables, and columns that look like secrets. What it returns is as
// complete as what Load returns for the file that Init writes; c stays as it is.
func (c *Config) Discover(cat *source.Catalog, src string, writable bool) (
	*Config, []Omission, error,
) {
	found := *c
	found.Resources = make(map[string]*Resource)
	tables, leftOut := candidates(cat)
	for _, t := range tables {
		found.Resources[t.Resource()] = ofTable(t, src, writable)
		for _, name := range secretColumns(t) {
			leftOut = append(leftOut, Omission{What: "column " + t.ID() + "." + name,
				Why: "its name looks like a secret's"})
		}
	}
	sort.SliceStable(leftOut, func(i, j int) bool { return leftOut[i].What < leftOut[j].What })
	if err := found.Validate(); err != nil {
		return nil, nil, err
	}
	return &found, leftOut, nil
}

// ofTable returns the resource of a table, with what Init writes of it.
func ofTable(t *source.Table, src string, writable bool) *Resource {
	r := DefaultResource()
	r.Source, r.Table, r.HideSecrets = src, tableName(t), true
	r.Key = slices.Clone(t.Key)
	if writable && !t.View {
		r.Access.Write = "public"
	}
	return r
}

// candidates returns the tables of cat that become resources by themselves, in
// the catalogue's order, and those that do not. Of tables that would have one
// name the one whose schema is part of it has it.
func candidates(cat *source.Catalog) (tables []*source.Table, leftOut []Omission) {
	named := make(map[string]*source.Table)
	usable := func(t *source.Table) bool { return t.Refused == "" && len(t.Key) > 0 }
	for i := range cat.Tables {
		t := &cat.Tables[i]
		first := named[t.Resource()]
		if usable(t) && (first == nil || first.Default && !t.Default) {
			named[t.Resource()] = t
		}
	}
	for i := range cat.Tables {
		t := &cat.Tables[i]
		o := Omission{What: "table " + t.ID()}
		switch other := named[t.Resource()]; {
		case !usable(t):
			o.Why = refusal(t)
		case !goodName(t.Resource()):
			o.Why = "no path can have this name"
		case other != t:
			o.Conflict = true
			o.Why = fmt.Sprintf("%s would be the resource %q, which %s is: give it another name "+
				"in a configuration file", inSchema(t), t.Resource(), inSchema(other))
		default:
			tables = append(tables, t)
			continue
		}
		leftOut = append(leftOut, o)
	}
	return tables, leftOut
}

// refusal says why a table cannot be a resource.
func refusal(t *source.Table) string {
	if t.Refused == "" {
		return "no primary key"
	}
	return t.Refused
}

// tableName returns the name by which a file calls a table.
func tableName(t *source.Table) string {
	if t.Default {
		return t.Name
	}
	return t.ID()
}

// inSchema names a table without doubt.
func inSchema(t *source.Table) string {
	return fmt.Sprintf("%q (schema %q)", t.Name, t.Schema)
}

// secretColumns returns the columns of a table that look like secrets and are
// not of its key.
func secretColumns(t *source.Table) []string {
	isKey := make(map[string]bool)
	for _, k := range t.Key {
		isKey[k] = true
	}
	var names []string
	for _, c := range t.Columns {
		if source.IsSecret(c.Name) && !isKey[c.Name] {
			names = append(names, c.Name)
		}
	}
	return names
}
