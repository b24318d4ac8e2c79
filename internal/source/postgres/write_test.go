package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// input decodes the body of a write.
func input(t testing.TB, p *plan, body string) *row.Input {
	t.Helper()
	in, err := p.Shape().DecodeJSON([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// touched collects what Touch is told: "op table old -> new" of some columns.
type touched []string

func (c *touched) touch(changes []source.Change, _ source.Position) {
	for _, ch := range changes {
		text := fmt.Sprintf("%d %s", ch.Op, ch.Table)
		for _, tuple := range []source.Tuple{ch.Old, ch.New} {
			text += " |"
			for _, cell := range tuple {
				if cell.Column == "deptno" || cell.Column == "empno" {
					text += " " + cell.Column + "=" + cell.Text
					if cell.Null {
						text += "NULL"
					}
				}
			}
		}
		*c = append(*c, text)
	}
}

func TestPostgres_WritesNestedDocuments(t *testing.T) {
	s := newSource(t, scott...)
	p := mustCompile(t, s, deptSpec())
	steps := []struct {
		name    string
		op      source.Op
		key     row.Key
		body    string
		want    string
		touched touched
	}{
		{"create", source.OpCreate, "", `{"deptNumber":40,"deptName":"OPS","emps":[{"empNo":1,` +
			`"empName":"A"}]}`,
			`{"deptNumber":40,"deptName":"OPS","deptLocation":null,"emps":[{"empNo":1,` +
				`"empName":"A","hiredate":null,"sal":null}]}`,
			touched{"0 public.dept | | deptno=40", "0 public.emp | | empno=1 deptno=40"}},
		{"replace leaves absent rows alone", source.OpReplace, "40",
			`{"deptName":"OPS2","deptLocation":"BOSTON"}`,
			`{"deptNumber":40,"deptName":"OPS2","deptLocation":"BOSTON","emps":[{"empNo":1,` +
				`"empName":"A","hiredate":null,"sal":null}]}`,
			touched{"1 public.dept | deptno=40 | deptno=40"}},
		{"replace resets absent columns", source.OpReplace, "40", `{"deptName":"OPS2"}`,
			`{"deptNumber":40,"deptName":"OPS2","deptLocation":null,"emps":[{"empNo":1,` +
				`"empName":"A","hiredate":null,"sal":null}]}`,
			touched{"1 public.dept | deptno=40 | deptno=40"}},
		{"merge changes and adds rows", source.OpMerge, "40",
			`{"emps":[{"empNo":1,"empName":"A","sal":9},{"empNo":2,"hiredate":"2024-02-29"}]}`,
			`{"deptNumber":40,"deptName":"OPS2","deptLocation":null,"emps":[{"empNo":1,` +
				`"empName":"A","hiredate":null,"sal":9},` +
				`{"empNo":2,"empName":null,"hiredate":"2024-02-29T00:00:00Z","sal":null}]}`,
			touched{"1 public.emp | empno=1 deptno=40 | empno=1 deptno=40",
				"0 public.emp | | empno=2 deptno=40"}},
		{"rows that are left out go", source.OpMerge, "40", `{"emps":[{"empNo":2,"sal":5}]}`,
			`{"deptNumber":40,"deptName":"OPS2","deptLocation":null,"emps":[{"empNo":2,` +
				`"empName":null,"hiredate":null,"sal":5}]}`,
			touched{"2 public.emp | empno=1 deptno=40 |",
				"1 public.emp | empno=2 deptno=40 | empno=2 deptno=40"}},
		{"an empty list removes all", source.OpReplace, "40", `{"deptName":"O","emps":[]}`,
			`{"deptNumber":40,"deptName":"O","deptLocation":null,"emps":[]}`,
			touched{"1 public.dept | deptno=40 | deptno=40", "2 public.emp | empno=2 deptno=40 |"}},
		{"replace creates", source.OpReplace, "50", `{"deptNumber":50,"deptName":"NEW"}`,
			`{"deptNumber":50,"deptName":"NEW","deptLocation":null,"emps":[]}`,
			touched{"0 public.dept | | deptno=50"}},
		{"an empty merge", source.OpMerge, "50", `{}`,
			`{"deptNumber":50,"deptName":"NEW","deptLocation":null,"emps":[]}`, nil},
		{"delete", source.OpDelete, "50", "", "absent", touched{"2 public.dept | deptno=50 |"}},
	}
	for _, tt := range steps {
		t.Run(tt.name, func(t *testing.T) {
			var got touched
			w := &source.Write{Op: tt.op, Key: tt.key, Touch: got.touch}
			if tt.body != "" {
				w.Input = input(t, p, tt.body)
			}
			done, err := p.Write(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			if doc := jsonOf(p, done.Loaded); doc != tt.want {
				t.Errorf("got  %s\nwant %s", doc, tt.want)
			}
			if d := cmp.Diff(tt.touched, got); d != "" {
				t.Errorf("touched: %s", d)
			}
			if done.Position == 0 {
				t.Error("no position")
			}
		})
	}
}

func TestPostgres_WriteRefuses(t *testing.T) {
	s := newSource(t, append(append([]string{}, scott...), "ALTER TABLE emp ADD CHECK (sal > 0)",
		"ALTER TABLE emp ADD UNIQUE (ename)")...)
	p := mustCompile(t, s, deptSpec())
	emps := mustCompile(t, s, &source.Spec{Name: "emps", Table: "emp"})
	refused := errors.New("refused")
	tests := []struct {
		name  string
		plan  *plan
		op    source.Op
		key   row.Key
		body  string
		check func(*source.Loaded) error
		want  source.Class
	}{
		{"create of what is there", p, source.OpCreate, "10", `{"deptName":"X"}`, nil,
			source.Conflict},
		{"merge of what is not there", p, source.OpMerge, "99", `{"deptName":"X"}`, nil,
			source.NoRow},
		{"delete of what is not there", p, source.OpDelete, "99", "", nil, source.NoRow},
		{"delete against a foreign key", p, source.OpDelete, "10", "", nil, source.Conflict},
		{"without what is required", p, source.OpReplace, "10", `{"deptLocation":"X"}`, nil,
			source.Invalid},
		{"null for what is required", p, source.OpMerge, "10", `{"deptName":null}`, nil,
			source.Invalid},
		{"another key in the body", p, source.OpMerge, "10", `{"deptNumber":11}`, nil,
			source.Invalid},
		{"the same row twice", p, source.OpMerge, "10", `{"emps":[{"empNo":1},{"empNo":1}]}`,
			nil, source.Invalid},
		{"a row of another document", p, source.OpMerge, "10", `{"emps":[{"empNo":7788}]}`, nil,
			source.Conflict},
		{"a check constraint", emps, source.OpMerge, "7839", `{"sal":-1}`, nil, source.Invalid},
		{"a unique constraint", emps, source.OpMerge, "7839", `{"ename":"CLARK"}`, nil,
			source.Conflict},
		{"a missing parent", emps, source.OpMerge, "7839", `{"deptno":99}`, nil, source.Conflict},
		{"null in the key", emps, source.OpCreate, "", `{"ename":"X"}`, nil, source.Invalid},
		{"out of range", emps, source.OpMerge, "7839", `{"sal":3000000000}`, nil, source.Invalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &source.Write{Op: tt.op, Key: tt.key, Check: tt.check,
				Touch: func([]source.Change, source.Position) { t.Error("Touch of a write that fails") }}
			if tt.body != "" {
				w.Input = input(t, tt.plan, tt.body)
			}
			_, err := tt.plan.Write(t.Context(), w)
			var e *source.Error
			if !errors.As(err, &e) || e.Class != tt.want {
				t.Errorf("got %v (class %d), want class %d", err, source.ClassOf(err), tt.want)
			}
		})
	}
	_, err := p.Write(t.Context(), &source.Write{Op: source.OpDelete, Key: "30",
		Check: func(l *source.Loaded) error {
			if jsonOf(p, *l) != `{"deptNumber":30,"deptName":"SALES","deptLocation":"CHICAGO",`+
				`"emps":[]}` {
				t.Errorf("check got %s", jsonOf(p, *l))
			}
			return refused
		}})
	if err != refused || !mustLoad(t, p, "30")[0].Found() {
		t.Errorf("a check that fails: %v", err)
	}
}

func TestPostgres_WriteKeepsEveryType(t *testing.T) {
	var columns string
	for i, c := range typeCases {
		columns += fmt.Sprintf(", c%d %s", i, c.typ)
	}
	s := newSource(t, append(typeSchema, "CREATE TABLE types (id int PRIMARY KEY"+columns+")")...)
	p := mustCompile(t, s, &source.Spec{Name: "types", Table: "types"})
	for i, c := range typeCases {
		if c.typ == "jsonb" && c.want == "null" {
			continue // it becomes NULL in a row that does not have it
		}
		key := row.Key(fmt.Sprint(i))
		body := fmt.Sprintf(`{"id":%d,"c%d":%s}`, i, i, c.want)
		done, err := p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: key,
			Input: input(t, p, body)})
		if err != nil {
			t.Errorf("%s %s: %v", c.typ, c.want, err)
			continue
		}
		in := &row.Shape{Fields: p.Shape().Fields[i+1 : i+2]}
		got := string(in.AppendJSON(nil, done.Loaded.Values[i+1:i+2]))
		if want := fmt.Sprintf(`{"c%d":%s}`, i, c.want); got != want {
			t.Errorf("%s: wrote %s, got %s", c.typ, want, got)
		}
	}
}

func TestPostgres_WriteSeesTriggersAndDefaults(t *testing.T) {
	s := newSource(t, `CREATE TABLE d (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
			n int DEFAULT 5,
			twice int GENERATED ALWAYS AS (n * 2) STORED, at text)`,
		`CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN NEW.at := ''stamped '' || TG_OP; RETURN NEW; END'`,
		`CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON d FOR EACH ROW EXECUTE FUNCTION stamp()`)
	p := mustCompile(t, s, &source.Spec{Name: "d", Table: "d"})
	done, err := p.Write(t.Context(), &source.Write{Op: source.OpCreate, Input: input(t, p, `{}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":1,"n":5,"twice":10,"at":"stamped INSERT"}`
	if got := jsonOf(p, done.Loaded); got != want || !done.Created || done.Loaded.Key != "1" {
		t.Errorf("create: %s, key %q", got, done.Loaded.Key)
	}
	// What was read can be written back, generated columns and all.
	done, err = p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "1",
		Input: input(t, p, `{"id":1,"n":6,"twice":10,"at":"mine"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got := jsonOf(p, done.Loaded); got != `{"id":1,"n":6,"twice":12,"at":"stamped `+
		`UPDATE"}` || done.Created {
		t.Errorf("replace: %s", got)
	}
	_, err = p.Write(t.Context(), &source.Write{Op: source.OpCreate,
		Input: input(t, p, `{"id":77}`)})
	if source.ClassOf(err) != source.Invalid {
		t.Errorf("a key that only the database gives: %v", err)
	}
}

func TestPostgres_WriteReportsCascades(t *testing.T) {
	s := newSource(t, `CREATE TABLE a (id int PRIMARY KEY)`,
		`CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a ON DELETE CASCADE)`,
		`INSERT INTO a VALUES (1)`, `INSERT INTO b VALUES (10, 1), (11, 1)`)
	p := mustCompile(t, s, &source.Spec{Name: "a", Table: "a",
		Embeds: []source.Embed{{Name: "bs", Spec: &source.Spec{Table: "b"}}}})
	var got []source.Change
	_, err := p.Write(t.Context(), &source.Write{Op: source.OpDelete, Key: "1",
		Touch: func(c []source.Change, _ source.Position) { got = c }})
	if err != nil {
		t.Fatal(err)
	}
	b := func(id string) source.Change {
		return source.Change{Table: "public.b", Op: source.Delete,
			Old: source.Tuple{{Column: "id", Text: id}, {Column: "a", Text: "1"}}}
	}
	want := []source.Change{{Table: "public.a", Op: source.Delete,
		Old: source.Tuple{{Column: "id", Text: "1"}}}, b("10"), b("11")}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestPostgres_WriteLocksTheDocument(t *testing.T) {
	s := newSource(t, `CREATE TABLE n (id int PRIMARY KEY, n int)`, `INSERT INTO n VALUES (1, 0)`)
	p := mustCompile(t, s, &source.Spec{Name: "n", Table: "n"})
	const writers, each = 4, 25
	errs := make(chan error, writers)
	for range writers {
		go func() {
			for range each {
				w := &source.Write{Op: source.OpMerge, Key: "1", Input: &row.Input{
					Present: []bool{false, true}, Values: make(row.Values,
						2), Rows: make([][]row.Input, 2)}}
				w.Check = func(l *source.Loaded) error {
					w.Input.Values[1] = row.IntValue(l.Values[1].Int() + 1)
					return nil
				}
				if _, err := p.Write(context.Background(), w); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range writers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := jsonOf(p, mustLoad(t, p, "1")[0]); got != `{"id":1,"n":100}` {
		t.Errorf("an update was lost: %s", got)
	}
}

func TestPostgres_WriteTriesSerializationFailuresAgain(t *testing.T) {
	s := newSource(t, `CREATE TABLE x (id int PRIMARY KEY, n int)`, `CREATE SEQUENCE tries`,
		`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
			IF nextval(''tries'') <= NEW.n THEN
				RAISE EXCEPTION ''again'' USING ERRCODE = ''40001''; END IF;
			RETURN NEW; END'`,
		`CREATE TRIGGER fail BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION fail()`)
	p := mustCompile(t, s, &source.Spec{Name: "x", Table: "x"})
	_, err := p.Write(t.Context(), &source.Write{Op: source.OpCreate,
		Input: input(t, p, `{"id":1,"n":1}`)})
	if err != nil {
		t.Errorf("fails once: %v", err)
	}
	_, err = p.Write(t.Context(), &source.Write{Op: source.OpCreate,
		Input: input(t, p, `{"id":2,"n":99}`)})
	if source.ClassOf(err) != source.Retry {
		t.Errorf("fails always: %v", err)
	}
}

func TestPostgres_ReadOnlySourceTakesNoWrites(t *testing.T) {
	s := newSource(t, `CREATE TABLE x (id int PRIMARY KEY)`)
	r := openSource(t, s.cfg.ConnString(), Options{ReadOnly: true})
	p := mustCompile(t, r, &source.Spec{Name: "x", Table: "x"})
	_, err := p.Write(t.Context(), &source.Write{Op: source.OpDelete, Key: "1"})
	if source.ClassOf(err) != source.ReadOnly {
		t.Errorf("got %v", err)
	}
	mustCompile(t, r, &source.Spec{Name: "q", Query: "SELECT id FROM x WHERE id = :id",
		Depends: []source.Dep{{Table: "x", Columns: []string{"id"}}}})
	conn, err := r.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), "DELETE FROM x"); feed.SQLState(err) != "25006" {
		t.Errorf("a session of a read-only source can write: %v", err)
	}
}
