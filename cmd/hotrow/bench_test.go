package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/load"
)

func TestBench_HTTP(t *testing.T) {
	t.Parallel()
	good := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer good.Close()
	bad := httptest.NewServer(http.NotFoundHandler())
	defer bad.Close()
	short := []string{"bench", "http", "-d", "100ms", "--warmup", "0s"}
	out := mustCommand(t, append(short, "-c", "1,2", "one="+good.URL+"/{n}", good.URL)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 5 || !regexp.MustCompile(`one +1 `).MatchString(lines[1]) ||
		!regexp.MustCompile(good.URL+` +2 `).MatchString(lines[4]) {
		t.Errorf("the table is\n%s", out)
	}
	code, out, stderr := command(t, append(short, "--format", "json", "bad="+bad.URL)...)
	var rows []load.Result
	if err := json.Unmarshal([]byte(out), &rows); err != nil || code != 1 || len(rows) != 1 ||
		rows[0].Name != "bad" || rows[0].Connections != 64 || !strings.Contains(stderr, "the status is 404") {
		t.Errorf("exit %d, %v: %s%s", code, err, out, stderr)
	}
	for said, args := range map[string][]string{
		"want http://":  {"redis://127.0.0.1:1/a"},
		"2 --pid for 1": {good.URL, "--pid", "1,2"},
	} {
		code, out, stderr := command(t, append(short, args...)...)
		if code == 0 || !strings.Contains(out+stderr, said) {
			t.Errorf("%v: exit %d, want %q in %s%s", args, code, said, out, stderr)
		}
	}
}
