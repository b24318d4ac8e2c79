package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sqlSources = `
sources:
  main: {url: "postgres://u@localhost/d"}
  lite: {url: "sqlite:a.db"}
`

// TestSQL_KnowsItsSource: the one that is named, or the only one there can be.
func TestSQL_KnowsItsSource(t *testing.T) {
	for _, tt := range []struct{ text, want, problem string }{
		{sqlSources, "", ""},
		{sqlSources + "sql: {listen: '127.0.0.1:5433'}", "main", ""},
		{sqlSources + "sql: {listen: '127.0.0.1:5433', source: main}", "main", ""},
		{sqlSources + "sql: {listen: '127.0.0.1:5433', source: lite}", "", "lite is one of sqlite"},
		{sqlSources + "sql: {listen: '127.0.0.1:5433', source: other}", "", `no source "other"`},
		{"sources: {lite: {url: 'sqlite:a.db'}}\nsql: {listen: '127.0.0.1:5433'}", "", "wants a source of PostgreSQL"},
		{sqlSources + "  second: {url: 'postgres://h/d'}\nsql: {listen: '127.0.0.1:5433'}", "",
			"one of the sources [main second]"},
		{sqlSources + "sql: {listen: '127.0.0.1:5433', mode: serve}", "main", ""},
		{sqlSources + "sql: {listen: '127.0.0.1:5433', tls: true}", "", "needs the certificate of http.tls"},
		{sqlSources + "sql: {listen: '0.0.0.0:5433'}", "main", ""}, // the database asks who it is
	} {
		file := filepath.Join(t.TempDir(), "hotrow.yaml")
		if err := os.WriteFile(file, []byte("version: 1\n"+tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, err := Load(file, nil)
		if tt.problem != "" {
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%s\n%v, want %q", tt.text, err, tt.problem)
			}
			continue
		}
		if err != nil || c.SQLSource() != tt.want {
			t.Errorf("%s\nthe source is %q, want %q: %v", tt.text, c.SQLSource(), tt.want, err)
			continue
		}
		if err := c.CheckExposure(false); err != nil {
			t.Error(err)
		}
		if served := c.CheckServes() == nil; served != (tt.want != "") {
			t.Errorf("%s\nis something to serve: %v", tt.text, served)
		}
	}
}
