package sourcetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A manyCase is one write of many documents.
type manyCase struct {
	name    string
	op      source.Op
	where   string
	bodies  []string
	present source.Present
	on      string // columns with commas between them
	most    int    // 0: 10
	promise int
	code    string // of the error; "-": none has one; "": no error
	want    string // the documents of the answer
	created int
	after   string // the documents of the table; "": as before
}

const manyBefore = `{"id":1,"a":"x","n":1},{"id":2,"a":"y","n":2},{"id":3,"a":"z","n":2}`

var manyCases = []manyCase{
	{name: "UpdateSome", op: source.OpMerge, where: "n=eq.2", bodies: []string{`{"a":null}`},
		want:  `{"id":2,"a":null,"n":2},{"id":3,"a":null,"n":2}`,
		after: `{"id":1,"a":"x","n":1},{"id":2,"a":null,"n":2},{"id":3,"a":null,"n":2}`},
	{name: "UpdateByKey", op: source.OpMerge, where: "id=in.(3,1)", bodies: []string{`{"n":7}`},
		want:  `{"id":1,"a":"x","n":7},{"id":3,"a":"z","n":7}`,
		after: `{"id":1,"a":"x","n":7},{"id":2,"a":"y","n":2},{"id":3,"a":"z","n":7}`},
	{name: "UpdateWithoutRows", op: source.OpMerge, where: "n=eq.99",
		bodies: []string{`{"a":"b"}`}},
	{name: "UpdateByNothing", op: source.OpMerge, where: "n=eq.2", bodies: []string{`{}`}},
	{name: "UpdateWithoutCondition", op: source.OpMerge, bodies: []string{`{"a":"b"}`}, code: "-"},
	{name: "UpdateTooMany", op: source.OpMerge, where: "n=gt.0", bodies: []string{`{"a":"b"}`},
		most: 2, code: "PGRST124"},
	{name: "UpdateOfAsManyAsMay", op: source.OpMerge, where: "n=eq.2", bodies: []string{`{"n":3}`},
		most: 2, promise: 2, want: `{"id":2,"a":"y","n":3},{"id":3,"a":"z","n":3}`,
		after: `{"id":1,"a":"x","n":1},{"id":2,"a":"y","n":3},{"id":3,"a":"z","n":3}`},
	{name: "UpdateMoreThanPromised", op: source.OpMerge, where: "n=gt.0",
		bodies: []string{`{"a":"b"}`}, promise: 2, code: "PGRST124"},
	{name: "UpdateOfItsKey", op: source.OpMerge, where: "id=eq.1",
		bodies: []string{`{"id":1,"n":5}`},
		want:   `{"id":1,"a":"x","n":5}`,
		after:  `{"id":1,"a":"x","n":5},{"id":2,"a":"y","n":2},{"id":3,"a":"z","n":2}`},
	{name: "UpdateOfAnotherKey", op: source.OpMerge, where: "n=eq.2",
		bodies: []string{`{"id":2,"n":5}`}, code: "-"},
	{name: "UpdateFails", op: source.OpMerge, where: "n=eq.2", bodies: []string{`{"n":null}`},
		code: "-"},
	{name: "UpdateOfAUniqueValue", op: source.OpMerge, where: "n=eq.2",
		bodies: []string{`{"a":"w"}`}, code: "-"},
	{name: "DeleteSome", op: source.OpDelete,
		where: "or=(a.eq.x,n.eq.99,and(n.eq.2,a.eq.z))",
		want:  `{"id":1,"a":"x","n":1},{"id":3,"a":"z","n":2}`, after: `{"id":2,"a":"y","n":2}`},
	{name: "DeleteNone", op: source.OpDelete, where: "id=in.()"},
	{name: "DeleteTooMany", op: source.OpDelete, where: "id=gte.0", most: 2, code: "PGRST124"},
	{name: "DeleteWithoutCondition", op: source.OpDelete, code: "-"},
	{name: "Make", op: source.OpCreate,
		bodies:  []string{`{"id":9,"a":"p","n":1}`, `{"id":4,"a":"q","n":2}`},
		want:    `{"id":9,"a":"p","n":1},{"id":4,"a":"q","n":2}`,
		created: 2,
		after:   manyBefore + `,{"id":4,"a":"q","n":2},{"id":9,"a":"p","n":1}`},
	{name: "MakeWhatIsThere", op: source.OpCreate,
		bodies: []string{`{"id":9,"a":"p","n":1}`, `{"id":3,"a":"q","n":2}`}, code: "-"},
	{name: "MakeTooMany", op: source.OpCreate, most: 1,
		bodies: []string{`{"id":9,"a":"p","n":1}`, `{"id":4,"a":"q","n":2}`}, code: "PGRST124"},
	{name: "Merge", op: source.OpCreate, present: source.PresentMerges,
		bodies: []string{`{"id":3,"n":5}`, `{"id":4,"a":"q","n":2}`},
		want:   `{"id":3,"a":"z","n":5},{"id":4,"a":"q","n":2}`, created: 1,
		after: `{"id":1,"a":"x","n":1},{"id":2,"a":"y","n":2},{"id":3,"a":"z","n":5},` +
			`{"id":4,"a":"q","n":2}`},
	{name: "MergeOnUnique", op: source.OpCreate, present: source.PresentMerges, on: "a",
		bodies: []string{`{"a":"y","n":6}`}, want: `{"id":2,"a":"y","n":6}`,
		after: `{"id":1,"a":"x","n":1},{"id":2,"a":"y","n":6},{"id":3,"a":"z","n":2}`},
	{name: "MergeOnNoConstraint", op: source.OpCreate, present: source.PresentMerges, on: "n",
		bodies: []string{`{"id":9,"a":"r","n":2}`}, code: "42P10"},
	{name: "MergeOnNoColumn", op: source.OpCreate, present: source.PresentMerges, on: "nope",
		bodies: []string{`{"id":9,"a":"r","n":2}`}, code: "-"},
	{name: "MergeTwice", op: source.OpCreate, present: source.PresentMerges,
		bodies: []string{`{"id":3,"n":5}`, `{"id":3,"n":6}`}, code: "21000"},
	{name: "MergeAnotherUnique", op: source.OpCreate, present: source.PresentMerges,
		bodies: []string{`{"id":8,"a":"x","n":5}`}, code: "-"},
	{name: "MergeANull", op: source.OpCreate, present: source.PresentMerges, on: "a",
		bodies: []string{`{"id":8,"a":null,"n":5}`}, want: `{"id":8,"a":null,"n":5}`, created: 1,
		after: manyBefore + `,{"id":8,"a":null,"n":5}`},
	{name: "Stay", op: source.OpCreate, present: source.PresentStays,
		bodies: []string{`{"id":3,"a":"w","n":5}`, `{"id":4,"a":"q","n":2}`,
			`{"id":4,"a":"r","n":2}`},
		want: `{"id":4,"a":"q","n":2}`, created: 1,
		after: manyBefore + `,{"id":4,"a":"q","n":2}`},
}

// writeMany checks writes of many documents.
func (s *suite) writeMany() {
	s.env.Exec(s.t, "CREATE TABLE many (id integer PRIMARY KEY, a varchar(20) UNIQUE, "+
		"n integer NOT NULL)")
	p := s.compile(&source.Spec{Table: "many"})
	for _, tc := range manyCases {
		s.t.Run(tc.name, func(t *testing.T) { s.on(t).many(p, &tc) })
	}
	s.manyComposite()
	s.manyRows(p)
}

// many runs one case.
func (s *suite) many(p source.Plan, tc *manyCase) {
	s.env.Exec(s.t, fmt.Sprintf(s.env.Dialect.Empty, "many"),
		"INSERT INTO many VALUES (1, 'x', 1), (2, 'y', 2), (3, 'z', 2)")
	touched := false
	w := &source.ManyWrite{Op: tc.op, Present: tc.present, Most: tc.most, Promise: tc.promise,
		Where: s.where(p, tc.where),
		Touch: func([]source.Change, source.Position) { touched = true }}
	if tc.most == 0 {
		w.Most = 10
	}
	if tc.on != "" {
		w.On = strings.Split(tc.on, ",")
	}
	for _, body := range tc.bodies {
		w.Inputs = append(w.Inputs, s.input(p, body))
	}
	out, err := p.(source.ManyWriter).WriteMany(s.ctx, w)
	if tc.code != "" {
		var e *source.Error
		if err == nil || tc.code != "-" && (!errors.As(err, &e) || e.Code != tc.code) || touched {
			s.t.Errorf("error %v, want one with the code %s; touched %v", err, tc.code, touched)
		}
	} else {
		if err != nil {
			s.t.Fatal(err)
		}
		if got := jsons(p, out.Rows); got != tc.want || out.Created != tc.created {
			s.t.Errorf("wrote %s, %d new; want %s, %d", got, out.Created, tc.want, tc.created)
		}
	}
	after := tc.after
	if after == "" {
		after = manyBefore
	}
	all, err := p.List(s.ctx, nil, 100)
	if got := jsons(p, all); err != nil || got != after {
		s.t.Errorf("left %s, %v; want %s", got, err, after)
	}
}

// where parses the condition of a write.
func (s *suite) where(p source.Plan, raw string) *query.Query {
	if raw == "" {
		return nil
	}
	q, err := query.Parse(raw, p.Table(), query.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	return q
}

func jsons(p source.Plan, list []source.Loaded) string {
	var all []string
	for _, l := range list {
		all = append(all, json(p, l))
	}
	return strings.Join(all, ",")
}

// manyComposite checks keys of several columns, and that each row that is changed is told.
func (s *suite) manyComposite() {
	p := s.compile(&source.Spec{Table: "city"})
	var changes []source.Change
	touch := func(c []source.Change, _ source.Position) { changes = append(changes, c...) }
	out, err := p.(source.ManyWriter).WriteMany(s.ctx, &source.ManyWrite{Op: source.OpMerge,
		Most: 9, Where: s.where(p, "people=gt.100"),
		Inputs: []*row.Input{s.input(p, `{"people":5}`)}, Touch: touch})
	if err != nil {
		s.t.Fatal(err)
	}
	want := `{"name":"Paris, TX","state":"TX","people":5},` +
		`{"name":"Tulsa","state":"OK","people":5}`
	if got := jsons(p, out.Rows); got != want {
		s.t.Errorf("wrote %s, want %s", got, want)
	}
	key := []string{"name", "state"}
	for _, k := range []row.Key{row.JoinKey("Paris, TX", "TX"), row.JoinKey("Tulsa", "OK")} {
		if !touches(changes, s.id("city"), key, k) {
			s.t.Errorf("Touch saw %+v, and not %s", changes, k)
		}
	}
	changes = nil
	_, err = p.(source.ManyWriter).WriteMany(s.ctx, &source.ManyWrite{Op: source.OpCreate, Most: 9,
		Present: source.PresentMerges, Touch: touch, Inputs: []*row.Input{
			s.input(p, `{"name":"Tulsa","state":"OK","people":6}`),
			s.input(p, `{"name":"Oslo","state":"NO","people":7}`)}})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, k := range []row.Key{row.JoinKey("Oslo", "NO"), row.JoinKey("Tulsa", "OK")} {
		if !touches(changes, s.id("city"), key, k) {
			s.t.Errorf("Touch saw %+v, and not %s", changes, k)
		}
	}
	_, err = p.(source.ManyWriter).WriteMany(s.ctx, &source.ManyWrite{Op: source.OpDelete, Most: 9,
		Where: s.where(p, "state=in.(OK,NO)")})
	if err != nil {
		s.t.Fatal(err)
	}
	s.want(p, row.JoinKey("Tulsa", "OK"), "")
	s.want(p, "Oslo,NO", "")
	s.want(p, row.JoinKey("Paris, TX", "TX"), `{"name":"Paris, TX","state":"TX","people":5}`)
}

// manyRows writes as many rows as one statement does not name.
func (s *suite) manyRows(p source.Plan) {
	const n = 300
	s.env.Exec(s.t, fmt.Sprintf(s.env.Dialect.Empty, "many"))
	w := &source.ManyWrite{Op: source.OpCreate, Most: n}
	for i := range n {
		w.Inputs = append(w.Inputs, s.input(p, fmt.Sprintf(`{"id":%d,"n":1}`, i)))
	}
	for _, w := range []*source.ManyWrite{w,
		{Op: source.OpMerge, Most: n, Where: s.where(p, "n=eq.1"),
			Inputs: []*row.Input{s.input(p, `{"n":2}`)}},
		{Op: source.OpDelete, Most: n, Where: s.where(p, "n=eq.2")}} {
		told := 0
		w.Touch = func(changes []source.Change, _ source.Position) { told = len(changes) }
		out, err := p.(source.ManyWriter).WriteMany(s.ctx, w)
		if err != nil || len(out.Rows) != n || told != n {
			s.t.Fatalf("op %d: %+v, %v, %d changes told; want %d", w.Op, out, err, told, n)
		}
	}
}
