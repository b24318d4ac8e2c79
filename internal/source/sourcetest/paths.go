package sourcetest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// phonesOfDept counts the phones of a department's people.
const phonesOfDept = `SELECT count(p.id) AS n FROM phone p JOIN emp e ON e.empno = p.empno
	JOIN dept d ON d.deptno = e.deptno WHERE d.deptno = :deptno`

// paths checks a query whose dependencies are paths of tables.
func (s *suite) paths() {
	s.pathsLead()
	s.pathsOfParts()
	s.pathsOver()
	s.pathsUnnamed()
	s.pathsBad()
}

// pathSpec returns a query by deptno with these dependencies.
func (s *suite) pathSpec(query string, paths ...string) *source.Spec {
	s.t.Helper()
	spec := &source.Spec{Name: "phones", Query: query, Key: []string{"deptno"}}
	for _, text := range paths {
		p, err := source.ParsePath(text)
		if err != nil {
			s.t.Fatal(err)
		}
		spec.Depends = append(spec.Depends, source.Dep{Path: p})
	}
	return spec
}

// led returns what the paths of the document of a key lead to, in the order of values.
func (s *suite) led(p source.Plan, key row.Key) []source.Led {
	s.t.Helper()
	list := s.get(p, key).Led
	slices.SortFunc(list, func(a, b source.Led) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	return list
}

// pathsLead: the values that lead to rows are read with the document.
func (s *suite) pathsLead() {
	spec := s.pathSpec(phonesOfDept, "phone.empno -> emp.empno -> emp.deptno -> :key")
	spec.Depends = append(spec.Depends, source.Dep{Table: "dept", Columns: []string{"deptno"}})
	p := s.compile(spec)
	paths := p.(source.Pathed).Paths()
	if len(paths) != 2 || len(paths[0].Steps) != 2 || len(paths[1].Steps) != 1 {
		s.t.Fatalf("paths %+v", paths)
	}
	for i, want := range []string{"emp", "phone"} {
		step := paths[0].Steps[i]
		on := []string{[]string{"deptno", "empno"}[i]}
		if step.Table != s.id(want) || !reflect.DeepEqual(step.On, on) || !step.Named {
			s.t.Errorf("step %d is %+v, want %s by %s", i, step, want, on)
		}
	}
	want := []source.Led{{Step: 1, By: "7782"}, {Step: 1, By: "7839"}, {Step: 1, By: "7934"}}
	if got := s.led(p, "10"); !reflect.DeepEqual(got, want) {
		s.t.Errorf("led to %+v, want %+v", got, want)
	}
	s.want(p, "10", `{"n":3}`)
	if got := s.led(p, "40"); len(got) > 0 { // nobody
		s.t.Errorf("led to %+v, want nothing", got)
	}
	many, err := p.Load(s.ctx, []row.Key{"20", "99", "10"})
	if err != nil || len(many[0].Led) != 1 || len(many[1].Led) != 0 || len(many[2].Led) != 3 {
		s.t.Errorf("many led to %+v, %v", many, err)
	}
	if sql := strings.Join(p.SQL(), "\n"); !strings.Contains(sql, "DISTINCT") {
		s.t.Errorf("the statements %s do not tell how a path is followed", sql)
	}
	// A row that leads nowhere, and one that leads twice to one value.
	s.env.Exec(s.t, "INSERT INTO emp (empno, ename, deptno) VALUES (1, 'A', 10), (2, 'B', 10)")
	p = s.compile(s.pathSpec(phonesOfDept, "phone.empno -> emp.mgr -> emp.deptno -> :deptno",
		"dept.deptno -> :deptno"))
	want = []source.Led{{Step: 1, By: "7782"}, {Step: 1, By: "7839"}}
	if got := s.led(p, "10"); !reflect.DeepEqual(got, want) {
		s.t.Errorf("led to %+v, want %+v", got, want)
	}
}

// pathsOfParts: a path may end at a part of the key, and compare several columns.
func (s *suite) pathsOfParts() {
	s.env.Exec(s.t,
		"CREATE TABLE visit (id integer PRIMARY KEY, name varchar(40), state varchar(2))",
		"INSERT INTO visit VALUES (1, 'Tulsa', 'OK'), (2, 'Tulsa', 'TX'), (3, '100%', 'ZZ')")
	spec := s.pathSpec(`SELECT count(v.id) AS n FROM city c JOIN visit v
		ON v.name = c.name AND v.state = c.state WHERE c.people > :least AND c.state = :state`,
		"visit.(name, state) -> city.(name, state) -> city.state -> :state",
		"city.people -> :least")
	spec.Key = []string{"state", "least"}
	p := s.compile(spec)
	paths := p.(source.Pathed).Paths()
	if !reflect.DeepEqual(paths[0].Parts, []int{0}) ||
		!reflect.DeepEqual(paths[1].Parts, []int{1}) {
		s.t.Errorf("paths %+v, want them to end at each part", paths)
	}
	named := paths[0].Steps[0].Named // by a collation that finds other texts equal it is not
	for key, want := range map[row.Key]row.Key{"OK,1": "Tulsa,OK", "ZZ,0": "100%25,ZZ"} {
		got := s.led(p, key)
		if led := reflect.DeepEqual(got, []source.Led{{Step: 1, By: want}}); led != named {
			s.t.Errorf("%s led to %+v, want %q, if any (%v)", key, got, want, named)
		}
	}
	s.want(p, "OK,1", `{"n":1}`)
}

// pathsOver: of more values than a document may depend on it is said that there are more.
func (s *suite) pathsOver() {
	p := s.compile(s.pathSpec(phonesOfDept, "phone.empno -> emp.empno -> emp.deptno -> :key",
		"dept.deptno -> :key"))
	insert := func(from, to int) {
		var rows []string
		for i := from; i < to; i++ {
			rows = append(rows, fmt.Sprintf("(%d, 'x', 30)", 100_000+i))
		}
		s.env.Exec(s.t, "INSERT INTO emp (empno, ename, deptno) VALUES "+strings.Join(rows, ", "))
	}
	insert(0, source.MaxLed)
	if got := s.led(p, "30"); len(got) != source.MaxLed || got[0].Over {
		s.t.Errorf("led to %d values, want %d", len(got), source.MaxLed)
	}
	insert(source.MaxLed, source.MaxLed+1)
	if got := s.led(p, "30"); !reflect.DeepEqual(got, []source.Led{{Step: 1, Over: true}}) {
		s.t.Errorf("led to %d values, want that there are too many", len(got))
	}
}

// pathsUnnamed: where equal values may have several texts no value is read.
func (s *suite) pathsUnnamed() {
	s.env.Exec(s.t, "CREATE TABLE rate (amount decimal(10,1), deptno integer)",
		"CREATE TABLE sale (id integer PRIMARY KEY, amount decimal(12,3))",
		"INSERT INTO rate VALUES (1.5, 10)")
	p := s.compile(s.pathSpec(`SELECT count(s.id) AS n FROM sale s JOIN rate r
		ON r.amount = s.amount WHERE r.deptno = :deptno`,
		"sale.amount -> rate.amount -> rate.deptno -> :key"))
	steps := p.(source.Pathed).Paths()[0].Steps
	if !steps[0].Named || steps[1].Named || !strings.Contains(steps[1].Why, "amount") {
		s.t.Errorf("steps %+v, want the second not to be named, and why", steps)
	}
	if got := s.led(p, "10"); len(got) > 0 {
		s.t.Errorf("led to %+v, want nothing", got)
	}
}

// pathsBad: errors name what is wrong, and the nearest right thing.
func (s *suite) pathsBad() {
	for path, want := range map[string][]string{
		"phone.empno -> empp.empno -> empp.deptno -> :key": {"empp", "did you mean", "emp"},
		"phone.empnr -> emp.empno -> emp.deptno -> :key":   {"empnr", "phone", "empno"},
		"phone.empno -> emp.empnr -> emp.deptno -> :key":   {"empnr", "emp", "empno"},
		"phone.empno -> emp.empno -> emp.deptnr -> :key":   {"deptnr", "emp", "deptno"},
		"phone.number -> emp.empno -> emp.deptno -> :key": {"number", "phone", "empno", "emp",
			"they cannot be compared"},
		"phone.empno -> emp.empno -> emp.ename -> :key": {"ename", "deptno",
			"they cannot be compared"},
		"phone.empno -> emp.empno -> emp.deptno -> :dept": {"dept is no part of the key", "deptno"},
	} {
		p, err := source.ParsePath(path)
		if err != nil {
			s.t.Fatal(err)
		}
		spec := s.pathSpec(phonesOfDept, "emp.deptno -> :key", "dept.deptno -> :key")
		spec.Depends = append(spec.Depends, source.Dep{Path: p})
		_, err = s.src.Compile(s.ctx, spec)
		if err == nil {
			s.t.Errorf("%s: no error", path)
			continue
		}
		for _, w := range append(want, "phones", "depends") {
			if !strings.Contains(err.Error(), w) {
				s.t.Errorf("%s: error %q does not have %q", path, err, w)
			}
		}
	}
	_, err := s.src.Compile(s.ctx, s.pathSpec(phonesOfDept,
		"phone.empno -> emp.empno -> emp.deptno -> :key"))
	if err == nil || !strings.Contains(err.Error(), "dept, which depends does not name") {
		s.t.Errorf("a query that reads dept, which no path names: %v", err)
	}
}
