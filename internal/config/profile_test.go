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

func TestProfile_Fallback(t *testing.T) {
	t.Parallel()
	const pg = "sources: {main: {url: \"postgres://a/b\"}}\n"
	ask := func(profile string) string { return "http: {postgrest: {" + profile + "}}\n" }
	good := mustLoad(t, pg+ask("path: /rest/v1, fallback: {url: \"http://127.0.0.1:3000\", headers: [X-Tenant], "+
		"costly: true, monotonic: true}")+"resources: {a: {table: a, fallback: false}, b: {table: b}}\n")
	if f := good.HTTP.Postgrest.Fallback; !f.On() || !f.Costly || !f.Monotonic || f.Headers[0] != "X-Tenant" ||
		good.FallbackSource() != "main" || good.Resources["a"].Fallback || !good.Resources["b"].Fallback {
		t.Errorf("%+v", good.HTTP.Postgrest)
	}
	const to = "fallback: {url: \"http://127.0.0.1:3000\""
	for in, want := range map[string]string{
		pg + ask("fallback: {costly: true}"): "http.postgrest.fallback.url: the rest of",
		pg + ask(to+"}"):                     "needs http.postgrest.path",
		pg + ask("path: /a, fallback: {url: \"http://127.0.0.1:8080\"}"):       "is hotrow itself",
		pg + ask("path: /a, fallback: {url: \"ftp://a\"}"):                     "want http or https",
		pg + ask("path: /a, "+to+", headers: [Cookie]}"):                       "headers[0]: Cookie is never relayed",
		pg + ask("path: /a, "+to+", headers: [X-Forwarded-For]}"):              "headers[0]: X-Forwarded-For is never",
		pg + ask("path: /a, "+to+", headers: [a, A]}"):                         "headers[1]: A is there twice",
		pg + ask("path: /a, "+to+", headers: [\"a b\"]}"):                      "is not the name of a header",
		"sources: {main: {url: \"sqlite:a.db\"}}\n" + ask("path: /a, "+to+"}"): "needs one source that is PostgreSQL",
		"sources: {main: {url: \"postgres://a/b\"}, other: {url: \"postgres://a/c\"}}\n" +
			ask("path: /a, "+to+"}"): "needs one source that is PostgreSQL",
	} {
		_, _, err := load("hotrow.yaml", in, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}
