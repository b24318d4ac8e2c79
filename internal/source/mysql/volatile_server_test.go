package mysql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/source"
)

// TestMariaDB_ColumnsMadeWhenRead: a column that the server makes when it is read can change
// without a change of its row. One rule says which, for columns as for queries and views.
func TestMariaDB_ColumnsMadeWhenRead(t *testing.T) {
	tests := map[string]bool{ // whether it changes by itself
		"timestampdiff(second, b, now())": true, "rand()": true, "curdate()": true, "uuid()": true,
		"current_user()": true, "current_timestamp": true, "localtime": true, "sysdate()": true,
		"unix_timestamp()": true, "connection_id()": true, "utc_date()": true, "current_role()": true,
		"@@time_zone": true, "@x": true, "sys_guid()": true, "uuid_short()": true,
		"coalesce(b, now())": true, "cast(c as datetime)": true, "timestamp(c)": true,
		"concat(id, 'now()')": false, "unix_timestamp(b)": false, "time(b)": false, "id + 1": false,
		"date_format(b, '%Y')": false, "addtime(c, '1:00')": false, "`now` + 1": false,
	}
	s := newSource(t)
	n := 0
	for expr, changes := range tests {
		n++
		name := fmt.Sprint("t", n)
		mustExec(t, s, "CREATE TABLE "+name+" (id int PRIMARY KEY, b datetime, c time, `now` int,"+
			" v varchar(100) AS ("+expr+") VIRTUAL)")
		p := mustCompile(t, s, &source.Spec{Name: name, Table: name})
		if why := p.ByItself(); (why != "") != changes {
			t.Errorf("%s: %q, want one: %v", expr, why, changes)
		}
		hidden := mustCompile(t, s, &source.Spec{Name: name, Table: name,
			Fields: map[string]source.FieldSpec{"v": {Hide: true}}})
		if why := hidden.ByItself(); why != "" {
			t.Errorf("%s is left out: %q", expr, why)
		}
	}
	for _, stored := range []string{"id + 1) STORED", "b) PERSISTENT"} {
		n++
		mustExec(t, s, fmt.Sprintf("CREATE TABLE t%d (id int PRIMARY KEY, b datetime DEFAULT now(),"+
			" v varchar(100) AS (%s)", n, stored))
		if why := mustCompile(t, s, &source.Spec{Table: fmt.Sprint("t", n)}).ByItself(); why != "" {
			t.Errorf("%s: %q", stored, why)
		}
	}
}

// TestMariaDB_ReadersOfColumnsMadeWhenRead: so does whatever reads such a column.
func TestMariaDB_ReadersOfColumnsMadeWhenRead(t *testing.T) {
	s := newSource(t, "CREATE TABLE a (id int PRIMARY KEY)",
		"CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a (id), born datetime,"+
			" age bigint AS (timestampdiff(second, born, now())) VIRTUAL)",
		"CREATE VIEW v AS SELECT id, age FROM b", "CREATE VIEW w AS SELECT * FROM v",
		"CREATE TABLE d (id int PRIMARY KEY, made datetime DEFAULT now())",
		"CREATE VIEW defaults AS SELECT id, DEFAULT(made) AS x FROM d")
	dep := func(table string) []source.Dep { return []source.Dep{{Table: table}} }
	kid := func(hide bool) []source.Embed {
		return []source.Embed{{Name: "b", On: []string{"a"}, Spec: &source.Spec{Table: "b",
			Fields: map[string]source.FieldSpec{"age": {Hide: hide}}}}}
	}
	for name, tt := range map[string]struct {
		spec source.Spec
		want bool
	}{
		"view":            {source.Spec{Table: "v", Key: []string{"id"}, Depends: dep("b")}, true},
		"view of a view":  {source.Spec{Table: "w", Key: []string{"id"}, Depends: dep("b")}, true},
		"query":           {source.Spec{Query: "SELECT id, age FROM b WHERE id = :id", Depends: dep("b")}, true},
		"embed":           {source.Spec{Table: "a", Embeds: kid(false)}, true},
		"embed without":   {source.Spec{Table: "a", Embeds: kid(true)}, false},
		"a table beside":  {source.Spec{Table: "a"}, false},
		"default of then": {source.Spec{Table: "d"}, false},
	} {
		if why := mustCompile(t, s, &tt.spec).ByItself(); (why != "") != tt.want ||
			tt.want && !strings.Contains(why, "current_timestamp") {
			t.Errorf("%s: %q, want one: %v", name, why, tt.want)
		}
	}
	_, err := s.Compile(t.Context(), &source.Spec{Table: "defaults", Key: []string{"id"},
		Depends: dep("d")})
	if err == nil || !strings.Contains(err.Error(), "default") {
		t.Errorf("a view of a default's value of now: %v", err)
	}
	p := mustCompile(t, s, &source.Spec{Table: "d"})
	w := mustWrite(t, p, source.OpCreate, "", `{"id": 1}`)
	if got, stored := jsonOf(p, w.Loaded), jsonOf(p, mustLoad(t, p, "1")[0]); got != stored {
		t.Errorf("a write has answered %s, the database has %s", got, stored)
	}
}
