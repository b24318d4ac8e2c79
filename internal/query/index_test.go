package query

import (
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// TestIndexed_ByPartialIndexes: an index of some rows answers where the filters ask for no
// others.
func TestIndexed_ByPartialIndexes(t *testing.T) {
	where := func(columns []string, conditions ...Condition) Index {
		return Index{Columns: columns, Partial: true, Where: conditions}
	}
	valued := where([]string{"ename"}, IsNotNull("ename"))
	present := where([]string{"ename", "hired"}, Condition{"fired", Is, false, "null"})
	fired := where([]string{"hired"}, Condition{"fired", Is, false, "true"})
	truth := where([]string{"ename"}, Condition{"fired", Eq, false, "true"}, IsNotNull("sal"))
	unknown := where([]string{"ename"})
	for _, c := range []struct {
		query string
		index Index
		want  bool
	}{
		{"ename=eq.a", valued, true},
		{"ename=in.(a,b)&order=sal", valued, true},
		{"ename=in.()", valued, false},
		{"ename=gt.a&order=ename", valued, true},
		{"ename=neq.a&order=ename", valued, false},
		{"ename=not.is.null&order=ename", valued, true},
		{"ename=not.is.null&order=hired", valued, false},
		{"order=ename", valued, false},
		{"ename=is.null", valued, false},
		{"ename=not.isdistinct.a", valued, false},
		{"ename=eq(any).{a,b}", valued, true},
		{"ename=eq.a&ename=neq.b", valued, true},
		{"or=(ename.eq.a,ename.eq.b)", valued, true},
		{"or=(ename.eq.a,ename.is.null)", valued, false},
		{"ename=eq.a", present, false},
		{"ename=eq.a&fired=is.null", present, true},
		{"ename=eq.a&fired=not.is.null", present, false},
		{"ename=eq.a&or=(fired.is.null,empNo.eq.1)", present, false},
		{"or=(and(ename.eq.a,fired.is.null),and(ename.eq.b,fired.is.null))", present, true},
		{"fired=is.null&order=ename,hired", present, true},
		{"fired=is.null&sal=gt.1&order=ename", present, false},
		{"fired=is.true&order=hired.desc", fired, true},
		{"fired=eq.true&order=hired.desc", fired, false},
		{"fired=not.is.true&order=hired.desc", fired, false},
		{"fired=is.true&hired=gt.2020-01-01&order=hired", fired, true},
		{"ename=eq.a&fired=eq.true&sal=lt.3", truth, true},
		{"ename=eq.a&fired=eq.false&sal=lt.3", truth, false},
		{"ename=eq.a&fired=eq.true", truth, false},
		{"ename=eq.a", unknown, false},
	} {
		q, err := Parse(c.query, emps, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Indexed([]Index{c.index}); got != c.want {
			t.Errorf("%s: by %+v: %v, want %v", c.query, c.index, got, c.want)
		}
	}
	if x := valued; !x.Has(emps, nil, "sal", "ename") || x.Has(emps, nil, "sal") {
		t.Error("the column of a foreign key that leads to a row has a value")
	}
}

func TestQuery_SaysWhichIndexesPass(t *testing.T) {
	indexes := []Index{IndexOf("empno"), {Columns: []string{""}, Expr: "lower((ename)::text)"},
		{Columns: []string{"hired"}, Partial: true}, {Columns: []string{""}, Expr: "abs(sally)"}}
	for query, want := range map[string]string{
		"ename=eq.a":           "an index on an expression of ename does not find values of ename",
		"fired=is.true":        "",
		"sal=eq.1":             "",
		"hired=eq.2020-01-01":  "an index on hired has only some of the rows, and the query may find others",
		"sal=eq.1&ename=eq.a":  "an index on an expression of ename does not find values of ename",
		"order=hired&limit=10": "an index on hired has only some of the rows, and the query may find others",
	} {
		q, err := Parse(query, emps, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Passed(indexes); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// No index follows an order that is not that of its column's values.
func TestIndexed_ByAColumnThatIsOrderedByAnExpression(t *testing.T) {
	table := NewTable(Table{Name: "t", Key: []int{0}, Columns: []Column{
		{Name: "id", Member: "id", Part: row.KeyPart{Kind: row.Int}, NotNull: true, Compares: true},
		{Name: "e", Member: "e", Part: row.KeyPart{Kind: row.Text}, Compares: true, Unsorted: true},
	}})
	for query, want := range map[string]bool{
		"e=eq.a": true, "e=in.(a,b)&order=e": true, "order=id": false, "order=e": false,
		"e=gt.a&order=e": false,
	} {
		q, err := Parse(query, table, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Indexed([]Index{IndexOf("e")}); got != want {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}
