package sourcetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// input decodes the body of a write.
func (s *suite) input(p source.Plan, body string) *row.Input {
	s.t.Helper()
	if body == "" {
		return nil
	}
	in, err := p.Shape().DecodeJSON([]byte(body))
	if err != nil {
		s.t.Fatalf("body %s: %v", body, err)
	}
	return in
}

// A writeCase is one write of a flat document.
type writeCase struct {
	name  string
	op    source.Op
	key   row.Key
	body  string
	class source.Class // of the error; noError: none
	want  string       // the document afterwards
}

// write checks writes of flat documents.
func (s *suite) write() {
	tests := []writeCase{
		{"Create", source.OpCreate, "", `{"deptno":50,"dname":"LEGAL","loc":"OSLO"}`, noError,
			`{"deptno":50,"dname":"LEGAL","loc":"OSLO"}`},
		{"CreateWithKey", source.OpCreate, "51", `{"dname":"LEGAL"}`, noError,
			`{"deptno":51,"dname":"LEGAL","loc":null}`},
		{"CreateConflict", source.OpCreate, "10", `{"dname":"OTHER"}`, source.Conflict, ""},
		{"CreateNotNull", source.OpCreate, "52", `{"dname":null}`, source.Invalid, ""},
		{"ReplaceMakes", source.OpReplace, "53", `{"deptno":53,"dname":"A","loc":"B"}`, noError,
			`{"deptno":53,"dname":"A","loc":"B"}`},
		{"Replace", source.OpReplace, "30", `{"dname":"SOLD"}`, noError,
			`{"deptno":30,"dname":"SOLD","loc":null}`},
		{"ReplaceOtherKey", source.OpReplace, "30", `{"deptno":31,"dname":"X"}`,
			source.Invalid, ""},
		{"Merge", source.OpMerge, "40", `{"loc":"ROME"}`, noError,
			`{"deptno":40,"dname":"OPERATIONS","loc":"ROME"}`},
		{"MergeNull", source.OpMerge, "40", `{"loc":null}`, noError,
			`{"deptno":40,"dname":"OPERATIONS","loc":null}`},
		{"MergeNothing", source.OpMerge, "40", `{}`, noError,
			`{"deptno":40,"dname":"OPERATIONS","loc":null}`},
		{"MergeNoRow", source.OpMerge, "99", `{"loc":"ROME"}`, source.NoRow, ""},
		{"Delete", source.OpDelete, "40", "", noError, ""},
		{"DeleteNoRow", source.OpDelete, "40", "", source.NoRow, ""},
		{"DeleteReferenced", source.OpDelete, "10", "", source.Conflict, ""},
	}
	p := s.compile(&source.Spec{Table: "dept"})
	for _, test := range tests {
		s.t.Run(test.name, func(t *testing.T) {
			s := s.on(t)
			w := &source.Write{Op: test.op, Key: test.key, Input: s.input(p, test.body)}
			out, err := p.Write(s.ctx, w)
			if test.class != noError {
				var e *source.Error
				if !errors.As(err, &e) || e.Class != test.class {
					t.Errorf("error %v, want class %d", err, test.class)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := json(p, out.Loaded); got != test.want {
				t.Errorf("written %s, want %s", got, test.want)
			}
			key := test.key
			if test.want != "" {
				key = out.Loaded.Key
			}
			s.want(p, key, test.want)
		})
	}
	s.writeCheck(p)
	s.writeTouch(p)
}

// noError marks a write that succeeds.
const noError = source.Class(255)

// writeCheck checks that Check sees the row as it is and can refuse the write.
func (s *suite) writeCheck(p source.Plan) {
	refused := errors.New("refused")
	seen := "not called"
	_, err := p.Write(s.ctx, &source.Write{
		Op: source.OpReplace, Key: "20", Input: s.input(p, `{"dname":"CHANGED"}`),
		Check: func(l *source.Loaded) error { seen = json(p, *l); return refused },
		Touch: func([]source.Change, source.Position) { s.t.Error("Touch of a refused write") },
	})
	if !errors.Is(err, refused) {
		s.t.Errorf("error %v, want that of Check", err)
	}
	if want := `{"deptno":20,"dname":"RESEARCH","loc":null}`; seen != want {
		s.t.Errorf("Check saw %s, want %s", seen, want)
	}
	s.want(p, "20", `{"deptno":20,"dname":"RESEARCH","loc":null}`)
	found := true
	_, err = p.Write(s.ctx, &source.Write{
		Op: source.OpReplace, Key: "77", Input: s.input(p, `{"dname":"NEW"}`),
		Check: func(l *source.Loaded) error { found = l.Found(); return refused },
	})
	if l := s.get(p, "77"); !errors.Is(err, refused) || found || l.Found() {
		s.t.Errorf("Check of a row that is not there: found %v, %v", found, err)
	}
}

// writeTouch checks that Touch sees what changes before it is visible.
func (s *suite) writeTouch(p source.Plan) {
	var changes []source.Change
	_, err := p.Write(s.ctx, &source.Write{
		Op: source.OpMerge, Key: "20", Input: s.input(p, `{"loc":"BERN"}`),
		Touch: func(c []source.Change, _ source.Position) {
			changes = append(changes, c...)
			s.want(p, "20", `{"deptno":20,"dname":"RESEARCH","loc":null}`)
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if !touches(changes, s.id("dept"), []string{"deptno"}, "20") {
		s.t.Errorf("Touch saw %+v, want dept 20", changes)
	}
	s.want(p, "20", `{"deptno":20,"dname":"RESEARCH","loc":"BERN"}`)
}

// touches reports whether changes name the row of a table whose columns make
// key, before or after.
func touches(changes []source.Change, table string, columns []string, key row.Key) bool {
	for _, c := range changes {
		if c.Table != table {
			continue
		}
		if k, ok := c.Old.Key(columns); ok && k == key {
			return true
		}
		if k, ok := c.New.Key(columns); ok && k == key {
			return true
		}
	}
	return false
}

// writeNested checks that the rows embedded in a document follow it.
func (s *suite) writeNested() {
	p := s.compile(depts())
	steps := []struct {
		name string
		op   source.Op
		key  row.Key
		body string
		want string
	}{
		{"Create", source.OpCreate, "", `{"deptNumber":60,"deptName":"N","emps":[` +
			`{"empNo":2,"empName":"B"},{"empNo":1,"empName":"A","sal":5}]}`,
			`{"deptNumber":60,"deptName":"N","deptLocation":null,"emps":[` +
				`{"empNo":1,"empName":"A","sal":5},{"empNo":2,"empName":"B","sal":null}]}`},
		{"AbsentLeavesAlone", source.OpReplace, "60", `{"deptName":"M"}`,
			`{"deptNumber":60,"deptName":"M","deptLocation":null,"emps":[` +
				`{"empNo":1,"empName":"A","sal":5},{"empNo":2,"empName":"B","sal":null}]}`},
		{"Reconcile", source.OpReplace, "60", `{"deptName":"M","emps":[` +
			`{"empNo":2,"empName":"BB","sal":7},{"empNo":3,"empName":"C"}]}`,
			`{"deptNumber":60,"deptName":"M","deptLocation":null,"emps":[` +
				`{"empNo":2,"empName":"BB","sal":7},{"empNo":3,"empName":"C","sal":null}]}`},
		{"MergeReplacesArray", source.OpMerge, "60", `{"emps":[{"empNo":3,"empName":"D"}]}`,
			`{"deptNumber":60,"deptName":"M","deptLocation":null,"emps":[` +
				`{"empNo":3,"empName":"D","sal":null}]}`},
		{"EmptyRemoves", source.OpMerge, "60", `{"emps":[]}`,
			`{"deptNumber":60,"deptName":"M","deptLocation":null,"emps":[]}`},
		{"ReplaceMakes", source.OpReplace, "61", `{"deptName":"O","emps":[{"empNo":9}]}`,
			`{"deptNumber":61,"deptName":"O","deptLocation":null,"emps":[` +
				`{"empNo":9,"empName":null,"sal":null}]}`},
	}
	for _, step := range steps {
		s.t.Run(step.name, func(t *testing.T) {
			s := s.on(t)
			out, err := p.Write(s.ctx, &source.Write{Op: step.op, Key: step.key,
				Input: s.input(p, step.body)})
			if err != nil {
				t.Fatal(err)
			}
			if got := json(p, out.Loaded); got != step.want {
				t.Errorf("written\n\t%s\nwant\n\t%s", got, step.want)
			}
			s.want(p, out.Loaded.Key, step.want)
		})
	}
	s.t.Run("Hidden", func(t *testing.T) {
		s := s.on(t)
		emps := s.compile(&source.Spec{Table: "emp"})
		s.writeOK(p, source.OpReplace, "20",
			`{"deptName":"RESEARCH","emps":[{"empNo":7566,"empName":"JONES","sal":1}]}`)
		if got := json(emps, s.get(emps, "7566")); !strings.Contains(got, `"job":"MANAGER"`) {
			t.Errorf("a column that the document does not show was changed: %s", got)
		}
	})
	s.t.Run("Merge", func(t *testing.T) { s.on(t).writeNestedMerge() })
	s.t.Run("Touch", func(t *testing.T) { s.on(t).writeNestedTouch(p) })
	s.t.Run("Failed", func(t *testing.T) { s.on(t).writeNestedFailed(p) })
}

// writeNestedMerge checks that rows which a body does not list stay where that is said:
// what is listed is changed or made.
func (s *suite) writeNestedMerge() {
	spec := depts()
	spec.Embeds[0].Merge = true
	p := s.compile(spec)
	s.writeOK(p, source.OpReplace, "62", `{"deptName":"P","emps":[{"empNo":31,"empName":"A"}]}`)
	s.writeOK(p, source.OpReplace, "62", `{"deptName":"Q","emps":[{"empNo":32,"empName":"B"}]}`)
	s.writeOK(p, source.OpMerge, "62", `{"emps":[{"empNo":31,"empName":"AA"}]}`)
	s.writeOK(p, source.OpMerge, "62", `{"emps":[]}`)
	s.want(p, "62", `{"deptNumber":62,"deptName":"Q","deptLocation":null,"emps":[`+
		`{"empNo":31,"empName":"AA","sal":null},{"empNo":32,"empName":"B","sal":null}]}`)
}

// writeOK writes a document.
func (s *suite) writeOK(p source.Plan, op source.Op, key row.Key, body string) *source.Written {
	s.t.Helper()
	out, err := p.Write(s.ctx, &source.Write{Op: op, Key: key, Input: s.input(p, body)})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// writeNestedTouch checks that Touch names the rows that were embedded.
func (s *suite) writeNestedTouch(p source.Plan) {
	var changes []source.Change
	_, err := p.Write(s.ctx, &source.Write{
		Op: source.OpMerge, Key: "61", Input: s.input(p, `{"emps":[{"empNo":8}]}`),
		Touch: func(c []source.Change, _ source.Position) { changes = append(changes, c...) },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, want := range []struct {
		columns []string
		key     row.Key
	}{{[]string{"empno"}, "9"}, {[]string{"empno"}, "8"}, {[]string{"deptno"}, "61"}} {
		if !touches(changes, s.id("emp"), want.columns, want.key) {
			s.t.Errorf("Touch saw %+v, want emp with %v = %s", changes, want.columns, want.key)
		}
	}
}

// writeNestedFailed checks that a write which fails half way leaves nothing.
func (s *suite) writeNestedFailed(p source.Plan) {
	for _, body := range []string{
		`{"deptName":"X","emps":[{"empNo":11},{"empNo":7839}]}`, // of another department
		`{"deptName":"X","emps":[{"empNo":12},{"empNo":12}]}`,   // twice
		`{"deptName":null}`,
		`{"deptLocation":"Y"}`, // deptName is required
	} {
		before := json(p, s.get(p, "61"))
		_, err := p.Write(s.ctx, &source.Write{Op: source.OpReplace, Key: "61",
			Input: s.input(p, body)})
		if err == nil {
			s.t.Errorf("%s: no error", body)
		}
		s.want(p, "61", before)
	}
}

// writeGenerated checks keys that the database makes.
func (s *suite) writeGenerated() {
	p := s.compile(&source.Spec{Table: "note"})
	first := s.writeOK(p, source.OpCreate, "", `{"body":"one"}`)
	second := s.writeOK(p, source.OpCreate, "", `{"body":"two"}`)
	if !first.Created || first.Loaded.Key == "" || first.Loaded.Key == second.Loaded.Key {
		s.t.Errorf("created %+v and %+v, want two new keys", first, second)
	}
	s.want(p, second.Loaded.Key, `{"id":`+string(second.Loaded.Key)+`,"body":"two"}`)
}

// writeRounded checks that no document is made at another key than it was written to: one that
// its column rounds is refused, unless the column keeps it as it is.
func (s *suite) writeRounded() {
	s.env.Exec(s.t, "CREATE TABLE rounded (k numeric(5,2) PRIMARY KEY, n integer)")
	p := s.compile(&source.Spec{Table: "rounded"})
	for _, key := range []row.Key{"1.234", "1.235"} {
		w := &source.Write{Op: source.OpReplace, Key: key, Input: s.input(p, `{"n":1}`)}
		done, err := p.Write(s.ctx, w)
		switch {
		case err == nil && done.Loaded.Key == key:
		case source.ClassOf(err) != source.Invalid:
			s.t.Errorf("PUT %s: %+v, %v, want an invalid one", key, done, err)
		}
	}
	loaded, err := p.Load(s.ctx, []row.Key{"1.23"})
	if err != nil || loaded[0].Found() {
		s.t.Errorf("after the writes: %+v, %v", loaded, err)
	}
}
