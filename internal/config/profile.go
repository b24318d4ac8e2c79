package config

import (
	"maps"
	"slices"
	"strings"
)

// Profile is what clients of PostgREST find, beside the paths that are hotrow's own.
type Profile struct {
	Path string `yaml:"path" empty:"plain"` // "": there is none

	// Schemas are those of PostgreSQL whose tables are there; the first is meant where a client
	// names none. With Roles or Anon the rights are those of the database's roles.
	Schemas []string `yaml:"schemas,omitempty" one:"true"`
	Roles   []string `yaml:"roles,omitempty" one:"true"` // which tokens may name
	Anon    string   `yaml:"anon,omitempty"`             // of who sends no token; "": nobody may
}

// Granted reports whether the roles of the database decide who may do what.
func (p Profile) Granted() bool { return p.Path != "" && (p.Anon != "" || len(p.Roles) > 0) }

// Known returns the roles that requests may have.
func (p Profile) Known() []string {
	if p.Anon == "" || slices.Contains(p.Roles, p.Anon) {
		return p.Roles
	}
	return append(slices.Clone(p.Roles), p.Anon)
}

// Anonymous returns the role of who sends no token; "": there is none.
func (c *Config) Anonymous() string {
	if c.Auth.JWT.Anonymous == "" {
		return c.HTTP.Postgrest.Anon
	}
	return c.Auth.JWT.Anonymous
}

// takes reports whether a resource of this name would be in the way of the profile.
func (p Profile) takes(name string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(p.Path, "/"), "/")
	return p.Path != "" && first == name
}

// profile checks where the profile is.
func (v *validator) profile() {
	p := v.c.HTTP.Postgrest
	if p.Path == "" && (p.Anon != "" || len(p.Roles)+len(p.Schemas) > 0) {
		v.addf("http.postgrest.path", "anon, roles and schemas need a path, such as /rest/v1")
	}
	if p.Granted() {
		v.granted()
	}
	switch {
	case p.Path == "":
		return
	case p.Path == "/-" || strings.HasPrefix(p.Path, "/-/"):
		v.addf("http.postgrest.path", "/-/ is hotrow's own: take another path")
	case !basePath.MatchString(p.Path):
		v.addf("http.postgrest.path", "want a path such as /rest/v1, found %q", p.Path)
	}
	for name := range v.c.Resources {
		if p.takes(name) {
			v.addf("http.postgrest.path", "the resource %s has this path: take another", name)
		}
	}
}

// granted checks roles of the database, which nothing but PostgreSQL has.
func (v *validator) granted() {
	p := v.c.HTTP.Postgrest
	const at = "http.postgrest."
	if len(p.Schemas) == 0 {
		v.addf(at+"schemas", "roles need the schemas that they may reach, such as [public]")
	}
	for _, list := range [][]string{p.Roles, p.Schemas, {p.Anon}} {
		for i, name := range list {
			if name == "" && (len(list) > 1 || p.Anon != "") || slices.Contains(list[:i], name) {
				v.addf(at+"roles", "want names, each once, found %q", name)
			}
		}
	}
	if p.Anon == RoleOperator {
		v.addf(at+"anon", "want the name of a role, found %q", p.Anon)
	}
	if jwt := v.c.Auth.JWT.Anonymous; p.Anon != "" && jwt != "" && jwt != p.Anon {
		v.addf(at+"anon", "auth.jwt.anonymous is %q: who sends no token has one role", jwt)
	}
	for _, name := range slices.Sorted(maps.Keys(v.c.Resources)) {
		s := v.c.Sources[v.c.Resources[name].Source]
		if s != nil && s.Driver() != "postgres" {
			v.addf(at+"roles", "the database of the resource %s has no roles with rights of their"+
				" own: leave roles and anon out, access: says who may", name)
		}
	}
}
