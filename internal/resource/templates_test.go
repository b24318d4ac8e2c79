package resource

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// origin asks for a list and returns where the answer is from.
func (h *house) origin(name, raw string) Origin {
	h.t.Helper()
	a, err := h.ask(name, raw, Options{}, query.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	return a.Origin
}

// keepPrecise asks until memory has the answer and depends on classes alone.
func (h *house) keepPrecise(name, raw string) {
	h.t.Helper()
	h.until(func() bool {
		a, err := h.ask(name, raw, Options{}, query.Options{})
		if err != nil {
			h.t.Fatal(err)
		}
		if a.Origin != HitMemory || a.copy.Precise() {
			return a.Origin == HitMemory
		}
		// It was read before the template counted.
		if _, err := h.ask(name, raw, Options{NoCache: true}, query.Options{}); err != nil {
			h.t.Fatal(err)
		}
		return false
	})
}

// applied waits until the feed has told of a write: what is loaded before that is told to
// have changed.
func (h *house) applied(w Result) {
	h.t.Helper()
	d := h.resource("emp").form.Load().src.domain
	h.until(func() bool { return d.Applied().Pos >= fresh.Position(w.Token.Pos) })
}

// A write to rows that a filter does not find keeps what it found; one that brings a row
// in, takes it out, or changes it there is seen.
func TestTemplates_WritesElsewhereKeepLists(t *testing.T) {
	h := newListHouse(t, 1<<20)
	const ten = "deptno=eq.10&order=sal"
	for i, c := range []struct {
		key  row.Key
		body string
		kept bool
	}{
		{"7369", `{"sal":2}`, true},
		{"7369", `{"deptno":null}`, true},
		{"7369", `{"deptno":10}`, false},
		{"7369", `{"deptno":20}`, false},
		{"7782", `{"sal":3}`, false},
		{"7782", `{"deptno":null}`, false},
		{"7782", `{"sal":4}`, true},
		{"7782", `{"deptno":10}`, false},
	} {
		h.keepPrecise("emp", ten)
		w := h.mustWrite("emp", Write{Op: source.OpMerge, Key: c.key}, c.body)
		h.applied(w)
		if o := h.origin("emp", ten); (o == HitMemory) != c.kept {
			t.Errorf("%d: %s of %s: %v", i, c.body, c.key, o)
		}
	}
	h.keepPrecise("emp", ten)
	h.applied(h.mustWrite("emp", Write{Op: source.OpDelete, Key: "7369"}, ""))
	if o := h.origin("emp", ten); o != HitMemory {
		t.Errorf("%v after a row elsewhere is gone", o)
	}
	h.applied(h.mustWrite("emp", Write{Op: source.OpReplace, Key: "1"},
		`{"ename":"NEW","deptno":10}`))
	if o := h.origin("emp", ten); o == HitMemory {
		t.Error("kept when a row has come")
	}
	h.keepPrecise("emp", ten)
	h.exec("UPDATE emp SET deptno = 20 WHERE empno = 1") // by another program
	h.until(func() bool {
		a, err := h.ask("emp", ten, Options{}, query.Options{})
		return err == nil && !strings.Contains(string(a.Doc.Body()), "NEW")
	})
}

// Lists of a table are told apart by so many sets of columns; a further one by a part of
// its columns, or not at all. When its definition changes they begin anew.
func TestTemplates_AreBounded(t *testing.T) {
	h := newListHouse(t, 1<<20)
	var columns []string
	for i := range maxTemplates + 2 {
		columns = append(columns, fmt.Sprintf("c%d INTEGER", i))
	}
	h.exec("CREATE TABLE wide (id INTEGER PRIMARY KEY, " + strings.Join(columns, ", ") + ")")
	h.exec("INSERT INTO wide (id, c0) VALUES (1, 1), (2, 2)")
	specs := append(houseSpecs(), Spec{Source: "main", Writable: true,
		Access: Access{Read: "public", Write: "public"},
		Table:  &source.Spec{Name: "wide", Table: "wide"}})
	if err := h.set.Reload(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	h.ready()
	for i := range maxTemplates {
		h.keepPrecise("wide", fmt.Sprintf("c%d=eq.1", i))
	}
	last := fmt.Sprintf("c%d=eq.1", maxTemplates)
	h.keepAsked("wide", last)
	h.keepPrecise("wide", "c0=eq.1&"+last) // by c0
	h.mustWrite("wide", Write{Op: source.OpMerge, Key: "2"}, `{"c1":5}`)
	if o := h.origin("wide", "c0=eq.1&"+last); o != HitMemory {
		t.Errorf("by a part of its columns: %v", o)
	}
	if o := h.origin("wide", last); o == HitMemory {
		t.Error("a list by columns that are not told apart is kept after a write")
	}
}
