package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Paths of SQLite files in a configuration are relative to it, as all its paths are; those
// of variables and of the command line to where we are.
func TestLoad_FilesOfSQLiteAreBesideTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "hotrow.yaml")
	load := func(text string, env ...string) *Config {
		t.Helper()
		if err := os.WriteFile(file, []byte("version: 1\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, err := Load(file, env)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const sources = "sources: {main: {url: '"
	const resources = "'}}\nresources: {a: {table: a}}\n"
	abs := filepath.Join(dir, "else.db")
	for _, tt := range []struct {
		text, env, source, want string
	}{
		{sources + "sqlite:app.db" + resources, "", "main", filepath.Join(dir, "app.db")},
		{sources + "sqlite:data/app.db?mode=ro" + resources, "", "main", filepath.Join(dir, "data/app.db?mode=ro")},
		{sources + "sqlite:" + abs + resources, "", "main", abs},
		{sources + "${DB}" + resources, "DB=sqlite:app.db", "main", filepath.Join(dir, "app.db")},
		{"resources: {a: {table: a}}\n", "DATABASE_URL=sqlite:app.db", "main", "app.db"},
		{"links: {}\n", "", "links", filepath.Join(dir, "links.db")},
		{"links: {database: 'sqlite:my.db'}\n", "", "links", filepath.Join(dir, "my.db")},
		{"links: {}\n", "HOTROW_LINKS_DATABASE=sqlite:my.db", "links", "my.db"},
	} {
		var env []string
		if tt.env != "" {
			env = []string{tt.env}
		}
		c := load(tt.text, env...)
		if got := c.Sources[tt.source].Path(); got != tt.want {
			t.Errorf("%s%s: %s, want %s", tt.text, tt.env, got, tt.want)
		}
		if err := c.Validate(); err != nil || c.Sources[tt.source].Path() != tt.want {
			t.Errorf("%s: validated again it is %s, %v", tt.text, c.Sources[tt.source].Path(), err)
		}
	}
}

// A password is warned of where others can read it: in the text of a file, or in an
// argument, and not where a variable or a secret file gives it.
func TestLoad_WarnsOfAPasswordThatIsShown(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "url"), []byte("postgres://u:pw@h/db"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "hotrow.yaml")
	of := func(url string) string {
		return "sources: {main: {url: '" + url + "'}}\nresources: {a: {table: a}}\n"
	}
	shown := func(at, path, own string) string {
		return file + at + ": " + path + ": who reads the file has the password of the database: use " + own +
			", url: file:PATH or url: ${DATABASE_URL} in a configuration"
	}
	for text, want := range map[string]string{
		of("postgres://u:pw@h/db"):               shown(":2:23", "sources.main.url", "PGPASSWORD, ~/.pgpass"),
		of("${DATABASE_URL}"):                    "",
		of("postgres://u:${PW}@h/db"):            "",
		of("file:url"):                           "",
		of("postgres://u@h/db"):                  "",
		"resources: {a: {table: a}}":             "",
		"links: {database: 'mysql://u:pw@h/db'}": shown(":2:19", "links.database", "MYSQL_PWD"),
	} {
		if err := os.WriteFile(file, []byte("version: 1\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, warnings, err := Load(file, []string{"DATABASE_URL=postgres://u:pw@h/db", "PW=pw"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range warnings {
			got = append(got, w.String())
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s\ngot  %q\nwant %q", text, got, want)
		}
	}
	_, warnings, err := FromURL("mysql://u:pw@h/db", nil)
	if err != nil || len(warnings) != 1 || !strings.HasPrefix(warnings[0].String(), "argument: ps shows") {
		t.Errorf("an argument: %v, %v", warnings, err)
	}
}
