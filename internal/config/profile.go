package config

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/fallback"
)

// Profile is what clients of PostgREST find, beside the paths that are hotrow's own.
type Profile struct {
	Path string `yaml:"path" empty:"plain"` // "": there is none

	// Schemas are those of PostgreSQL whose tables are there; the first is meant where a client
	// names none. With Roles or Anon the rights are those of the database's roles.
	Schemas []string `yaml:"schemas,omitempty" one:"true"`
	Roles   []string `yaml:"roles,omitempty" one:"true"` // which tokens may name
	Anon    string   `yaml:"anon,omitempty"`             // of who sends no token; "": nobody may

	Fallback Fallback `yaml:"fallback"`
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

// Fallback is a PostgREST that answers in the profile what hotrow does not.
type Fallback struct {
	URL       string   `yaml:"url" empty:"plain"` // "": there is none
	Headers   []string `yaml:"headers"`           // of requests, besides those that it always gets
	Costly    bool     `yaml:"costly"`            // lists that no index answers
	Monotonic bool     `yaml:"monotonic"`         // what it has shown is in later answers of ours
}

// On reports whether there is one.
func (f *Fallback) On() bool { return f.URL != "" }

// FallbackSource returns the source whose database the fallback is in front of: the one that is
// PostgreSQL. "": there are none, or several.
func (c *Config) FallbackSource() string {
	found := ""
	for _, name := range sortedKeys(c.Sources) {
		if c.Sources[name].Driver() != "postgres" {
			continue
		}
		if found != "" {
			return ""
		}
		found = name
	}
	return found
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
	v.fallback()
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

// fallback checks what is relayed to where.
func (v *validator) fallback() {
	const at = "http.postgrest.fallback"
	f := &v.c.HTTP.Postgrest.Fallback
	if !f.On() {
		if len(f.Headers) > 0 || f.Costly || f.Monotonic {
			v.addf(at+".url", "the rest of http.postgrest.fallback needs it")
		}
		return
	}
	u, err := fallback.Parse(f.URL)
	switch {
	case err != nil:
		v.addf(at+".url", "%v", err)
	case v.c.HTTP.Postgrest.Path == "":
		v.addf(at+".url", "needs http.postgrest.path: only what is asked there is relayed")
	case u.Host == v.c.HTTP.Listen.Address:
		v.addf(at+".url", "is hotrow itself (http.listen): want the URL of a PostgREST")
	case v.c.FallbackSource() == "":
		v.addf(at+".url", "needs one source that is PostgreSQL, with the database of the fallback")
	}
	seen := make(map[string]bool)
	for i, name := range f.Headers {
		here := fmt.Sprintf("%s.headers[%d]", at, i)
		key := http.CanonicalHeaderKey(name)
		switch {
		case !isHeaderName(name):
			v.addf(here, "%q is not the name of a header", name)
		case fallback.Withheld(name):
			v.addf(here, "%s is never relayed: it is hotrow's, or of the connection", key)
		case seen[key]:
			v.addf(here, "%s is there twice", key)
		}
		seen[key] = true
	}
}

// isHeaderName reports whether a header may have this name: letters, digits, - and _.
func isHeaderName(name string) bool {
	for i := range len(name) {
		b := name[i]
		if b != '-' && b != '_' && (b|0x20 < 'a' || b|0x20 > 'z') && (b < '0' || b > '9') {
			return false
		}
	}
	return name != ""
}
