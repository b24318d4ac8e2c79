package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/demo"
	"github.com/hotrow/hotrow/internal/load"
)

// hotrow bench kv writes to servers of Redis and memcached and reads from them, and from
// hotrow, one key and several at a time.
func TestBench_KV(t *testing.T) {
	servers := []string{
		"redis=redis://:secret@" + dbtest.NewRedis(t, "--requirepass", "secret").Addr() + "/d:{n}",
		"memcached=memcache://" + dbtest.NewMemcached(t).Addr() + "/d:{n}",
	}
	short := []string{"-c", "4", "-d", "200ms", "--warmup", "50ms", "--format", "json",
		"--distribution", "scan", "--first", "10", "--keys", "8"}
	measure := func(args ...string) (rows []*load.Result) {
		out := mustCommand(t, append(append([]string{"bench", "kv"}, short...), args...)...)
		if err := json.Unmarshal([]byte(out), &rows); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if strings.Contains(out, "secret") {
			t.Errorf("it shows the password: %s", out)
		}
		return rows
	}
	for _, r := range measure(append(servers, "--write-percent", "100", "--body", "v{n}.")...) {
		if r.Writes.Count == 0 {
			t.Errorf("%s: no writes", r.Name)
		}
	}
	for _, batch := range []string{"1", "5"} {
		rows := measure(append(servers, "--check", "v{n}.", "--batch", batch)...)
		if len(rows) != 2 || rows[0].Name != "redis" || rows[0].Reads.Count == 0 ||
			rows[1].Reads.Count == 0 {
			t.Errorf("%s keys a read: %+v", batch, rows)
		}
	}
	for said, args := range map[string][]string{
		"want redis://": {"http://127.0.0.1:1/a"},
		"names no key":  {"redis://127.0.0.1:1"},
		"2000 keys":     {"redis://127.0.0.1:1/a", "--batch", "2000"},
		"2 --pid for 1": {"redis://127.0.0.1:1/a", "--pid", "1,2"},
	} {
		code, out, errs := command(t, append([]string{"bench", "kv"}, args...)...)
		if code == 0 || !strings.Contains(out+errs, said) {
			t.Errorf("%v: exit %d, want %q in %s%s", args, code, said, out, errs)
		}
	}
}

// It reads rows from hotrow itself, over both protocols.
func TestBench_KVOfHotrow(t *testing.T) {
	r := serve(t, "--demo-file", filepath.Join(t.TempDir(), "demo.db"), "--demo-scale", "20")
	at := regexp.MustCompile(`proto=memcache addr=(\S+)`).FindStringSubmatch(r.log.String())
	if at == nil {
		t.Fatalf("clients of memcached are not served:\n%s", r.log)
	}
	for _, batch := range []string{"1", "4"} {
		mustCommand(t, "bench", "kv", "-c", "4", "-d", "200ms", "--warmup", "50ms", "--batch", batch,
			"--first", strconv.Itoa(demo.FirstDept), "--keys", "20", "--check", `{"deptNumber":{n},`,
			"redis://127.0.0.1:"+r.respPort()+"/depts:{n}",
			"memcache://"+at[1]+"/depts:{n}")
	}
}
