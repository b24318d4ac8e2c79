package httpfront

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/explore"
	"github.com/hotrow/hotrow/internal/front"
)

// browser is what browsers accept.
const browser = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// wantHeaders fails unless an answer has these header lines.
func wantHeaders(t *testing.T, a reply, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := strings.Join(a.Header.Values(name), ", "); got != value {
			t.Errorf("%s: %s %q, want %q", a.Request.URL, name, got, value)
		}
	}
}

func TestExplore_ABrowserGetsThePageAtTheRoot(t *testing.T) {
	s := newServer(t)
	bound := map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; " +
			"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
			"require-trusted-types-for 'script'",
		"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy": "no-referrer",
	}
	page := s.do("GET", "/", "", browser)
	s.want(page, 200, "")
	wantHeaders(t, page, bound)
	wantHeaders(t, page, map[string]string{"Vary": "Accept", "Cache-Control": "no-store",
		"Content-Type": "text/html; charset=utf-8"})
	for _, accept := range []string{"*/*", "application/json"} {
		a := s.do("GET", "/", "", "Accept: "+accept)
		s.want(a, 200, "")
		wantHeaders(t, a, map[string]string{"Vary": "Accept, Authorization, apikey",
			"Content-Type": "application/json"})
	}
	s.want(s.do("GET", "/depts", "", "Accept: text/html"), 406, "not-acceptable")
	for name, file := range explore.Files {
		if name == explore.Page {
			s.want(s.do("GET", "/-/explore/"+name, ""), 404, "not-found")
			continue
		}
		if !strings.Contains(page.body, `"-/explore/`) {
			t.Errorf("the page asks for no files: %s", page.body)
		}
		a := s.do("GET", "/-/explore/"+name, "", browser)
		s.want(a, 200, "")
		wantHeaders(t, a, bound)
		wantHeaders(t, a, map[string]string{"Cache-Control": "no-cache", "Content-Type": file.Type,
			"Etag": file.Tag})
		if a.body != string(file.Body) {
			t.Errorf("%s is another file", name)
		}
		s.want(s.do("GET", "/-/explore/"+name, "", "If-None-Match: "+file.Tag), 304, "")
		s.want(s.do("POST", "/-/explore/"+name, "{}"), 405, "method-not-allowed")
	}
	for _, path := range []string{"/-/explore", "/-/explore/", "/-/explore/x.js", "/-/explore/../tables"} {
		s.want(s.do("GET", path, "", browser), 404, "not-found")
	}
	s.want(s.do("GET", "/", "", browser, "Host: rebound.example"), 421, "misdirected")
	s.want(s.do("GET", "/-/explore/tables", "", "Host: rebound.example"), 421, "misdirected")
}

// TestExplore_TellsOfWhatMayBeRead: tables and relations are those that the token opens, and
// columns those of documents.
func TestExplore_TellsOfWhatMayBeRead(t *testing.T) {
	s := newServer(t)
	secret, token := newToken(t, "bob", "reader")
	s.tokens.Set([]front.Token{token})
	ask := func(headers ...string) map[string]tableView {
		a := s.do("GET", "/-/explore/tables", "", headers...)
		s.want(a, 200, "")
		wantHeaders(t, a, map[string]string{"Cache-Control": "no-store",
			"Cross-Origin-Resource-Policy": "same-origin"})
		var told struct{ Tables []tableView }
		if err := json.Unmarshal([]byte(a.body), &told); err != nil {
			t.Fatalf("%v: %s", err, a.body)
		}
		byName := map[string]tableView{}
		for _, v := range told.Tables {
			byName[v.Name] = v
		}
		return byName
	}
	all := ask()
	if v := all["depts"]; !slices.Equal(v.Key, []string{"deptNumber"}) || !v.Edit || !v.Watch || !v.Query ||
		v.Max != 3 || len(v.Columns) != 3 || v.Columns[0] != (columnView{"deptNumber", "integer", true}) {
		t.Errorf("depts: %+v", v)
	}
	if v := all["log"]; v.Edit {
		t.Errorf("log can be edited: %+v", v)
	}
	if _, ok := all["pay"]; ok {
		t.Error("everybody is told of pay")
	}
	if v, ok := ask("Authorization: Bearer " + secret)["pay"]; !ok || v.Edit {
		t.Errorf("a reader is told of pay: %t, %+v", ok, v)
	}
}
