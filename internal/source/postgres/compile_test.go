package postgres

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

func TestScanQuery(t *testing.T) {
	tests := []struct{ in, want string }{
		{"SELECT * FROM t WHERE id = :key", "SELECT * FROM t WHERE id = <key>"},
		{" SELECT :a, :b_2, :a ;  -- end", "SELECT <a>, <b_2>, <a> "},
		{"SELECT ':no', \":no\", E'\\':no', 'it''s :no', :k",
			"SELECT ':no', \":no\", E'\\':no', 'it''s :no', <k>"},
		{"SELECT $$:no$$, $x$ :no $$ $x$, :k", "SELECT $$:no$$, $x$ :no $$ $x$, <k>"},
		{"SELECT a::int, b[1:2], c[:k], x := 1", "SELECT a::int, b[1:2], c[<k>], x := 1"},
		{"SELECT /* :no /* :no */ :no */ :k -- :no", "SELECT /* :no /* :no */ :no */ <k> -- :no"},
		{"SELECT a$b, a$1, e':no' || :k", "SELECT a$b, a$1, e':no' || <k>"},
		{"SELECT name'\\', :k", "SELECT name'\\', <k>"},
		{"SELECT :é", "SELECT <é>"},
	}
	for _, tt := range tests {
		q, err := scanQuery(tt.in)
		if err != nil {
			t.Errorf("scanQuery(%q): %v", tt.in, err)
			continue
		}
		got := q.With(func(name string) string { return "<" + name + ">" })
		if got != tt.want {
			t.Errorf("scanQuery(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	for _, in := range []string{"SELECT 1; SELECT 2", "SELECT 'a", `SELECT "a`, "SELECT $$a",
		"/* a /* b */",
		"SELECT $1", "SELECT 1;;"} {
		if _, err := scanQuery(in); err == nil {
			t.Errorf("scanQuery(%q): no error", in)
		}
	}
}

func FuzzScanQuery(f *testing.F) {
	for _, s := range []string{"SELECT :key", "SELECT 'a', $x$b$x$, \"c\" /* d */ -- e\n;",
		"E'\\'", "$", ":"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		q, err := scanQuery(sql)
		if err != nil {
			return
		}
		// What is not a parameter is kept as it is.
		got := q.With(func(name string) string { return ":" + name })
		if rest, ok := strings.CutPrefix(strings.TrimSpace(sql), got); !ok ||
			rest != "" && rest[0] != ';' {
			t.Errorf("scanQuery(%q) gives %q", sql, got)
		}
	})
}

var users = []string{
	`CREATE TABLE users (id varchar(32) PRIMARY KEY, name text, mail text, dept int)`,
	`CREATE TABLE dept (id int PRIMARY KEY, name text)`,
	`CREATE VIEW named AS SELECT u.id, u.name, d.name AS dept FROM users u LEFT JOIN dept d ON ` +
		`d.id = u.dept`,
	`CREATE FUNCTION peek() RETURNS bigint STABLE LANGUAGE sql AS 'SELECT count(*) FROM dept'`,
	`CREATE MATERIALIZED VIEW mat AS SELECT * FROM dept`,
	`CREATE UNLOGGED TABLE unl (id int PRIMARY KEY)`,
	`CREATE TABLE half (id int PRIMARY KEY) PARTITION BY RANGE (id)`,
	`CREATE TABLE part_on PARTITION OF half FOR VALUES FROM (0) TO (10)`,
	`CREATE TABLE part_more PARTITION OF half FOR VALUES FROM (10) TO (30) PARTITION BY RANGE (id)`,
	`CREATE UNLOGGED TABLE part_off PARTITION OF part_more FOR VALUES FROM (10) TO (20)`,
	`CREATE TABLE far (id int) PARTITION BY RANGE (id)`,
	`CREATE EXTENSION file_fdw`, `CREATE SERVER files FOREIGN DATA WRAPPER file_fdw`,
	`CREATE FOREIGN TABLE far_off PARTITION OF far FOR VALUES FROM (0) TO (9)
		SERVER files OPTIONS (filename '/dev/null')`,
	`INSERT INTO dept VALUES (1, 'd1')`,
	`INSERT INTO users VALUES ('u1', 'Ann', 'a@b', 1), ('u2', 'Bob', 'b@b', NULL)`,
}

func TestPostgres_QueryResource(t *testing.T) {
	s := newSource(t, users...)
	p := mustCompile(t, s, &source.Spec{Name: "users",
		Query:   "SELECT name, mail FROM users WHERE id = :key -- by id",
		Fields:  map[string]source.FieldSpec{"mail": {Name: "email"}},
		Depends: []source.Dep{{Table: "users", Columns: []string{"id"}}}})
	loaded := mustLoad(t, p, "u2", "nobody", "u1")
	want := []string{`{"name":"Bob","email":"b@b"}`, "absent", `{"name":"Ann","email":"a@b"}`}
	for i, l := range loaded {
		if got := jsonOf(p, l); got != want[i] {
			t.Errorf("%s: got %s, want %s", l.Asked, got, want[i])
		}
	}
	if loaded[0].Key != "u2" || loaded[1].Key != "" {
		t.Errorf("keys %q, %q", loaded[0].Key, loaded[1].Key)
	}
	wantKey := row.KeyType{{Column: "key", Kind: row.Text}}
	if d := cmp.Diff(wantKey, p.KeyType()); d != "" {
		t.Error(d)
	}
	wantDeps := []source.Dep{{Table: "public.users", Columns: []string{"id"}}}
	if d := cmp.Diff(wantDeps, p.Deps()); d != "" {
		t.Error(d)
	}
	if _, err := p.List(t.Context(), nil, 1); source.ClassOf(err) != source.Missing {
		t.Errorf("list: %v", err)
	}
	_, err := p.Write(t.Context(), &source.Write{Op: source.OpDelete, Key: "u1"})
	if source.ClassOf(err) != source.ReadOnly {
		t.Errorf("write: %v", err)
	}
}

func TestPostgres_QueryEmbedsDocuments(t *testing.T) {
	s := newSource(t, users...)
	p := mustCompile(t, s, &source.Spec{
		Name: "q", Key: []string{"id"},
		Query:   "SELECT d.id, upper(d.name) AS name FROM dept d WHERE d.id = :key",
		Depends: []source.Dep{{Table: "dept", Columns: []string{"id"}}},
		Embeds: []source.Embed{{Name: "users", On: []string{"dept"}, Spec: &source.Spec{
			Table: "users", Only: true, Fields: map[string]source.FieldSpec{"name": {}}}}},
	})
	l := mustLoad(t, p, "1", "2")
	if got := jsonOf(p, l[0]); got != `{"id":1,"name":"D1","users":[{"name":"Ann"}]}` {
		t.Errorf("got %s", got)
	}
	if d := cmp.Diff([]source.Child{{Table: "public.users", ID: "u1"}}, l[0].Children); d != "" {
		t.Error(d)
	}
	want := []source.Dep{{Table: "public.dept", Columns: []string{"id"}},
		{Table: "public.users", Columns: []string{"dept"}, Identity: []string{"id"}}}
	if d := cmp.Diff(want, p.Deps()); d != "" {
		t.Error(d)
	}
}

// The texts of a number with a scale and of an integer differ: the columns of
// the child do not say which document it is of, nor is an index on it of use.
func TestPostgres_ChildOfAnotherType(t *testing.T) {
	s := newSource(t, `CREATE TABLE a (id numeric PRIMARY KEY)`,
		`CREATE TABLE b (id int PRIMARY KEY, a int)`, `CREATE INDEX ON b (a)`,
		`INSERT INTO a VALUES (1.0)`, `INSERT INTO b VALUES (7, 1)`)
	p := mustCompile(t, s, &source.Spec{Name: "a", Table: "a", Embeds: []source.Embed{{
		Name: "bs", On: []string{"a"}, Spec: &source.Spec{Table: "b"}}}})
	if got := jsonOf(p, mustLoad(t, p, "1")[0]); got != `{"id":1.0,"bs":[{"id":7,"a":1}]}` {
		t.Errorf("got %s", got)
	}
	want := []source.Dep{{Table: "public.a", Columns: []string{"id"}}, {Table: "public.b"}}
	if d := cmp.Diff(want, p.Deps()); d != "" {
		t.Error(d)
	}
	f, err := p.Check(t.Context())
	if err != nil || len(f) != 1 || len(f[0].Apply) != 0 ||
		!strings.Contains(f[0].Text, "public.b.a is integer and public.a.id is numeric") {
		t.Errorf("check: %v %v", f, err)
	}
}

func TestPostgres_QueryWithCompositeKey(t *testing.T) {
	s := newSource(t, users...)
	p := mustCompile(t, s, &source.Spec{Name: "q", Key: []string{"dept", "id"},
		Query:   "SELECT u.dept, u.id, u.name FROM users u WHERE u.id = :id AND u.dept = :dept",
		Depends: []source.Dep{{Table: "users"}}})
	l := mustLoad(t, p, "1,u1", "1,u2")
	if got := jsonOf(p, l[0]); got != `{"dept":1,"id":"u1",`+
		`"name":"Ann"}` || l[0].Key != "1,u1" || l[1].Found() {
		t.Errorf("got %s, key %q, %v", got, l[0].Key, l[1].Found())
	}
}

func TestPostgres_ViewNeedsItsTables(t *testing.T) {
	s := newSource(t, users...)
	spec := &source.Spec{Name: "named", Table: "named", Key: []string{"id"},
		Depends: []source.Dep{{Table: "users", Columns: []string{"id"}}}}
	_, err := s.Compile(t.Context(), spec)
	if err == nil || !strings.Contains(err.Error(), "public.dept, which depends does not name") {
		t.Errorf("without dept: %v", err)
	}
	spec.Depends = append(spec.Depends, source.Dep{Table: "public.dept"})
	p := mustCompile(t, s, spec)
	want := []source.Dep{{Table: "public.users", Columns: []string{"id"}}, {Table: "public.dept"}}
	if d := cmp.Diff(want, p.Deps()); d != "" {
		t.Error(d)
	}
	if got := jsonOf(p, mustLoad(t, p, "u1")[0]); got != `{"id":"u1","name":"Ann","dept":"d1"}` {
		t.Errorf("got %s", got)
	}
}

// A column that is not in the primary key has no old value in the log, unless the replica
// identity is full. An INSERT has none to tell, so the columns count with any identity;
// nothing but a change of all documents stands for an old value that is not told.
func TestPostgres_DependsOnOldValues(t *testing.T) {
	s := newSource(t, users...)
	spec := &source.Spec{Name: "q", Query: "SELECT count(*) AS n FROM users WHERE dept = :dept",
		Depends: []source.Dep{{Table: "users", Columns: []string{"dept"}}}}
	want := []source.Dep{{Table: "public.users", Columns: []string{"dept"}}}
	for _, identity := range []string{"DEFAULT", "FULL"} {
		mustExec(t, s, "ALTER TABLE users REPLICA IDENTITY "+identity)
		want[0].KnowsOld = identity == "FULL"
		if d := cmp.Diff(want, mustCompile(t, s, spec).Deps()); d != "" {
			t.Errorf("%s: %s", identity, d)
		}
	}
}

func TestPostgres_CompileRefuses(t *testing.T) {
	t.Parallel()
	s := newSource(t, append(append([]string{}, users...),
		`CREATE TABLE nokey (a int)`, `CREATE TABLE rls (a int PRIMARY KEY)`,
		`ALTER TABLE rls ENABLE ROW LEVEL SECURITY`, `CREATE TABLE j (k jsonb PRIMARY KEY)`,
		`CREATE TABLE part (a int PRIMARY KEY) PARTITION BY RANGE (a)`,
		`CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (10)`)...)
	dep := func(tables ...string) []source.Dep {
		var deps []source.Dep
		for _, t := range tables {
			deps = append(deps, source.Dep{Table: t})
		}
		return deps
	}
	tests := []struct {
		want string
		spec source.Spec
	}{
		{`did you mean "users"?`, source.Spec{Table: "user"}},
		{`did you mean "mail"?`, source.Spec{Table: "users",
			Fields: map[string]source.FieldSpec{"email": {}}}},
		{`there is no column "ids"`, source.Spec{Table: "users", Key: []string{"ids"}}},
		{"no primary key", source.Spec{Table: "nokey"}},
		{"unlogged", source.Spec{Table: "unl"}},
		{"materialized view", source.Spec{Table: "mat"}},
		{"row-level security", source.Spec{Table: "rls"}},
		{"cannot be a key", source.Spec{Table: "j"}},
		{"two members are called", source.Spec{Table: "users",
			Fields: map[string]source.FieldSpec{"mail": {Name: "name"}}}},
		{"one of the two", source.Spec{}},
		{"on needs 1 columns", source.Spec{Table: "dept",
			Embeds: []source.Embed{{Name: "us", Spec: &source.Spec{Table: "users"}}}}},
		{"no parameter", source.Spec{Query: "SELECT 1 AS a"}},
		{"syntax error", source.Spec{Query: "SELEC :key"}},
		{"has no name", source.Spec{Query: "SELECT 1, id FROM users WHERE id = :key",
			Depends: dep("users")}},
		{"two columns", source.Spec{Query: "SELECT id, id FROM users WHERE id = :key",
			Depends: dep("users")}},
		{":foo, which is not in its key", source.Spec{Key: []string{"id"},
			Query: "SELECT id FROM users WHERE id = :foo", Depends: dep("users")}},
		{"public.dept, which depends does not name", source.Spec{Depends: dep("users"),
			Query: "SELECT u.id, (SELECT max(id) FROM dept) AS d FROM users u WHERE u.id = :key"}},
		{"public.dept, which depends does not name", source.Spec{Depends: dep("users"),
			Query: "SELECT * FROM named WHERE id = :key"}},
		{"public.part, which depends does not name", source.Spec{Query: "SELECT * FROM part1 " +
			"WHERE a = :key"}},
		{"calls random()", source.Spec{Depends: dep("users"),
			Query: "SELECT id FROM users WHERE id = :key ORDER BY random()"}},
		{"calls now()", source.Spec{Depends: dep("users"),
			Query: "SELECT now() AS t FROM users WHERE id = :key"}},
		{"time of day", source.Spec{Depends: dep("users"),
			Query: "SELECT CURRENT_DATE AS t FROM users WHERE id = :key"}},
		{"calls peek()", source.Spec{Depends: dep("users"),
			Query: "SELECT peek() AS n FROM users WHERE id = :key"}},
		{"no feed follows", source.Spec{Query: "SELECT relname FROM pg_class WHERE relname = " +
			":key"}},
		{"TABLESAMPLE", source.Spec{Depends: dep("dept"),
			Query: "SELECT id FROM dept TABLESAMPLE system (50) WHERE id = :key"}},
		{"which is unlogged", source.Spec{Depends: dep("unl"),
			Query: "SELECT id FROM unl WHERE id = :key"}},
		{"part_off is unlogged", source.Spec{Depends: dep("half"),
			Query: "SELECT id FROM half WHERE id = :key"}},
		{"part_off is unlogged", source.Spec{Depends: dep("half"),
			Query: "SELECT id FROM part_on WHERE id = :key"}},
		{"part_off is unlogged", source.Spec{Table: "users", Embeds: []source.Embed{{Name: "h",
			On: []string{"id"}, Spec: &source.Spec{Table: "half"}}}}},
		{"far_off is a foreign table", source.Spec{Depends: dep("far"),
			Query: "SELECT id FROM far WHERE id = :key"}},
		{"would not have the same text", source.Spec{Query: "SELECT name FROM users WHERE id = " +
			":key",
			Depends: []source.Dep{{Table: "users", Columns: []string{"dept"}}}}},
		{"one statement, a SELECT", source.Spec{Query: "SELECT 1 AS a WHERE 1 = :key; DROP " +
			"TABLE users"}},
		{"INSERT", source.Spec{Query: "INSERT INTO dept (id) VALUES (:key) RETURNING id",
			Depends: dep("dept")}},
		{"data-modifying", source.Spec{Depends: dep("dept"),
			Query: "WITH x AS (DELETE FROM dept RETURNING id) SELECT id FROM x WHERE id = :key"}},
	}
	for _, tt := range tests {
		tt.spec.Name = "r"
		_, err := s.Compile(t.Context(), &tt.spec)
		text := ""
		if err != nil {
			text = err.Error()
			if e := new(source.Error); asError(err, &e) {
				text += " " + e.Hint
			}
		}
		if !strings.Contains(text, tt.want) || !strings.HasPrefix(text, "resource r: ") {
			t.Errorf("%s%s: got %q, want %q", tt.spec.Table, tt.spec.Query, text, tt.want)
		}
	}
	mustCompile(t, s, &source.Spec{Table: "rls", RLSIgnore: true})
	mustCompile(t, s, &source.Spec{Table: "part"})
}

// TestPostgres_RefusesThePresentAsText: the result of a query changes by itself, too,
// where a literal stands for the present, and not where it is a word.
func TestPostgres_RefusesThePresentAsText(t *testing.T) {
	t.Parallel()
	s := newSource(t, "CREATE TABLE notes (id int PRIMARY KEY, v text, at timestamptz)")
	spec := func(what string) *source.Spec {
		return &source.Spec{Name: "r", Query: "SELECT id, " + what + " AS x FROM notes WHERE id = :key",
			Depends: []source.Dep{{Table: "notes"}}}
	}
	for _, what := range []string{"'now'::timestamptz", "'NOW'::timestamp(0)", "at > 'yesterday'",
		"DATE 'today'", "' tomorrow'::date", "'now'::text::timestamptz", "at < $$today$$",
		"'10:00 today UTC'::timestamptz", "'now'::time", "'{now,today}'::date[]",
		"at <@ '[today,tomorrow)'::tstzrange"} {
		if _, err := s.Compile(t.Context(), spec(what)); err == nil || !strings.Contains(err.Error(), "time of day") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, what := range []string{"v = 'today'", "'now'", "at > 'epoch'", "at > '2020-01-01'",
		"v = 'see you today' AND at > 'infinity'", "'nowhere' = v AND at > '2020-01-01'"} {
		mustCompile(t, s, spec(what))
	}
}

func TestPostgres_HidesWhatLooksSecret(t *testing.T) {
	s := newSource(t, `CREATE TABLE acc (api_key text PRIMARY KEY, password text, token_hash `+
		`text, n int)`)
	p := mustCompile(t, s, &source.Spec{Table: "acc", Hide: true,
		Fields: map[string]source.FieldSpec{"token_hash": {}}})
	var names []string
	for _, f := range p.Shape().Fields {
		names = append(names, f.Name)
	}
	if d := cmp.Diff([]string{"api_key", "token_hash", "n"}, names); d != "" {
		t.Error(d)
	}
}

func TestPostgres_CheckFindsMissingIndexes(t *testing.T) {
	t.Parallel()
	s := newSource(t, scott...)
	p := mustCompile(t, s, deptSpec())
	if f, err := p.Check(t.Context()); err != nil || len(f) > 0 {
		t.Fatalf("with an index: %v %v", f, err)
	}
	mustExec(t, s, "DROP INDEX emp_deptno_idx")
	f, err := p.Check(t.Context())
	if err != nil || len(f) != 1 || f[0].Level != source.LevelWarning {
		t.Fatalf("without an index: %v %v", f, err)
	}
	mustExec(t, s, f[0].Apply...)
	if f, err := p.Check(t.Context()); err != nil || len(f) > 0 {
		t.Errorf("after Apply: %v %v", f, err)
	}
	mustExec(t, s, f[0].Remove...)
	if f, err := p.Check(t.Context()); err != nil || len(f) != 1 {
		t.Errorf("after Remove: %v %v", f, err)
	}
	q := mustCompile(t, s, &source.Spec{Name: "q", Query: "SELECT dname FROM dept WHERE " +
		"deptno::text = :key",
		Depends: []source.Dep{{Table: "dept"}}})
	if f, err := q.Check(t.Context()); err != nil || len(f) != 1 || !strings.Contains(f[0].Text,
		"reads all of dept") {
		t.Errorf("query: %v %v", f, err)
	}
}
