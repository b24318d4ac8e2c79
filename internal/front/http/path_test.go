package httpfront

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

func TestParsePath(t *testing.T) {
	tests := []struct {
		path string
		kind pathKind
		name string
		key  string
		fail *kind // nil: it is good
	}{
		{"/", pathIndex, "", "", nil},
		{"/depts", pathList, "depts", "", nil},
		{"/depts/10", pathDocument, "depts", "10", nil},
		{"/hr.emp/7", pathDocument, "hr.emp", "7", nil},
		{"/de%70ts/1%30", pathDocument, "depts", "1%30", nil},
		{"/a%2Fb/c%2Fd", pathDocument, "a/b", "c%2Fd", nil},
		{"/-", pathSystem, "", "", nil},
		{"/-/problems/x", pathSystem, "/problems/x", "", nil},
		{"/%2D/x", pathSystem, "/x", "", nil},
		{"/depts/", 0, "", "", kindNotFound},
		{"/depts/10/", 0, "", "", kindNotFound},
		{"/depts/10/emps", 0, "", "", kindNotFound},
		{"//depts/10", 0, "", "", kindNotFound},
		{"//", 0, "", "", kindNotFound},
		{"/depts//", 0, "", "", kindNotFound},
		{"/depts/..", 0, "", "", kindBadPath},
		{"/..", 0, "", "", kindBadPath},
		{"/depts/%2e%2E", 0, "", "", kindBadPath},
		{"/depts/.", 0, "", "", kindBadPath},
		{"/depts/%2e%2e%2f", pathDocument, "depts", "%2e%2e%2f", nil}, // the key "../"
		{"/depts/%252e", pathDocument, "depts", "%252e", nil},         // the key "%2e"
		{"/depts/%5c", pathDocument, "depts", "%5c", nil},             // the key `\`
		{"/depts/10;a=b", pathDocument, "depts", "10;a=b", nil},       // no parameters: a key
		{"/depts/%00", 0, "", "", kindBadPath},
		{"/dep%00ts/1", 0, "", "", kindBadPath},
		{"/depts/%c0%ae", 0, "", "", kindBadPath}, // an overlong dot
		{"/depts/%ff", 0, "", "", kindBadPath},
		{"/depts/%zz", 0, "", "", kindBadPath},
		{"/depts/%2", 0, "", "", kindBadPath},
		{"/depts/" + strings.Repeat("9", 8<<10), 0, "", "", kindTooLong},
		{"/" + strings.Repeat("a", 8<<10), 0, "", "", kindTooLong},
		{"*", 0, "", "", kindBadPath},
		{"", 0, "", "", kindBadPath},
	}
	for _, tt := range tests {
		var got target
		err := got.parse(tt.path)
		if tt.fail != nil {
			wantProblem(t, tt.path, err, tt.fail)
			continue
		}
		if want := (target{kind: tt.kind, name: tt.name, key: tt.key}); err != nil || got != want {
			t.Errorf("parse(%q) = %+v, %v; want %+v", tt.path, got, err, want)
		}
	}
}

// wantProblem fails the test unless err is a problem of the kind want.
func wantProblem(t *testing.T, what string, err error, want *kind) {
	t.Helper()
	var p problem
	if !errors.As(err, &p) || p.kind != want {
		t.Errorf("%.60q: error %v, want a problem of the kind %s", what, err, want.Slug)
	}
}

func TestParseKey(t *testing.T) {
	tests := []struct {
		segment string
		n       int
		want    row.Key
		fail    *kind
	}{
		{"10", 1, "10", nil},
		{"Tulsa,OK", 1, "Tulsa,OK", nil},
		{"Tulsa%2COK", 1, "Tulsa,OK", nil},
		{"a+b", 1, "a+b", nil},
		{"Tulsa,OK", 2, "Tulsa,OK", nil},
		{"a%2Cb,c", 2, "a%2Cb,c", nil},
		{"50%25,x", 2, "50%25,x", nil},
		{"%252C,x", 2, "%252C,x", nil}, // the text "%2C", not a comma
		{",", 2, ",", nil},
		{"Tulsa", 2, "", kindBadKey},
		{"a,b,c", 2, "", kindBadKey},
		{"a%2Cb", 2, "", kindBadKey},
		{"a,%00", 2, "", kindBadPath},
		{"a,%ff", 2, "", kindBadPath},
		{strings.Repeat("%2C", 1000) + "," + strings.Repeat("%2C", 1000), 2, "", kindTooLong},
	}
	for _, tt := range tests {
		got, err := parseKey(tt.segment, tt.n)
		if tt.fail != nil {
			wantProblem(t, tt.segment, err, tt.fail)
		} else if err != nil || got != tt.want {
			t.Errorf("parseKey(%q, %d) = %q, %v; want %q", tt.segment, tt.n, got, err, tt.want)
		}
	}
}

func TestDocumentPath(t *testing.T) {
	tests := []struct {
		name string
		key  row.Key
		n    int
		want string
	}{
		{"depts", "10", 1, "/depts/10"},
		{"cities", "Tulsa,OK", 2, "/cities/Tulsa,OK"},
		{"cities", "a%2Cb,c/d", 2, "/cities/a%2Cb,c%2Fd"},
		{"a b", "50%;x?#", 1, "/a%20b/50%25%3Bx%3F%23"},
		{"depts", "\r\n\"<>", 1, "/depts/%0D%0A%22%3C%3E"},
	}
	for _, tt := range tests {
		if got := DocumentPath(tt.name, tt.key, tt.n); got != tt.want {
			t.Errorf("DocumentPath(%q, %q, %d) = %q, want %q", tt.name, tt.key, tt.n, got, tt.want)
		}
	}
}

// FuzzPath holds that no path panics, and that the path that links use for a
// document leads back to it.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"depts/10", "a/..", "a/%2e%2e%2f", "a/%252e", "a/%c0%ae", "/", "-/x",
		"a/b,c", "a/%2C,%25", "a/;a=b", "%2D/x", "a/b/c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := url.ParseRequestURI("/" + s)
		if err != nil {
			return
		}
		var p, again target
		if p.parse(u.EscapedPath()) != nil || p.kind != pathDocument {
			return
		}
		for n := 1; n <= 2; n++ {
			key, err := parseKey(p.key, n)
			if err != nil {
				continue
			}
			link := DocumentPath(p.name, key, n)
			if err := again.parse(link); err != nil {
				t.Fatalf("%q -> %q: %v", s, link, err)
			}
			back, err := parseKey(again.key, n)
			if err != nil || back != key || again.name != p.name {
				t.Fatalf("%q -> %q -> %q, %q, %v; want %q, %q",
					s, link, again.name, back, err, p.name, key)
			}
		}
	})
}
