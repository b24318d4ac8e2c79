package resource

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

// write decodes body for the resource and writes it.
func (h *house) write(name string, w Write, body string) (Result, error) {
	h.t.Helper()
	r := h.resource(name)
	if body != "" {
		in, err := r.Shape().DecodeJSON([]byte(body))
		if err != nil {
			h.t.Fatal(err)
		}
		w.Input = in
	}
	return r.Write(h.t.Context(), w)
}

func (h *house) mustWrite(name string, w Write, body string) Result {
	h.t.Helper()
	res, err := h.write(name, w, body)
	if err != nil {
		h.t.Fatalf("Write(%s/%s): %v", name, w.Key, err)
	}
	return res
}

func TestWrite_NextReadSeesIt(t *testing.T) {
	h := newHouse(t, nil)
	for i := range 200 {
		h.get("dept", "10", Options{})
		h.get("emp", "7839", Options{})
		h.mustWrite("emp", Write{Op: source.OpMerge, Key: "7839"}, fmt.Sprintf(`{"sal":%d}`, i))
		want := fmt.Sprintf(`"sal":%d,`, i)
		if got, _ := h.get("emp", "7839", Options{}); !strings.Contains(got, want) {
			t.Fatalf("emp/7839 = %s after the write of %s", got, want)
		}
		// The document of another resource that the row feeds.
		if got, _ := h.get("dept", "10", Options{}); !strings.Contains(got, want) {
			t.Fatalf("dept/10 = %s after the write of %s", got, want)
		}
	}
}

func TestWrite_MoveShowsInBothParents(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("dept", "10")
	h.hit("dept", "20")
	h.mustWrite("emp", Write{Op: source.OpMerge, Key: "7839"}, `{"deptno":20}`)
	if got, _ := h.get("dept", "10", Options{}); strings.Contains(got, "KING") {
		t.Errorf("the old parent still has the row: %s", got)
	}
	if got, _ := h.get("dept", "20", Options{}); !strings.Contains(got, "KING") {
		t.Errorf("the new parent has not the row: %s", got)
	}
}

func TestWrite_Operations(t *testing.T) {
	h := newHouse(t, nil)
	if _, origin := h.get("dept", "30", Options{}); origin != Stored {
		t.Fatal("the absence was not kept")
	}
	res := h.mustWrite("dept", Write{Op: source.OpCreate},
		`{"deptno":30,"dname":"SALES","loc":null,"emps":[{"empno":1,"ename":"A","sal":1}]}`)
	want := `{"deptno":30,"dname":"SALES","loc":null,"emps":[{"empno":1,"ename":"A","sal":1,"deptno":30}]}`
	if string(res.Doc.Body()) != want || !res.Created || res.Key != "30" {
		t.Errorf("create = %s, %v, %q; want %s", res.Doc.Body(), res.Created, res.Key, want)
	}
	if got, _ := h.get("dept", "30", Options{}); got != want {
		t.Errorf("read = %s, want %s", got, want)
	}
	_, err := h.write("dept", Write{Op: source.OpCreate}, `{"deptno":30,"dname":"AGAIN"}`)
	if source.ClassOf(err) != source.Conflict {
		t.Errorf("create of what is there = %v, want a conflict", err)
	}
	res = h.mustWrite("dept", Write{Op: source.OpReplace, Key: "30"},
		`{"deptno":30,"dname":"S","emps":[{"empno":2,"ename":"B","sal":2}]}`)
	if got := string(res.Doc.Body()); strings.Contains(got, `"empno":1`) || res.Created {
		t.Errorf("replace = %s, %v; want emp 1 gone", got, res.Created)
	}
	if got, _ := h.get("emp", "1", Options{}); got != "" {
		t.Errorf("emp/1 = %s after the replace of its department", got)
	}
	h.mustWrite("dept", Write{Op: source.OpReplace, Key: "30"}, `{"deptno":30,"emps":[]}`)
	res = h.mustWrite("dept", Write{Op: source.OpDelete, Key: "30"}, "")
	if !res.Doc.Absent() {
		t.Error("the answer to a delete is not absent")
	}
	if got, _ := h.get("dept", "30", Options{}); got != "" {
		t.Errorf("read after delete = %s", got)
	}
	_, err = h.write("dept", Write{Op: source.OpDelete, Key: "30"}, "")
	if source.ClassOf(err) != source.NoRow {
		t.Errorf("delete of nothing = %v, want NoRow", err)
	}
}

func TestWrite_Conditions(t *testing.T) {
	h := newHouse(t, nil)
	tag := func() string {
		a, err := h.resource("dept").Get(t.Context(), "10", Options{})
		if err != nil {
			t.Fatal(err)
		}
		return a.Doc.ETag()
	}
	old := tag()
	merge := Write{Op: source.OpMerge, Key: "10", IfMatch: []string{`"other-j"`, old}}
	h.mustWrite("dept", merge, `{"loc":"X"}`)
	if _, err := h.write("dept", merge, `{"loc":"Y"}`); !errors.Is(err, ErrPrecondition) {
		t.Errorf("write with the old tag = %v, want ErrPrecondition", err)
	}
	// A foreign change counts although memory may not know of it yet.
	current := tag()
	h.exec("UPDATE dept SET loc = 'Z' WHERE deptno = 10")
	merge.IfMatch = []string{current}
	if _, err := h.write("dept", merge, `{"loc":"Y"}`); !errors.Is(err, ErrPrecondition) {
		t.Errorf("write over a foreign change = %v, want ErrPrecondition", err)
	}
	create := Write{Op: source.OpReplace, Key: "10", IfNoneMatch: []string{"*"}}
	if _, err := h.write("dept", create, `{"deptno":10}`); !errors.Is(err, ErrPrecondition) {
		t.Errorf("create of what is there = %v, want ErrPrecondition", err)
	}
	create.Key = "50"
	if res := h.mustWrite("dept", create, `{"deptno":50}`); !res.Created {
		t.Error("create of what is not there was no creation")
	}
	missing := Write{Op: source.OpMerge, Key: "99", IfMatch: []string{"*"}}
	if _, err := h.write("dept", missing, `{"loc":"Y"}`); !errors.Is(err, ErrPrecondition) {
		t.Errorf("if-match * of nothing = %v, want ErrPrecondition", err)
	}
}

// A body that was decoded before the table changed must not reach the columns
// that have the places of the old ones now.
func TestWrite_RefusesABodyOfAnotherShape(t *testing.T) {
	h := newHouse(t, nil)
	r := h.resource("city")
	old := r.Shape()
	in, err := old.DecodeJSON([]byte(`{"pop":7}`))
	if err != nil {
		t.Fatal(err)
	}
	h.exec(`BEGIN; ALTER TABLE city DROP COLUMN pop; ALTER TABLE city ADD COLUMN mayor INTEGER; COMMIT`)
	h.until(func() bool { return r.Shape() != old })
	_, err = r.Write(t.Context(),
		Write{Op: source.OpMerge, Key: "Tulsa,OK", Input: in, Shape: old})
	if source.ClassOf(err) != source.Retry {
		t.Errorf("Write = %v, want one that says to try again", err)
	}
	if got, _ := h.get("city", "Tulsa,OK", Options{}); !strings.Contains(got, `"mayor":null`) {
		t.Errorf("the value of a dropped column is in another: %s", got)
	}
}

func TestWrite_OneOfManyWins(t *testing.T) {
	h := newHouse(t, nil)
	a, err := h.resource("dept").Get(t.Context(), "10", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	won := 0
	var wg sync.WaitGroup
	for i := range 20 {
		in, err := h.resource("dept").Shape().DecodeJSON(fmt.Appendf(nil, `{"loc":"L%d"}`, i))
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			_, err := h.resource("dept").Write(t.Context(), Write{Op: source.OpMerge, Key: "10",
				Input: in, IfMatch: []string{a.Doc.ETag()}})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !errors.Is(err, ErrPrecondition) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d of 20 conditional writes won, want 1", won)
	}
}

func TestWrite_Refused(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) {
		o.Resources[0].Methods = []string{"get", "patch"}
		o.Resources[0].RequireIfMatch = true
		o.Resources[2].Writable = false
	})
	if _, err := h.write("city", Write{Op: source.OpDelete, Key: "Tulsa,OK"}, ""); !errors.Is(err,
		ErrReadOnly) {
		t.Errorf("write of a read-only resource = %v", err)
	}
	if _, err := h.write("dept", Write{Op: source.OpDelete, Key: "10"}, ""); !errors.Is(err,
		ErrReadOnly) {
		t.Errorf("a method that is not served = %v", err)
	}
	if _, err := h.write("dept", Write{Op: source.OpMerge, Key: "10"}, `{}`); !errors.Is(err,
		ErrUnconditional) {
		t.Errorf("a write without a condition = %v", err)
	}
	if _, err := h.write("emp", Write{Op: source.OpMerge, Key: "x"}, `{}`); !errors.Is(err,
		row.ErrKey) {
		t.Errorf("a write of a bad key = %v", err)
	}
	_, err := h.write("person", Write{Op: source.OpCreate}, `{"name":"","mail":"x"}`)
	if want := "write person: key name: it is empty"; !errors.Is(err, row.ErrKey) || err.Error() != want {
		t.Errorf("an empty key in a document = %v, want %s", err, want)
	}
}

// next returns the next event, waiting a minute at most.
func next(t *testing.T, w *Watch) Event {
	t.Helper()
	select {
	case e := <-w.C:
		return e
	case <-time.After(waittest.Limit(time.Minute)):
		t.Fatal("no event")
		return Event{}
	}
}

func TestWatch_ReadAfterEventSeesTheChange(t *testing.T) {
	h := newHouse(t, nil)
	w := h.resource("dept").Watch(8)
	defer w.Close()
	h.hit("dept", "10")
	h.mustWrite("emp", Write{Op: source.OpMerge, Key: "7839"}, `{"sal":42}`)
	if e := next(t, w); !e.Reset && e.Key != "10" {
		t.Errorf("event %+v, want dept/10", e)
	}
	if got, _ := h.get("dept", "10", Options{}); !strings.Contains(got, `"sal":42`) {
		t.Errorf("read after the event = %s", got)
	}
}

func TestWatch_SlowWatcherGetsAReset(t *testing.T) {
	h := newHouse(t, nil)
	w := h.resource("emp").Watch(2)
	defer w.Close()
	for i := range 50 {
		h.mustWrite("emp", Write{Op: source.OpMerge, Key: "7839"}, fmt.Sprintf(`{"sal":%d}`, i))
	}
	h.until(func() bool { return h.resource("emp").Stats().WatchDropped > 0 })
	for {
		if e := next(t, w); e.Reset {
			return
		}
	}
}

// TestWrite_WaitingForALockKeepsNoReadOut: writes that wait for another program's transaction
// take none of the places of reads.
func TestWrite_WaitingForALockKeepsNoReadOut(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) { o.Sources[0].Readers = 2 })
	c, err := h.other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lock := func(statement string) {
		if _, err := c.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	lock("BEGIN IMMEDIATE")
	const writes = 20
	u := h.resource("emp").revision.Load().src
	var wg sync.WaitGroup
	for i := range writes {
		wg.Go(func() {
			in, err := h.resource("emp").Shape().DecodeJSON(fmt.Appendf(nil, `{"sal":%d}`, i))
			if err == nil {
				_, err = h.resource("emp").Write(t.Context(), Write{Op: source.OpMerge, Key: "7839", Input: in})
			}
			if err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	h.until(func() bool { return u.writing.Load() == writes })
	if got, origin := h.get("dept", "10", Options{NoCache: true}); got == "" {
		t.Errorf("no document, from %v", origin)
	}
	lock("COMMIT")
	wg.Wait()
	if n := u.writing.Load(); n != 0 {
		t.Errorf("%d writes wait when none does", n)
	}
}
