package sqlite

import (
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// TestChangeLog_TriggersOfTwoTablesHaveTwoNames is about tables whose names end as the
// names of triggers do.
func TestChangeLog_TriggersOfTwoTablesHaveTwoNames(t *testing.T) {
	tables := []string{"t", "t_replace", "t_insert", "t_replace_update", "t_displace", "t_"}
	schema := make([]string, len(tables))
	for i, name := range tables {
		schema[i] = "CREATE TABLE " + name + " (id integer PRIMARY KEY, u text UNIQUE)"
	}
	path, _ := newFile(t, "WAL", schema...)
	s := openTest(t, path, Options{})
	watched := make([]source.Watched, len(tables))
	for i, name := range tables {
		watched[i] = source.Watched{Table: name, Columns: []string{"id"}}
	}
	for range 2 { // the second time there is nothing left to do
		findings, err := s.Doctor(t.Context(), source.FeedAuto, watched)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			if err := s.Exec(t.Context(), f.Apply...); err != nil {
				t.Fatalf("%s: %v", f.Text, err)
			}
		}
	}
	log := &changeLog{}
	err := s.readPool().use(t.Context(), func(c *conn) error {
		all, err := readCatalogue(t.Context(), c)
		if err != nil {
			return err
		}
		log.prepare(all, watched)
		ready, err := log.installed(t.Context(), c)
		if !ready {
			t.Error("the triggers are not those that doctor has made")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, lt := range log.tables {
		for _, tr := range lt.triggers() {
			names = append(names, tr.name)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != 5*len(tables) {
		t.Errorf("%d triggers have the names %q", 5*len(tables), names)
	}
}

// TestList_LeavesOutRowsThatNoPathNames is about keys that are no values of their type.
func TestList_LeavesOutRowsThatNoPathNames(t *testing.T) {
	path, _ := newFile(t, "WAL", "CREATE TABLE b (k boolean PRIMARY KEY)",
		"INSERT INTO b VALUES (0), (1), (7), ('true'), ('x'), (1.5), (X'01')",
		"CREATE TABLE n (k numeric PRIMARY KEY)",
		"INSERT INTO n VALUES (2), (2.5), ('abc'), (X'02'), (9e999)",
		"CREATE TABLE d (k date PRIMARY KEY)",
		"INSERT INTO d VALUES ('2024-01-02'), (20240102), ('x'), (X'03')")
	s := openTest(t, path, Options{})
	for table, want := range map[string][]row.Key{"b": {"false", "true"},
		"n": {"2", "2.5", "Infinity"}, "d": {"20240102", "2024-01-02", "x"}} {
		p := compile(t, s, &source.Spec{Table: table})
		listed, err := p.List(t.Context(), nil, 100)
		if err != nil {
			t.Fatal(err)
		}
		var keys []row.Key
		for _, l := range listed {
			keys = append(keys, l.Key)
			if _, doc := load(t, p, l.Key); doc == "" {
				t.Errorf("%s/%s is listed and not there", table, l.Key)
			}
		}
		if !slices.Equal(keys, want) {
			t.Errorf("%s lists %q, want %q", table, keys, want)
		}
	}
}

// TestWrite_ErrorsThatOthersCauseAreNoFaults is about values and triggers that SQLite has
// no result code of their own for.
func TestWrite_ErrorsThatOthersCauseAreNoFaults(t *testing.T) {
	path, _ := newFile(t, "WAL",
		"CREATE TABLE t (id integer PRIMARY KEY, j text, n integer, "+
			"x AS (json_extract(j, '$.a')) STORED, y AS (abs(n)) STORED, z AS (date(j)) STORED)",
		"CREATE TABLE r (id integer PRIMARY KEY, v integer CHECK (v <> 3), s text)",
		"CREATE TRIGGER r_gone AFTER INSERT ON r WHEN NEW.v = 1 BEGIN DELETE FROM r WHERE id = NEW.id; END",
		"CREATE TRIGGER r_no AFTER INSERT ON r WHEN NEW.v = 2 BEGIN SELECT RAISE(ROLLBACK, 'no'); END",
		"CREATE TRIGGER r_abort AFTER INSERT ON r WHEN NEW.v = 4 BEGIN SELECT RAISE(ABORT, 'no'); END",
		"CREATE TABLE w (id integer PRIMARY KEY, v integer)",
		"CREATE TRIGGER w_broken AFTER INSERT ON w BEGIN INSERT INTO missing VALUES (1); END",
		"CREATE TRIGGER r_fail AFTER INSERT ON r WHEN NEW.v = 6 BEGIN SELECT RAISE(FAIL, 'no'); END",
		"CREATE TRIGGER r_ignore BEFORE INSERT ON r WHEN NEW.v = 7 BEGIN SELECT RAISE(IGNORE); END",
		"CREATE TRIGGER r_key AFTER INSERT ON r WHEN NEW.v = 8 BEGIN "+
			"UPDATE r SET id = 1000 WHERE id = NEW.id; END")
	s := openTest(t, path, Options{})
	for _, tt := range []struct {
		table, body string
		want        source.Class
	}{
		{"t", `{"id":1,"j":"{"}`, source.Invalid},
		{"t", `{"id":1,"n":-9223372036854775808}`, source.Invalid},
		{"t", `{"id":1,"j":"now"}`, source.Invalid},
		{"r", `{"id":1,"v":1}`, source.Conflict}, {"r", `{"id":1,"v":2}`, source.Invalid},
		{"r", `{"id":1,"v":3}`, source.Invalid}, {"r", `{"id":1,"v":4}`, source.Invalid},
		{"w", `{"id":1,"v":5}`, source.Missing}, {"r", `{"id":1,"v":6}`, source.Invalid},
		{"r", `{"id":1,"v":7}`, source.Conflict}, {"r", `{"id":1,"v":8}`, source.Conflict},
	} {
		p := compile(t, s, &source.Spec{Table: tt.table})
		in, err := p.Shape().DecodeJSON([]byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		for key, op := range map[row.Key]source.Op{"": source.OpCreate, "1": source.OpReplace} {
			_, err = p.Write(t.Context(), &source.Write{Op: op, Key: key, Input: in})
			if err == nil || source.ClassOf(err) != tt.want {
				t.Errorf("%s %s: %v, want class %d", tt.table, tt.body, err, tt.want)
			}
		}
		if _, doc := load(t, p, "1"); doc != "" {
			t.Errorf("%s %s left a row", tt.table, tt.body)
		}
	}
}

// TestWrite_RefusesWhatSQLiteCannotHold is about bodies of columns without a type.
func TestWrite_RefusesWhatSQLiteCannotHold(t *testing.T) {
	path, _ := newFile(t, "WAL", "CREATE TABLE t (id integer PRIMARY KEY, v, f real, d decimal, j json)")
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Table: "t"})
	for _, body := range []string{`"v":[1]`, `"v":{"a":1}`, `"v":18446744073709551615`, `"v":1e999`,
		`"v":18446744073709551616`, `"v":-9223372036854775809`,
		`"j":1e400`, `"j":-1e400`, `"f":"NaN"`, `"d":"NaN"`, `"d":1e400`} {
		in, err := p.Shape().DecodeJSON([]byte(`{` + body + `}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "1", Input: in})
		if source.ClassOf(err) != source.Invalid || !strings.Contains(err.Error(), body[:3]) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
