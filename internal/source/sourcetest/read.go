package sourcetest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// catalog checks tables, keys, foreign keys and what is refused.
func (s *suite) catalog() {
	cat, err := s.src.Catalog(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	if cat.Server == "" {
		s.t.Error("the catalogue does not say which server it is of")
	}
	emp, ok := cat.Table("emp")
	if !ok {
		s.t.Fatal("no table emp")
	}
	if !emp.Default || emp.View || emp.Refused != "" || emp.Resource() != "emp" {
		s.t.Errorf("emp = %+v, want a table that can be a resource", emp)
	}
	if diff := cmp.Diff([]string{"empno"}, emp.Key); diff != "" {
		s.t.Errorf("key of emp (-want +got):\n%s", diff)
	}
	fk := []source.ForeignKey{{Columns: []string{"deptno"}, Table: s.id("dept"),
		References: []string{"deptno"}}}
	for i := range emp.Foreign {
		emp.Foreign[i].Name = "" // which not every database has
	}
	if diff := cmp.Diff(fk, emp.Foreign); diff != "" {
		s.t.Errorf("foreign keys of emp (-want +got):\n%s", diff)
	}
	if c, ok := emp.Column("hiredate"); !ok || c.Kind != row.Date || c.NotNull {
		s.t.Errorf("emp.hiredate = %+v, want a nullable date", c)
	}
	dept, _ := cat.Table("dept")
	if c, ok := dept.Column("dname"); !ok || c.Kind != row.Text || !c.NotNull {
		s.t.Errorf("dept.dname = %+v, want text that is not null", c)
	}
	city, _ := cat.Table("city")
	if diff := cmp.Diff([]string{"name", "state"}, city.Key); diff != "" {
		s.t.Errorf("key of city (-want +got):\n%s", diff)
	}
	keyless, ok := cat.Table("keyless")
	if !ok || !strings.Contains(keyless.Refused, "primary key") {
		s.t.Errorf("keyless.Refused = %q, want that it has no primary key", keyless.Refused)
	}
}

// load checks single documents by keys of every kind.
func (s *suite) load() {
	tests := []struct {
		name, table string
		key         row.Key
		want        string // "": no row
	}{
		{"Single", "dept", "10", `{"deptno":10,"dname":"ACCOUNTING","loc":"NEW YORK"}`},
		{"Null", "dept", "20", `{"deptno":20,"dname":"RESEARCH","loc":null}`},
		{"Spelling", "dept", "+010", `{"deptno":10,"dname":"ACCOUNTING","loc":"NEW YORK"}`},
		{"Missing", "dept", "11", ""},
		{"Composite", "city", "Tulsa,OK", `{"name":"Tulsa","state":"OK","people":400000}`},
		{"CompositeComma", "city", "Paris%2C TX,TX",
			`{"name":"Paris, TX","state":"TX","people":25000}`},
		{"CompositePercent", "city", "100%25,ZZ", `{"name":"100%","state":"ZZ","people":1}`},
		{"CompositeMissing", "city", "Tulsa,TX", ""},
		{"Text", "word", "Ähre", `{"id":"Ähre","meaning":"ear"}`},
		{"TextSlash", "word", "a/b", `{"id":"a/b","meaning":"path"}`},
		{"TextQuote", "word", "a'b", `{"id":"a'b","meaning":"quote"}`},
		{"TextSpace", "word", "a b", `{"id":"a b","meaning":"space"}`},
		{"TextCase", "word", "X", ""},
		{"BeyondDouble", "big", "9007199254740993", `{"id":9007199254740993,"name":"odd"}`},
		{"Least", "big", "-9223372036854775808", `{"id":-9223372036854775808,"name":"least"}`},
		{"Greatest", "big", "9223372036854775807",
			`{"id":9223372036854775807,"name":"greatest"}`},
		{"UUID", "thing", "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
			`{"id":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","name":"dns"}`},
	}
	for _, test := range tests {
		s.t.Run(test.name, func(t *testing.T) {
			s := s.on(t)
			p := s.compile(&source.Spec{Table: test.table})
			l := s.get(p, test.key)
			if got := json(p, l); got != test.want {
				t.Errorf("Load(%q) = %s, want %s", test.key, got, test.want)
			}
			canonical, err := p.KeyType().Parse(test.key)
			if l.Found() && (err != nil || l.Key != canonical) {
				t.Errorf("Key = %q, want the canonical %q (%v)", l.Key, canonical, err)
			}
			if !l.Found() && l.Key != "" {
				t.Errorf("Key = %q of a row that is not there", l.Key)
			}
		})
	}
	s.t.Run("Hide", func(t *testing.T) {
		s := s.on(t)
		s.want(s.compile(&source.Spec{Table: "account", Hide: true}), "1",
			`{"id":1,"name":"ada"}`)
		s.want(s.compile(&source.Spec{Table: "account"}), "1",
			`{"id":1,"name":"ada","password":"hunter2","api_key":"k-1"}`)
		only := map[string]source.FieldSpec{"name": {Name: "who"}}
		s.want(s.compile(&source.Spec{Table: "account", Only: true, Fields: only}), "1",
			`{"who":"ada"}`)
		hide := map[string]source.FieldSpec{"password": {Hide: true}, "api_key": {Hide: true}}
		s.want(s.compile(&source.Spec{Table: "account", Fields: hide}), "1",
			`{"id":1,"name":"ada"}`)
	})
}

// loadMulti checks order, duplicates, gaps and sizes of a load of many keys.
func (s *suite) loadMulti() {
	p := s.compile(&source.Spec{Table: "dept"})
	keys := []row.Key{"30", "11", "10", "30", "010", "40"}
	out, err := p.Load(s.ctx, keys)
	if err != nil {
		s.t.Fatal(err)
	}
	var asked, got []row.Key
	for _, l := range out {
		asked, got = append(asked, l.Asked), append(got, l.Key)
	}
	if !slices.Equal(asked, keys) {
		s.t.Errorf("asked = %q, want %q", asked, keys)
	}
	if want := []row.Key{"30", "", "10", "30", "10", "40"}; !slices.Equal(got, want) {
		s.t.Errorf("keys = %q, want %q", got, want)
	}
	if out, err := p.Load(s.ctx, nil); err != nil || len(out) != 0 {
		s.t.Errorf("Load of no key = %v, %v", out, err)
	}
	s.env.Exec(s.t, bulkInsert(1, 1100))
	p = s.compile(&source.Spec{Table: "big"})
	keys = nil
	for i := 1100; i > 0; i-- {
		keys = append(keys, row.JoinKey(itoa(i)))
	}
	out, err = p.Load(s.ctx, keys)
	if err != nil || len(out) != len(keys) {
		s.t.Fatalf("Load of %d keys: %d, %v", len(keys), len(out), err)
	}
	for i, l := range out {
		if l.Key != keys[i] {
			s.t.Fatalf("row %d has key %q, want %q", i, l.Key, keys[i])
		}
	}
	c := s.compile(&source.Spec{Table: "city"})
	out, err = c.Load(s.ctx, []row.Key{"100%25,ZZ", "Tulsa,TX", "Tulsa,OK"})
	if err != nil || !out[0].Found() || out[1].Found() || out[2].Key != "Tulsa,OK" {
		s.t.Errorf("composite keys: %+v, %v", out, err)
	}
}

// nested checks documents within documents.
func (s *suite) nested() {
	p := s.compile(depts())
	s.want(p, "10", `{"deptNumber":10,"deptName":"ACCOUNTING","deptLocation":"NEW YORK","emps":[`+
		`{"empNo":7782,"empName":"CLARK","mgr":7839,"sal":2450},`+
		`{"empNo":7839,"empName":"KING","sal":5000},`+
		`{"empNo":7934,"empName":"MILLER","mgr":7782,"sal":1300}]}`)
	s.want(p, "40",
		`{"deptNumber":40,"deptName":"OPERATIONS","deptLocation":"BOSTON","emps":[]}`)
	s.want(p, "41", "")
	many, err := p.Load(s.ctx, []row.Key{"40", "20", "99", "10", "20"})
	if err != nil {
		s.t.Fatal(err)
	}
	if got := json(p, many[1]); !strings.Contains(got, `"emps":[{"empNo":7566,`) {
		s.t.Errorf("20 among many is %s", got)
	}
	if json(p, many[1]) != json(p, many[4]) || many[2].Found() {
		s.t.Errorf("a key asked for twice differs, or 99 was found: %+v", many)
	}
	ids := []row.Key{}
	for _, c := range many[3].Children {
		if c.Table != s.id("emp") {
			s.t.Errorf("child %+v is not of emp", c)
		}
		ids = append(ids, c.ID)
	}
	if slices.Sort(ids); !slices.Equal(ids, []row.Key{"7782", "7839", "7934"}) {
		s.t.Errorf("children of 10 = %q", ids)
	}
	s.nestedDeps(p)
	s.nestedDeep()
}

// nestedDeps checks that the plan says which rows feed its documents.
func (s *suite) nestedDeps(p source.Plan) {
	want := []source.Dep{
		{Table: s.id("dept"), Columns: []string{"deptno"}},
		{Table: s.id("emp"), Columns: []string{"deptno"}, Identity: []string{"empno"}},
	}
	got := slices.Clone(p.Deps())
	for i := range got {
		got[i].KnowsOld = false // is the source's own affair
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("deps (-want +got):\n%s", diff)
	}
	if len(p.SQL()) == 0 || !strings.Contains(strings.Join(p.SQL(), " "), "emp") {
		s.t.Errorf("SQL() = %q", p.SQL())
	}
}

// nestedDeep checks a second level and another order.
func (s *suite) nestedDeep() {
	spec := depts()
	emps := &spec.Embeds[0]
	emps.Order = []string{"sal"}
	emps.Spec.Embeds = []source.Embed{{
		Name: "phones", On: []string{"empno"},
		Spec: &source.Spec{Table: "phone", Only: true,
			Fields: map[string]source.FieldSpec{"number": {}}},
	}}
	p := s.compile(spec)
	s.want(p, "10", `{"deptNumber":10,"deptName":"ACCOUNTING","deptLocation":"NEW YORK","emps":[`+
		`{"empNo":7934,"empName":"MILLER","mgr":7782,"sal":1300,"phones":[]},`+
		`{"empNo":7782,"empName":"CLARK","mgr":7839,"sal":2450,"phones":[{"number":"555-3"}]},`+
		`{"empNo":7839,"empName":"KING","sal":5000,`+
		`"phones":[{"number":"555-1"},{"number":"555-2"}]}]}`)
	last := p.Deps()[len(p.Deps())-1]
	if last.Table != s.id("phone") || len(last.Columns) != 0 {
		s.t.Errorf("dep of the second level = %+v, want the whole table", last)
	}
}

// list checks pages in the order of the key.
func (s *suite) list() {
	tests := []struct {
		table string
		want  []row.Key
	}{
		{"dept", []row.Key{"10", "20", "30", "40"}},
		{"big", []row.Key{"-9223372036854775808", "9007199254740992", "9007199254740993",
			"9223372036854775807"}},
		{"city", []row.Key{"100%25,ZZ", "Paris%2C TX,TX", "Tulsa,OK"}},
	}
	for _, test := range tests {
		p := s.compile(&source.Spec{Table: test.table})
		for limit := 1; limit <= 5; limit++ {
			if got := s.pages(p, limit); !slices.Equal(got, test.want) {
				s.t.Errorf("%s by %d = %q, want %q", test.table, limit, got, test.want)
			}
		}
	}
	p := s.compile(depts())
	after := row.Key("10")
	out, err := p.List(s.ctx, &after, 1)
	if err != nil || len(out) != 1 || !strings.Contains(json(p, out[0]), `"empNo":7566`) {
		s.t.Errorf("list of nested documents: %+v, %v", out, err)
	}
	bad := row.Key("x")
	if _, err := p.List(s.ctx, &bad, 1); !errors.Is(err, row.ErrKey) {
		s.t.Errorf("list after a key that is none: %v, want row.ErrKey", err)
	}
}

// pages lists all of a plan's keys by pages of limit.
func (s *suite) pages(p source.Plan, limit int) []row.Key {
	s.t.Helper()
	var keys []row.Key
	var after *row.Key
	for {
		out, err := p.List(s.ctx, after, limit)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, l := range out {
			keys = append(keys, l.Key)
		}
		if len(out) < limit {
			return keys
		}
		after = &keys[len(keys)-1]
	}
}

// query checks a resource that is a query.
func (s *suite) query() {
	spec := &source.Spec{
		Name: "totals",
		Query: `SELECT d.deptno, d.dname, count(e.empno) AS people
			FROM dept d LEFT JOIN emp e ON e.deptno = d.deptno
			WHERE d.deptno = :key GROUP BY d.deptno, d.dname`,
		Key: []string{"deptno"},
		Depends: []source.Dep{{Table: "dept", Columns: []string{"deptno"}},
			{Table: "emp", Columns: []string{"deptno"}}},
	}
	p := s.compile(spec)
	s.want(p, "10", `{"deptno":10,"dname":"ACCOUNTING","people":3}`)
	s.want(p, "40", `{"deptno":40,"dname":"OPERATIONS","people":0}`)
	s.want(p, "41", "")
	if l := s.get(p, "010"); l.Key != "10" {
		s.t.Errorf("key = %q, want 10", l.Key)
	}
	many, err := p.Load(s.ctx, []row.Key{"20", "99", "10"})
	if err != nil || json(p, many[0]) != `{"deptno":20,"dname":"RESEARCH","people":1}` ||
		many[1].Found() || many[2].Key != "10" {
		s.t.Errorf("many = %+v, %v", many, err)
	}
	spec.Depends = spec.Depends[:1]
	if _, err := s.src.Compile(s.ctx, spec); err == nil || !strings.Contains(err.Error(), "emp") {
		s.t.Errorf("a query that reads emp, which depends does not name: %v", err)
	}
	_, err = p.Write(s.ctx, &source.Write{Op: source.OpDelete, Key: "10"})
	if source.ClassOf(err) != source.ReadOnly {
		s.t.Errorf("write of a query: %v, want read-only", err)
	}
}
