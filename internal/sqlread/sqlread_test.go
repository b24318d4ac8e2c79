package sqlread

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// describe says what was read of an eligible statement.
func describe(s *Statement) string {
	var b strings.Builder
	if !s.Schema.IsEmpty() {
		b.WriteString(s.Schema.String() + ".")
	}
	b.WriteString(s.Table.String())
	if !s.Alias.IsEmpty() {
		b.WriteString(" as " + s.Alias.String())
	}
	for _, c := range s.Columns {
		b.WriteString(" " + c.Name.String())
	}
	return b.String()
}

func TestRead_Eligible(t *testing.T) {
	tests := []struct{ text, shape, parts string }{
		{"SELECT * FROM t", "SELECT * FROM t", "t"},
		{"select T.* from T;", "SELECT t.* FROM t", "t "},
		{`SELECT "A", a FROM s."T" AS x -- why`, `SELECT "A", a FROM s."T" AS x`, "s.T as x A a"},
		{"SELECT a b,c AS \"count\" FROM t u", `SELECT a b, c AS count FROM t u`, "t as u a c"},
		{"SELECT COUNT ( * )n FROM t", "SELECT count(*) n FROM t", "t"},
		{"SELECT count FROM t", "SELECT count FROM t", "t count"},
		{"SELECT 1 AS one, 'it''s', -1.5e3, $2::int, NULL, true FROM t LIMIT 1",
			"SELECT ? AS one, '?', -?, $2::int4, NULL, TRUE FROM t LIMIT ?", "t"},
		{"SELECT a FROM t WHERE(a)=1 AND NOT((b<>2)OR(c)IS NOT NULL)",
			"SELECT a FROM t WHERE (a) = ? AND NOT ((b <> ?) OR (c) IS NOT NULL)", "t a a b c"},
		{"SELECT a FROM t WHERE (t.a) IN ((2),(3)) AND t.b NOT IN ($1)",
			"SELECT a FROM t WHERE (t.a) IN ((?), (?)) AND t.b NOT IN ($1)", "t a a b"},
		{"SELECT a FROM t WHERE a=ANY($1::BIGINT[])", "SELECT a FROM t WHERE a = ANY ($1::int8[])", "t a a"},
		{"SELECT a FROM t WHERE a BETWEEN 1 AND $1 AND b NOT LIKE 'x%' OR c",
			"SELECT a FROM t WHERE a BETWEEN ? AND $1 AND b NOT LIKE '?' OR c", "t a a b c"},
		{"SELECT a FROM t WHERE NOT NOT a IS FALSE AND 1 = (b)",
			"SELECT a FROM t WHERE NOT NOT a IS FALSE AND ? = (b)", "t a a b"},
		{"SELECT a x FROM t ORDER BY x DESC NULLS LAST,\"X\", t.x, b ASC OFFSET 1 ROWS FETCH NEXT $1 ROW ONLY",
			`SELECT a x FROM t ORDER BY x DESC NULLS LAST, "X", t.x, b ASC OFFSET ? ROWS FETCH NEXT $1 ROW ONLY`,
			"t a X x b"},
		{"SELECT a FROM t WHERE a < '2030-01-01'::timestamp with time zone AND b != $1::Double Precision",
			"SELECT a FROM t WHERE a < '?'::timestamptz AND b <> $1::float8", "t a a b"},
		{"/* a /* b */ c */SELECT a FROM/**/t WHERE a = $1/*x*/", "SELECT a FROM t WHERE a = $1", "t a a"},
		{"SELECT \"id\" FROM \"posts\" \"posts\" WHERE \"posts\".\"id\" = $1 limit $2",
			"SELECT id FROM posts posts WHERE posts.id = $1 LIMIT $2", "posts as posts id id"},
		{"SELECT a FROM t LIMIT NULL OFFSET -1", "SELECT a FROM t LIMIT NULL OFFSET -?", "t a"},
		{"SELECT year AS month FROM t WHERE day = 1", "SELECT year AS month FROM t WHERE day = ?",
			"t year day"},
	}
	var s Statement
	for _, tt := range tests {
		if why := s.Read(tt.text); why != Eligible {
			t.Errorf("%s\n is refused: %s; %s", tt.text, why, s.Shape())
			continue
		}
		if got := string(s.Shape()); got != tt.shape {
			t.Errorf("%s\n has the shape %s\n        want %s", tt.text, got, tt.shape)
		}
		if got := describe(&s); strings.TrimSpace(got) != strings.TrimSpace(tt.parts) {
			t.Errorf("%s\n has the parts %q, want %q", tt.text, got, tt.parts)
		}
		checkWhere(t, &s)
	}
}

// checkWhere fails the test if the tree or the places of a statement are broken.
func checkWhere(t *testing.T, s *Statement) {
	t.Helper()
	for i, term := range s.Where {
		group := term.Op <= And
		if term.End <= i || term.End > len(s.Where) || group == (term.End == i+1) ||
			term.Left >= len(s.Columns) || term.Right >= len(s.Columns) ||
			term.From > term.To || term.To > len(s.Values) {
			t.Errorf("%s: term %d is %+v", s.Shape(), i, term)
		}
	}
	if len(s.Where) > 0 && s.Where[0].End != len(s.Where) {
		t.Errorf("%s: the first term ends at %d of %d", s.Shape(), s.Where[0].End, len(s.Where))
	}
	for _, place := range []int{s.Limit, s.Offset} {
		if place < -1 || place >= len(s.Values) {
			t.Errorf("%s: limit %d, offset %d", s.Shape(), s.Limit, s.Offset)
		}
	}
}

// treeText writes a condition in one way.
func treeText(s *Statement, i int) string {
	term := s.Where[i]
	not := map[bool]string{true: "not "}[term.Not]
	if term.Op <= And {
		var parts []string
		for j := i + 1; j < term.End; j = s.Where[j].End {
			parts = append(parts, treeText(s, j))
		}
		return not + []string{"or", "and"}[term.Op] + "(" + strings.Join(parts, " ") + ")"
	}
	name := func(place int) string {
		if place < 0 {
			return ""
		}
		return s.Columns[place].Name.String()
	}
	return fmt.Sprint(not, []string{Truth: "truth", Eq: "eq", In: "in", Any: "any", IsNull: "null",
		IsTrue: "true", IsFalse: "false", Other: "other"}[term.Op], ":", name(term.Left), ":",
		name(term.Right), ":", term.To-term.From)
}

func TestRead_Where(t *testing.T) {
	tests := []struct{ where, tree string }{
		{"a = 1", "or(and(eq:a::1))"},
		{"1 = a", "or(and(eq::a:1))"},
		{"a = b", "or(and(eq:a:b:0))"},
		{"1 = 2", "or(and(eq:::2))"},
		{"(a) = (b)", "or(and(eq:a:b:0))"},
		{"(a)", "or(and(or(and(truth:a::0))))"},
		{"NOT (a) = 1", "or(and(not eq:a::1))"},
		{"NOT (a) NOT IN (1,2)", "or(and(in:a::2))"},
		{"a = 1 OR b = 2 AND c", "or(and(eq:a::1) and(eq:b::1 truth:c::0))"},
		{"NOT (a = 1 OR NOT b)", "or(and(not or(and(eq:a::1) and(not truth:b::0))))"},
		{"a IS NOT NULL AND NOT b IS TRUE", "or(and(not null:a::0 not true:b::0))"},
		{"NOT NOT a IS NOT FALSE", "or(and(not false:a::0))"},
		{"a = ANY ($1) AND b BETWEEN 1 AND 2", "or(and(any:a::1 other:b::2))"},
		{"a NOT ILIKE 'x' OR a >= 2", "or(and(not other:a::1) and(other:a::1))"},
	}
	var s Statement
	for _, tt := range tests {
		if why := s.Read("SELECT * FROM t WHERE " + tt.where); why != Eligible {
			t.Errorf("%s is refused: %s", tt.where, why)
		} else if got := treeText(&s, 0); got != tt.tree {
			t.Errorf("%s is %s, want %s", tt.where, got, tt.tree)
		}
	}
}

// refused are texts that have each reason of Read.
var refused = map[Reason][]string{
	Empty:       {"", " ", ";", "-- ping", "/* x */"},
	Write:       {"INSERT INTO t VALUES (1)", "update t set a=1", "DELETE FROM t", "COPY t TO STDOUT"},
	Transaction: {"BEGIN", "commit;", "END", "ROLLBACK TO x", "START TRANSACTION", "SAVEPOINT x"},
	Session:     {"SET a = 1", "SHOW x", "RESET ALL", "DISCARD ALL", "DEALLOCATE x", "LISTEN x"},
	With:        {"WITH x AS (SELECT 1) SELECT * FROM x"},
	NotASelect:  {"EXPLAIN SELECT 1", "VALUES (1)", "TABLE t", "(SELECT 1)", "'x'", "1", "CREATE TABLE t ()"},
	Several:     {"SELECT * FROM t; SELECT * FROM t", "SELECT * FROM t;;", "SELECT * FROM t; DROP TABLE t"},

	Off:     {"SELECT * FROM t /* hotrow:off */", "-- x,hotrow:off\nSELECT * FROM t"},
	TooLong: {"SELECT * FROM t" + strings.Repeat(" ", maxText)},
	TooDeep: {"SELECT * FROM t WHERE " + strings.Repeat("(", 21) + "a" + strings.Repeat(")", 21)},
	TooMany: {"SELECT " + strings.Repeat("a,", 1664) + "a FROM t",
		"SELECT a FROM t ORDER BY a" + strings.Repeat(",a", 64)},
	Unclosed:  {"SELECT 'a FROM t", `SELECT "a FROM t`, "SELECT /* a FROM t", "SELECT /* /* */ a FROM t"},
	Backslash: {`SELECT * FROM t WHERE a = '\'`, `SELECT "a\" FROM t`},
	StringForm: {"SELECT * FROM t WHERE a = E'x'", "SELECT b'1' FROM t", "SELECT 'a' 'b' FROM t",
		"SELECT 'a'\n'b' FROM t", "SELECT n'x' FROM t"},
	NameForm: {`SELECT "" FROM t`, `SELECT "a""b" FROM t`},
	LongName: {"SELECT " + strings.Repeat("a", 64) + " FROM t", `SELECT "` + strings.Repeat("a", 64) + `" FROM t`},
	NonASCII: {"SELECT é FROM t", "SELECT aé FROM t", `SELECT "é" FROM t`, "SELECT a\u00a0FROM t"},
	NumberForm: {"SELECT 1_0 FROM t", "SELECT 0x1F FROM t", "SELECT 1a FROM t", "SELECT 1. FROM t",
		"SELECT 1e FROM t", "SELECT 1e+ FROM t", "SELECT 1.2.3 FROM t", "SELECT $0 FROM t", "SELECT $1a FROM t",
		"SELECT $ FROM t", "SELECT $99999999 FROM t", "SELECT $$a$$ FROM t", "SELECT $01 FROM t"},
	Character: {"SELECT \x01 FROM t", "SELECT a\v FROM t", "SELECT a:b FROM t", "SELECT a$b FROM t",
		"SELECT {a} FROM t"},
	Syntax: {"SELECT", "SELECT a b c FROM t", "SELECT a FROM", "SELECT * FROM t WHERE", "SELECT * FROM t ORDER a",
		"SELECT * FROM t LIMIT 1 LIMIT 2", "SELECT * FROM t FETCH FIRST ROW ONLY", "SELECT * FROM t WHERE a = 1 b",
		"SELECT * FROM t FETCH FIRST -1 ROWS ONLY", "SELECT * FROM t OFFSET $1::int ROWS", "SELECT ALL a FROM t",
		"SELECT * FROM t WHERE a = SOME($1)", "SELECT a, FROM t", "SELECT * FROM t LIMIT 1 WHERE a",
		"SELECT a FROM t nulls first",
		"SELECT 'a' FROM t ORDER BY 1", "SELECT * FROM t WHERE a IN ()", "SELECT * FROM t ORDER BY a USING >"},

	NoTable: {"SELECT 1", "SELECT 'x';", "SELECT NULL::text AS a"},
	TableForm: {"SELECT * FROM ONLY t", "SELECT * FROM f(1)", "SELECT * FROM t * WHERE a",
		"SELECT * FROM t TABLESAMPLE x (1)",
		"SELECT * FROM t AS x(a)"},
	Join: {"SELECT * FROM t, u", "SELECT * FROM t JOIN u ON true", "SELECT * FROM t x LEFT JOIN u ON true",
		"SELECT * FROM t CROSS JOIN u", "SELECT * FROM t NATURAL JOIN u", "SELECT * FROM LATERAL f()"},
	Subselect: {"SELECT * FROM (SELECT 1) x", "SELECT * FROM t WHERE a = (SELECT 1)",
		"SELECT EXISTS (SELECT 1 FROM t)",
		"SELECT * FROM t WHERE EXISTS (SELECT 1)", "SELECT * FROM t WHERE a IN (SELECT 1)"},
	SetOperation: {"SELECT a FROM t UNION SELECT a FROM t", "SELECT a FROM t WHERE a EXCEPT SELECT 1",
		"SELECT a FROM t INTERSECT SELECT 1"},
	Distinct: {"SELECT DISTINCT a FROM t", "SELECT DISTINCT ON (a) a FROM t",
		"SELECT * FROM t WHERE a IS DISTINCT FROM 1"},
	Grouping: {"SELECT a FROM t GROUP BY a", "SELECT count(*) FROM t HAVING true"},
	Locking:  {"SELECT * FROM t FOR UPDATE", "SELECT * FROM t LIMIT 1 FOR SHARE", "SELECT * FROM t x FOR KEY SHARE"},
	Into:     {"SELECT a INTO u FROM t", "SELECT a FROM t INTO u"},
	WithTies: {"SELECT a FROM t ORDER BY a FETCH FIRST 1 ROWS WITH TIES"},
	Function: {"SELECT now() FROM t", "SELECT count(a) FROM t", `SELECT "count"(*) FROM t`,
		"SELECT * FROM t WHERE upper(a) = 'x'",
		"SELECT coalesce(a, b) FROM t", "SELECT a.f(1) FROM t", "SELECT count(*) over (order by a) FROM t",
		"SELECT count(*) filter (where a) FROM t"},
	SessionValue: {"SELECT current_user FROM t", "SELECT * FROM t WHERE a = CURRENT_DATE", "SELECT user FROM t",
		"SELECT * FROM t WHERE a < localtimestamp"},
	Operator: {"SELECT a + 1 FROM t", "SELECT * FROM t WHERE a=-1", "SELECT * FROM t WHERE a || b = 'x'",
		"SELECT - a FROM t",
		"SELECT * FROM t WHERE a ~ 'x'", "SELECT * FROM t WHERE a=--x\n1", "SELECT */* x */FROM t",
		"SELECT * FROM t WHERE a = 1 = b",
		"SELECT * FROM t WHERE (a = 1) = b", "SELECT - 'x' FROM t", "SELECT * FROM t WHERE a - 1 = 2"},
	Expression: {"SELECT CASE WHEN a THEN 1 END FROM t", "SELECT * FROM t WHERE true", "SELECT (a) FROM t",
		"SELECT a[1] FROM t",
		"SELECT * FROM t WHERE a = 'x' COLLATE \"C\"", "SELECT ARRAY[1] FROM t",
		"SELECT * FROM t WHERE a LIKE 'x' ESCAPE 'y'",
		"SELECT * FROM t WHERE a AT TIME ZONE 'x' = 'y'", "SELECT CAST(1 AS text) FROM t"},
	Cast: {"SELECT a::text FROM t", "SELECT * FROM t WHERE (a)::text = 'x'", "SELECT count(*)::int FROM t"},
	CastType: {"SELECT 'x'::regclass FROM t", "SELECT $1::varchar(20) FROM t", "SELECT $1::\"int8\" FROM t",
		"SELECT $1::mood FROM t",
		"SELECT $1::pg_catalog.int8 FROM t", "SELECT $1::timestamp with timezone FROM t", "SELECT $1::double FROM t",
		"SELECT $1::time FROM t", "SELECT $1::interval FROM t"},
	ReservedName: {"SELECT check FROM t", "SELECT * FROM references", "SELECT * FROM t ORDER BY values"},
	Qualifier: {"SELECT u.a FROM t", "SELECT t.a FROM t u", "SELECT a.b.c FROM t",
		"SELECT * FROM t WHERE u.a", "SELECT u.* FROM t",
		"SELECT s.t.a FROM s.t", "SELECT * FROM d.s.t"},
}

func TestRead_Refused(t *testing.T) {
	var s Statement
	for why := Empty; why < NoColumn; why++ {
		if len(refused[why]) == 0 {
			t.Errorf("no text is refused as %s", why)
		}
		for _, text := range refused[why] {
			if got := s.Read(text); got != why {
				t.Errorf("%.100q is %s, want %s; %.100s", text, got, why, s.Shape())
			}
			if !strings.HasSuffix(string(s.Shape()), "...") {
				t.Errorf("%.100q has the shape %.100s", text, s.Shape())
			}
		}
	}
}

func TestReasons_AreDocumented(t *testing.T) {
	var codes []string
	for why := range numReasons {
		if why.String() == "" || why.Text() == "" || slices.Contains(codes, why.String()) {
			t.Errorf("reason %d: %q %q", why, why.String(), why.Text())
		}
		codes = append(codes, why.String())
	}
}

func TestCheck(t *testing.T) {
	table := &Table{Columns: []string{"id", "title", "at", "Odd", "kind"}, Types: []uint32{20, 25, 1184, 16, 16400}}
	plain := &Table{Columns: table.Columns[:4], Types: table.Types[:4]}
	tests := []struct {
		text   string
		table  *Table
		params []uint32
		want   Reason
	}{
		{text: "SELECT * FROM t", want: ColumnType},
		{text: "SELECT * FROM t", table: plain, want: Eligible},
		{text: "SELECT t.* FROM t", table: plain, want: Eligible},
		{text: `SELECT ID, "Odd" FROM t`, want: Eligible},
		{text: "SELECT odd FROM t", want: NoColumn},
		{text: "SELECT t FROM t", want: NoColumn},
		{text: "SELECT ctid FROM t", want: NoColumn},
		{text: "SELECT id FROM t ORDER BY kind", want: ColumnType},
		{text: "SELECT id FROM t WHERE id = $1", want: ParameterType},
		{text: "SELECT id FROM t WHERE id = $1", params: []uint32{2205}, want: ParameterType},
		{text: "SELECT id FROM t WHERE id = $1", params: []uint32{20}, want: Eligible},
		{text: "SELECT id FROM t WHERE at < '2030-01-01 00:00:00+00:00'", want: Eligible},
		{text: "SELECT id FROM t WHERE at < 'now'", want: TimeText},
		{text: "SELECT id FROM t WHERE 'today' = at", want: TimeText},
		{text: "SELECT id FROM t WHERE title = 'now'", want: Eligible},
		{text: "SELECT id FROM t WHERE title IN ('now') AND at IN ('2030-01-01', 'tomorrow')", want: TimeText},
		{text: "SELECT id FROM t WHERE at BETWEEN '2030-01-01' AND ' yesterday '", want: TimeText},
		{text: "SELECT 'now'::timestamptz FROM t", want: TimeText},
		{text: "SELECT 'now'::text::date FROM t", want: TimeText},
		{text: "SELECT 'now'::date::text FROM t", want: TimeText},
		{text: "SELECT 'now'::text FROM t", want: Eligible},
		{text: "SELECT id FROM t WHERE 'now' = $1", params: []uint32{1082}, want: TimeText},
		{text: "SELECT id FROM t WHERE 'now' = '2030-01-01'::date", want: TimeText},
		{text: "SELECT id FROM t WHERE '2030-01-01'::date = ANY ('{now}')", want: TimeText},
	}
	var s Statement
	for _, tt := range tests {
		if why := s.Read(tt.text); why != Eligible {
			t.Fatalf("%s: %s", tt.text, why)
		}
		if tt.table == nil {
			tt.table = table
		}
		if got := s.Check(tt.table, tt.params); got != tt.want {
			t.Errorf("%s is %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestValue_IsTime(t *testing.T) {
	var s Statement
	if why := s.Read("SELECT $1, $2, $3::date FROM t"); why != Eligible {
		t.Fatal(why)
	}
	for i, want := range []bool{false, true, true} {
		if got := s.Values[i].IsTime([]uint32{25, 1114, 25}); got != want {
			t.Errorf("parameter %d: %v", i+1, got)
		}
	}
}

func TestRead_AllocatesNothing(t *testing.T) {
	table := &Table{Columns: []string{"id", "title"}, Types: []uint32{20, 25}}
	var s Statement
	for _, text := range []string{
		`SELECT "id", Title FROM Posts WHERE posts.ID = $1 AND title IN ('a', 'b') ORDER BY id LIMIT $1`,
		`SELECT * FROM posts JOIN authors ON true`, "BEGIN", "SELECT now()",
	} {
		if n := testing.AllocsPerRun(100, func() {
			if s.Read(text) == Eligible {
				s.Check(table, []uint32{20})
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	texts := map[string]string{
		"rails":  `SELECT "posts".* FROM "posts" WHERE "posts"."published" = $1 ORDER BY "posts"."id" DESC LIMIT $2`,
		"join":   `SELECT * FROM posts JOIN authors ON true`,
		"ands":   "SELECT * FROM t WHERE a = 1" + strings.Repeat(" AND a = 1", 6000),
		"items":  "SELECT a" + strings.Repeat(",'a' b", 1600) + " FROM t",
		"quotes": "SELECT '" + strings.Repeat("''", 30000) + "' FROM t",
		"nested": strings.Repeat("/*", 16000) + strings.Repeat("*/", 16000) + "SELECT * FROM t",
	}
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			var s Statement
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Read(text)
			}
		})
	}
}
