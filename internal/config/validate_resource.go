package config

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/row"
)

// resource checks one resource.
func (v *validator) resource(name string, r *Resource) {
	at := "resources." + name
	v.resourceName(at, name)
	v.resourceSource(at, r)
	switch {
	case v.c.ofMemcached(r):
		v.memcached(at, r)
	case v.c.isSet(at + ".memcached"):
		v.addf(at+".memcached", "is for resources of a memcached:// source")
	}
	switch {
	case v.c.ofMemcached(r):
	case r.Table != "" && r.Query != "":
		v.addf(at+".query", "table and query exclude each other")
	case r.Query != "":
		v.query(at, r)
	case r.Table == "" && !v.c.isSet(at+".table") && !v.c.isSet(at+".query"):
		v.addf(at, "needs table or query, such as table: %s", name)
	}
	v.linksSecret(at, r.Source, r.Table)
	v.key(at, r)
	v.fields(at, r)
	for _, member := range sortedKeys(r.Embed) {
		v.embed(fmt.Sprintf("%s.embed.%s", at, member), name, r, r.Embed[member])
	}
	v.depends(at, r)
	v.lists(at, r)
	v.resourceKV(at, r)
	v.access(at, r)
	v.rows(at, name, r)
}

// resourceName checks a name, which is the first segment of a path. Whatever
// can be percent-encoded is allowed.
func (v *validator) resourceName(at, name string) {
	switch {
	case name == "-":
		v.addf(at, "/-/ is hotrow's own: take another name")
	case name == "." || name == "..":
		v.addf(at, "%q has a meaning of its own in a path: take another name", name)
	case len(name) > 128:
		v.addf(at, "a name has at most 128 bytes")
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		v.addf(at, "a name has no control characters")
	}
}

// resourceSource checks which database a resource is of.
func (v *validator) resourceSource(at string, r *Resource) {
	_, known := v.c.Sources[r.Source]
	switch {
	case known:
	case len(v.c.Sources) == 0:
		v.addf(at, "there is no source: add sources.main.url, or set %s", envDatabase)
	case r.Source == "":
		v.addf(at, "needs source: one of %s", strings.Join(sortedKeys(v.c.Sources), ", "))
	default:
		v.addf(at+".source", "no source %q%s", r.Source,
			row.DidYouMean(r.Source, sortedKeys(v.c.Sources)))
	}
}

// key checks the columns of a key.
func (v *validator) key(at string, r *Resource) {
	if v.c.isSet(at+".key") && len(r.Key) == 0 {
		v.addf(at+".key", "is empty: remove it for the primary key")
	}
	seen := make(map[string]bool)
	for i, k := range r.Key {
		here := fmt.Sprintf("%s.key[%d]", at, i)
		switch {
		case v.bad[here] || v.bad[at+".key"]:
		case seen[k]:
			v.addf(here, "%q is there twice", k)
		}
		seen[k] = true
	}
}

// fields checks the members of a document.
func (v *validator) fields(at string, r *Resource) {
	if r.Only && len(r.Fields) == 0 {
		v.addf(at+".only", "needs fields: it leaves out every other column")
	}
	from := make(map[string]string)
	for _, column := range sortedKeys(r.Fields) {
		f := r.Fields[column]
		here := fmt.Sprintf("%s.fields.%s", at, column)
		if f.Hide && (f.Name != "" || f.OmitNull || f.Format != "" || f.Required) {
			v.addf(here, "hide excludes every other setting of the field")
		}
		if f.Required && r.Query != "" {
			v.addf(here+".required", "is of no use: a query takes no writes")
		}
		if f.Hide {
			continue
		}
		member := f.Name
		if member == "" {
			member = column
		}
		v.member(here+".name", member)
		if other, twice := from[member]; twice {
			v.addf(here, "the columns %s and %s are both called %q", other, column, member)
		}
		from[member] = column
	}
	for _, member := range sortedKeys(r.Embed) {
		here := fmt.Sprintf("%s.embed.%s", at, member)
		v.member(here, member)
		if column, twice := from[member]; twice {
			v.addf(here, "the column %s is called %q, too", column, member)
		}
	}
}

// member checks the name of a member.
func (v *validator) member(at, name string) {
	if len(name) > 256 || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		v.addf(at, "want a name of at most 256 bytes without control characters")
	}
}

// embed checks one kind of embedded documents.
func (v *validator) embed(at, name string, r *Resource, e *Embed) {
	child, known := v.c.Resources[e.Resource]
	v.linksSecret(at, r.Source, e.Table)
	switch {
	case r.Query != "":
		v.addf(at, "a query embeds nothing: select it, or make a resource of the table")
	case e.Resource != "" && e.Table != "":
		v.addf(at, "resource and table exclude each other")
	case e.Table != "":
	case e.Resource == "" && !v.c.isSet(at+".resource") && !v.c.isSet(at+".table"):
		v.addf(at, "needs resource or table")
	case e.Resource == "" || e.Resource == name: // cycles tells of the latter
	case !known:
		v.addf(at+".resource", "no resource %q%s", e.Resource,
			row.DidYouMean(e.Resource, sortedKeys(v.c.Resources)))
	case child.Query != "":
		v.addf(at+".resource", "%q is a query: only the rows of a table can be embedded",
			e.Resource)
	case child.Source != r.Source:
		v.addf(at+".resource", "%q is of source %q, this resource of %q: one document is read "+
			"from one database", e.Resource, child.Source, r.Source)
	}
	if len(e.On) == 0 && !v.bad[at+".on"] {
		v.addf(at, "needs on: the columns of the child that hold the parent's key")
	}
	if len(r.Key) > 0 && len(e.On) > 0 && len(e.On) != len(r.Key) {
		v.addf(at+".on", "has %s, the key of %s has %d", columns(len(e.On)), name, len(r.Key))
	}
	v.distinct(at+".on", e.On)
	v.distinct(at+".order", e.Order)
}

// columns writes how many columns there are.
func columns(n int) string {
	if n == 1 {
		return "1 column"
	}
	return fmt.Sprintf("%d columns", n)
}

// distinct checks that no word of a list is there twice.
func (v *validator) distinct(at string, words []string) {
	seen := make(map[string]bool)
	for _, w := range words {
		if seen[w] {
			v.addf(at, "%q is there twice", w)
		}
		seen[w] = true
	}
}

// lists checks the settings that are lists of words.
func (v *validator) lists(at string, r *Resource) {
	v.distinct(at+".tiers", r.Tiers)
	v.distinct(at+".formats", r.Formats)
	v.distinct(at+".methods", r.Methods)
	v.distinct(at+".lists.filters", r.Lists.Filters)
	if r.Query != "" && len(r.Lists.Filters) > 0 {
		v.addf(at+".lists.filters", "is of no use: a query has no lists")
	}
	if len(r.Formats) == 0 {
		v.addf(at+".formats", "is empty: want json, msgpack or both")
	}
	if len(r.Methods) == 0 {
		v.addf(at+".methods", "is empty: nothing would be served")
	}
	if len(r.Tiers) == 0 && r.TTL > 0 {
		v.addf(at+".ttl", "is of no use: tiers is empty, so nothing is kept")
	}
}

// access checks who may do what, and that somebody can do what is served.
func (v *validator) access(at string, r *Resource) {
	v.rule(at+".access.read", r.Access.Read)
	v.rule(at+".access.write", r.Access.Write)
	write := r.Access.Write != "none"
	switch {
	case r.Query != "" && r.Writable():
		v.addf(at+".methods", "a query takes no writes: want get")
	case r.Query != "" && write:
		v.addf(at+".access.write", "a query takes no writes: want none")
	case r.Writable() && !write:
		v.addf(at+".methods", "has methods that write, and access.write is none: say who may "+
			"write, such as access: {write: role:editor}")
	case write && !r.Writable():
		v.addf(at+".access.write", "lets %s write, and methods has none that writes",
			r.Access.Write)
	case r.RequireIfMatch && !r.Writable():
		v.addf(at+".require_if_match", "is of no use: the resource takes no writes")
	}
	if r.Query != "" && r.Allows("list") {
		v.addf(at+".methods", "a query cannot be listed: want get")
	}
	reads := r.Allows("get") || r.Allows("list")
	if r.Access.Read == "none" && v.c.isSet(at+".methods") && reads {
		v.addf(at+".methods", "has methods that read, and access.read is none")
	}
}

// rule checks one rule of access.
func (v *validator) rule(at, rule string) {
	if rule == "public" || rule == "none" {
		return
	}
	words := strings.Split(rule, " ")
	for _, word := range words {
		v.roleOf(at, word, len(words) > 1)
	}
	v.distinct(at, words)
}

// roleOf checks a role in a rule. That no token has it is a warning: a reload may bring the
// token, and a JWT may name any role.
func (v *validator) roleOf(at, word string, oneOfMany bool) {
	role, ok := strings.CutPrefix(word, "role:")
	if !ok || !roleName.MatchString(role) {
		hint := row.DidYouMean(word, []string{"public", "none"})
		switch {
		case oneOfMany && (word == "public" || word == "none"):
			hint = "; " + word + " stands alone"
		case hint == "" && roleName.MatchString(word):
			hint = fmt.Sprintf("; did you mean %q?", "role:"+word)
		}
		v.addf(at, "want public, none, role:NAME or a list of roles, found %q%s", word, hint)
		return
	}
	var roles []string
	for _, t := range v.c.Auth.Tokens {
		if t.Role == role {
			return
		}
		roles = append(roles, t.Role)
	}
	if v.c.Auth.JWT.On() && role != RoleOperator {
		return
	}
	v.warnf(at, "no token has the role %q, so every request is refused%s",
		role, row.DidYouMean(role, roles))
}
