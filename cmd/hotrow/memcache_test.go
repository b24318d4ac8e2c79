//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// TestServe_Memcached asks the demo as clients of memcached do.
func TestServe_Memcached(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "demo.db")
	r := serve(t, "demo", "--file", file)
	c := r.dialMemcache()
	want := r.get("/depts/10").body
	if got := c.do("get depts:10"); got != fmt.Sprintf("VALUE depts:10 0 %d\r\n%s\r\nEND\r\n", len(want), want) {
		t.Errorf("get depts:10 = %q, over HTTP %s", got, want)
	}
	if got := c.do("get depts:99"); got != "END\r\n" {
		t.Errorf("a department that is not there = %q", got)
	}
	// The change of another program shows as it does over HTTP.
	for i := range 5 {
		dbtest.SQLiteShell(t, file, fmt.Sprintf("UPDATE emp SET sal=%d WHERE empno=7839", i))
		r.shows("/emps/7839", fmt.Sprintf(`"sal":%d,`, i), showBound)
		if got := c.do("mg emps:7839 v"); !strings.Contains(got, fmt.Sprintf(`"sal":%d,`, i)) {
			t.Errorf("%q, want sal %d", got, i)
		}
	}
	_, metrics := get(t, r.ops+"/metrics")
	for _, line := range []string{`hotrow_requests_total{code="ok",proto="memcache",source="main"}`,
		"hotrow_memcache_commands_total ", `hotrow_memcache_unknown_keys_total{why="no_resource"}`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("/metrics has no %s", line)
		}
	}
}

// TestServe_MemcacheIsOffUnlessSet: its usual port is taken where there is a memcached.
func TestServe_MemcacheIsOffUnlessSet(t *testing.T) {
	r := start(t, []string{"HOTROW_MEMCACHE_LISTEN="}, database(t, deptSQL))
	until(t, r.log, r.complete)
	if strings.Contains(r.log.String(), "proto=memcache") {
		t.Errorf("it listens:\n%s", r.log)
	}
}
