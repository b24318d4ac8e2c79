package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A settingsCase is a database with a row of every type, and what hotrow makes of it under
// the settings of a role that has none.
type settingsCase struct {
	t    *testing.T
	url  string
	conn *pgx.Conn // begun before any setting was made
	body string
	sum  string
	cols []string
}

// newSettingsCase makes one. The role of url is a superuser's.
func newSettingsCase(t *testing.T, url string) *settingsCase {
	t.Helper()
	types := []string{"id int PRIMARY KEY", "k text DEFAULT 'é£ü' UNIQUE"}
	values := []string{"1", "DEFAULT"}
	more := []struct{ typ, value, want string }{
		{"money", "1234.50::money", ""}, {"money[]", "'{1234.50,-1}'", ""},
		{"interval", "'-1 day 03:00:00.000001'", ""}, {"tstzrange", "'[2024-01-02 03:04:05+09,)'", ""},
		{"text[]", `'{NULL,"NULL","é\\"}'`, ""}, {"xml", "'a<b>c</b>'", ""},
		{"xml", "'<!DOCTYPE a><a/>'", ""}, {"tsquery", "'a & b'", ""}, {"jsonpath", "'$.a'", ""},
		{"text", `'\'`, ""},
	}
	for _, c := range slices.Concat(typeCases, more) {
		if c.want == "null" {
			continue // JSON's own becomes SQL's
		}
		types = append(types, fmt.Sprintf("c%d %s", len(types), c.typ))
		values = append(values, c.value)
	}
	foreignExec(t, url, append(slices.Clone(typeSchema),
		"CREATE TABLE types ("+strings.Join(types, ", ")+")",
		"INSERT INTO types VALUES ("+strings.Join(values, ", ")+")",
		"CREATE TABLE kept AS SELECT * FROM types"))
	c := &settingsCase{t: t, url: url, cols: make([]string, len(types)-1)}
	for i := range c.cols {
		c.cols[i], _, _ = strings.Cut(types[i+1], " ")
	}
	var err error
	if c.conn, err = pgx.Connect(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.conn.Close(context.Background()) })
	c.sum = c.hash()
	if c.body, err = c.read(openSource(t, url, Options{MaxConns: 1})); err != nil {
		t.Fatal(err)
	}
	return c
}

// hash returns a sum of the row.
func (c *settingsCase) hash() (sum string) {
	c.t.Helper()
	err := c.conn.QueryRow(c.t.Context(), "SELECT md5(types::text) FROM types").Scan(&sum)
	if err != nil {
		c.t.Fatal(err)
	}
	return sum
}

// exec runs a statement beside hotrow.
func (c *settingsCase) exec(sql string) {
	c.t.Helper()
	if _, err := c.conn.Exec(c.t.Context(), sql); err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
}

// read returns the row as hotrow reads it by its key, and finds it by a filter.
func (c *settingsCase) read(s *Source) (string, error) {
	p, err := s.Compile(c.t.Context(), &source.Spec{Name: "types", Table: "public.types"})
	if err != nil {
		return "", err
	}
	loaded, err := p.Load(c.t.Context(), []row.Key{"1"})
	if err != nil {
		return "", err
	}
	q, err := query.Parse("k=eq.%C3%A9%C2%A3%C3%BC", p.(*plan).Table(), query.Options{})
	if err != nil {
		return "", err
	}
	found, err := p.(*plan).Select(c.t.Context(), q)
	if err == nil && len(found.Rows) != 1 {
		err = fmt.Errorf("the filter finds %d rows", len(found.Rows))
	}
	return jsonOf(p.(*plan), loaded[0]), err
}

// same reads and writes the row with new connections, of a URL with these parameters.
// It returns "" if nothing is other than without.
func (c *settingsCase) same(parameters string) string {
	to := c.url
	if parameters != "" {
		to += "&" + parameters
	}
	s, err := Open(c.t.Context(), to, Options{MaxConns: 1})
	if err != nil {
		return err.Error()
	}
	defer s.Close()
	got, err := c.read(s)
	if err != nil || got != c.body {
		return fmt.Sprintf("read: %v\n%s", err, got)
	}
	defer c.exec("DELETE FROM types; INSERT INTO types SELECT * FROM kept")
	c.exec("UPDATE types SET " + strings.Join(c.cols, " = NULL, ") + " = NULL")
	p := mustCompile(c.t, s, &source.Spec{Name: "types", Table: "public.types"})
	_, err = p.Write(c.t.Context(), &source.Write{Op: source.OpReplace, Key: "1",
		Input: input(c.t, p, c.body)})
	if sum := c.hash(); err != nil || sum != c.sum {
		return fmt.Sprintf("write: %v, the row is another: %v", err, sum != c.sum)
	}
	return ""
}

// bounds are settings that end something which takes long, or more than there is.
var bounds = []string{"idle_in_transaction_session_timeout", "max_stack_depth", "temp_file_limit",
	"tcp_user_timeout", "post_auth_delay", "statement_timeout", "lock_timeout", "default_tablespace",
	"transaction_timeout"}

// texts are values for settings that are texts.
var texts = map[string][]string{
	"datestyle": {"German, DMY", "SQL, MDY"}, "timezone": {"Asia/Tokyo"},
	"client_encoding": {"LATIN1", "SQL_ASCII"}, "timezone_abbreviations": {"India"},
	"search_path": {"pg_temp", ""}, "default_text_search_config": {"pg_catalog.german"},
	"extra_float_digits": {"-15"}, "gin_fuzzy_search_limit": {"1"},
	"log_parameter_max_length_on_error": {"-1"}, "lc_monetary": {"POSIX"}, "lc_time": {"POSIX"},
}

// A setting is one with a value that it does not have by itself.
type setting struct{ name, value string }

// others returns every setting that a role can have, with values that are not its own: each
// list has another value of each.
func (c *settingsCase) others() (rounds [][]setting) {
	c.t.Helper()
	rows, err := c.conn.Query(c.t.Context(), `SELECT lower(name), vartype, setting,
		coalesce(min_val, ''), coalesce(enumvals, '{}') FROM pg_settings
		WHERE context IN ('user', 'superuser') AND name !~ '^(transaction_|log_|tcp_)'`)
	var name, kind, now, least string
	var values []string
	_, err2 := pgx.ForEachRow(rows, []any{&name, &kind, &now, &least, &values}, func() error {
		switch kind {
		case "bool":
			values = []string{map[string]string{"on": "off", "off": "on"}[now]}
		case "string":
			values = texts[name]
		case "integer", "real":
			values = []string{least}
		}
		if more := texts[name]; more != nil {
			values = more
		}
		values = slices.DeleteFunc(values, func(v string) bool { return v == now })
		for i, v := range values {
			if slices.Contains(bounds, name) {
				continue
			}
			if i == len(rounds) {
				rounds = append(rounds, nil)
			}
			rounds[i] = append(rounds[i], setting{name, v})
		}
		return nil
	})
	if err := errors.Join(err, err2); err != nil {
		c.t.Fatal(err)
	}
	return rounds
}

// role is the beginning of what sets something for the role of the test.
func (c *settingsCase) role() string {
	return "ALTER ROLE CURRENT_USER IN DATABASE " +
		pgx.Identifier{c.conn.Config().Database}.Sanitize()
}

// TestPostgres_SettingsChangeNoBytes walks every setting that a role can have: some at a time,
// and each by itself only if that is not enough.
func TestPostgres_SettingsChangeNoBytes(t *testing.T) {
	t.Parallel()
	c := newSettingsCase(t, dbtest.Postgres(t))
	try := func(some []setting) string {
		for _, v := range some {
			c.exec(c.role() + " SET " + v.name + " TO '" + v.value + "'")
		}
		defer c.exec(c.role() + " RESET ALL")
		return c.same("")
	}
	rounds := c.others()
	for _, round := range rounds {
		if try(round) == "" {
			continue
		}
		found := false
		for _, v := range round {
			if why := try([]setting{v}); why != "" {
				t.Errorf("%s = %s: %s", v.name, v.value, why)
				found = true
			}
		}
		if !found {
			t.Errorf("together: %v: %s", round, try(round))
		}
	}
	if len(rounds) < 3 || len(rounds[0]) < 100 {
		t.Errorf("only %d rounds", len(rounds))
	}
}

// TestPostgres_SettingsThatCannotBeSetAreRefused is about a role that may not set what a
// superuser has set for it.
func TestPostgres_SettingsThatCannotBeSetAreRefused(t *testing.T) {
	own := dbtest.Postgres(t)
	role := "plain" + strings.TrimPrefix(path.Base(strings.Split(own, "?")[0]), "t")
	foreignExec(t, own, []string{"CREATE ROLE " + role + " LOGIN",
		"ALTER ROLE " + role + " SET session_replication_role = replica"})
	t.Cleanup(func() { dbtest.Psql(t, own, "DROP ROLE "+role) })
	s := openSource(t, strings.Replace(own, "postgres@", role+"@", 1), Options{})
	_, err := s.Catalog(t.Context())
	e := source.LastingOf(err)
	if e == nil || !strings.Contains(e.Message, "session_replication_role") ||
		!strings.Contains(e.Hint, "RESET session_replication_role") {
		t.Errorf("got %v", err)
	}
}

// TestPostgres_SettingsOfURLsChangeNoBytes is about what a URL, its options and the
// environment say.
func TestPostgres_SettingsOfURLsChangeNoBytes(t *testing.T) {
	c := newSettingsCase(t, dbtest.Postgres(t))
	for _, p := range []string{"client_encoding=LATIN1", "CLIENT_ENCODING=LATIN1", "DateStyle=German",
		"TimeZone=Asia/Tokyo", "tImEzOnE=Asia/Tokyo", "array_nulls=off", "Array_Nulls=off",
		"xmloption=document", "session_replication_role=replica", "IntervalStyle=iso_8601",
		"options=" + strings.ReplaceAll(url.QueryEscape(
			"-c client_encoding=LATIN1 -c bytea_output=escape -c array_nulls=off -c datestyle=German"),
			"+", "%20")} {
		if why := c.same(p); why != "" {
			t.Errorf("%s: %s", p, why)
		}
	}
	t.Setenv("PGOPTIONS", "-c client_encoding=LATIN1 -c xmloption=document")
	t.Setenv("PGTZ", "Asia/Tokyo")
	if why := c.same(""); why != "" {
		t.Error(why)
	}
}
