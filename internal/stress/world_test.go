package stress

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
)

// How many rows the world has. The last two depts never have emps, so that they
// can be deleted; every row of bulk always has the same value.
const (
	depts, emptyDepts = 12, 2
	emps              = 60
	flats             = 120
	hotFlats          = 6 // the first ones, which are asked for and changed the most
	sides             = 20
	bulks             = 12_000
)

// worldTables makes the tables: dept with emps in it, a flat one, one that is
// truncated now and then and one whose rows all change at once.
var worldTables = []string{
	`CREATE TABLE dept (deptno int PRIMARY KEY, value bigint NOT NULL)`,
	`CREATE TABLE emp (empno int PRIMARY KEY, value bigint NOT NULL, deptno int REFERENCES dept)`,
	`CREATE INDEX ON emp (deptno)`,
	`CREATE TABLE flat (id int PRIMARY KEY, value bigint NOT NULL)`,
	`CREATE TABLE side (id int PRIMARY KEY, value bigint NOT NULL)`,
	`CREATE TABLE bulk (id int PRIMARY KEY, value bigint NOT NULL) WITH (fillfactor = 50)`,
	`INSERT INTO dept SELECT i, i FROM generate_series(1, 12) i`,
	`INSERT INTO emp SELECT i, 100 + i, i % 10 + 1 FROM generate_series(1, 60) i`,
	`INSERT INTO flat SELECT i, 200 + i FROM generate_series(1, 120) i`,
	`INSERT INTO side SELECT i, 400 + i FROM generate_series(1, 20) i`,
	`INSERT INTO bulk SELECT i, 500 FROM generate_series(1, 12000) i`,
	`ANALYZE`,
}

// A world is the database with the history of each of its rows.
type world struct {
	history *History
	value   atomic.Int64 // the last one given out

	dept [depts + 1]*Register // by key; 0 is not used
	emp  [emps + 1]*Register
	flat [flats + 1]*Register
	side [sides + 1]*Register
	bulk *Register
}

// newWorld makes the tables in the database.
func newWorld(t testing.TB, conn *pgx.Conn) *world {
	t.Helper()
	testbed.MustExec(t, conn, worldTables...)
	return newRegisters()
}

// newRegisters returns a world as the tables begin.
func newRegisters() *world {
	w := &world{history: NewHistory(), bulk: NewRegister(State{Value: 500})}
	fill := func(rs []*Register, first int64) {
		for i := range rs {
			rs[i] = NewRegister(State{Value: first + int64(i)})
		}
	}
	fill(w.dept[:], 0)
	fill(w.flat[:], 200)
	fill(w.side[:], 400)
	for i := range w.emp {
		w.emp[i] = NewRegister(State{Value: 100 + int64(i), Parent: int32(i%10 + 1)})
	}
	w.value.Store(1000)
	return w
}

// worldSpecs serves the world.
func worldSpecs() []resource.Spec {
	return []resource.Spec{
		testbed.Spec("dept", source.Embed{Name: "emps", On: []string{"deptno"},
			Spec: &source.Spec{Name: "emps", Table: "emp"}}),
		testbed.Spec("emp"), testbed.Spec("flat"), testbed.Spec("side"), testbed.Spec("bulk"),
	}
}

// A page is one document that readers ask for.
type page struct {
	table string
	key   int32
	limit int  // of a list, which begins behind key; 0: it is a document
	seen  seen // by readers of all of its formats

	// A filtered list has a filter: of rows with at least this value, the largest first,
	// or of the rows of a parent.
	least  int64
	parent int32
	count  bool // all that the filter finds are counted
}

func (p *page) path() string {
	if p.limit > 0 {
		return p.listPath()
	}
	return fmt.Sprintf("/%s/%d", p.table, p.key)
}

// pages returns every document that there may be. Of bulk there are a few: they
// all tell the same.
func (w *world) pages() []*page {
	var list []*page
	add := func(table string, n int) {
		for i := range n {
			list = append(list, &page{table: table, key: int32(i + 1)})
		}
	}
	add("dept", depts)
	add("emp", emps)
	add("flat", flats)
	add("side", sides)
	for _, k := range []int32{1, 6000, bulks} {
		list = append(list, &page{table: "bulk", key: k})
	}
	return list
}

// A rowText is the JSON of a row of any of the tables.
type rowText struct {
	Deptno *int32
	Empno  int32
	ID     int32
	Value  int64
	Emps   []rowText
}

// looks returns what an answer says of the registers.
func (w *world) looks(p *page, a *answer) ([]Look, error) {
	if p.limit > 0 {
		return w.listLooks(p, a)
	}
	var r rowText
	if a.code == 200 {
		if err := json.Unmarshal(a.body, &r); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", p.path(), err, a.body)
		}
	}
	s := State{Value: r.Value}
	switch p.table {
	case "dept":
		return w.deptLooks(p.key, &r), nil
	case "emp":
		if r.Deptno != nil {
			s.Parent = *r.Deptno
		}
		return []Look{{Register: w.emp[p.key], State: s}}, nil
	case "flat":
		return []Look{{Register: w.flat[p.key], State: s}}, nil
	case "side":
		return []Look{{Register: w.side[p.key], State: s}}, nil
	}
	return []Look{{Register: w.bulk, State: s}}, nil
}

// deptLooks says of each emp whether it was in the dept. A dept that is not
// there says nothing of emps.
func (w *world) deptLooks(key int32, r *rowText) []Look {
	looks := make([]Look, 1, emps+1)
	looks[0] = Look{Register: w.dept[key], State: State{Value: r.Value}}
	if r.Value == 0 {
		return looks
	}
	var in [emps + 1]int64
	for _, e := range r.Emps {
		in[e.Empno] = e.Value
	}
	for e := 1; e <= emps; e++ {
		l := Look{Register: w.emp[e], NotIn: key}
		if in[e] != 0 {
			l = Look{Register: w.emp[e], State: State{Value: in[e], Parent: key}}
		}
		looks = append(looks, l)
	}
	return looks
}
