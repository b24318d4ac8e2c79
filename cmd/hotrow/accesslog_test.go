package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// agents returns the user agents that an access log has, in order, and fails
// when a line is not whole.
func agents(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(b)) {
		var l struct {
			Agent string `json:"user_agent"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || !strings.HasSuffix(line, "\n") {
			t.Fatalf("%s: %q: %v", file, line, err)
		}
		list = append(list, l.Agent)
	}
	return list
}

// A log that is renamed is opened again by SIGHUP, and every request has its
// line in the one file or the other; the settings apply without a restart.
func TestServe_AccessLogIsRotated(t *testing.T) {
	db := database(t, deptSQL)
	text := secureConfig(db, "ann")
	file := configFile(t, text+"log: {access: all, access_file: access.log}\n")
	log := filepath.Join(filepath.Dir(file), "access.log") // relative to the configuration
	r := serve(t, "-c", file)
	const turns, each = 3, 40
	for turn := range turns {
		for i := range each {
			r.get("/dept/10", "Authorization: Bearer secret-ann", fmt.Sprintf("User-Agent: %d-%d", turn, i))
			if i != each/2 {
				continue
			}
			if err := os.Rename(log, fmt.Sprintf("%s.%d", log, turn)); err != nil {
				t.Fatal(err)
			}
			if turn == 0 { // a broken configuration is no reason to keep the old file
				rewrite(t, file, "version: x\n")
				hangUp(t, r, "configuration not reloaded")
				rewrite(t, file, text+"log: {access: all, access_file: access.log}\n")
			} else {
				hangUp(t, r, "access log opened again")
			}
		}
	}
	seen := map[string]int{}
	all := func() int {
		clear(seen)
		files, err := filepath.Glob(log + "*")
		if err != nil || len(files) != turns+1 {
			t.Fatalf("files %v, %v", files, err)
		}
		for _, f := range files {
			for _, a := range agents(t, f) {
				seen[a]++
			}
		}
		return len(seen)
	}
	until(t, r.log, func() bool { return all() == turns*each })
	for a, n := range seen {
		if n != 1 {
			t.Errorf("%s has %d lines", a, n)
		}
	}
	if m := (&running{t: t, http: r.ops}).get("/metrics").body; !strings.Contains(m,
		fmt.Sprintf("\nhotrow_access_log_lines_total %d\n", turns*each)) ||
		!strings.Contains(m, "\nhotrow_access_log_dropped_total 0\n") {
		t.Errorf("the metrics have other numbers than %d lines and none dropped", turns*each)
	}
	rewrite(t, file, text)
	hangUp(t, r, "configuration reloaded")
	r.get("/dept/10", "User-Agent: after")
	if code := r.stop(); code != 0 || strings.Contains(fmt.Sprint(agents(t, log)), "after") {
		t.Errorf("exit %d, and logged although it is off: %v", code, agents(t, log))
	}
	b, err := os.ReadFile(log + ".0")
	if err != nil || strings.Contains(string(b), "secret-ann") ||
		!strings.Contains(string(b), `"principal":"ann"`) {
		t.Errorf("no name, or the token itself: %s, %v", b, err)
	}
}

// On standard output the access log is alone, and complete when hotrow has
// stopped.
func TestServe_AccessLogOnStandardOutput(t *testing.T) {
	t.Parallel()
	r := start(t, []string{"HOTROW_LOG_ACCESS=all", "HOTROW_LOG_ACCESS_FORMAT=ltsv"}, database(t, deptSQL))
	until(t, r.log, r.complete)
	for i := range 20 {
		r.get("/dept/10", fmt.Sprintf("User-Agent: a\t%d", i))
	}
	r.stop()
	lines := strings.Split(strings.TrimSuffix(r.out.String(), "\n"), "\n")
	if len(lines) != 20 {
		t.Fatalf("%d lines:\n%s", len(lines), r.out)
	}
	for i := range 20 {
		if !strings.Contains(r.out.String(), fmt.Sprintf("\tuser_agent:a\\t%d\n", i)) {
			t.Errorf("request %d is not in\n%s", i, r.out)
		}
	}
}

func TestServe_AccessLogThatCannotBeOpened(t *testing.T) {
	t.Setenv("HOTROW_HTTP_LISTEN", "127.0.0.1:0")
	t.Setenv("HOTROW_OPS_LISTEN", "127.0.0.1:0")
	t.Setenv("HOTROW_WIRE_LISTEN", "127.0.0.1:0")
	t.Setenv("HOTROW_LOG_ACCESS", "all")
	t.Setenv("HOTROW_LOG_ACCESS_FILE", filepath.Join(t.TempDir(), "no", "access.log"))
	code, _, stderr := command(t, "serve", database(t, deptSQL))
	if code != 1 || !strings.Contains(stderr, "make the directory first") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
