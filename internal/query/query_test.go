package query

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotrow/hotrow/internal/row"
)

// emps is the table of the tests.
var emps = NewTable(Table{
	Name: "emp", Key: []int{0}, Embeds: true, NullsHigh: true,
	Columns: []Column{
		{Name: "empno", Member: "empNo", NotNull: true, Compares: true, Classed: true,
			Part: row.KeyPart{Kind: row.Int, Bits: 32}},
		{Name: "ename", Member: "ename", Compares: true, Classed: true, Matches: true,
			Part: row.KeyPart{Kind: row.Text, MaxLen: 3}},
		{Name: "sal", Member: "sal", Compares: true, Part: row.KeyPart{Kind: row.Float}},
		{Name: "fired", Member: "fired", Compares: true, Classed: true,
			Bool: true, Part: row.KeyPart{Kind: row.Bool}},
		{Name: "hired", Member: "hired", NotNull: true, Compares: true, Classed: true,
			Part: row.KeyPart{Kind: row.Date}},
		{Name: "note", Member: "note", JSON: true, Part: row.KeyPart{Kind: row.JSON}},
		{Name: "order", Member: "order", Compares: true, Classed: true,
			Part: row.KeyPart{Kind: row.Int}},
		{Name: `a "b"`, Member: `a "b"`, Compares: true, Classed: true, Matches: true,
			Part: row.KeyPart{Kind: row.Text}},
		{Name: "ssn", Compares: true, Part: row.KeyPart{Kind: row.Text}},
	},
})

func TestParse_OneTextForEachQuestion(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"", "limit=100"},
		{"limit=100&offset=0&order=empNo", "limit=100"},
		{"&limit=5&", "limit=5"},
		{"limit=0", "limit=0"},
		{"offset=-3", "limit=100"},
		{"empno=eq.010", "empNo=eq.10&limit=100"},
		{"empNo=in.(3,1,2,01)", "empNo=in.(1,2,3)&limit=100"},
		{"empNo=in.(7)", "empNo=eq.7&limit=100"},
		{"empNo=in.()", "empNo=in.()&limit=100"},
		{"empNo=not.in.()", "empNo=not.in.()&limit=100"},
		{"empNo=eq(any).{1,2}", "empNo=in.(1,2)&limit=100"},
		{"empNo=eq(any).{}", "empNo=in.()&limit=100"},
		{"empNo=not.eq.1", "empNo=neq.1&limit=100"},
		{"empNo=not.neq.1", "empNo=eq.1&limit=100"},
		{"empNo=not.gt.1", "empNo=not.gt.1&limit=100"},
		{"ename=eq.", "ename=eq.&limit=100"},
		{"ename=eq.null", "ename=eq.null&limit=100"},
		{`ename=eq."a"`, "ename=eq.%22a%22&limit=100"},
		{"ename=eq.a+b%2Bc", "ename=eq.a%20b%2Bc&limit=100"},
		{"ename=eq.longer than the column", "ename=eq.longer%20than%20the%20column&limit=100"},
		{`ename=in.(b,"a,b",a"b,"x"y,,a(b)`, `ename=in.(%22%22,%22%5C%22x%5C%22y%22,` +
			`%22a%5C%22b%22,%22a(b%22,%22a,b%22,b)&limit=100`},
		{"ename=like.a*b%25", "ename=like.a%25b%25&limit=100"},
		{`ename=like.a\*b*`, "ename=like.a%5C*b%25&limit=100"},
		{`ename=like.a\\*`, "ename=like.a%5C%5C%25&limit=100"},
		{`ename=like(any).{a*,"b,*"}`, "ename=like(any).{a%25,%22b,%25%22}&limit=100"},
		{"ename=like(all).{a*,a*}", "ename=like.a%25&limit=100"},
		{"ename=is.NULL", "ename=is.null&limit=100"},
		{"ename=is.not_null", "ename=not.is.null&limit=100"},
		{"ename=not.is.not_null", "ename=is.null&limit=100"},
		{"fired=is.unknown", "fired=is.null&limit=100"},
		{"fired=eq.YES", "fired=eq.true&limit=100"},
		{"fired=is.True", "fired=is.true&limit=100"},
		{"note=is.null", "note=is.null&limit=100"},
		{"sal=gt.1e3&sal=lt.5000.00", "sal=gt.1000&sal=lt.5000&limit=100"},
		{"sal=lt.5&sal=gt.1&sal=lt.5.0", "sal=gt.1&sal=lt.5&limit=100"},
		{"ename=isdistinct.x", "ename=isdistinct.x&limit=100"},
		{`"order"=eq.5`, "%22order%22=eq.5&limit=100"},
		{`"a \"b\""=eq.5&select="a \"b\"",x:ename`,
			`select=%22a%20%5C%22b%5C%22%22,x:ename&%22a%20%5C%22b%5C%22%22=eq.5&limit=100`},
		{"and=(empNo.eq.1,ename.eq.a)", "empNo=eq.1&ename=eq.a&limit=100"},
		{"or=(empNo.eq.1)", "empNo=eq.1&limit=100"},
		{"not.and=(empNo.eq.1)", "empNo=neq.1&limit=100"},
		{"or=( empNo.eq.2 , empNo.eq.1 )", "or=(empNo.eq.1,empNo.eq.2)&limit=100"},
		{"or=(empNo.eq.1,or(empNo.eq.2,empNo.eq.1))", "or=(empNo.eq.1,empNo.eq.2)&limit=100"},
		{"or=(empNo.eq.1,not.and(sal.gt.2,ename.is.null))",
			"or=(empNo.eq.1,not.and(ename.is.null,sal.gt.2))&limit=100"},
		{`or=(ename.eq(any).{"a}","{,\""},empNo.eq.1)`,
			`or=(empNo.eq.1,ename.in.(%22a}%22,%22{,%5C%22%22))&limit=100`},
		{`or=(ename.eq."a,b)",ename.like(any).{a,b},ename.in.(x,y))`,
			`or=(ename.eq.%22a,b)%22,ename.in.(x,y),ename.like(any).%22{a,b}%22)&limit=100`},
		{"order=sal.desc", "order=sal.desc&limit=100"},
		{"order=sal.desc.nullsfirst", "order=sal.desc&limit=100"},
		{"order=sal.desc.nullslast,empNo", "order=sal.desc.nullslast&limit=100"},
		{"order=sal.nullslast,sal.desc,empNo.desc,ename", "order=sal,empNo.desc&limit=100"},
		{"order=hired.nullsfirst", "order=hired&limit=100"},
		{`order="order".desc`, "order=order.desc&limit=100"},
		{"select=ename,x:empno", "select=ename,x:empNo&limit=100"},
		{"select= ename , sal", "select=ename,sal&limit=100"},
		{"select=x:note->a->>b::int,note->c->0,ename::varchar",
			"select=x:note-%3Ea-%3E%3Eb::int4,note-%3Ec-%3E0,ename::text&limit=100"},
		{`select=c:note->"c"->-1,"d e":note->"0"->>"d e",sal::double precision`,
			`select=note-%3Ec-%3E-1,note-%3E%220%22-%3E%3E%22d%20e%22,sal::float8&limit=100`},
		{"note->>a=eq.1&note->b=is.null&or=(note->c->>0.like.x*,empNo.eq.1)",
			"note-%3E%3Ea=eq.1&note-%3Eb=is.null&or=(empNo.eq.1,note-%3Ec-%3E%3E0.like.x%25)&limit=100"},
		{"order=note->>a.desc.nullslast,note->>b,empNo",
			"order=note-%3E%3Ea.desc.nullslast,note-%3E%3Eb&limit=100"},
	} {
		q, err := Parse(c.query, emps, Options{})
		if err != nil {
			t.Errorf("%s: %v", c.query, err)
			continue
		}
		if q.String() != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.query, q, c.want)
		}
	}
}

func TestParse_ErrorsNameWhatAndWhere(t *testing.T) {
	for _, c := range []struct{ query, code, want string }{
		{"nope=eq.1", CodeColumn, "nope does not exist"},
		{"enam=eq.1", CodeColumn, `did you mean "ename"`},
		{"ssn=eq.1", CodeColumn, "ssn does not exist"},
		{"order=ssn", CodeColumn, "ssn does not exist"},
		{"select=ssn", CodeColumn, "ssn does not exist"},
		{"empNo=eq.abc", CodeOperand, `empNo: "abc" is not a 32-bit integer`},
		{"hired=gt.now", CodeOperand, `hired: "now" is not a date`},
		{"empNo=in.(1,)", CodeOperand, "empNo"},
		{"empNo=eq", CodeSyntax, "operator"},
		{"empNo", CodeSyntax, "="},
		{"empNo=1", CodeSyntax, "unknown operator"},
		{"empNo=not.not.eq.1", CodeSyntax, "unknown operator"},
		{"empNo=neq(any).{1}", CodeSyntax, "neq takes no (any)"},
		{"empNo=eq(some).{1}", CodeSyntax, "unknown operator"},
		{"empNo=cs.{1}", CodeSyntax, "cs is an operator of PostgreSQL"},
		{"empNo=eq(any).1", CodeSyntax, "braces"},
		{"empNo=eq(any).{1,{2}}", CodeSyntax, "braces"},
		{"ename=eq(any).{a,null}", CodeSyntax, "braces"},
		{"empNo=in.1,2", CodeSyntax, "parentheses"},
		{"empNo=in.(1,2", CodeSyntax, "parentheses"},
		{"empNo=in.(1)x", CodeSyntax, "parentheses"},
		{`ename=like.a\`, CodePattern, "backslash"},
		{"sal=like.a*", CodeSyntax, "texts"},
		{"note=eq.1", CodeSyntax, "is.null"},
		{"order=note", CodeSyntax, "no order"},
		{"ename=is.true", CodeSyntax, "booleans"},
		{"ename=is.what", CodeSyntax, "cannot be what"},
		{"or=empNo.eq.1", CodeSyntax, "parentheses"},
		{"or=(empNo.eq.1", CodeSyntax, "missing"},
		{"or=()", CodeSyntax, "name is missing"},
		{"or=(and(or(and(sal.gt.1))))", CodeSyntax, "3 deep"},
		{"or=(empNo.eq.1)x", CodeSyntax, "unexpected"},
		{strings.Repeat("sal=gt.1&", 21), CodeSyntax, "at most 20"},
		{"ename=in.(" + strings.Repeat("a,", 100) + "a)", CodeSyntax, "more than 100"},
		{"empNo=in.(" + strings.Repeat("1,", 1000) + "1)", CodeSyntax, "more than 1000"},
		{"limit=1&limit=2", CodeSyntax, "twice"},
		{"limit=1001", CodeSyntax, "from 0 to 1000"},
		{"limit=x", CodeSyntax, "from 0 to 1000"},
		{"limit=-1", CodeRange, "not satisfiable"},
		{"offset=10001", CodeSyntax, "10000"},
		{"ename=eq.a&after=3", CodeSyntax, "not a place"},
		{"after=abc", CodeOperand, "empNo"},
		{"select=ename,ename", CodeSyntax, "twice"},
		{"select=", CodeSyntax, "name is missing"},
		{"select=ename::uuid", CodeSyntax, "a cast to uuid is not offered"},
		{"select=hired::int", CodeSyntax, "a cast of hired to int4 is not offered"},
		{"select=ename->a", CodeSyntax, "leads into JSON"},
		{"select=note->>a->b", CodeSyntax, "ends with ->>"},
		{`select=note->"a\\"`, CodeSyntax, "no quotes"},
		{"select=note->", CodeSyntax, "name is missing"},
		{"select=note->a,note->b->a", CodeSyntax, "twice"},
		{"ename::text=eq.a", CodeSyntax, "is of select alone"},
		{"order=note->a", CodeSyntax, "no order"},
		{"note->>a=cs.{}", CodeSyntax, "cs is an operator of PostgreSQL"},
		{"select=sal.sum()", CodeSyntax, "aggregate"},
		{"select=depts(*)", CodeSyntax, "embedded"},
		{"select=...depts(*)", CodeSyntax, "embedded"},
		{"select=...depts", CodeSyntax, "spread"},
		{"depts.name=eq.1", CodeSyntax, "nothing called depts is embedded"},
		{"note->a=eq.1", CodeSyntax, "is.null"},
		{"order=sal.up", CodeSyntax, "unexpected .up"},
		{"order=sal,", CodeSyntax, "comma"},
		{"columns=a", CodeSyntax, "belongs to a write"},
		{"ename=eq.%00", CodeSyntax, "cannot be read"},
		{"ename=eq.%ff", CodeSyntax, "cannot be read"},
		{"ename=eq.%2", CodeSyntax, "cannot be read"},
		{"ename=eq.a;b", CodeSyntax, "cannot be read"},
	} {
		_, err := Parse(c.query, emps, Options{})
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Message, c.want) {
			t.Errorf("%.60s: got %#v, want %s %q", c.query, err, c.code, c.want)
		}
	}
}

func TestParse_RangeAndLimitAreOneWindow(t *testing.T) {
	for _, c := range []struct {
		query, header string
		limit, offset int
	}{
		{"", "0-24", 25, 0},
		{"", "10-", 100, 10},
		{"", "10-19", 10, 10},
		{"", "0-5000", 1000, 0},
		{"limit=5", "0-24", 5, 0},
		{"limit=50", "0-24", 25, 0},
		{"limit=10&offset=5", "0-7", 3, 5},
		{"limit=10&offset=5", "20-30", 0, 20},
		{"offset=5", "0-7", 3, 5},
		{"", "bytes=0-5", 100, 0},
		{"", "-5", 100, 0},
		{"", "a-b", 100, 0},
	} {
		q, err := Parse(c.query, emps, Options{Range: c.header})
		if err != nil || q.Limit != c.limit || q.Offset != c.offset {
			t.Errorf("%s, Range: %s: got %+v, %v", c.query, c.header, q, err)
		}
	}
	var e *Error
	_, err := Parse("", emps, Options{Range: "5-2"})
	if !errors.As(err, &e) || e.Code != CodeRange {
		t.Errorf("Range: 5-2: %v", err)
	}
}

func TestClasses(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"", ""},
		{"empNo=eq.1", "empno=1"},
		{"ename=eq.a&empNo=eq.1&sal=gt.3", "empno=1,ename=a"},
		{"ename=in.(a,b)&empNo=eq.1", "empno=1,ename=a empno=1,ename=b"},
		{"ename=is.null", "ename=NULL"},
		{"ename=not.isdistinct.a", "ename=a"},
		{"ename=not.is.null", ""},
		{"ename=neq.a", ""},
		{"ename=not.in.(a,b)", ""},
		{"sal=eq.1", ""},
		{"fired=is.true", "fired=true"},
		{"fired=not.is.true", ""},
		{"empNo=in.()", ""},
		{"or=(empNo.eq.1,ename.eq.a)", "empno=1 ename=a"},
		{"or=(empNo.eq.1,and(ename.eq.a,fired.is.true,sal.gt.1))", "empno=1 ename=a,fired=true"},
		{"or=(empNo.eq.1,sal.gt.1)", ""},
		{"not.or=(empNo.eq.1,ename.eq.a)", ""},
		{"or=(empNo.eq.1,empNo.eq.2)&fired=eq.true", "fired=true"},
		{"ename=eq.a&ename=in.(a,b)", "ename=a"},
	} {
		q, err := Parse(c.query, emps, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, class := range q.Classes() {
			var pairs []string
			for i, name := range class.Columns {
				text := class.Values[i].Text
				if class.Values[i].Null {
					text = "NULL"
				}
				pairs = append(pairs, name+"="+text)
			}
			all = append(all, strings.Join(pairs, ","))
		}
		if got := strings.Join(all, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.query, got, c.want)
		}
	}
}

func TestClasses_AreBounded(t *testing.T) {
	list := func(n int) string {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprint(i)
		}
		return "(" + strings.Join(items, ",") + ")"
	}
	for _, c := range []struct {
		query string
		want  int
	}{
		{"empNo=in." + list(64), 64},
		{"empNo=in." + list(65), 0},
		{"empNo=in." + list(16) + "&ename=in.(a,b)", 32},
		{"empNo=in." + list(17) + "&ename=in.(a,b)", 2},
		{"empNo=in." + list(70) + "&ename=in.(a,b)", 2},
	} {
		q, err := Parse(c.query, emps, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(q.Classes()); got != c.want {
			t.Errorf("%.40s: %d classes, want %d", c.query, got, c.want)
		}
	}
}

func TestCursor(t *testing.T) {
	q, err := Parse("sal=gt.1&order=ename.desc", emps, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range [][]Value{
		{{Text: "x,y"}, {Text: "7"}}, {{Null: true}, {Text: "7"}}, {{}, {Text: "-1"}},
	} {
		next, err := Parse(q.Next(at), emps, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(at, next.After); d != "" {
			t.Error(d)
		}
		other := strings.Replace(q.Next(at), "sal=gt.1", "sal=gt.2", 1)
		if _, err := Parse(other, emps, Options{}); err == nil {
			t.Errorf("%s: the cursor of another query was taken", other)
		}
	}
	plain, err := Parse("after=7&limit=3", emps, Options{})
	if err != nil || plain.String() != "limit=3&after=7" || plain.After[0].Text != "7" {
		t.Errorf("got %v, %v", plain, err)
	}
	if got := plain.Next([]Value{{Text: "9"}}); got != "limit=3&after=9" {
		t.Errorf("next is %s", got)
	}
	if _, err := Parse("after=7", emps, Options{Range: "3-5"}); err == nil {
		t.Error("a Range goes with after")
	}
}

// TestCursor_Untold: where the last row's values cannot be told, pages go on by number, from
// wherever they began, until one is refused; none is the last without being so.
func TestCursor_Untold(t *testing.T) {
	for raw, want := range map[string]string{
		"order=ename&limit=3":                  "order=ename&limit=3&offset=3",
		"limit=3&after=7":                      "limit=3&offset=3&after=7",
		"limit=3&offset=6&after=7":             "limit=3&offset=9&after=7",
		"order=ename&limit=9&offset=9990":      "order=ename&limit=9&offset=9999",
		"order=ename&limit=9&offset=9999":      "order=ename&limit=9&offset=10008",
		"select=ename&limit=1000&offset=10000": "select=ename&limit=1000&offset=11000",
	} {
		q, err := Parse(raw, emps, Options{})
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		got := q.Next(nil)
		if got != want {
			t.Errorf("%s: next is %s, want %s", raw, got, want)
		}
		next, err := Parse(got, emps, Options{})
		if far := q.Offset+q.Limit > MaxOffset; far != (err != nil) {
			t.Errorf("%s: %v", got, err)
		} else if !far && next.String() != got {
			t.Errorf("%s is read as %s", got, next)
		}
	}
}

// same reports how a query read from its own text differs.
func same(q *Query) string {
	again, err := Parse(q.String(), q.Table, Options{Count: q.Count})
	if err != nil {
		return fmt.Sprintf("%s: %v", q, err)
	}
	if again.Format = q.Format; again.Key() != q.Key() {
		return fmt.Sprintf("%s became %s", q.Key(), again.Key())
	}
	return cmp.Diff(q, again, cmp.AllowUnexported(Query{}), cmp.Comparer(
		func(a, b *Table) bool { return a == b }))
}

func TestParse_CanonicalTextMeansTheSame(t *testing.T) {
	texts := rapid.OneOf(rapid.String().Filter(func(s string) bool {
		return !strings.Contains(s, "\x00")
	}), rapid.SampledFrom([]string{"", "a,b", `a"b`, `"a"`, "(", ")", "{x}", "null", `\\`, "*", "a.b"}))
	compare := rapid.Custom(func(t *rapid.T) string {
		column := rapid.SampledFrom([]string{"empNo", "ename", "fired", `"a \"b\""`}).Draw(t, "column")
		not := rapid.SampledFrom([]string{"", "not."}).Draw(t, "not")
		value := func() string { return texts.Draw(t, "value") }
		switch column {
		case "empNo":
			value = func() string { return fmt.Sprint(rapid.Int32().Draw(t, "number")) }
		case "fired":
			return column + "." + not + rapid.SampledFrom([]string{"is.true", "is.null",
				"is.not_null", "is.unknown", "eq.f", "isdistinct.t"}).Draw(t, "operation")
		}
		op := rapid.SampledFrom([]string{"eq", "neq", "gt", "gte", "lt", "lte", "isdistinct",
			"in", "eq(any)", "eq(all)", "gt(any)", "lte(all)"}).Draw(t, "operator")
		if op != "in" && !strings.Contains(op, "(") {
			return column + "." + not + op + "." + quote(value())
		}
		items := make([]string, rapid.IntRange(0, 3).Draw(t, "items"))
		for i := range items {
			items[i] = quote(value())
		}
		list := strings.Join(items, ",")
		if op == "in" {
			return column + "." + not + "in.(" + list + ")"
		}
		return column + "." + not + op + "." + quote("{"+list+"}")
	})
	var group func(depth int) *rapid.Generator[string]
	group = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			n := rapid.IntRange(1, 3).Draw(t, "terms")
			terms := make([]string, n)
			for i := range terms {
				terms[i] = compare.Draw(t, "term")
				if depth < 2 && rapid.Bool().Draw(t, "nested") {
					terms[i] = rapid.SampledFrom([]string{"and", "or", "not.and", "not.or"}).
						Draw(t, "kind") + group(depth+1).Draw(t, "group")
				}
			}
			return "(" + strings.Join(terms, ",") + ")"
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		raw := "and=" + escape(group(0).Draw(t, "group")) + "&order=" +
			rapid.SampledFrom([]string{"", "sal.desc", "ename.nullsfirst,empNo.desc",
				"hired,sal.nullslast", "empNo.desc,sal"}).Draw(t, "order") +
			"&limit=" + fmt.Sprint(rapid.IntRange(0, 1000).Draw(t, "limit"))
		q, err := Parse(raw, emps, Options{})
		var e *Error
		if errors.As(err, &e) && strings.Contains(e.Message, "at most 20") {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if d := same(q); d != "" {
			t.Fatalf("%s: %s", raw, d)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "empNo=eq.1", `ename=in.(a,"b,c")&order=sal.desc.nullslast`,
		`or=(ename.eq."a,b)",not.and(ename.like(any).{a,b*},sal.is.null))&limit=5&offset=3`,
		`select=*,x:ename&"a \"b\""=isdistinct.%22`, "fired=is.TRUE&after=AAAA", "after=7",
		`ename=like(all).{"a\\b",c}&ename=ilike.\%25`, "select=sal::int",
		"select=note->a->>b::int,n:note->0", `note->"x y"->>-1=eq.a&order=note->>b.desc`, "order=%22order%22"} {
		f.Add(seed, "0-24")
	}
	f.Fuzz(func(t *testing.T, raw, header string) {
		q, err := Parse(raw, emps, Options{Range: header, Count: CountExact})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Message == "" {
				t.Fatalf("%q: %#v", raw, err)
			}
			return
		}
		if d := same(q); d != "" {
			t.Fatalf("%q: %s", raw, d)
		}
		q.Classes()
	})
}
