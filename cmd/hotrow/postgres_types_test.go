package main

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestPostgres_TypesAreRenamed: a type that is given another name or schema keeps no table with
// it away, for reads, lists and writes that come meanwhile.
func TestPostgres_TypesAreRenamed(t *testing.T) {
	for name, c := range map[string]struct{ create, value string }{
		"enum":      {"CREATE TYPE ty AS ENUM ('a', 'b')", `"a"`},
		"domain":    {"CREATE DOMAIN ty AS text CHECK (VALUE <> '')", `"a"`},
		"composite": {"CREATE TYPE ty AS (a int, b int)", `"(1,2)"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := dbtest.Postgres(t, dbtest.Setup(`CREATE SCHEMA s2; `+c.create+`;
				CREATE TABLE t (id int PRIMARY KEY, v ty, list ty[]);
				INSERT INTO t SELECT i FROM generate_series(1, 50) i;`))
			r := serve(t, url, "--writable")
			kind := "TYPE"
			if name == "domain" {
				kind = "DOMAIN"
			}
			requests := func() (bad string) {
				for _, q := range [][3]string{{"PATCH", "/t/1", `{"v":` + c.value + `}`}, {"GET", "/t/1", ""},
					{"GET", "/t", ""}, {"GET", "/t?v=eq.a&order=id", ""}} {
					if name == "composite" && strings.Contains(q[1], "?") {
						continue // it is not compared
					}
					a := r.do(q[0], q[1], q[2], "Content-Type: application/json", "Cache-Control: no-cache")
					if a.code != 200 {
						bad += q[0] + " " + q[1] + ": " + a.body + "\n"
					}
				}
				return bad
			}
			if bad := requests(); bad != "" {
				t.Fatal(bad)
			}
			for _, ddl := range []string{"ty RENAME TO ty2", "ty2 SET SCHEMA s2", "s2.ty2 RENAME TO ty"} {
				done := make(chan struct{})
				var beside sync.WaitGroup
				for range 2 {
					beside.Go(func() {
						for {
							select {
							case <-done:
								return
							default:
								requests()
							}
						}
					})
				}
				dbtest.Psql(t, url, "ALTER "+kind+" "+ddl)
				var bad string
				end := waittest.Deadline(10 * time.Second)
				for ; time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
					if bad = requests(); bad == "" {
						break
					}
				}
				close(done)
				beside.Wait()
				if bad == "" {
					bad = requests()
				}
				if bad != "" {
					t.Errorf("after %s:\n%s", ddl, bad)
				}
			}
		})
	}
}
