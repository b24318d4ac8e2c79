package resource

import (
	"context"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// newInvalidated serves, besides the house's, a query over emp and one that a path leads to,
// and departments with their employees with their phones.
func newInvalidated(t *testing.T) *house {
	return newHouse(t, func(o *SetOptions) {
		o.Lists = 1 << 20
		if err := o.Sources[0].Source.Exec(t.Context(), `CREATE TABLE phone (no INTEGER
			PRIMARY KEY, empno INTEGER)`, `CREATE INDEX phone_empno ON phone(empno)`,
			`INSERT INTO phone VALUES (1, 7782), (2, 7369)`); err != nil {
			t.Fatal(err)
		}
		phone := &source.Spec{Name: "phones", Table: "phone"}
		emps := &source.Spec{Name: "emps", Table: "emp", Embeds: []source.Embed{
			{Name: "phones", Spec: phone, On: []string{"empno"}}}}
		deep := &source.Spec{Name: "deep", Table: "dept", Embeds: []source.Embed{
			{Name: "emps", Spec: emps, On: []string{"deptno"}}}}
		sums := &source.Spec{Name: "sums", Query: `SELECT deptno, count(*) AS n FROM emp
			WHERE deptno = :key GROUP BY deptno`, Key: []string{"deptno"},
			Depends: []source.Dep{{Table: "emp", Columns: []string{"deptno"}}}}
		for _, spec := range []*source.Spec{phone, deep, sums} {
			o.Resources = append(o.Resources, Spec{Source: "main", Table: spec})
		}
	})
}

// keptAll fills memory with what holds the row of emp 7782, and with what does not.
func (h *house) keptAll() {
	for _, of := range []string{"dept/10", "dept/20", "emp/7782", "emp/7839", "deep/10", "sums/10",
		"city/Tulsa,OK", "phones/1"} {
		name, key, _ := strings.Cut(of, "/")
		h.hit(name, key)
	}
	for _, of := range []string{"dept", "emp", "deep", "city"} {
		h.keepList(of, 5)
	}
	h.keepAsked("emp", "sal=gt.1000")
	h.keepAsked("emp", "deptno=eq.10")
}

// fromMemory reports which of documents and lists are answered from memory.
func (h *house) fromMemory(names ...string) (hits []string) {
	for _, of := range names {
		name, key, document := strings.Cut(of, "/")
		var origin Origin
		if document {
			_, origin = h.get(name, key, Options{})
		} else {
			origin = h.list(name, 5, Options{}).Origin
		}
		if origin == HitMemory {
			hits = append(hits, of)
		}
	}
	return hits
}

// What an operator invalidates takes with it all that a change of the row would: lists,
// documents that hold it at any depth, queries over its table; and nothing of other tables.
func TestInvalidate_AsAChangeWould(t *testing.T) {
	of := []string{"emp/7782", "dept/10", "deep/10", "sums/10", "dept", "emp", "deep"}
	stay := []string{"city/Tulsa,OK", "city", "phones/1"}
	for name, c := range map[string]struct {
		resource string
		key      *row.Key
		goes     []string
		stays    []string
	}{
		"a row":      {"emp", new(row.Key("7782")), of, append(stay, "emp/7839")},
		"all rows":   {"emp", nil, append(of, "emp/7839"), stay},
		"a deep row": {"phones", new(row.Key("1")), []string{"phones/1", "deep/10", "deep"}, nil},
		"a parent": {"dept", new(row.Key("10")), []string{"dept/10", "dept", "deep/10"},
			[]string{"emp/7782", "emp", "dept/20"}},
		"of a query": {"sums", new(row.Key("10")), []string{"sums/10"},
			[]string{"emp/7782", "emp", "dept/10"}},
		"all queries": {"sums", nil, []string{"sums/10"}, []string{"emp/7782", "emp", "dept/10"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newInvalidated(t)
			h.keptAll()
			watch := h.resource(c.resource).Watch(8)
			defer watch.Close()
			if err := h.resource(c.resource).Invalidate(c.key); err != nil {
				t.Fatal(err)
			}
			if hits := h.fromMemory(c.goes...); hits != nil {
				t.Errorf("%v are answered from memory", hits)
			}
			if hits := h.fromMemory(c.stays...); len(hits) != len(c.stays) {
				t.Errorf("of %v only %v are answered from memory", c.stays, hits)
			}
			e := <-watch.C
			if c.key != nil && e.Key != *c.key || c.key == nil && !e.Reset {
				t.Errorf("event %+v", e)
			}
		})
	}
}

// A list that is watched is read again, and a question that names no row of it stays.
func TestInvalidate_WatchedList(t *testing.T) {
	h := newInvalidated(t)
	ask := &ListAsk{Limit: 5, Pack: packLines}
	seen := h.resource("emp").WatchList(ask, row.FormatJSON)
	defer seen.Close()
	if _, err := seen.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.until(func() bool { return h.list("emp", 5, Options{}).Origin == HitMemory })
	if seen.copy != nil && !seen.copy.Valid() {
		t.Error("not valid before")
	}
	key := row.Key("7782")
	if err := h.resource("emp").Invalidate(&key); err != nil {
		t.Fatal(err)
	}
	if seen.copy != nil && seen.copy.Valid() {
		t.Error("what somebody watches is still valid")
	}
}

// Whoever has waited for a list and goes leaves those who watch documents alone. They were
// counted together once, each in a way of its own.
func TestWatchList_BesideDocuments(t *testing.T) {
	h := newInvalidated(t)
	ctx, leave := context.WithCancel(t.Context())
	ask := &ListAsk{Limit: 5, Pack: packLines}
	list := h.resource("emp").WatchList(ask, row.FormatJSON)
	if _, err := list.Next(ctx); err != nil {
		t.Fatal(err)
	}
	left := make(chan error)
	go func() {
		defer list.Close()
		_, err := list.Next(ctx)
		left <- err
	}()
	h.until(func() bool { return h.set.sources["main"].waits.Len() > 0 })
	watch := h.resource("emp").Watch(10)
	defer watch.Close()
	leave()
	<-left
	key := row.Key("7782")
	if err := h.resource("emp").Invalidate(&key); err != nil {
		t.Fatal(err)
	}
	if e := <-watch.C; e.Key != key {
		t.Errorf("event %+v", e)
	}
}

// A row whose key has other spellings in the database goes by any of them.
func TestInvalidate_WideKey(t *testing.T) {
	h := newInvalidated(t)
	h.hit("person", "alice")
	key := row.Key("ALICE")
	if err := h.resource("person").Invalidate(&key); err != nil {
		t.Fatal(err)
	}
	if _, origin := h.get("person", "alice", Options{}); origin == HitMemory {
		t.Error("answered from memory")
	}
}
