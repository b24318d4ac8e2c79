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
