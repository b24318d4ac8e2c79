package config

import (
	"fmt"
	"sort"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
)

// Discover returns a resource of the source called src for every table that
// can be one, and what was left out, a sentence each, columns that look like
// secrets too. Two tables that would have one name are an error that names
// both.
func Discover(cat *source.Catalog, src string, writable bool) (
	resources map[string]*Resource, leftOut []string, err error) {
	resources = make(map[string]*Resource)
	for i := range cat.Tables {
		t := &cat.Tables[i]
		if t.Refused != "" || len(t.Key) == 0 {
			leftOut = append(leftOut, fmt.Sprintf("table %s: %s", t.ID(), refusal(t)))
			continue
		}
		if !goodName(t.Resource()) {
			leftOut = append(leftOut, fmt.Sprintf("table %s: no path can have this name", t.ID()))
			continue
		}
		if _, twice := resources[t.Resource()]; twice {
			return nil, nil, fmt.Errorf("the tables %s would both be the resource %q: name them "+
				"in a configuration file", bothTables(cat, t.Resource()), t.Resource())
		}
		r := DefaultResource()
		r.Source, r.Table, r.HideSecrets = src, tableName(t), true
		r.Methods = []string{"get", "list"}
		for _, k := range t.Key {
			r.Key = append(r.Key, KeyColumn{Column: k})
		}
		if writable && !t.View {
			r.Access.Write = "public"
			r.Methods = append(r.Methods, "post", "put", "patch", "delete")
		}
		resources[t.Resource()] = r
		for _, c := range secretColumns(t) {
			leftOut = append(leftOut,
				fmt.Sprintf("column %s.%s: its name looks like a secret's", t.ID(), c))
		}
	}
	sort.Strings(leftOut)
	return resources, leftOut, nil
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

// bothTables names the tables that would be one resource.
func bothTables(cat *source.Catalog, name string) string {
	var ids []string
	for i := range cat.Tables {
		if t := &cat.Tables[i]; t.Resource() == name {
			ids = append(ids, fmt.Sprintf("%q (schema %q)", t.Name, t.Schema))
		}
	}
	return strings.Join(ids, " and ")
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
