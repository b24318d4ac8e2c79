package sourcetest

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// document checks what the engine of documents promises on every database alike, where the
// databases once had engines of their own that did not agree.
func (s *suite) document() {
	for _, test := range []struct {
		name string
		run  func(*suite)
	}{
		{"Order", (*suite).documentOrder},
		{"Levels", (*suite).documentLevels},
		{"WideDependency", (*suite).documentWideDependency},
		{"NullKey", (*suite).documentNullKey},
		{"Unnameable", (*suite).documentUnnameable},
		{"Generations", (*suite).documentGenerations},
		{"Foundlings", (*suite).documentFoundlings},
		{"Errors", (*suite).documentErrors},
	} {
		s.t.Run(test.name, func(t *testing.T) { test.run(s.on(t)) })
	}
}

// people is emp with its phones, at two levels below a department.
func people() *source.Spec {
	spec := depts()
	emps := spec.Embeds[0].Spec
	emps.Fields = map[string]source.FieldSpec{"empno": {Name: "empNo"}}
	emps.Embeds = []source.Embed{phones()}
	return spec
}

// phones embeds the phones of an employee. No foreign key says whose they are.
func phones() source.Embed {
	return source.Embed{Name: "phones", On: []string{"empno"}, Spec: &source.Spec{Table: "phone",
		Only: true, Fields: map[string]source.FieldSpec{"id": {}, "number": {}}}}
}

// documentOrder: embedded documents come in the order that is asked for, either way.
func (s *suite) documentOrder() {
	for order, want := range map[string]string{
		"sal desc": `[{"empNo":7839},{"empNo":7782},{"empNo":7934}]`,
		"sal ASC":  `[{"empNo":7934},{"empNo":7782},{"empNo":7839}]`,
	} {
		spec := depts()
		spec.Embeds[0].Order = []string{order}
		spec.Embeds[0].Spec.Fields = map[string]source.FieldSpec{"empno": {Name: "empNo"}}
		p := s.compile(spec)
		if got := json(p, s.get(p, "10")); !strings.HasSuffix(got, `"emps":`+want+"}") {
			s.t.Errorf("ordered by %s: %s, want %s", order, got, want)
		}
	}
	spec := depts()
	spec.Embeds[0].Order = []string{"sal down"}
	if _, err := s.src.Compile(s.ctx, spec); err == nil || !strings.Contains(err.Error(), "desc") {
		s.t.Errorf("ordered down: %v, want what may be said", err)
	}
}

// documentLevels: documents are embedded in one another to a bound.
func (s *suite) documentLevels() {
	spec := func(levels int) *source.Spec {
		top := &source.Spec{Name: "deep", Table: "emp"}
		for at := top; levels > 0; levels-- {
			at.Only, at.Fields = true, map[string]source.FieldSpec{"empno": {}}
			at.Embeds = []source.Embed{{Name: "staff", On: []string{"mgr"},
				Spec: &source.Spec{Table: "emp"}}}
			at = at.Embeds[0].Spec
		}
		return top
	}
	p := s.compile(spec(8))
	want := `{"empno":7782,"staff":[{"empno":7934,"staff":[]}]}`
	s.want(p, "7782", want)
	_, err := s.src.Compile(s.ctx, spec(9))
	if err == nil || !strings.Contains(err.Error(), "8 levels") {
		s.t.Errorf("nine levels: %v, want an error that says how many there may be", err)
	}
}

// documentWideDependency: 1.5 and 1.50 are equal. A row of another table that has the one
// does not say that the document is called by the other, and a query that does not return
// its key does not say how the row writes it.
func (s *suite) documentWideDependency() {
	s.env.Exec(s.t, "CREATE TABLE price (amount decimal(10,1) PRIMARY KEY, name text)",
		"CREATE TABLE offer (id integer PRIMARY KEY, amount decimal(12,3))")
	spec := &source.Spec{Name: "offers", Key: []string{"amount"}, Depends: []source.Dep{
		{Table: "price", Columns: []string{"amount"}},
		{Table: "offer", Columns: []string{"amount"}}},
		Query: `SELECT p.amount, p.name, o.id FROM price p LEFT JOIN offer o
			ON o.amount = p.amount WHERE p.amount = :key`}
	deps := s.compile(spec).Deps()
	if len(deps) != 2 || len(deps[0].Columns) != 1 || len(deps[1].Columns) != 0 {
		s.t.Errorf("deps %+v, want the key of price and all of offer", deps)
	}
	spec.Query = strings.Replace(spec.Query, "p.amount, p.name", "p.name", 1)
	_, err := s.src.Compile(s.ctx, spec)
	if err == nil || !strings.Contains(err.Error(), "select it in the query") {
		s.t.Errorf("a key of which 1.5 and 1.50 are one, and which is not returned: %v", err)
	}
}

// documentNullKey: a key that is null is one that the database makes.
func (s *suite) documentNullKey() {
	p := s.compile(&source.Spec{Table: "note"})
	out := s.writeOK(p, source.OpCreate, "", `{"id":null,"body":"x"}`)
	s.want(p, out.Loaded.Key, `{"id":`+string(out.Loaded.Key)+`,"body":"x"}`)
}

// documentUnnameable: no row is made that no path can name.
func (s *suite) documentUnnameable() {
	s.env.Exec(s.t, "DELETE FROM word WHERE id = ''")
	p := s.compile(&source.Spec{Table: "word"})
	_, err := p.Write(s.ctx, &source.Write{Op: source.OpCreate,
		Input: s.input(p, `{"id":"","meaning":"none"}`)})
	if err == nil {
		s.t.Error("a row with an empty key was made")
	}
}

// documentGenerations: what the body drops goes with all that is embedded in it, and what
// it leaves out stays.
func (s *suite) documentGenerations() {
	p := s.compile(people())
	phone := s.compile(&source.Spec{Table: "phone"})
	s.writeOK(p, source.OpReplace, "80", `{"deptName":"D","emps":[`+
		`{"empNo":81,"phones":[{"id":811,"number":"a"},{"id":812,"number":"b"}]},`+
		`{"empNo":82,"phones":[{"id":821,"number":"c"}]}]}`)
	s.writeOK(p, source.OpReplace, "80",
		`{"deptName":"D","emps":[{"empNo":82},{"empNo":83,"phones":[]}]}`)
	s.want(p, "80", `{"deptNumber":80,"deptName":"D","deptLocation":null,"emps":[`+
		`{"empNo":82,"phones":[{"id":821,"number":"c"}]},{"empNo":83,"phones":[]}]}`)
	for _, id := range []row.Key{"811", "812"} {
		s.want(phone, id, "")
	}
}

// documentFoundlings: a document that is made anew has the rows of its body, and not those
// of one that had its key before.
func (s *suite) documentFoundlings() {
	s.env.Exec(s.t, "INSERT INTO phone VALUES (901, 90, 'old'), (902, 90, 'older')")
	p := s.compile(&source.Spec{Name: "emps", Table: "emp", Only: true,
		Fields: map[string]source.FieldSpec{"empno": {}, "ename": {}},
		Embeds: []source.Embed{phones()}})
	s.writeOK(p, source.OpReplace, "90",
		`{"ename":"N","phones":[{"id":902,"number":"new"},{"id":903,"number":"newer"}]}`)
	s.want(p, "90", `{"empno":90,"ename":"N","phones":[{"id":902,"number":"new"},`+
		`{"id":903,"number":"newer"}]}`)
}

// documentErrors: what is wrong with an embedded row is said with its place.
func (s *suite) documentErrors() {
	p := s.compile(people())
	for body, want := range map[string]string{
		`{"deptName":"E","emps":[{"empNo":1,"phones":[{"id":1},{"id":1}]}]}`: "emps[0]: phones[1]",
		`{"deptName":"E","emps":[{"empNo":1},{"empNo":1}]}`:                  "emps[1]",
		`{"deptName":"E","emps":[{"empNo":1,"phones":[{"number":"1","id":1},` +
			`{"number":"2","id":2},{"number":"3","id":2}]}]}`: "phones[2]",
	} {
		_, err := p.Write(s.ctx, &source.Write{Op: source.OpReplace, Key: "10",
			Input: s.input(p, body)})
		if source.ClassOf(err) != source.Invalid || !strings.Contains(err.Error(), want) {
			s.t.Errorf("%s: %v, want an error about %s", body, err, want)
		}
	}
}
