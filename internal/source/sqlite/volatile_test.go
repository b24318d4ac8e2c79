package sqlite

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// volatileSchema has views whose results change by themselves, one above another.
var volatileSchema = []string{
	"CREATE TABLE t (id integer PRIMARY KEY, at text DEFAULT CURRENT_TIMESTAMP, n integer)",
	"CREATE VIEW recent AS SELECT id, at, n FROM t WHERE at > date('now', '-1 day')",
	"CREATE VIEW newest AS SELECT id, n FROM recent",
	"CREATE VIEW formatted AS SELECT id, \"strftime\"('%Y') AS y FROM t",
	"CREATE VIEW fixed AS SELECT id, date(at) AS d, strftime('%Y', at) AS y FROM t",
}

func TestCompile_RefusesQueriesWhoseResultChangesByItself(t *testing.T) {
	path, _ := newFile(t, "WAL", volatileSchema...)
	s := openTest(t, path, Options{})
	refused := []struct{ column, name string }{
		{"datetime('now')", "datetime"}, {"date('NOW', '+1 day')", "date"}, {"date()", "date"},
		{"time()", "time"}, {"datetime()", "datetime"}, {"julianday('now')", "julianday"},
		{"julianday()", "julianday"}, {"unixepoch()", "unixepoch"},
		{"unixepoch('now')", "unixepoch"}, {"strftime('%s', 'now')", "strftime"},
		{"strftime('%s')", "strftime"}, {"StrFTime(:id || '%s' /* , */)", "strftime"},
		{"timediff('now', at)", "timediff"}, {"date(coalesce(at, 'now'))", "date"},
		{"CURRENT_TIMESTAMP", "current_timestamp"}, {"current_date", "current_date"},
		{"CURRENT_TIME", "current_time"}, {"random()", "random"}, {"hex(randomblob(4))", "randomblob"},
		{"changes()", "changes"}, {"total_changes()", "total_changes"},
		{"last_insert_rowid()", "last_insert_rowid"}, {"(SELECT max(date('now')) FROM t)", "date"},
		{"(SELECT y FROM formatted f WHERE f.id = t.id)", "strftime"},
		{"EXISTS (SELECT 1 FROM newest v WHERE v.id = t.id)", "date"},
	}
	for _, test := range refused {
		_, err := s.Compile(t.Context(), volatileQuery(test.column))
		if err == nil || !strings.Contains(err.Error(), "calls "+test.name+"()") {
			t.Errorf("%s: %v, want a refusal that names %s", test.column, err, test.name)
		}
	}
	for _, column := range []string{
		"date(at)", "datetime('2024-01-02', '+1 day')", "strftime('%Y, now', at)", "abs(n)",
		"strftime('(', max(at, '2'), '+1 day')", "'date()'", "julianday(at) - 2451545",
		"unixepoch('2024-01-01')", "sqlite_version()", "count(*)", "upper('now')",
		"(SELECT y || d FROM fixed f WHERE f.id = t.id)", "at = 'now'", "json_object('now', n)",
	} {
		if _, err := s.Compile(t.Context(), volatileQuery(column)); err != nil {
			t.Errorf("%s: %v, want none", column, err)
		}
	}
}

// volatileQuery is a query resource with this column.
func volatileQuery(column string) *source.Spec {
	return &source.Spec{Name: "q", Key: []string{"id"},
		Query:   "SELECT id, " + column + " AS x FROM t WHERE id = :id",
		Depends: []source.Dep{{Table: "t", Columns: []string{"id"}}}}
}

// TestLoad_RefusesTheKeyNowOfADate is about a key that is the argument of a date function.
func TestLoad_RefusesTheKeyNowOfADate(t *testing.T) {
	path, _ := newFile(t, "WAL", append(volatileSchema, "INSERT INTO t (at) VALUES ('2024-01-02')")...)
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Name: "q", Key: []string{"at"},
		Query:   "SELECT :at AS at, count(*) AS n FROM t WHERE date(at) = date(:at)",
		Depends: []source.Dep{{Table: "t", Columns: []string{"at"}}}})
	if _, doc := load(t, p, "2024-01-02"); !strings.Contains(doc, `"n":1`) {
		t.Errorf("a date: %s", doc)
	}
	if _, err := p.Load(t.Context(), []row.Key{"Now"}); err == nil {
		t.Error("the key now is taken")
	}
}
