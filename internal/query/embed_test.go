package query

import (
	"errors"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// embedTables returns relations between tables a, b and c: a to b in two ways, b back to a,
// and to c, of which secret may not be read.
func embedTables() (*Table, func(*Table) []Relation) {
	table := func(name string) *Table {
		var columns []Column
		for _, c := range []string{"id", "x", "order"} {
			columns = append(columns, Column{Name: c, Member: c, Compares: true, Classed: true,
				Part: row.KeyPart{Kind: row.Int, Bits: 64}})
		}
		columns[0].NotNull = true
		return NewTable(Table{Name: name, Columns: columns, Key: []int{0}})
	}
	a, b, c := table("a"), table("b"), table("c")
	return a, func(of *Table) []Relation {
		switch of {
		case a:
			return []Relation{
				{Name: "b", Table: b, From: []string{"id"}, To: []string{"x"}, Hints: []string{"x", "bx"}},
				{Name: "b", Table: b, From: []string{"id"}, To: []string{"y"}, Hints: []string{"y"}},
				{Name: "c", Table: c, One: true, From: []string{"x"}, To: []string{"id"},
					Hints: []string{"x"}},
				{Name: "secret", Table: c, From: []string{"x"}, To: []string{"id"}, Hints: []string{"x"}},
				{Name: "d", Table: c, From: []string{"id"}, To: []string{"id"}, Hints: []string{"secret"},
					Link: &Link{Name: "secret"}},
			}
		case b:
			return []Relation{{Name: "c", Table: c, From: []string{"id"}, To: []string{"x"},
				Hints: []string{"x"}}}
		}
		return nil
	}
}

var errSecret = errors.New("it may not be read")

func embedOptions(relations func(*Table) []Relation) Options {
	return Options{Relations: relations, Reads: func(name string) error {
		if name == "secret" {
			return errSecret
		}
		return nil
	}}
}

func TestParse_EmbedsHaveOneText(t *testing.T) {
	a, relations := embedTables()
	for _, tt := range []struct{ raw, want string }{
		{"select=id,b!x(x)", "select=id,b!x(x)&limit=100"},
		{"select=id, b!bx ( x , id )", "select=id,b!x(x,id)&limit=100"},
		{"select=id,b:b!y!inner(id)", "select=id,b!y!inner(id)&limit=100"},
		{"select=id,b!left!y(id)", "select=id,b!y(id)&limit=100"},
		{"select=*,c(*)", "select=*,c(*)&limit=100"},
		{"select=id,x,order,k:c(id,x,order)", "select=*,k:c(*)&limit=100"},
		{"select=id,...c(cx:x)&c.x=gt.1", "select=id,...c(cx:x)&c.x=gt.1&limit=100"},
		{"select=id,...c(cx:x),...c!x(ci:id)", "select=id,...c(cx:x),...c(ci:id)&limit=100"},
		{`c.x=eq.1&select=c(id)&c.x=eq.01&x=eq.2`, "select=c(id)&x=eq.2&c.x=eq.1&limit=100"},
		{"select=l:b!x(id,c(x))&l.limit=3&l.order=x.asc,id&l.c.or=(x.eq.1,id.gt.2)&limit=5",
			"select=l:b!x(id,c(x))&l.order=x&l.limit=3&l.c.or=(id.gt.2,x.eq.1)&limit=5"},
		{`select=b!x(id)&b."order"=eq.1&b.order=order`,
			`select=b!x(id)&b.%22order%22=eq.1&b.order=order&limit=100`},
		{"select=b!x(id)&b.not.or=(x.eq.1,x.eq.2)", "select=b!x(id)&b.not.or=(x.eq.1,x.eq.2)&limit=100"},
		{"select=id,c(id)&order=c(x).desc,id", "select=id,c(id)&order=c(x).desc&limit=100"},
		{`select=id,"k 1":c(id)&order=x,"k 1"(order).nullslast,"k 1"(order)`,
			"select=id,%22k%201%22:c(id)&order=x,%22k%201%22(order).nullslast&limit=100"},
		{`select="b.":b!x(id)&"b.".x=eq.1`, `select=%22b.%22:b!x(id)&%22b.%22.x=eq.1&limit=100`},
	} {
		q, err := Parse(tt.raw, a, embedOptions(relations))
		if err != nil || q.String() != tt.want {
			t.Errorf("%s: %v %v, want %s", tt.raw, q, err, tt.want)
			continue
		}
		again, err := Parse(q.String(), a, embedOptions(relations))
		if err != nil || again.String() != tt.want {
			t.Errorf("%s: %v %v, want the same", tt.want, again, err)
		}
	}
}

// Whether a resource may be read is asked before anything of it is told, and what may not
// be is named nowhere.
func TestParse_EmbedsOnlyWhatMayBeRead(t *testing.T) {
	a, relations := embedTables()
	for _, raw := range []string{"select=secret(id)", "select=secret(nope)", "select=secret!nope(id)",
		"select=d(id)", "select=d(nope)", "select=d!secret(id)"} {
		if _, err := Parse(raw, a, embedOptions(relations)); !errors.Is(err, errSecret) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	var e *Error
	_, err := Parse("select=nope(id)", a, embedOptions(relations))
	if !errors.As(err, &e) || e.Code != CodeUnrelated || e.Hint != "related are b, c" {
		t.Errorf("%+v", err)
	}
	if _, err := Parse("select=c(id)", a, Options{}); err == nil {
		t.Error("rows are embedded where nobody says who may read them")
	}
	for _, raw := range []string{"select=id,...c(id)", "select=...b!x(x)", "select=c(id),...c(x)",
		"select=...c", "select=...c(x),...c(x)", "select=...c(x),...c(k:id)&c.x=gt.1",
		"select=...c(x),c(id)", "select=c(id)&order=b(x)", "select=b!x(id)&order=b(x)", "select=c(id)&order=c(x",
		"select=c(id)&c.x=gt.1&order=c(x)", "select=b!x(c(id))&b.order=c(x)", "select=c(id)&order=c(x)&after=AAAA",
		"select=...c(x),...c(k:id)&c.order=x"} {
		if _, err := Parse(raw, a, embedOptions(relations)); !errors.As(err, &e) ||
			e.Code != CodeSyntax {
			t.Errorf("%s: %v", raw, err)
		}
	}
	deep := "select=b!x(c(id)),k1:c(id),k2:c(id),k3:c(id),k4:c(id),k5:c(id),k6:c(id),k7:c(id)"
	if _, err := Parse(deep, a, embedOptions(relations)); !errors.As(err, &e) {
		t.Errorf("nine tables: %v", err)
	}
	many := "select=c(id)"
	for range MaxTerms + 1 {
		many += "&c.x=gt.1"
	}
	if _, err := Parse(many, a, embedOptions(relations)); !errors.As(err, &e) {
		t.Errorf("%d conditions: %v", MaxTerms+1, err)
	}
}
