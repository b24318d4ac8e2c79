package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// refusing takes nothing.
type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }

// Output that is lost makes any command fail, and is told, once.
func TestCommand_SaysThatItsOutputIsLost(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "{}")
	}))
	defer s.Close()
	for _, name := range []string{"HOTROW_URL", "HOTROW_OPS", "HOTROW_LINKS_URL"} {
		t.Setenv(name, s.URL)
	}
	db := database(t, deptSQL)
	file := configFile(t, "version: 1\nsources: {main: {url: 'sqlite:"+db+"'}}\nresources: {dept: {table: dept}}\n")
	links := filepath.Join(t.TempDir(), "links.ndjson")
	if err := os.WriteFile(links, []byte(`{"code":"a","url":"https://example.com/"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"get", "a/1"}, {"get", "dept/10", "--direct", db}, {"token", "ana"}, {"check", "-c", file},
		{"check", "-c", file, "--dump-config"}, {"doctor", db}, {"doctor", db, "--sql"}, {"init", db},
		{"invalidate", "a"}, {"version"}, {"proxy", "--version"}, {"help"}, {"help", "get"}, {"man"},
		{"completion", "bash"}, {"links", "add", "u"}, {"links", "ls"}, {"links", "stats"},
		{"links", "export"}, {"links", "resolve", links, "a"}, {"links", "key", "add", "ana"}, {"links", "key", "ls"},
	} {
		var said output
		code := run(t.Context(), args, refusing{syscall.ENOSPC}, &said, os.Environ())
		if code != 1 || strings.Count(said.String(), syscall.ENOSPC.Error()) != 1 {
			t.Errorf("%v: exit %d:\n%s", args, code, said.String())
		}
	}
}

// A reader that has seen enough, as head has, is no failure.
func TestCommand_MayLoseItsReader(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"help"}, {"token", "ana"}} {
		var said output
		if code := run(t.Context(), args, refusing{syscall.EPIPE}, &said, nil); code != 0 {
			t.Errorf("%v: exit %d:\n%s", args, code, said.String())
		}
	}
}
