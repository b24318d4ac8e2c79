package query

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/row"
)

// things is a table of PostgreSQL's own types.
var things = NewTable(Table{
	Name: "things", Key: []int{0}, Native: true,
	Columns: []Column{
		{Name: "id", Member: "id", NotNull: true, Compares: true, Classed: true,
			Part: row.KeyPart{Kind: row.Int, Bits: 32}},
		{Name: "tags", Member: "tags", Content: Elements, Elem: row.KeyPart{Kind: row.Text}},
		{Name: "nums", Member: "nums", Content: Elements, Elem: row.KeyPart{Kind: row.Int, Bits: 32}},
		{Name: "flags", Member: "flags", Content: Elements, Elem: row.KeyPart{Kind: row.Bool}},
		{Name: "days", Member: "days", Content: Span, Elem: row.KeyPart{Kind: row.Date}},
		{Name: "at", Member: "at", Content: Span, Elem: row.KeyPart{Kind: row.DatetimeTZ}},
		{Name: "many", Member: "many", Content: Spans, Elem: row.KeyPart{Kind: row.Int, Bits: 32}},
		{Name: "doc", Member: "doc", Content: Tree, JSON: true, Part: row.KeyPart{Kind: row.JSON}},
		{Name: "raw", Member: "raw", Content: Prose, JSON: true, Part: row.KeyPart{Kind: row.JSON}},
		{Name: "words", Member: "words", Content: Lexemes},
		{Name: "name", Member: "name", Compares: true, Matches: true,
			Part: row.KeyPart{Kind: row.Text}},
	},
})

func TestNative_OneTextForEachOperand(t *testing.T) {
	for _, c := range []struct{ query, op, want string }{
		{"tags=cs.{a,b}", "cs", `{"a","b"}`},
		{`tags=cs.{ "a" , b\"c ,"d\\e", NULL}`, "cs", `{"a","b\"c","d\\e",NULL}`},
		{`tags=not.cd.{"null"," x "}`, "cd", `{"null"," x "}`},
		{"tags=ov.{}", "ov", "{}"},
		{"tags=cs.{{a,b},{c,d}}", "cs", `{{"a","b"},{"c","d"}}`},
		{"nums=cs.{010,+2, 3 }", "cs", `{"10","2","3"}`},
		{"flags=ov.{t,no}", "ov", `{"true","false"}`},
		{"days=cs.[2024-01-01,2024-02-01)", "cs", `["2024-01-01","2024-02-01")`},
		{"days=ov.(,2024-02-01]", "ov", `(,"2024-02-01"]`},
		{"days=adj.empty", "adj", "empty"},
		{`at=sr.["2024-01-01 10:00",2024-01-02T00:00:00+02:00)`, "sr",
			`["2024-01-01T10:00:00Z","2024-01-01T22:00:00Z")`},
		{"at=nxl.[2024-01-01,)", "nxl", `["2024-01-01T00:00:00Z",)`},
		{"at=nxr.[2024-01-01,]&id=eq.4", "nxr", `["2024-01-01T00:00:00Z",]`},
		{"many=cs.{[1,2), [5,9] }", "cs", `{["1","2"),["5","9"]}`},
		{`doc=cs.{"a":{"b":[1]}}`, "cs", `{"a":{"b":[1]}}`},
		{`doc->a->0=cs.{"b":1}`, "cs", `{"b":1}`},
		{"doc->a=eq.1", "eq", "1"},
		{"doc->>a=fts(english).cat", "fts", "cat"},
		{"words=fts(english).cats & dogs", "fts", "cats & dogs"},
		{"words=not.wfts.a b", "wfts", "a b"},
		{"raw=plfts.x", "plfts", "x"},
		{"name=phfts(simple).x", "phfts", "x"},
		{"name=match.^a.*(b|c)$", "match", "^a.*(b|c)$"},
		{"or=(name.imatch.^a,tags.cs.{a})", "imatch", "^a"},
	} {
		q, err := Parse(strings.NewReplacer("+", "%2B", " & ", " %26 ").Replace(c.query),
			things, Options{})
		if err != nil {
			t.Errorf("%s: %v", c.query, err)
			continue
		}
		var got []string
		q.mentionsTerm(func(term *Term) {
			if term.Op.String() == c.op {
				got = append(got, term.Values...)
			}
		})
		if d := cmp.Diff([]string{c.want}, got); d != "" {
			t.Errorf("%s: %s", c.query, d)
		}
		if again, err := Parse(q.String(), things, Options{}); err != nil || again.Key() != q.Key() {
			t.Errorf("%s: again %v, %v", q, again, err)
		}
	}
}

func TestNative_ErrorsNameWhatAndWhere(t *testing.T) {
	for _, c := range []struct{ query, code, want string }{
		{"tags=cs.a", CodeOperand, "tags: a is not an array"},
		{"tags=cs.{a", CodeOperand, "array"},
		{"tags=cs.{a}x", CodeOperand, "array"},
		{"tags=cs.{a,,b}", CodeOperand, "array"},
		{"tags=cs." + strings.Repeat("{", 7) + strings.Repeat("}", 7), CodeOperand, "array"},
		{"tags=cs.{" + strings.Repeat("a,", 100) + "a}", CodeSyntax, "more than 100"},
		{"nums=cs.{a}", CodeOperand, `nums: "a" is not a 32-bit integer`},
		{"days=cs.[now,)", CodeOperand, `"now" is not a date`},
		{"days=cs.2024-01-01", CodeOperand, "a range"},
		{"days=cs.[2024-01-01,", CodeOperand, "a range"},
		{"many=cs.[1,2)", CodeOperand, "a multirange"},
		{"doc=cs.{a}", CodeOperand, "doc: \"{a}\" is not JSON"},
		{"doc=ov.{}", CodeSyntax, "ov is not for the type of doc"},
		{"tags=sl.{a}", CodeSyntax, "sl is not for the type of tags"},
		{"id=cs.{1}", CodeSyntax, "cs is not for the type of id"},
		{"tags=match.a", CodeSyntax, "match is not for the type of tags"},
		{"id=fts.a", CodeSyntax, "fts is not for the type of id"},
		{"words=fts(a;b).a", CodeSyntax, "cannot be read"},
		{"words=fts(a-b).a", CodeSyntax, "configuration"},
		{"words=fts().a", CodeSyntax, "configuration"},
		{"doc->a=eq.x", CodeOperand, "doc->a: x is not JSON"},
		{"raw->a=eq.1", CodeSyntax, "is.null"},
		{"raw->a=cs.{}", CodeSyntax, "cs is not for the type"},
		{"doc->>a=cs.{}", CodeSyntax, "cs is not for the type"},
		{"tags->a=is.null", CodeSyntax, "leads into JSON"},
		{"tags=cs(any).{a}", CodeSyntax, "cs takes no (any)"},
		{"tags=eq.{a}", CodeSyntax, "is.null"},
	} {
		_, err := Parse(c.query, things, Options{})
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Message, c.want) {
			t.Errorf("%.60s: got %#v, want %s %q", c.query, err, c.code, c.want)
		}
	}
}

// TestNative_WhatMemoryMayKeep: only what a change of a row can tell.
func TestNative_WhatMemoryMayKeep(t *testing.T) {
	for _, c := range []struct {
		query    string
		searches bool
		classes  int
	}{
		{"tags=cs.{a}", false, 0},
		{"tags=cs.{a}&id=eq.3", false, 1},
		{"name=match.a", false, 0},
		{"words=fts.a", true, 0},
		{"or=(id.eq.1,words.wfts.a)", true, 0},
	} {
		q, err := Parse(c.query, things, Options{})
		if err != nil || q.Searches() != c.searches || len(q.Classes()) != c.classes {
			t.Errorf("%s: searches %v, %d classes, %v", c.query, q.Searches(), len(q.Classes()), err)
		}
	}
}

func TestNative_IndexesOfTheirOwn(t *testing.T) {
	indexes := []Index{{Columns: []string{"tags"}, Ops: []Op{Cs, Ov}},
		{Columns: []string{"doc"}, Ops: []Op{Cs}}, IndexOf("doc"),
		{Columns: []string{"id"}, Ops: []Op{}}}
	for raw, want := range map[string]bool{
		"tags=cs.{a}": true, "tags=cd.{a}": false, "tags=not.cs.{a}": false, "nums=cs.{1}": false,
		"or=(tags.cs.{a},tags.ov.{b})": true, "or=(tags.cs.{a},nums.cs.{1})": false,
		"doc->>a=eq.x": false, "doc->a=cs.{}": false,
		"id=eq.1": false, "order=id.desc": false, "tags=cs.{a}&order=name": true,
	} {
		q, err := Parse(raw, things, Options{})
		if err != nil || q.Indexed(indexes) != want {
			t.Errorf("%s: %v, %v", raw, !want, err)
		}
	}
}

func FuzzParseNative(f *testing.F) {
	for _, seed := range []string{`tags=cs.{a,"b,c",{d},NULL}`, "nums=ov.{1,2}", "days=sl.[2024-01-01,)",
		`many=adj.{[1,2),(3,"4"]}`, `doc=cd.{"a":1}`, "words=fts(english).a%20%26%20b", "name=match(any).{a,b}",
		`or=(at.nxl."(2024-01-01 10:00,]",tags.ov.{x})`, "days=cs.empty",
		"doc->a->>0=eq.x&order=raw->>b.desc", "select=doc->a->>b::int8", `at=cs.["2024-01-01""",]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := Parse(raw, things, Options{})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Message == "" {
				t.Fatalf("%q: %#v", raw, err)
			}
			return
		}
		again, err := Parse(q.String(), things, Options{})
		if err != nil || again.Key() != q.Key() {
			t.Fatalf("%q: %q: %v, %v", raw, q, again, err)
		}
		q.Classes()
		q.Indexed(nil)
	})
}
