package sourcetest

import (
	"net/url"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// withinRows are documents, by the ids of their rows; "" is no value.
var withinRows = []string{`{"a": "x", "n": 10, "o": {"b": [1, "two", null, {"c": true}]}}`,
	`{"a": "X", "n": 9, "o": {"b": []}}`, `{"a": null, "n": 1.50}`, `{"it's": "q", "0": "zero"}`,
	`[{"a": "x"}, "y", 3]`, `"text"`, ``, `{"a": "über \"x\"", "o": 5}`, `{"a": true}`}

// withinCases are queries, and the ids of the rows that they find.
var withinCases = []struct{ asks, want string }{
	{"data->>a=eq.x", "0"},
	{"data->>a=in.(x,X,true)", "0 1 8"},
	{"data->>a=neq.x", "1 7 8"},
	{"data->>a=isdistinct.x", "1 2 3 4 5 6 7 8"},
	{"data->>a=is.null", "2 3 4 5 6"},
	{"data->>a=not.is.null", "0 1 7 8"},
	{"data->a=is.null", "3 4 5 6"},
	{"data->>a=like.*x*", "0 7"},
	{"data->>a=ilike.x", "0 1"},
	{"data->>a=eq(any).{x,X}", "0 1"},
	{`data->>a=eq.über "x"`, "7"},
	{"data->>n=gt.1.50", "0 1"},
	{"data->>n=eq.1.50", "2"},
	{"data->o->b->>0=eq.1", "0"},
	{"data->o->b->>1=eq.two", "0"},
	{"data->o->b->>2=is.null&id=lt.2", "0 1"},
	{"data->o->b->-1->>c=eq.true", "0"},
	{"data->0->>a=eq.x", "4"},
	{"data->>1=eq.y", "4"},
	{`data->>"0"=eq.zero`, "3"},
	{"data->>0=eq.zero", ""},
	{`data->>"it's"=eq.q`, "3"},
	{"or=(data->>a.eq.X,data->>1.eq.y)", "1 4"},
	{"not.and=(data->>a.eq.x,id.eq.0)&data->>a=not.is.null", "1 7 8"},
	{"data->>n=not.is.null&order=data->>n", "2 0 1"},
	{"data->>n=not.is.null&order=data->>n.desc", "1 0 2"},
	{"id=in.(0,1,3)&order=data->>n.desc.nullslast", "1 0 3"},
	{"id=in.(0,1,3)&order=data->>n.nullsfirst&limit=2", "3 0"},
}

// within reads what paths lead to in JSON columns, in filters, orders and members.
func (s *suite) within() {
	typ := map[string]string{"postgres": "jsonb"}[s.env.Dialect.Name]
	if typ == "" {
		typ = "json"
	}
	statements := []string{"CREATE TABLE docs (id integer PRIMARY KEY, data " + typ + ")"}
	for id, doc := range withinRows {
		literal := "NULL"
		if doc != "" {
			literal = "'" + strings.ReplaceAll(doc, "'", "''") + "'"
			if s.env.Dialect.Name == "mysql" {
				literal = strings.ReplaceAll(literal, `\`, `\\`)
			}
		}
		statements = append(statements, "INSERT INTO docs VALUES ("+itoa(id)+", "+literal+")")
	}
	s.env.Exec(s.t, statements...)
	plan := s.compile(&source.Spec{Table: "docs"})
	k := &trial{s: s}
	for _, c := range withinCases {
		raw := ""
		for pair := range strings.SplitSeq(c.asks, "&") {
			name, value, _ := strings.Cut(pair, "=")
			raw += url.QueryEscape(name) + "=" + url.QueryEscape(value) + "&"
		}
		_, found := k.one(plan, raw, query.CountExact)
		if d := cmp.Diff(c.want, strings.Join(keysOf(found), " ")); d != "" {
			s.t.Errorf("%s (-want +got):\n%s", c.asks, d)
		}
	}
	s.madeMembers(k, plan)
}

// madeMembers: what paths and casts make is the same whatever the database.
func (s *suite) madeMembers(k *trial, plan source.Plan) {
	for _, c := range []struct{ id, choose, want string }{
		{"0", "data->o->b", `{"b":[1,"two",null,{"c":true}]}`},
		{"0", "data->>a,n:data->>n,m:data->n", `{"a":"x","n":"10","m":10}`},
		{"0", "data->o->b->0,x:data->o->b->>-1", `{"b":1,"x":"{\"c\":true}"}`},
		{"0", "id::text,n:data->>n::int,f:data->n::float8,t:data->n::text",
			`{"id":"0","n":10,"f":10,"t":"10"}`},
		{"2", "data->>a,b:data->a,n:data->>n,i:data->n::int,d:data->n::numeric",
			`{"a":null,"b":null,"n":"1.50","i":2,"d":1.50}`},
		{"7", "data->>a,j:data->a", `{"a":"über \"x\"","j":"über \"x\""}`},
		{"6", "data->>a,data->o,t:data::text", `{"a":null,"o":null,"t":null}`},
		{"8", "data->a::bool,t:data->>a::bool,x:data->>a", `{"a":true,"t":true,"x":"true"}`},
		{"4", "data->0->>a,y:data->>1", `{"a":"x","y":"y"}`},
	} {
		raw := "id=eq." + c.id + "&select=" + url.QueryEscape(c.choose)
		_, found := k.one(plan, raw, query.CountNone)
		got := ""
		if len(found.Rows) == 1 {
			got = string(found.Shape.AppendJSON(nil, found.Rows[0].Values))
		}
		if strings.NewReplacer(": ", ":", ", ", ",").Replace(got) != c.want {
			s.t.Errorf("%s of %s: %s, want %s", c.choose, c.id, got, c.want)
		}
	}
	q, err := query.Parse("id=eq.0&select=data-%3E%3Ea::int", plan.Table(), query.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err = plan.Select(s.ctx, q); err == nil || !strings.Contains(err.Error(), "(::int4)") {
		s.t.Errorf("x as an integer: %v", err)
	}
}
