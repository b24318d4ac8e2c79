package sqlread

import (
	"slices"
	"testing"
)

// TestEffects: what is known of a statement, and what is taken for the worst.
func TestEffects(t *testing.T) {
	for text, want := range map[string][]Doing{
		"":                             nil,
		";":                            nil,
		"select 1":                     {Reads},
		"SELECT a.b FROM a, c WHERE x": {Reads},
		"select * from t for update":   {Reads},
		"select * from t for no key update skip locked":                   {Reads},
		"select count(*), max(a + 1) from t where a in (select b from u)": {Reads},
		"select f(1)":                      {Anything},
		`select "count"(1)`:                {Reads},
		"select set_config('a','b',false)": {Anything},
		"select a into b from c":           {Anything},
		"with x as (delete from t returning *) select * from x":                        {Anything},
		"with x as (select 1) select * from x":                                         {Reads},
		"insert into t (a, b) values (1, now())":                                       {Writes},
		"insert into s.t select * from u on conflict (a) do update set b = excluded.b": {Writes},
		"update only t set a = f(1)":                                                   {Anything},
		"update t set a = 1 where b like 'x%'":                                         {Writes},
		"delete from t using u where t.a = u.a":                                        {Writes},
		"insert into f(1)":                                                             {Writes},
		"copy t from stdin":                                                            {Anything},
		"begin; insert into t values (1); commit":                                      {Begins, Writes, Commits},
		"commit and chain":                                                             {Commits},
		"commit prepared 'x'":                                                          {Anything},
		"prepare transaction 'x'":                                                      {Anything},
		"prepare a as select 1":                                                        {Names},
		"discard all":                                                                  {Names},
		"rollback to a":                                                                {Undoes},
		"set local a = 1":                                                              {Sets},
		"show a":                                                                       {Nothing},
		"declare c cursor for select 1":                                                {Reads},
		"declare c cursor for select f(1)":                                             {DeclaresAny},
		"fetch 10 from c":                                                              {Fetches},
		"do $$begin end$$":                                                             {Anything},
		"select 'a\\b'":                                                                {Anything},
		"select a+--x\n1":                                                              {Reads},
		"select a->>'b', c::jsonb @> '{}', d[1:2] from t":                              {Reads},
		"explain analyze select 1":                                                     {Anything},
		"alter table t add c int":                                                      {Anything},
	} {
		var got []Doing
		for _, e := range Effects(text) {
			got = append(got, e.Doing)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for _, tt := range []struct{ text, want string }{
		{"insert into t values (1)", "adds"},
		{"insert into t select * from u where a = 1 returning b", "adds"},
		{"insert into t values (1) on conflict do nothing", ""},
		{"insert into t values (1) on conflict (a) do update set b = 1 where t.c", ""},
		{"update t set a = 1", ""},
		{"update t set a = 1 where id = 2", "SELECT 1 FROM t WHERE id = 2 sets a"},
		{`UPDATE "t" SET "a" = $1, b=b+1 WHERE "t"."id" = $2 RETURNING *`,
			`SELECT 1 FROM "t" WHERE "t"."id" = $2 sets a b`},
		{"update s.t as x set a = max(b, c), d = (select e from u where f = 1) where x.id = 2",
			"SELECT 1 FROM s.t as x WHERE x.id = 2 sets a d"},
		{"update t set (a, b) = (1, 2) where id = 2", ""},
		{"update t set a = 1 from u where id = 2", ""},
		{"update only t set a = 1 where id = 2", ""},
		{"update t set a[1] = 2, b.c = 3 where id = 2", "SELECT 1 FROM t WHERE id = 2 sets a b"},
		{"delete from t where id = 2 and a > 3", "SELECT 1 FROM t WHERE id = 2 and a > 3"},
		{"delete from t where id = 2 -- x", "SELECT 1 FROM t WHERE id = 2"},
		{"delete from t as x using u where x.id = 2", ""},
		{"delete from t", ""},
	} {
		e := Effects(tt.text)[0]
		got := e.Rows
		if e.Adds {
			got = "adds"
		}
		for i, n := range e.Sets {
			if i == 0 && got != "" {
				got += " sets"
			}
			if got != "" {
				got += " " + n.String()
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.text, got, tt.want)
		}
	}
	e := Effects(`UPDATE "S".T SET a = u.F FROM u`)[0]
	if e.Schema.String() != "S" || e.Table.String() != "t" || !slices.Contains(e.Names, "f") {
		t.Errorf("%+v", e)
	}
}

// TestEffects_Names: what names one statement leaves the others alone, and a text that cannot be read
// leaves all alone unless it has a word of what prepares statements.
func TestEffects_Names(t *testing.T) {
	for text, want := range map[string]string{
		`PREPARE p (int) AS SELECT $1`: "p", `deallocate P`: "p", `DEALLOCATE PREPARE "P"`: "P",
		`DEALLOCATE prepare`: "all", `DEALLOCATE ALL`: "all", `DEALLOCATE "all"`: "all as a name",
		`DISCARD ALL`:   "all",
		`DISCARD PLANS`: "all", `PREPARE TRANSACTION 'a'`: "none", `SELECT E'\n'`: "none",
		`DO $$ BEGIN x(); END $$`:    "none",
		`SELECT E'\n'; DEALLOCATE p`: "all", `DO $$ BEGIN EXECUTE 'Deallocate p'; END $$`: "all",
		`DEALLOCATE é`: "all", `EXECUTE p`: "none",
	} {
		got := "none"
		for _, e := range Effects(text) {
			switch {
			case e.Unread, e.Doing == Names && e.Prepared.IsEmpty():
				got = "all"
			case e.Doing == Names:
				if got = e.Prepared.String(); got == "all" {
					got = "all as a name"
				}
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
