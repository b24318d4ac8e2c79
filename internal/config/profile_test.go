package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestProfile_Path(t *testing.T) {
	for path, want := range map[string]string{
		"": "", "/rest/v1": "", "/api": "", "/-/x": "hotrow's own", "rest": "want a path",
		"/rest/": "want a path", "/depts/v1": "take another",
	} {
		c := Default()
		c.Resources = map[string]*Resource{"depts": DefaultResource()}
		c.HTTP.Postgrest.Path = path
		v := &validator{c: c}
		v.profile()
		got := ""
		for i := range v.problems {
			got += fmt.Sprint(v.problems[i])
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// Roles of the database need schemas and PostgreSQL, and who sends no token has one role.
func TestProfile_Roles(t *testing.T) {
	for text, want := range map[string]string{
		"{path: /rest/v1, schemas: [public], roles: [user], anon: anon}": "",
		"{path: /rest/v1, roles: [user]}":                                "roles need the schemas",
		"{path: /rest/v1, schemas: public, anon: other}":                 "who sends no token has one role",
		"{schemas: [public], anon: anon}":                                "need a path",
		"{path: /rest/v1, schemas: [public], roles: [user, user]}":       "want names, each once",
		"{path: /rest/v1, schemas: [public, public], roles: [user]}":     "want names, each once",
		"{path: /rest/v1, schemas: [public], anon: operator}":            "want the name of a role",
	} {
		for driver, url := range map[string]string{"": "postgres://u@h/d", "no": "sqlite:x.db"} {
			_, _, err := Parse("hotrow.yaml", "version: 1\nhttp: {postgrest: "+text+"}\nsources: {main: {url: '"+url+
				"'}}\nauth: {jwt: {secret: thirty-two bytes and some more of them, anonymous: anon}}\n"+
				"resources: {depts: {table: dept}}\n", nil)
			wants := want
			if driver == "no" && !strings.Contains(text, "{schemas") {
				wants = "has no roles"
			}
			if got := fmt.Sprint(err); (err == nil) != (wants == "") || err != nil && !strings.Contains(got, wants) {
				t.Errorf("%s of %s: %v, want %q", text, url, err, wants)
			}
		}
	}
}
