package resource

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// many writes rows that a condition finds, or a row of each body.
func (h *house) many(name string, w ManyWrite, where string, bodies ...string) (ManyResult, error) {
	h.t.Helper()
	r := h.resource(name)
	w.Most = 100
	if where != "" {
		q, err := r.Query(where, query.Options{})
		if err != nil {
			h.t.Fatal(err)
		}
		w.Where = q
	}
	for _, body := range bodies {
		in, err := r.Shape().DecodeJSON([]byte(body))
		if err != nil {
			h.t.Fatal(err)
		}
		w.Inputs = append(w.Inputs, in)
	}
	return r.WriteMany(h.t.Context(), w)
}

// What many rows are changed to is what the writer reads next, in documents, lists and parents.
func TestWriteMany_NextReadSeesIt(t *testing.T) {
	h := newListHouse(t, 1<<20)
	for i := range 60 {
		for _, key := range []string{"7782", "7839", "7369"} {
			h.get("emp", key, Options{})
		}
		h.get("dept", "10", Options{})
		if i%7 == 0 {
			h.keepAsked("emp", "deptno=eq.10")
		}
		got, err := h.many("emp", ManyWrite{Op: source.OpMerge}, "deptno=eq.10", fmt.Sprintf(`{"sal":%d}`, i))
		if err != nil || len(got.Rows) != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		want := fmt.Sprintf(`"sal":%d,`, i)
		for _, at := range [][2]string{{"emp", "7782"}, {"emp", "7839"}, {"dept", "10"}} {
			if doc, _ := h.get(at[0], at[1], Options{}); !strings.Contains(doc, want) {
				t.Fatalf("%s = %s after the write of %s", at, doc, want)
			}
		}
		if doc, _ := h.get("emp", "7369", Options{}); strings.Contains(doc, want) && i != 800 {
			t.Fatalf("a row that was not meant is %s", doc)
		}
		list, err := h.ask("emp", "deptno=eq.10", Options{}, query.Options{})
		if err != nil || strings.Count(string(list.Doc.Body()), want) != 2 {
			t.Fatalf("the list is %s, %v after the write of %s", list.Doc.Body(), err, want)
		}
	}
	made, err := h.many("emp", ManyWrite{Op: source.OpCreate, Present: source.PresentMerges}, "",
		`{"empno":7369,"sal":1}`, `{"empno":1,"ename":"NEW","deptno":10}`)
	if err != nil || made.Created != 1 {
		t.Fatalf("%+v, %v", made, err)
	}
	if doc, _ := h.get("dept", "10", Options{}); !strings.Contains(doc, "NEW") {
		t.Errorf("dept/10 = %s without the new row", doc)
	}
	if _, err := h.many("emp", ManyWrite{Op: source.OpDelete}, "deptno=eq.10"); err != nil {
		t.Fatal(err)
	}
	if doc, _ := h.get("dept", "10", Options{}); strings.Contains(doc, "KING") {
		t.Errorf("dept/10 = %s after the delete", doc)
	}
}

// What single rows may not be written by, many may not.
func TestWriteMany_Refused(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) {
		o.Resources[0].Methods = []string{"get", "post", "delete"}
		o.Resources[1].RequireIfMatch = true
		o.Resources[2].Writable = false
	})
	merges := ManyWrite{Op: source.OpCreate, Present: source.PresentMerges}
	for _, tt := range []struct {
		name, where string
		w           ManyWrite
		body        string
		want        error
	}{
		{"city", "pop=gt.0", ManyWrite{Op: source.OpDelete}, "", ErrReadOnly},
		{"city", "", ManyWrite{Op: source.OpCreate}, `{"name":"a","state":"b"}`, ErrReadOnly},
		{"dept", "deptno=eq.10", ManyWrite{Op: source.OpMerge}, `{"loc":"x"}`, ErrReadOnly},
		{"dept", "", merges, `{"deptno":10,"loc":"x"}`, ErrReadOnly},
		{"emp", "deptno=eq.10", ManyWrite{Op: source.OpMerge}, `{"sal":1}`, ErrUnconditional},
		{"emp", "deptno=eq.10", ManyWrite{Op: source.OpDelete}, "", ErrUnconditional},
		{"emp", "", merges, `{"empno":7839,"sal":1}`, ErrUnconditional},
	} {
		bodies := []string{tt.body}
		if tt.body == "" {
			bodies = nil
		}
		if _, err := h.many(tt.name, tt.w, tt.where, bodies...); !errors.Is(err, tt.want) {
			t.Errorf("%s of %s: %v, want %v", tt.body, tt.name, err, tt.want)
		}
	}
	_, err := h.many("dept", ManyWrite{Op: source.OpCreate}, "", `{"deptno":50,"emps":[]}`)
	if source.ClassOf(err) != source.Invalid || err == nil {
		t.Errorf("rows of another table within: %v", err)
	}
	old := row.NewShape([]row.Field{{Name: "deptno", Kind: row.Int}})
	_, err = h.many("dept", ManyWrite{Op: source.OpCreate, Shape: old}, "", `{"deptno":50}`)
	if source.ClassOf(err) != source.Retry {
		t.Errorf("a body of another shape: %v", err)
	}
}
