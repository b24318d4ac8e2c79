package config

import (
	"strings"

	"github.com/hotrow/hotrow/internal/jwt"
)

// Rows say by equality which rows of a resource a request may have.
type Rows struct {
	Read   map[string]*Claim `yaml:"read,omitempty" name:"COLUMN"`
	Write  map[string]*Claim `yaml:"write,omitempty" name:"COLUMN"` // none: as Read
	Except []string          `yaml:"except,omitempty" one:"true"`   // roles without a rule
}

// On reports whether there is a rule.
func (r *Rows) On() bool { return len(r.Read) > 0 }

// A Claim is where a claim of a token is, such as sub; "in PATH": one of a list.
type Claim string

// setText reads the path.
func (c *Claim) setText(text string) error {
	*c = Claim(text)
	_, err := jwt.ParsePath(strings.TrimPrefix(text, "in "))
	return err
}

// Path returns where the claim is, and whether it is a list.
func (c *Claim) Path() (path []string, in bool) {
	text, in := strings.CutPrefix(string(*c), "in ")
	path, _ = jwt.ParsePath(text) // it was checked
	return path, in
}

// rows checks the rule of a resource about its rows.
func (v *validator) rows(at, name string, r *Resource) {
	at += ".rows"
	if !r.Rows.On() {
		if len(r.Rows.Write)+len(r.Rows.Except) > 0 {
			v.addf(at, "needs read, such as read: {owner_id: sub}")
		}
		return
	}
	switch {
	case v.c.HTTP.Postgrest.Path == "":
		v.addf(at, "rows are told apart for clients of PostgREST alone: set http.postgrest.path")
	case !v.c.Auth.JWT.On():
		v.addf(at, "its values are claims of JWTs: set auth.jwt")
	case r.Table == "":
		v.addf(at, "is for resources of a table")
	case len(r.Embed) > 0 || r.KV != ResourceKV{} || r.Warm != "" && r.Warm != "off":
		v.addf(at, "does not go with embed, kv or warm: no other listener has these rows")
	}
	for _, other := range sortedKeys(v.c.Resources) {
		for member, e := range v.c.Resources[other].Embed {
			if e.Resource == name || e.Table != "" && e.Table == r.Table {
				v.addf("resources."+other+".embed."+member, "%s has rows that not everybody may"+
					" have: documents with them are everybody's", name)
			}
		}
	}
}
