package mysql

import (
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// padded is a collation that both servers have and for which blanks at the end are
// nothing, as for MariaDB's default and not for MySQL's.
const padded = " CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"

func TestMariaDB_KeyIsWhatTheRowSays(t *testing.T) {
	s := newSource(t, "CREATE TABLE word (id varchar(20)"+padded+" PRIMARY KEY, n int)",
		"INSERT INTO word VALUES ('alice', 1), ('Bob', 2), ('7', 3), ('', 4), ('straße', 5)")
	p := mustCompile(t, s, &source.Spec{Table: "word"})
	if !p.KeyType().Wide() {
		t.Error("a key that is compared without case is not wide")
	}
	tests := []struct{ asked, key row.Key }{
		{"alice", "alice"}, {"ALICE", "alice"}, {"alice ", "alice"}, {"bob", "Bob"}, {"7", "7"},
		{"07", ""}, {"7.0", ""}, {"nobody", ""}, {"al_ce", ""},
	}
	var keys []row.Key
	for _, tt := range tests {
		keys = append(keys, tt.asked)
		if l := mustLoad(t, p, tt.asked)[0]; l.Key != tt.key || l.Found() != (tt.key != "") {
			t.Errorf("load of %q gives %q, want %q", tt.asked, l.Key, tt.key)
		}
	}
	for i, l := range mustLoad(t, p, keys...) {
		if l.Key != tests[i].key || l.Asked != tests[i].asked {
			t.Errorf("load of %q among many gives %q, want %q", l.Asked, l.Key, tests[i].key)
		}
	}
	var listed []row.Key
	var after *row.Key
	for {
		page, err := p.List(t.Context(), after, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range page {
			listed = append(listed, l.Key)
		}
		if len(page) < 1 {
			break
		}
		after = &listed[len(listed)-1]
	}
	// The empty text is a row's key, though no path could have it.
	if want := []row.Key{"", "7", "alice", "Bob", "straße"}; !slices.Equal(listed, want) {
		t.Errorf("the list is %q, want %q", listed, want)
	}
}

func TestMariaDB_ColumnCannotHaveEveryLetter(t *testing.T) {
	s := newSource(t, "CREATE TABLE l (id varchar(20) CHARACTER SET latin1 PRIMARY KEY, n int)",
		"INSERT INTO l VALUES ('é', 1), ('?', 2), ('a', 3)")
	p := mustCompile(t, s, &source.Spec{Table: "l"})
	want := []row.Key{"é", "", "a", ""}
	for i, l := range mustLoad(t, p, "é", "Ж", "a", "😀") {
		if l.Key != want[i] {
			t.Errorf("load of %q gives %q, want %q", l.Asked, l.Key, want[i])
		}
	}
	if l := mustLoad(t, p, "Ж")[0]; l.Found() {
		t.Errorf("a letter that the column cannot have found %q", l.Key)
	}
}

func TestMariaDB_KeysOfEveryType(t *testing.T) {
	tests := []struct {
		typ, value string
		asked      row.Key
		key        row.Key
	}{
		{"tinyint(1)", "1", "1", "1"},
		{"tinyint(1)", "7", "07", "7"},
		{"int unsigned", "4294967295", "4294967295", "4294967295"},
		{"bigint unsigned", "18446744073709551615", "18446744073709551615", "18446744073709551615"},
		{"year", "2024", "2024", "2024"},
		{"bit(1)", "b'1'", "true", "true"},
		{"bit(12)", "2049", "2049", "2049"},
		{"decimal(20,4)", "1.5", "1.50", "1.5000"},
		{"decimal(38,18)", "12345678901234567890.123456789012345678",
			"12345678901234567890.123456789012345678", "12345678901234567890.123456789012345678"},
		{"float", "0.1", "0.1", "0.1"},
		{"double", "0.1", "1e-1", "0.1"},
		{"date", "'1981-06-09'", "1981-06-09T00:00:00Z", "1981-06-09"},
		{"datetime(3)", "'1981-06-09 01:02:03.25'", "1981-06-09 01:02:03.250",
			"1981-06-09T01:02:03.25"},
		{"timestamp", "'2001-06-09 01:02:03'", "2001-06-09T03:02:03+02:00", "2001-06-09T01:02:03Z"},
		{"time(6)", "'01:02:03.000001'", "01:02:03.000001", "01:02:03.000001"},
		{"char(5)", "'ab'", "ab", "ab"},
		{"enum('on','off')", "'off'", "OFF", "off"},
		{"set('a','b')", "'b,a'", "a,b", "a,b"},
		{"binary(3)", "x'00ff00'", "00FF00", "00ff00"},
		{"varbinary(16)", "x'2710'", `\x2710`, "2710"},
		{"uuid", "'6ba7b810-9dad-11d1-80b4-00c04fd430c8'", "{6BA7B8109DAD11D180B400C04FD430C8}",
			"6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
		{"inet6", "'::1'", "0:0:0:0:0:0:0:1", "::1"},
	}
	s := newSource(t)
	for _, tt := range tests {
		if alien(tt.typ) {
			continue
		}
		mustExec(t, s, "CREATE OR REPLACE TABLE k (id "+tt.typ+" PRIMARY KEY, n int)",
			"INSERT INTO k VALUES ("+tt.value+", 1)")
		p := mustCompile(t, s, &source.Spec{Table: "k"})
		l := mustLoad(t, p, tt.asked)[0]
		if l.Key != tt.key {
			t.Errorf("%s: load of %q gives the key %q, want %q", tt.typ, tt.asked, l.Key, tt.key)
			continue
		}
		if again := mustLoad(t, p, tt.key, tt.key); again[1].Key != tt.key {
			t.Errorf("%s: load of the key %q gives %q", tt.typ, tt.key, again[1].Key)
		}
		out := mustWrite(t, p, source.OpMerge, tt.key, `{"n":2}`)
		if out.Loaded.Key != tt.key || !strings.HasSuffix(jsonOf(p, out.Loaded), `"n":2}`) {
			t.Errorf("%s: written %q %s", tt.typ, out.Loaded.Key, jsonOf(p, out.Loaded))
		}
		if body := jsonOf(p, l); mustWrite(t, p, source.OpReplace, tt.key, body).Loaded.Key != tt.key {
			t.Errorf("%s: %s was written back as another", tt.typ, body)
		}
		if found, err := p.Check(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("%s: Check says %+v, %v", tt.typ, found, err)
		}
		after := tt.key
		if page, err := p.List(t.Context(), &after, 5); err != nil || len(page) > 0 {
			t.Errorf("%s: after the last row come %d, %v", tt.typ, len(page), err)
		}
	}
}

func TestMariaDB_RoundTripsEveryType(t *testing.T) {
	s := newSource(t)
	for _, c := range mine(typeCases) {
		switch {
		case c.typ == "point", c.typ == "boolean" && c.value == "7", c.want == `"-838:59:59"`:
			continue // documents show them in a form that bodies do not have
		}
		mustExec(t, s, "CREATE OR REPLACE TABLE v (id int PRIMARY KEY, v "+c.typ+")")
		p := mustCompile(t, s, &source.Spec{Table: "v"})
		body := `{"id":1,"v":` + c.want + `}`
		out := mustWrite(t, p, source.OpCreate, "", body)
		if got := jsonOf(p, out.Loaded); got != body {
			t.Errorf("%s: %s was written as %s", c.typ, body, got)
		}
		if got := jsonOf(p, mustLoad(t, p, "1")[0]); got != body {
			t.Errorf("%s: %s reads %s", c.typ, body, got)
		}
		if got := jsonOf(p, mustSelect(t, p, "order=id.desc").Rows[0]); got != body {
			t.Errorf("%s: %s is %s in a list", c.typ, body, got)
		}
	}
}

// mustSelect runs a query.
func mustSelect(t *testing.T, p source.Plan, raw string) *source.Selected {
	t.Helper()
	q, err := query.Parse(raw, p.Table(), query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := p.Select(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return found
}

func TestMariaDB_ChildrenByTextsWithoutCase(t *testing.T) {
	s := newSource(t, "CREATE TABLE team (id varchar(10) PRIMARY KEY, n int)",
		"CREATE TABLE member (id int PRIMARY KEY, team varchar(10), KEY (team),"+
			" FOREIGN KEY (team) REFERENCES team (id))",
		"INSERT INTO team VALUES ('Red', 1), ('blue', 2)",
		"INSERT INTO member VALUES (1, 'red'), (2, 'RED'), (3, 'Blue'), (4, NULL)")
	p := mustCompile(t, s, &source.Spec{Table: "team", Embeds: []source.Embed{{
		Name: "members", Spec: &source.Spec{Table: "member"},
	}}})
	want := `{"id":"Red","n":1,"members":[{"id":1,"team":"red"},{"id":2,"team":"RED"}]}`
	if got := jsonOf(p, mustLoad(t, p, "red", "blue")[0]); got != want {
		t.Errorf("the document is %s, want %s", got, want)
	}
	if d := p.Deps()[1]; len(d.Columns) != 0 {
		t.Errorf("a child's text is not that of the key, yet it is said to be: %+v", d)
	}
	found, err := p.Check(t.Context())
	if err != nil || len(found) != 1 || found[0].Level != source.LevelInfo {
		t.Errorf("Check says %+v, %v, want that texts differ", found, err)
	}
}

func TestMariaDB_NoIndexFollowsTheTextOfAnEnum(t *testing.T) {
	s := newSource(t, "CREATE TABLE en (id int PRIMARY KEY, e enum('z','a'), v int, KEY (e), KEY (v))")
	table := mustCompile(t, s, &source.Spec{Table: "en"}).Table()
	for _, c := range table.Columns {
		if c.Unsorted != (c.Name == "e") {
			t.Errorf("%s: unsorted is %v", c.Name, c.Unsorted)
		}
	}
}
