package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// typeCases are values as SQL writes them and as JSON does.
var typeCases = []struct{ typ, value, want string }{
	{"bool", "true", `true`},
	{"bool", "NULL", `null`},
	{"int2", "-32768", `-32768`},
	{"int4", "2147483647", `2147483647`},
	{"int8", "9007199254740993", `9007199254740993`},
	{"int8", "-9223372036854775808", `-9223372036854775808`},
	{"oid", "4294967295", `4294967295`},
	{"float4", "0.1", `0.1`},
	{"float4", "3.4028235e38", `3.4028235e+38`},
	{"float8", "0.1", `0.1`},
	{"float8", "'-0'", `-0`},
	{"float8", "1e300", `1e+300`},
	{"float8", "5e-324", `5e-324`},
	{"float8", "'NaN'", `"NaN"`},
	{"float8", "'-Infinity'", `"-Infinity"`},
	{"numeric", "'-1.50'", `-1.50`},
	{"numeric", "'123456789012345678901234567890.123456789'",
		`123456789012345678901234567890.123456789`},
	{"numeric", "'NaN'", `"NaN"`},
	{"numeric(10,2)", "1.005", `1.01`},
	{"text", "'a\"b\\c' || chr(10) || chr(1) || chr(128512)",
		"\"a\\\"b\\\\c\\n\\u0001\U0001F600\""},
	{"text", "''", `""`},
	{"varchar(5)", "'abc'", `"abc"`},
	{"char(5)", "'ab'", `"ab   "`},
	{"name", "'n'", `"n"`},
	{`"char"`, "'c'", `"c"`},
	{"bytea", `'\x00ff10'`, `"AP8Q"`},
	{"bytea", `''`, `""`},
	{"date", "'2024-02-29'", `"2024-02-29"`},
	{"date", "'0001-01-01'", `"0001-01-01"`},
	{"date", "'9999-12-31'", `"9999-12-31"`},
	{"date", "'12024-02-29'", `"12024-02-29"`},
	{"date", "'0044-03-15 BC'", `"0044-03-15 BC"`},
	{"date", "'4713-01-01 BC'", `"4713-01-01 BC"`},
	{"date", "'5874897-12-31'", `"5874897-12-31"`},
	{"date", "'infinity'", `"infinity"`},
	{"date", "'-infinity'", `"-infinity"`},
	{"time", "'04:05:06.789'", `"04:05:06.789"`},
	{"time", "'24:00'", `"24:00:00"`},
	{"timetz", "'04:05:06+02'", `"04:05:06+02:00"`},
	{"timetz", "'04:05:06.5-03:30'", `"04:05:06.5-03:30"`},
	{"timetz", "'04:05:06Z'", `"04:05:06Z"`},
	{"timestamp", "'1981-06-09 01:02:03.000004'", `"1981-06-09T01:02:03.000004"`},
	{"timestamp", "'1969-12-31 23:59:59.5'", `"1969-12-31T23:59:59.5"`},
	{"timestamp", "'infinity'", `"infinity"`},
	{"timestamp", "'0001-01-01 00:00:00 BC'", `"0001-01-01 00:00:00 BC"`},
	{"timestamp", "'10000-01-01 00:00:00'", `"10000-01-01 00:00:00"`},
	{"timestamptz", "'2024-01-01 01:00:00+02'", `"2023-12-31T23:00:00Z"`},
	{"timestamptz", "'-infinity'", `"-infinity"`},
	{"timestamptz", "'0044-03-15 12:00:00+00 BC'", `"0044-03-15 12:00:00+00 BC"`},
	{"interval", "'1 year 2 days 03:04:05.5'", `"1 year 2 days 03:04:05.5"`},
	{"uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", `"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`},
	{"json", `'{"b" : 1,  "a":[true]}'`, `{"b" : 1,  "a":[true]}`},
	{"jsonb", `'{"b" : 1,  "a":[null]}'`, `{"a": [null], "b": 1}`},
	{"jsonb", `'null'`, `null`},
	{"inet", "'10.0.0.1/8'", `"10.0.0.1/8"`},
	{"cidr", "'10.0.0.0/8'", `"10.0.0.0/8"`},
	{"macaddr", "'08:00:2b:01:02:03'", `"08:00:2b:01:02:03"`},
	{"int4range", "'[1,5)'", `"[1,5)"`},
	{"point", "'(1,2)'", `"(1,2)"`},
	{"bit(3)", "B'101'", `"101"`},
	{"varbit", "B'1'", `"1"`},
	{"xml", "'<a/>'", `"<a/>"`},
	{"tsvector", "'a b'", `"'a' 'b'"`},
	{"mood", "'happy'", `"happy"`},
	{"posint", "7", `7`},
	{"shortname", "'bob'", `"bob"`},
	{"price", "1.10", `1.10`},
	{"pair", "ROW(1,'x')", `"(1,x)"`},
	{"int4[]", "'{1,NULL,3}'", `[1,null,3]`},
	{"int4[]", "'{}'", `[]`},
	{"int8[]", "'[5:6]={1,2}'", `"[5:6]={1,2}"`},
	{"int4[]", "'{{1,2},{3,4}}'", `[[1,2],[3,4]]`},
	{"bool[]", "'{t,f}'", `[true,false]`},
	{"text[]", `'{"a,b",NULL,"NULL","q\"",""}'`, `["a,b",null,"NULL","q\"",""]`},
	{"bytea[]", `ARRAY['\x00ff'::bytea]`, `["AP8="]`},
	{"numeric[]", "'{1.50,NaN}'", `[1.50,"NaN"]`},
	{"date[]", "'{2024-01-01,infinity}'", `["2024-01-01","infinity"]`},
	{"timestamptz[]", "'{2024-01-01 00:00:00+00}'", `["2024-01-01T00:00:00Z"]`},
	{"uuid[]", "'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'",
		`["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]`},
	{"jsonb[]", `ARRAY['{"a":1}'::jsonb]`, `[{"a": 1}]`},
	{"mood[]", "'{happy,sad}'", `["happy","sad"]`},
	{"posint[]", "'{1,2}'", `[1,2]`},
	{"ints", "'{1,2}'", `[1,2]`},
	{"inet[]", "'{10.0.0.1}'", `["10.0.0.1"]`},
	{"int2vector", "'1 2'", `"1 2"`},
}

var typeSchema = []string{
	`CREATE TYPE mood AS ENUM ('sad', 'happy')`,
	`CREATE DOMAIN posint AS int CHECK (VALUE > 0)`,
	`CREATE DOMAIN shortname AS varchar(10)`,
	`CREATE DOMAIN price AS numeric(10,2)`,
	`CREATE DOMAIN ints AS int[]`,
	`CREATE TYPE pair AS (a int, b text)`,
}

func TestPostgres_TypesBecomeJSON(t *testing.T) {
	var columns, values, wants []string
	for i, c := range typeCases {
		columns = append(columns, fmt.Sprintf("c%d %s", i, c.typ))
		values = append(values, c.value)
		wants = append(wants, fmt.Sprintf(`"c%d":%s`, i, c.want))
	}
	s := newSource(t, append(typeSchema,
		"CREATE TABLE types (id int PRIMARY KEY, "+strings.Join(columns, ", ")+")",
		"INSERT INTO types VALUES (1, "+strings.Join(values, ", ")+")",
		"CREATE TABLE parent (id int PRIMARY KEY)", "INSERT INTO parent VALUES (1)")...)
	types := &source.Spec{Name: "types", Table: "types"}
	want := `{"id":1,` + strings.Join(wants, ",") + `}`

	p := mustCompile(t, s, types)
	l := mustLoad(t, p, "1")[0]
	if got := jsonOf(p, l); got != want {
		t.Errorf("as a table:\n%s", cmp.Diff(strings.Split(want, ",\""), strings.Split(got, ",\"")))
	}

	// In a record every type is named: the same values have to come out.
	p = mustCompile(t, s, &source.Spec{Name: "parents", Table: "parent",
		Embeds: []source.Embed{{Name: "in", Spec: types, On: []string{"id"}}}})
	want = `{"id":1,"in":[` + want + `]}`
	if got := jsonOf(p, mustLoad(t, p, "1")[0]); got != want {
		t.Errorf("in a record:\n%s", cmp.Diff(strings.Split(want, ",\""),
			strings.Split(got, ",\"")))
	}

	p = mustCompile(t, s, &source.Spec{Name: "q", Query: "SELECT * FROM types WHERE id = :key",
		Depends: []source.Dep{{Table: "types", Columns: []string{"id"}}}})
	if got := jsonOf(p, mustLoad(t, p, "1")[0]); `{"id":1,"in":[`+got+`]}` != want {
		t.Errorf("as a query: %s", got)
	}
}

func TestPostgres_LoadsNestedDocuments(t *testing.T) {
	s := newSource(t, scott...)
	p := mustCompile(t, s, deptSpec())
	want := []string{
		`{"deptNumber":20,"deptName":"RESEARCH","deptLocation":null,"emps":[` +
			`{"empNo":7788,"empName":"SCOTT","mgr":7566,"hiredate":"1982-12-09T00:00:00Z",` +
			`"sal":3000}]}`,
		`absent`,
		`{"deptNumber":10,"deptName":"ACCOUNTING","deptLocation":"NEW YORK","emps":[` +
			`{"empNo":7782,"empName":"CLARK","mgr":7839,"hiredate":"1981-06-09T00:00:00Z",` +
			`"sal":2450},` +
			`{"empNo":7839,"empName":"KING","hiredate":"1981-11-17T00:00:00Z","sal":5000}]}`,
		`{"deptNumber":30,"deptName":"SALES","deptLocation":"CHICAGO","emps":[]}`,
	}
	keys := []row.Key{"20", "40", "10", "30"}
	var got, alone []string
	for i, l := range mustLoad(t, p, keys...) {
		got = append(got, jsonOf(p, l))
		alone = append(alone, jsonOf(p, mustLoad(t, p, keys[i])[0]))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("many: %s", d)
	}
	if d := cmp.Diff(want, alone); d != "" {
		t.Errorf("one by one: %s", d)
	}
	wantDeps := []source.Dep{
		{Table: "public.dept", Columns: []string{"deptno"}},
		{Table: "public.emp", Columns: []string{"deptno"}, Identity: []string{"empno"}},
	}
	if d := cmp.Diff(wantDeps, p.Deps()); d != "" {
		t.Errorf("deps: %s", d)
	}
	l := mustLoad(t, p, "10")[0]
	wantKids := []source.Child{{Table: "public.emp", ID: "7782"}, {Table: "public.emp", ID: "7839"}}
	if d := cmp.Diff(wantKids, l.Children); d != "" || l.Key != "10" {
		t.Errorf("key %q, children %s", l.Key, d)
	}
}

// TestPostgres_KnowsOldParentsByReplicaIdentity: where the log has whole rows nobody
// needs to remember which document holds which row, so that it may be kept on disk.
func TestPostgres_KnowsOldParentsByReplicaIdentity(t *testing.T) {
	s := newSource(t, `CREATE TABLE a (id int PRIMARY KEY)`,
		`CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a)`)
	spec := &source.Spec{Name: "a", Table: "a", Embeds: []source.Embed{{
		Name: "bs", On: []string{"a"}, Spec: &source.Spec{Table: "b"}}}}
	for _, tt := range []struct {
		identity string
		want     bool
	}{{"DEFAULT", false}, {"FULL", true}, {"USING INDEX b_pkey", false}} {
		if err := s.Exec(t.Context(), "ALTER TABLE b REPLICA IDENTITY "+tt.identity); err != nil {
			t.Fatal(err)
		}
		want := []source.Dep{{Table: "public.a", Columns: []string{"id"}},
			{Table: "public.b", Columns: []string{"a"}, Identity: []string{"id"}, KnowsOld: tt.want}}
		if d := cmp.Diff(want, mustCompile(t, s, spec).Deps()); d != "" {
			t.Errorf("%s: %s", tt.identity, d)
		}
	}
}

func TestPostgres_LoadsSeveralLevels(t *testing.T) {
	s := newSource(t,
		`CREATE TABLE a (id int PRIMARY KEY)`,
		`CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a)`,
		`CREATE TABLE c (b int REFERENCES b, n text, PRIMARY KEY (b, n))`,
		`INSERT INTO a VALUES (1), (2)`, `INSERT INTO b VALUES (10, 1), (11, 1), (12, 2)`,
		`INSERT INTO c VALUES (10, 'x'), (10, 'y'), (12, 'z')`)
	p := mustCompile(t, s, &source.Spec{Name: "a", Table: "a", Embeds: []source.Embed{{
		Name: "bs", Spec: &source.Spec{Table: "b",
			Fields: map[string]source.FieldSpec{"a": {Hide: true}},
			Embeds: []source.Embed{{Name: "cs", Spec: &source.Spec{
				Table: "c", Fields: map[string]source.FieldSpec{"b": {Hide: true}}}}}},
	}}})
	got := jsonOf(p, mustLoad(t, p, "1")[0])
	want := `{"id":1,"bs":[{"id":10,"cs":[{"n":"x"},{"n":"y"}]},{"id":11,"cs":[]}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	wantDeps := []source.Dep{
		{Table: "public.a", Columns: []string{"id"}},
		{Table: "public.b", Columns: []string{"a"}, Identity: []string{"id"}},
		{Table: "public.c"},
	}
	if d := cmp.Diff(wantDeps, p.Deps()); d != "" {
		t.Errorf("deps: %s", d)
	}
}

// keyCases are keys of every type that can be one: as asked, and as the row has it.
var keyCases = []struct {
	typ, value string
	asked, key row.Key
	wide       bool
}{
	{"int2", "7", "7", "7", false},
	{"int4", "-7", "-7", "-7", false},
	{"int8", "9007199254740993", "9007199254740993", "9007199254740993", false},
	{"text", "'a,b %'", "a,b %", "a,b %", false},
	{"varchar(9)", "'v\"\\'", `v"\`, `v"\`, false},
	{"char(4)", "'ab'", "ab", "ab  ", true},
	{"citext", "'Foo'", "fOO", "Foo", true},
	{"text COLLATE nocase", "'Foo'", "fOO", "Foo", true},
	{"uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
		"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", false},
	{"numeric", "1.50", "1.5", "1.50", true},
	{"date", "'2024-02-29'", "2024-02-29", "2024-02-29", false},
	{"timestamp", "'2024-02-29 01:02:03.5'", "2024-02-29T01:02:03.5", "2024-02-29T01:02:03.5",
		false},
	{"timestamptz", "'2024-02-29 01:02:03+00'", "2024-02-29T01:02:03Z", "2024-02-29T01:02:03Z",
		false},
	{"bool", "true", "true", "true", false},
	{"mood", "'happy'", "happy", "happy", false},
	{"posint", "3", "3", "3", false},
	{"float8", "0.1", "0.1", "0.1", false},
	{"bytea", `'\xff'`, "ff", "ff", false},
	{"inet", "'10.0.0.1'", "10.0.0.1/32", "10.0.0.1", true},
	{"name", "'n'", "n", "n", false},
	{"oid", "4294967295", "4294967295", "4294967295", false},
	{"time", "'04:05:06'", "04:05:06.0", "04:05:06", false},
	{"timetz", "'04:05:06-00:00:01'", "04:05:06-00:00:01", "04:05:06-00:00:01", false},
}

func TestPostgres_KeysOfEveryType(t *testing.T) {
	s := newSource(t, append(typeSchema, `CREATE EXTENSION citext`,
		`CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = `+
			`false)`)...)
	for i, c := range keyCases {
		t.Run(c.typ, func(t *testing.T) {
			name := fmt.Sprintf("k%d", i)
			mustExec(t, s, fmt.Sprintf("CREATE TABLE %s (k %s PRIMARY KEY)", name, c.typ),
				fmt.Sprintf("INSERT INTO %s VALUES (%s)", name, c.value))
			p := mustCompile(t, s, &source.Spec{Table: name})
			if got := p.KeyType().Wide(); got != c.wide {
				t.Errorf("wide = %v", got)
			}
			asked, err := p.KeyType().Parse(c.asked)
			if err != nil {
				t.Fatal(err)
			}
			for _, keys := range [][]row.Key{{asked}, {asked, asked}} {
				for _, l := range mustLoad(t, p, keys...) {
					if l.Key != c.key || l.Asked != asked {
						t.Errorf("load of %d: key %q, asked %q, want %q", len(keys), l.Key,
							l.Asked, c.key)
					}
				}
			}
			findings, err := p.Check(t.Context())
			if err != nil || len(findings) > 0 {
				t.Errorf("check: %v %v", findings, err)
			}
		})
	}
}

func TestPostgres_CompositeKeys(t *testing.T) {
	s := newSource(t, `CREATE TABLE city (name text, state char(2), n int, PRIMARY KEY (state, `+
		`name))`,
		`INSERT INTO city VALUES ('Tulsa', 'OK', 1), ('a,b%', 'OK', 2), ('Tulsa', 'TX', 3)`)
	p := mustCompile(t, s, &source.Spec{Table: "city"})
	got := mustLoad(t, p, "TX,Tulsa", "OK,nowhere", "OK,a%2Cb%25", "OK,Tulsa")
	var keys []row.Key
	for _, l := range got {
		keys = append(keys, l.Key)
	}
	want := []row.Key{"TX,Tulsa", "", "OK,a%2Cb%25", "OK,Tulsa"}
	if d := cmp.Diff(want, keys); d != "" {
		t.Error(d)
	}
	if l := mustLoad(t, p, "OK,a%2Cb%25")[0]; jsonOf(p, l) != `{"name":"a,b%","state":"OK","n":2}` {
		t.Errorf("got %s", jsonOf(p, l))
	}
}

func TestPostgres_KeyThatIsNoneHasNoRow(t *testing.T) {
	s := newSource(t, append(typeSchema, `CREATE TABLE m (k mood PRIMARY KEY)`,
		`INSERT INTO m VALUES ('sad')`)...)
	p := mustCompile(t, s, &source.Spec{Table: "m"})
	if l := mustLoad(t, p, "glad")[0]; l.Found() || l.Asked != "glad" {
		t.Errorf("glad: %+v", l)
	}
	l := mustLoad(t, p, "glad", "sad", "happy")
	if l[0].Found() || !l[1].Found() || l[2].Found() || l[1].Key != "sad" {
		t.Errorf("got %+v", l)
	}
}

func TestPostgres_KeyOtherThanThePrimaryOne(t *testing.T) {
	s := newSource(t, `CREATE TABLE u (id int PRIMARY KEY, mail text UNIQUE, n int)`,
		`INSERT INTO u VALUES (1, 'a@b', 5), (2, NULL, 6), (3, 'c@d', 7)`)
	p := mustCompile(t, s, &source.Spec{Table: "u", Key: []string{"mail"}, Only: true,
		Fields: map[string]source.FieldSpec{"n": {}}})
	l := mustLoad(t, p, "a@b")[0]
	if got := jsonOf(p, l); got != `{"n":5}` || l.Key != "a@b" {
		t.Errorf("got %s, key %q", got, l.Key)
	}
	if d := cmp.Diff([]source.Child{{Table: "public.u", ID: "1"}}, l.Children); d != "" {
		t.Error(d)
	}
	want := []source.Dep{{Table: "public.u", Columns: []string{"mail"}, Identity: []string{"id"}}}
	if d := cmp.Diff(want, p.Deps()); d != "" {
		t.Error(d)
	}
	list, err := p.List(t.Context(), nil, 10)
	if err != nil || len(list) != 2 || list[0].Key != "a@b" || list[1].Key != "c@d" {
		t.Errorf("list %+v, %v", list, err)
	}
	_, err = s.Compile(t.Context(), &source.Spec{Name: "u", Table: "u", Key: []string{"n"}})
	if err == nil || !strings.Contains(err.Error(), "CREATE UNIQUE INDEX") {
		t.Errorf("a key that is not unique: %v", err)
	}
}

func TestPostgres_ListsByKey(t *testing.T) {
	s := newSource(t, `CREATE TABLE l (a int, b text, PRIMARY KEY (a, b))`,
		`INSERT INTO l SELECT i / 3, 'k' || i FROM generate_series(0, 9) i`)
	p := mustCompile(t, s, &source.Spec{Table: "l"})
	var keys []row.Key
	var after *row.Key
	for {
		list, err := p.List(t.Context(), after, 4)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, l := range list {
			keys = append(keys, l.Key)
		}
		after = &keys[len(keys)-1]
	}
	want := []row.Key{"0,k0", "0,k1", "0,k2", "1,k3", "1,k4", "1,k5", "2,k6", "2,k7", "2,k8",
		"3,k9"}
	if d := cmp.Diff(want, keys); d != "" {
		t.Error(d)
	}
}
