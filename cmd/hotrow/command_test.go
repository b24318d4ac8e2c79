package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// requestOf runs a command against a server that takes anything, and returns the request.
func requestOf(t *testing.T, args ...string) (r *http.Request, body map[string]any) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r = req
		_ = json.NewDecoder(req.Body).Decode(&body) // a GET has none
		_, _ = w.Write([]byte("{}"))
	}))
	defer s.Close()
	t.Setenv("HOTROW_URL", s.URL)
	t.Setenv("HOTROW_LINKS_URL", s.URL)
	mustCommand(t, args...)
	return r, body
}

// A flag takes its value in any of the usual forms, anywhere behind its command.
func TestCommand_TakesFlags(t *testing.T) {
	tests := []struct {
		args string
		want map[string]any
	}{
		{"u --title=a=b", map[string]any{"title": "a=b"}},
		{"--title a u code", map[string]any{"title": "a", "code": "code"}},
		{"u --title a code --title b", map[string]any{"title": "b", "code": "code"}},
		{"--title a -- u -code", map[string]any{"title": "a", "code": "-code"}},
		{"u --title=--json", map[string]any{"title": "--json"}},
		{"u --max -1", map[string]any{"max_clicks": -1.0}},
		{"u --reuse=false --max 0x10", map[string]any{"max_clicks": 16.0}},
		{"u --tag a --tag=b,c", map[string]any{"tags": []any{"a", "b", "c"}}},
		{`u --tag a\,b,"c"`, map[string]any{"tags": []any{"a,b", `"c"`}}},
		{"u --tag a, --tag=", map[string]any{"tags": []any{"a"}}},
	}
	for _, tt := range tests {
		_, body := requestOf(t, append([]string{"links", "add"}, strings.Fields(tt.args)...)...)
		tt.want["url"] = "u"
		if diff := cmp.Diff(tt.want, body); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, diff)
		}
	}
}

// A flag counts more than its variable, which counts more than the default; an empty one
// is none.
func TestCommand_TakesTheEnvironment(t *testing.T) {
	tests := []struct {
		variable string
		args     []string
		want     string
	}{
		{"", nil, ""},
		{"v", nil, "Bearer v"},
		{"v", []string{"--token", "f"}, "Bearer f"},
		{"v", []string{"--token="}, ""},
	}
	for _, tt := range tests {
		t.Setenv("HOTROW_TOKEN", tt.variable)
		r, _ := requestOf(t, append([]string{"get", "a/1"}, tt.args...)...)
		if got := r.Header.Get("Authorization"); got != tt.want {
			t.Errorf("%q, %v: %q, want %q", tt.variable, tt.args, got, tt.want)
		}
	}
	t.Setenv("HOTROW_OPS", "http://127.0.0.1:1")
	for _, args := range [][]string{{"top", "--once"}, {"invalidate", "a"}} {
		if code, _, stderr := command(t, args...); code != 1 || !strings.Contains(stderr, "127.0.0.1:1/") {
			t.Errorf("%v: exit %d, %s", args, code, stderr)
		}
	}
	if help := mustCommand(t, "get", "--help"); strings.Contains(help, "Bearer") ||
		!strings.Contains(help, "($HOTROW_TOKEN)") {
		t.Errorf("help says\n%s", help)
	}
}

// The address of a server may be HOST:PORT. What is no address is told with the right form.
func TestCommand_TakesAddresses(t *testing.T) {
	var asked string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked = req.URL.Path
		_, _ = w.Write([]byte("event: frame\ndata: {\"interval\":1}\n\n"))
	}))
	defer s.Close()
	bare := strings.TrimPrefix(s.URL, "http://")
	for _, tt := range []struct{ path, variable, args string }{
		{"/a/1", "HOTROW_URL", "get a/1 --server"},
		{"/-/invalidate", "HOTROW_OPS", "invalidate a --ops"},
		{"/api/v1/links", "HOTROW_LINKS_URL", "links export --server"},
		{"/-/live", "HOTROW_OPS", "top --once"},
	} {
		args := strings.Fields(tt.args)
		for _, address := range []string{s.URL, bare, s.URL + "/", bare + "/"} {
			asked = ""
			if mustCommand(t, append(args, address)...); asked != tt.path {
				t.Errorf("%s %s asks for %q", tt.args, address, asked)
			}
		}
		for _, wrong := range []string{"localhost", "unix:/run/s", "ftp://h:1", "http://", "http://h:x", "[::1"} {
			code, _, said := command(t, append(args, wrong)...)
			if code != 2 || !strings.Contains(said, "want http://HOST:PORT") || !strings.Contains(said, wrong) {
				t.Errorf("%s %s: exit %d, %s", tt.args, wrong, code, said)
			}
		}
		if i := len(args) - 1; args[i] == "--server" || args[i] == "--ops" {
			args = args[:i]
		}
		t.Setenv(tt.variable, bare)
		if asked = ""; mustCommand(t, args...) == "" || asked != tt.path {
			t.Errorf("%s=%s: %v asks for %q", tt.variable, bare, args, asked)
		}
		t.Setenv(tt.variable, "localhost")
		code, _, said := command(t, args...)
		if code != 2 || !strings.Contains(said, tt.variable+` "localhost": want http://HOST:PORT`) {
			t.Errorf("%s=localhost, %v: exit %d, %s", tt.variable, args, code, said)
		}
		t.Setenv(tt.variable, "")
	}
}

// Every command and group has help, wherever it is asked for.
func TestCommand_HasHelp(t *testing.T) {
	for _, cmd := range leaves(new(program).root()) {
		path := strings.Fields(pathOf(cmd))
		want := mustCommand(t, append(slices.Clone(path), "--help")...)
		if !strings.HasPrefix(want, "Usage: hotrow "+pathOf(cmd)) || !strings.Contains(want, cmd.Short) {
			t.Errorf("%s --help prints\n%s", pathOf(cmd), want)
		}
		for _, args := range [][]string{
			append([]string{"help"}, path...), append([]string{"--help"}, path...), append(path, "-h"),
		} {
			if got := mustCommand(t, args...); got != want {
				t.Errorf("%v prints\n%s\nwant\n%s", args, got, want)
			}
		}
	}
	for _, group := range []string{"links", "links key", "bench"} {
		help := mustCommand(t, append(strings.Fields(group), "--help")...)
		if !strings.HasPrefix(help, "Usage: hotrow "+group+" <command>") || !strings.Contains(help, "\n  "+group+" ") {
			t.Errorf("%s --help prints\n%s", group, help)
		}
	}
}
