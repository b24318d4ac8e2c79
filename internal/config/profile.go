package config

import "strings"

// Profile is what clients of PostgREST find, beside the paths that are hotrow's own.
type Profile struct {
	Path string `yaml:"path" empty:"plain"` // "": there is none
}

// takes reports whether a resource of this name would be in the way of the profile.
func (p Profile) takes(name string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(p.Path, "/"), "/")
	return p.Path != "" && first == name
}

// profile checks where the profile is.
func (v *validator) profile() {
	p := v.c.HTTP.Postgrest
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
