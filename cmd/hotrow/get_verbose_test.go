package main

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// TestGet_VerboseSaysWhereTheAnswerCameFrom, and what is asked and answered. What goes to
// standard output is the document alone.
func TestGet_VerboseSaysWhereTheAnswerCameFrom(t *testing.T) {
	r := serve(t, database(t, deptSQL))
	verbose := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := command(t, append([]string{"get", "-v", "--server", r.http}, args...)...)
		if code != 0 || stdout != r.get("/dept/10").body+"\n" {
			t.Errorf("%v: exit %d, %q\n%s", args, code, stdout, stderr)
		}
		return stderr
	}
	says := func(text string, patterns ...string) {
		t.Helper()
		for _, pattern := range patterns {
			if !regexp.MustCompile(`(?m)^` + pattern + `$`).MatchString(text) {
				t.Errorf("no line %s in\n%s", pattern, text)
			}
		}
	}
	r.hit("/dept/10")
	says(verbose("dept/10"), `> GET http://\S+/dept/10`, `> Accept: application/json`, `< HTTP/1.1 200 OK`,
		`< Cache-Status: hotrow; hit; detail=mem`, `< Hotrow-Position: hr1\.main\..*`,
		`\* from memory: the database was not asked; it has every change up to \S+s ago`,
		`\* \d+ bytes in \S+, a connection included`)
	says(verbose("/dept/10", "--no-cache", "--token", "kept-to-itself"), `> Cache-Control: no-cache`,
		`> Authorization: Bearer \(not shown\)`, `\* from the database, as the request asked for; .*`)
	code, _, stderr := command(t, "get", "-v", "dept/99", "--server", r.http)
	if code != 1 {
		t.Errorf("a row that is not there: exit %d", code)
	}
	says(stderr, `< HTTP/1.1 404 Not Found`, `\* from the database.*`)
}

// TestGet_NamesEveryOrigin: each Cache-Status of the reference has its words.
func TestGet_NamesEveryOrigin(t *testing.T) {
	forms := regexp.MustCompile("(?m)^\\| `(hotrow; [^`]+)` \\|").FindAllStringSubmatch(
		readPage(t, "../../docs/reference/http-api.md"), -1)
	if len(forms) < 9 {
		t.Errorf("the reference has %d", len(forms))
	}
	for _, form := range forms {
		h := http.Header{"Cache-Status": {form[1]}}
		if words := originOf(h); strings.Contains(words, "=") || strings.Contains(words, "does not say") {
			t.Errorf("%s: %s", form[1], words)
		}
	}
	if words := originOf(http.Header{"Cache-Status": {"proxy; hit"}}); !strings.Contains(words, "does not say") {
		t.Errorf("another cache's status: %s", words)
	}
}

// TestGet_EndsWithOneNewline, whatever the server's body ends with.
func TestGet_EndsWithOneNewline(t *testing.T) {
	for _, body := range []string{"{}", "{}\n", ""} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(body))
		}))
		if got := mustCommand(t, "get", "x/1", "--server", srv.URL); got != strings.TrimSpace(body)+"\n" {
			t.Errorf("%q is printed as %q", body, got)
		}
		srv.Close()
	}
}
