package sourcetest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// types checks how the values of the dialect's types appear in documents.
func (s *suite) types() {
	cases := s.env.Dialect.Types
	if len(cases) == 0 {
		s.t.Skip("the dialect has no table of types")
	}
	columns, values := []string{"id integer PRIMARY KEY"}, []string{"1"}
	for i, c := range cases {
		columns = append(columns, fmt.Sprintf("v%d %s", i, c.Type))
		values = append(values, c.Literal)
	}
	s.env.Exec(s.t, "CREATE TABLE typed ("+strings.Join(columns, ", ")+")",
		"INSERT INTO typed VALUES ("+strings.Join(values, ", ")+")")
	p := s.compile(&source.Spec{Table: "typed"})
	l := s.get(p, "1")
	if !l.Found() {
		s.t.Fatal("the row is not there")
	}
	s.sameInLists(p, l.Values)
	for i, c := range cases {
		s.t.Run(c.Type+" "+c.Literal, func(t *testing.T) {
			one := row.NewShape([]row.Field{p.Shape().Fields[i+1]})
			name := fmt.Sprintf("v%d", i)
			got := string(one.AppendJSON(nil, row.Values{l.Values[i+1]}))
			if want := `{"` + name + `":` + c.JSON + `}`; got != want {
				t.Errorf("JSON %s, want %s", got, want)
			}
			if c.MsgPack == "" {
				return
			}
			got = string(one.AppendMsgPack(nil, row.Values{l.Values[i+1]}))
			want := "\x81" + string([]byte{byte(0xa0 + len(name))}) + name + c.MsgPack
			if got != want {
				t.Errorf("MessagePack %q, want %q", got, want)
			}
		})
	}
}

// sameInLists checks that lists have the row 1 as a load has it, whatever they ask for.
func (s *suite) sameInLists(p source.Plan, want row.Values) {
	s.t.Helper()
	text := string(p.Shape().AppendJSON(nil, want))
	same := func(how string, found []source.Loaded) {
		s.t.Helper()
		if len(found) != 1 {
			s.t.Fatalf("%s: %d rows", how, len(found))
		}
		if got := string(p.Shape().AppendJSON(nil, found[0].Values)); got != text {
			s.t.Errorf("%s: %s, want %s", how, got, text)
		}
	}
	list, err := p.List(s.ctx, nil, 2)
	if err != nil {
		s.t.Fatal(err)
	}
	same("the first page", list)
	k := &trial{s: s}
	for _, raw := range []string{"order=id.desc", "id=eq.1", "limit=1"} {
		_, found := k.one(p, raw, query.CountNone)
		same(raw, found.Rows)
	}
}

// itoa writes a number.
func itoa(n int) string { return strconv.Itoa(n) }

// bulkInsert returns a statement that puts rows from..to into big.
func bulkInsert(from, to int) string {
	return fmt.Sprintf(`INSERT INTO big WITH RECURSIVE n (i) AS
		(SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i, 'bulk' FROM n`, from, to)
}
