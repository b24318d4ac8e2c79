//go:build unix

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// TestServe_RedisTools asks the demo as people do who have Redis' own tools.
func TestServe_RedisTools(t *testing.T) {
	t.Parallel()
	cli := dbtest.Program(t, "redis-cli", "redis-tools")
	bench := dbtest.Program(t, "redis-benchmark", "redis-tools")
	file := filepath.Join(t.TempDir(), "demo.db")
	r := serve(t, "demo", "--file", file, "--scale", "20")
	port := r.respPort()
	run := func(program string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), program, append([]string{"-p", port}, args...)...).Output()
		if err != nil {
			t.Errorf("%s %v: %v: %s", program, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if got, want := run(cli, "GET", "depts:10"), r.get("/depts/10").body; got != want {
		t.Errorf("redis-cli GET depts:10 = %s, over HTTP %s", got, want)
	}
	if got := run(cli, "GET", "depts:99"); got != "" {
		t.Errorf("a department that is not there = %q", got)
	}
	if got := run(cli, "-3", "HGET", "emps:7839", "empName"); got != "KING" {
		t.Errorf("HGET = %q", got)
	}
	if got := run(cli, "--scan", "--pattern", "depts:*"); len(strings.Fields(got)) != 24 {
		t.Errorf("redis-cli --scan = %q", got)
	}
	run(cli, "INFO")
	run(bench, "-n", "1000", "-q", "-t", "get")
	run(bench, "-n", "1000", "-q", "-P", "16", "-r", "20", "GET", "depts:__rand_int__")
	// The change of another program shows as it does over HTTP.
	for i := range 5 {
		dbtest.SQLiteShell(t, file, fmt.Sprintf("UPDATE emp SET sal=%d WHERE empno=7839", i))
		r.shows("/depts/10", fmt.Sprintf(`"sal":%d,`, i), showBound)
		if got := run(cli, "HGET", "emps:7839", "sal"); got != fmt.Sprint(i) {
			t.Errorf("sal = %s, want %d", got, i)
		}
	}
	_, metrics := get(t, r.ops+"/metrics")
	for _, line := range []string{`hotrow_requests_total{code="ok",proto="resp",source="main"}`,
		"hotrow_resp_commands_total ", `hotrow_resp_unknown_keys_total{why="no_resource"}`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("/metrics has no %s", line)
		}
	}
}

// TestServe_RESPIsOffUnlessSet: its usual port is taken where there is a Redis.
func TestServe_RESPIsOffUnlessSet(t *testing.T) {
	r := start(t, []string{"HOTROW_RESP_LISTEN="}, database(t, deptSQL))
	until(t, r.log, r.complete)
	if strings.Contains(r.log.String(), "proto=resp") {
		t.Errorf("it listens:\n%s", r.log)
	}
}
