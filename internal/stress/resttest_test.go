package stress

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// The tests of this file are named after the eleven defects of resttest, the
// REST server with a cache that hotrow has grown from. Each makes the situation
// in which the defect showed, on the same database.

// 1: its JSON tiers were never invalidated.
func TestResttest01_JSONIsInvalidated(t *testing.T) {
	eachFeed(t, func(t *testing.T, h *seedHouse) {
		h.c.mustHit(t, "/depts/10")
		h.c.mustHit(t, "/emps/7839")
		h.exec("UPDATE dept SET loc = 'BOSTON' WHERE deptno = 10")
		h.shows("/depts/10", `"deptLocation":"BOSTON"`)
		h.exec("UPDATE emp SET sal = 5001 WHERE empno = 7839")
		h.shows("/depts/10", `"sal":5001`)
		h.shows("/emps/7839", `"sal":5001`)
		h.exec("DELETE FROM emp WHERE empno = 7934")
		waittest.Until(t, "an emp less", func() bool { return len(h.dept(10).Emps) == 2 })
	})
}

// 2: two flags had the same value, so that buffers went back to a pool while
// they were still in use.
func TestResttest02_DocumentsAreNotReused(t *testing.T) {
	eachFeed(t, func(t *testing.T, h *seedHouse) {
		r := h.Resource("depts")
		var kept []*row.Document
		var texts []string
		for i := range 50 {
			h.exec("UPDATE dept SET loc = $1 WHERE deptno = 10", fmt.Sprintf("place %d", i))
			for _, key := range []row.Key{"10", "20", "30"} {
				a, err := r.Get(context.Background(), key, resource.Options{})
				if err != nil {
					t.Fatal(err)
				}
				kept, texts = append(kept, a.Doc), append(texts, string(a.Doc.Body()))
			}
		}
		for i, d := range kept {
			if string(d.Body()) != texts[i] {
				t.Fatalf("a document has changed from %s to %s", texts[i], d.Body())
			}
		}
	})
}

// rush reads depts/10 by many clients while the writer changes every row of it
// in one transaction; see says what is wrong with an answer.
func rush(h *seedHouse, see func(d dept) error) (reads int64) {
	ctx, cancel := context.WithTimeout(h.t.Context(), 500*time.Millisecond)
	defer cancel()
	var n atomic.Int64
	var wg sync.WaitGroup
	for range 6 {
		c := h.connect()
		wg.Go(func() {
			for testbed.Breathe(ctx) {
				a, err := c.get("/depts/10")
				if err == nil && a.code != 200 {
					err = fmt.Errorf("status %d: %s", a.code, a.body)
				}
				if err == nil {
					err = see(parseDept(h.t, a.body))
				}
				if err != nil {
					h.t.Error(err)
					return
				}
				n.Add(1)
			}
		})
	}
	for i := 1; testbed.Pause(ctx, 2*time.Millisecond); i++ {
		h.exec(`WITH d AS (UPDATE dept SET loc = $1 WHERE deptno = 10)
			UPDATE emp SET sal = $2 WHERE deptno = 10`, fmt.Sprint(i), i)
	}
	wg.Wait()
	return n.Load()
}

// 3: a read deleted from a map under a read lock, which ended the process.
func TestResttest03_ReadsAndInvalidationsAtOnce(t *testing.T) {
	eachFeed(t, func(t *testing.T, h *seedHouse) {
		h.exec("UPDATE dept SET loc = '0' WHERE deptno = 10")
		if n := rush(h, func(dept) error { return nil }); n == 0 {
			t.Error("nothing was read")
		}
	})
}

// 4: an invalidation gave objects back to a pool while others were encoding
// them: documents were mixtures.
func TestResttest04_DocumentsAreWhole(t *testing.T) {
	eachFeed(t, func(t *testing.T, h *seedHouse) {
		h.exec(`WITH d AS (UPDATE dept SET loc = '0' WHERE deptno = 10)
			UPDATE emp SET sal = 0 WHERE deptno = 10`)
		h.shows("/depts/10", `"deptLocation":"0"`)
		rush(h, func(d dept) error {
			if d.DeptNumber != 10 || d.DeptLocation == nil || len(d.Emps) != 3 {
				return fmt.Errorf("not the document: %+v", d)
			}
			for _, e := range d.Emps {
				if fmt.Sprint(e.Sal) != *d.DeptLocation {
					return fmt.Errorf("a mixture: %s and %+v", *d.DeptLocation, d.Emps)
				}
			}
			return nil
		})
	})
}

// 5: what a load had read before a change was stored after it.
func TestResttest05_SupersededLoadIsNotStored(t *testing.T) {
	slow := resource.Spec{Source: "main", Access: resource.Access{Read: "public"},
		Table: &source.Spec{Name: "slow", Key: []string{"deptno"}, Query: "SELECT deptno, loc, " +
			"slowly(deptno) AS n FROM dept WHERE deptno = :deptno",
			Depends: []source.Dep{{Table: "dept", Columns: []string{"deptno"}}}}}
	eachFeed(t, func(t *testing.T, h *seedHouse) {
		type result struct {
			a   *answer
			err error
		}
		got := make(chan result, 1)
		before, c := h.Stats().Stats.Transactions, h.connect()
		go func() {
			a, err := c.get("/slow/10")
			got <- result{a, err}
		}()
		waittest.Until(t, "a load under way", func() bool {
			return testbed.Number(t, h.conn, `SELECT count(*) FROM pg_stat_activity
				WHERE wait_event = 'PgSleep' AND datname = current_database()`) > 0
		})
		h.exec("UPDATE dept SET loc = 'BOSTON' WHERE deptno = 10")
		waittest.Until(t, "the change applied", func() bool { return h.Stats().Stats.Transactions > before })
		r := <-got
		if r.err != nil || r.a.code != 200 || !strings.Contains(string(r.a.body), "NEW YORK") {
			t.Fatalf("the load under way got %+v, %v", r.a, r.err)
		}
		if strings.Contains(r.a.status(), "stored") {
			t.Errorf("a load that a change has superseded was stored")
		}
		h.shows("/slow/10", "BOSTON")
	}, slow)
}

// 6: what was notified while the listener was not connected was lost.
func TestResttest06_ChangesWhileDisconnected(t *testing.T) {
	eachFeed(t, func(t *testing.T, h *seedHouse) {
		h.c.mustHit(t, "/depts/10")
		gaps := h.Stats().Gaps
		h.exec(`WITH k AS MATERIALIZED (SELECT pg_terminate_backend(pid, 2000) AS gone
			FROM pg_stat_activity WHERE application_name = 'hotrow feed'
			AND datname = current_database())
			UPDATE dept SET loc = 'BOSTON' WHERE deptno = 10 AND (SELECT bool_and(gone) FROM k)`)
		waittest.Until(t, "notice", func() bool { return h.Stats().Gaps > gaps })
		h.shows("/depts/10", "BOSTON")
	})
}

// 7: the move of a child to or from no parent was not told, nor was TRUNCATE.
func TestResttest07_NullParentAndTruncate(t *testing.T) {
	eachFeed(t, func(t *testing.T, h *seedHouse) {
		h.c.mustHit(t, "/depts/10")
		h.c.mustHit(t, "/depts/20")
		h.exec("UPDATE emp SET deptno = NULL WHERE empno = 7934")
		waittest.Until(t, "the move to no parent", func() bool { return len(h.dept(10).Emps) == 2 })
		h.c.mustHit(t, "/depts/10")
		h.exec("UPDATE emp SET deptno = 20 WHERE empno = 7934")
		h.shows("/depts/20", `"empNo":7934`)
		h.exec("TRUNCATE emp")
		h.shows("/depts/20", `"emps":[]`)
		h.shows("/depts/10", `"emps":[]`)
	})
}

// 8: a department that did not exist was a nil pointer and an answer of 500.
func TestResttest08_UnknownDept(t *testing.T) {
	eachFeed(t, func(t *testing.T, h *seedHouse) {
		a := h.c.mustGet(t, 404, "/depts/99")
		if a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("no problem: %s", a.body)
		}
		h.c.mustGet(t, 404, "/emps/99")
		h.exec("INSERT INTO dept VALUES (99, 'NEW', NULL)")
		h.shows("/depts/99", `"deptNumber":99`)
	})
}

// 9: every miss was a query, the absence of a row was not kept, and nothing
// bounded the memory.
func TestResttest09_MissesAndMemoryAreBounded(t *testing.T) {
	eachFeed(t, func(t *testing.T, h *seedHouse) {
		const count = `SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements s
			JOIN pg_database d ON d.oid = s.dbid AND d.datname = current_database()
			WHERE query LIKE 'SELECT%"emp"%' AND query NOT LIKE '%"dept"%'`
		h.c.mustHit(t, "/emps/7839")
		before := testbed.Number(t, h.conn, count)
		clients := make([]*client, 100)
		for i := range clients {
			clients[i] = h.connect()
		}
		if r := all(clients, func(int) string { return "/emps/7788" }); r.err != nil {
			t.Fatal(r.err)
		}
		if r := all(clients, func(int) string { return "/emps/1" }); r.err != nil {
			t.Fatal(r.err)
		}
		if a := h.c.mustHit(t, "/emps/1"); a.code != 404 {
			t.Errorf("status %d of a row that is not there", a.code)
		}
		if n := testbed.Number(t, h.conn, count) - before; n != 2 {
			t.Errorf("%d queries for two documents, want 2", n)
		}
	})
	t.Run("memory", func(t *testing.T) {
		s, _, _ := newHerdIn(t, 256<<10)
		c := s.connect()
		for i := range 3000 {
			c.mustGet(t, 200, fmt.Sprintf("/flat/%d", i+1))
		}
		if st := s.Memory.Stats(); st.Bytes > st.MaxBytes || st.Evictions == 0 {
			t.Errorf("%d bytes, at most %d; %d evicted", st.Bytes, st.MaxBytes, st.Evictions)
		}
	})
}

// 10: the check that an employee's department exists was the wrong way round.
func TestResttest10_ParentIsChecked(t *testing.T) {
	eachFeed(t, func(t *testing.T, h *seedHouse) {
		put := func(empno, deptno, want int) {
			t.Helper()
			a, err := h.c.do("PUT", fmt.Sprintf("/emps/%d", empno),
				fmt.Sprintf(`{"empNo":%d,"empName":"NEW","deptNumber":%d}`, empno, deptno))
			if err != nil || a.code != want {
				t.Fatalf("PUT of an emp of dept %d: %+v %v, want %d", deptno, a, err, want)
			}
		}
		h.c.mustHit(t, "/depts/40")
		put(1, 40, 201)
		if a := h.c.mustGet(t, 200, "/depts/40"); !strings.Contains(string(a.body), `"empNo":1,`) {
			t.Errorf("the writer reads %s", a.body)
		}
		put(1, 77, 409)
		put(2, 77, 409)
		h.c.mustGet(t, 404, "/emps/2")
	})
}

// 11: of n keys the last n mod NumCPU were left out.
func TestResttest11_NoKeyIsLeftOut(t *testing.T) {
	eachFeed(t, func(t *testing.T, h *seedHouse) {
		const n = 103
		h.exec("INSERT INTO dept SELECT i, 'D', NULL FROM generate_series(41, $1::int + 36) i", n)
		h.Quiet()
		r := h.Resource("depts")
		seen := make(map[row.Key]bool)
		var after *row.Key
		for more := true; more; {
			var page []row.Key
			var err error
			page, more, err = r.Keys(context.Background(), after, 10)
			if err != nil || len(page) == 0 {
				t.Fatalf("%d keys: %v", len(page), errors.Join(err, context.Cause(t.Context())))
			}
			for _, key := range page {
				seen[key] = true
			}
			after = &page[len(page)-1]
		}
		if len(seen) != n {
			t.Errorf("%d keys in the list, want %d", len(seen), n)
		}
		for key := range seen {
			h.c.mustHit(t, "/depts/"+string(key))
		}
	})
}
