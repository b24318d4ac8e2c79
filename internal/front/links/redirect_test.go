package linksfront

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wanted is what a path is answered with.
type wanted struct {
	path     string
	code     int
	location string
}

// redirects are the rows of the tables of redirects: whatever is asked, a target
// is that of the link, and nothing else is one.
var redirects = []wanted{
	{"/asdf", 301, "https://davidkroell.github.io"},
	{"/plain", 302, "https://example.com/a"},
	{"/PlAiN", 302, "https://example.com/a"},
	{"/%70lain", 302, "https://example.com/a"},
	{"/plain/", 302, "https://example.com/a"},
	{"/plain.", 302, "https://example.com/a"},
	{"/plain).", 302, "https://example.com/a"},
	{"/plain!?", 302, "https://example.com/a"},
	{"/plain%22", 302, "https://example.com/a"},
	{"/plain,/", 302, "https://example.com/a"},
	{"/plain?x=1", 302, "https://example.com/a?x=1"},
	{"/plain?x=%0d%0aSet-Cookie:%20a=b", 302,
		"https://example.com/a?x=%0d%0aSet-Cookie:%20a=b"},
	{"/plain?redir_url=https://evil.example", 302,
		"https://example.com/a?redir_url=https://evil.example"},
	{"/plain?url=//evil.example&next=x", 302, "https://example.com/a?url=//evil.example&next=x"},
	{"/plain?a=%2F&b=%c3%a9+x", 302, "https://example.com/a?a=%2F&b=%c3%a9+x"},
	{"/plain?", 302, "https://example.com/a"},
	{"/plain#f", 302, "https://example.com/a"},
	{"/query", 302, "https://example.com/a?x=1&y=2#frag"},
	{"/query?x=9&z=3&y", 302, "https://example.com/a?x=1&y=2&z=3#frag"},
	{"/noquery?x=1", 302, "https://example.com/a"},
	{"/path", 302, "https://example.com/base"},
	{"/path/a%2Fb/c", 302, "https://example.com/base/a%2Fb/c"},
	{"/path/a?q=1", 302, "https://example.com/base/a?q=1"},
	{"/path/\\evil.com", 302, "https://example.com/base/%5Cevil.com"},
	{"/path/a\xc3\xa4|{}", 302, "https://example.com/base/a%C3%A4|{}"},
	{"/path/a#f", 302, "https://example.com/base/a%23f"},
	{"/path/a?q=\xff\\&r=\"<>", 302, "https://example.com/base/a?q=%FF%5C&r=%22%3C%3E"},
	{"/path/a/.../b/..c/.", 302, "https://example.com/base/a/.../b/..c/."},
	{"/path/..", 404, ""},
	{"/path/a/../../b", 404, ""},
	{"/path/a/%2E%2e/b?q=1", 404, ""},
	{"/path/.%2e", 404, ""},
	{"/plain/rest", 404, ""},
	{"/temp", 307, "https://example.com/t"},
	{"/perm", 308, "https://example.com/p"},
	{"/htl-vil_1", 302, "https://example.com/h"},
	{"/zero", 302, "https://example.com/z"},
	{"/escapes", 302, "https://example.com/%0d%0aSet-Cookie:%20a=b"},
	{"/off", 404, ""},
	{"/later", 404, ""},
	{"/over", 410, ""},
	{"/overto", 302, "https://example.org/gone"},
	{"/script", 404, ""},
	{"/empty", 404, ""},
	{"/nothing", 404, ""},
	{"/-plain", 404, ""},
	{"/" + strings.Repeat("x", 65), 404, ""},
	{"/%2e%2e/x", 404, ""},
	{"/%5cevil.com", 404, ""},
	{"/asdf%00", 404, ""},
	{"/asdf%0d%0aX:y", 404, ""},
	{"//evil.com/..", 404, ""},
	{"/\\evil.com", 404, ""},
	{"/plain;x", 404, ""},
}

// roads are the ways that a request can take: an unknown header is one that
// the event loop leaves to net/http.
var roads = []struct {
	name       string
	goroutines bool
	header     []string
}{{"loop", false, nil}, {"goroutine", true, nil}, {"full", false, []string{"Connection: keep-alive, x"}}}

func testRedirects(t *testing.T, db database) {
	for _, road := range roads {
		t.Run(road.name, func(t *testing.T) {
			b := newBed(t, db, nil)
			b.serve(road.goroutines)
			for range 2 { // the second from memory
				for _, w := range redirects {
					b.want(w, road.header...)
				}
			}
		})
	}
}

// want asks for a path and compares the answer.
func (b *bed) want(w wanted, headers ...string) {
	b.t.Helper()
	for _, method := range []string{"GET", "HEAD"} {
		a := b.do(method, w.path, headers...)
		if a.StatusCode != w.code || a.location() != w.location {
			b.t.Errorf("%s %.80s = %d to %q, want %d to %q", method, w.path, a.StatusCode,
				a.location(), w.code, w.location)
		}
		if a.Header.Get("Set-Cookie") != "" || len(a.Header["Date"]) != 1 {
			b.t.Errorf("%s %.80s: header %v", method, w.path, a.Header)
		}
	}
}

func TestRedirects(t *testing.T)          { testRedirects(t, databases()[0]) }
func TestPostgres_Redirects(t *testing.T) { testRedirects(t, databases()[1]) }
func TestMariaDB_Redirects(t *testing.T)  { testRedirects(t, databases()[2]) }

func TestRedirect_HasNoOtherHeaders(t *testing.T) {
	b := newBed(t, databases()[0], nil)
	b.serve(false)
	for _, path := range []string{"/plain", "/plain?x=1", "/asdf"} {
		var seen []string
		for _, headers := range [][]string{nil, nil, {"Connection: keep-alive, x"}} {
			a := b.do("GET", path, headers...)
			delete(a.Header, "Date")
			seen = append(seen, fmt.Sprint(a.Status, a.Header, a.ContentLength, a.body))
		}
		if seen[0] != seen[1] || seen[1] != seen[2] {
			t.Errorf("%s depends on the road:\n%s", path, strings.Join(seen, "\n"))
		}
	}
	a := b.do("GET", "/plain")
	if got := fmt.Sprint(len(a.Header), a.Header["X-Robots-Tag"], a.ContentLength); got !=
		"4 [noindex] 0" {
		t.Errorf("302: %v", a.Header)
	}
	if got := b.do("GET", "/asdf").Header.Get("Cache-Control"); got != "private, max-age=90" {
		t.Errorf("301: Cache-Control %q", got)
	}
	if got := b.do("GET", "/temp").Header.Get("Cache-Control"); got != "" {
		t.Errorf("307: Cache-Control %q", got)
	}
}

// A browser does not keep a redirect for longer than the link leads anywhere, and one that
// is counted off not at all.
func TestRedirect_IsKeptNoLongerThanItsLink(t *testing.T) {
	b := newBed(t, databases()[0], nil)
	b.serve(false)
	now := time.Now().UnixMilli()
	b.sql(fmt.Sprintf(`INSERT INTO links (id, code, url, status, enabled, pass_query, pass_path,
		starts_at, expires_at, max_clicks, expired_url) VALUES
		(101, 'kept1', 'https://example.com/s', 301, 1, 1, 1, NULL, %d, NULL, NULL),
		(102, 'kept2', 'https://example.com/l', 308, 1, 1, 1, NULL, %d, NULL, NULL),
		(103, 'kept3', 'https://example.com/o', 301, 1, 1, 1, NULL, %d, 50, NULL),
		(104, 'kept4', 'https://example.com/b', 302, 1, 1, 1, NULL, %[1]d, NULL, NULL)`,
		now+30_000, now+3_600_000, now+30_000))
	b.eventually("the links are there", func() bool { return b.do("GET", "/kept4").StatusCode == 302 })
	for path, want := range map[string]string{"/kept2": "private, max-age=90", "/kept4": "",
		"/kept3": "private, no-store", "/kept3/more?a=b": "private, no-store"} {
		for range 3 { // each road
			if got := b.do("GET", path).Header.Get("Cache-Control"); got != want {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
		}
	}
	for _, path := range []string{"/kept1", "/kept1?x=y", "/kept1/rest", "/kept1"} {
		a := b.do("GET", path)
		left := (now + 30_000 - time.Now().UnixMilli()) / 1000
		text, ok := strings.CutPrefix(a.Header.Get("Cache-Control"), "private, max-age=")
		age, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil || age < left || age > 30 || !strings.HasPrefix(a.location(), "https://example.com/s") {
			t.Errorf("%s: %v, with %d s left", path, a.Header, left)
		}
	}
}

func TestRedirect_Methods(t *testing.T) {
	b := newBed(t, databases()[0], nil)
	b.serve(false)
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		a := b.do(method, "/plain")
		if a.StatusCode != 405 || a.Header.Get("Allow") != "GET, HEAD" || a.location() != "" {
			t.Errorf("%s = %s %v", method, a.Status, a.Header)
		}
		if a := b.do(method, "/temp"); a.StatusCode != 307 || a.location() != "https://example.com/t" {
			t.Errorf("%s of a 307 = %s %v", method, a.Status, a.Header)
		}
		if a := b.do(method, "/once"); a.StatusCode != 405 {
			t.Errorf("%s = %s", method, a.Status)
		}
	}
	if a := b.do("GET", "/once"); a.StatusCode != 302 {
		t.Errorf("a refused method has taken the one redirect: %s", a.Status)
	}
}

// What has no code is for others, as it was sent.
func TestRedirect_LeavesTheRestToOthers(t *testing.T) {
	b := newBed(t, databases()[0], nil)
	b.serve(false)
	for path, body := range map[string]string{
		"/": "page GET /", "/+": "page GET /+", "/plain+": "page GET /plain+",
		"/plain.svg": "page GET /plain.svg", "/plain.png?s=3": "page GET /plain.png?s=3",
		"/-/app.js": "page GET /-/app.js", "/api/v1/links": "api GET /api/v1/links",
		"/API": "page GET /API", "/auth/new": "api GET /auth/new",
		"/.well-known/x": "page GET /.well-known/x", "/robots.txt": "User-agent: *\nDisallow: /\n",
	} {
		if a := b.do("GET", path); a.StatusCode != 200 || a.body != body {
			t.Errorf("%s = %s %q, want %q", path, a.Status, a.body, body)
		}
	}
	if a := b.do("POST", "/api/v1/links"); a.body != "api POST /api/v1/links" {
		t.Errorf("POST = %q", a.body)
	}
}

func TestRedirect_HugePathHasNoTarget(t *testing.T) {
	b := newBed(t, databases()[0], nil)
	b.serve(false)
	for _, n := range []int{7000, 9000, 64 << 10} {
		a := b.do("GET", "/"+strings.Repeat("a", n))
		if a.StatusCode < 400 || a.StatusCode >= 500 || a.location() != "" {
			t.Errorf("%d bytes: %s to %q", n, a.Status, a.location())
		}
	}
}

// A header of more than 16 KiB is refused, and leads nowhere.
func TestRedirect_HugeHeaderIsRefused(t *testing.T) {
	b := newBed(t, databases()[0], nil)
	b.serve(false)
	a := b.do("GET", "/plain", "Cookie: "+strings.Repeat("a", 17<<10))
	if a.StatusCode != 431 || a.location() != "" {
		t.Errorf("%s to %q, want 431", a.Status, a.location())
	}
}

// Whoever tries codes does not learn which are taken: a link that is off, one that
// has not begun and none at all are the same to him.
func TestMiss_TellsNothing(t *testing.T) {
	b := newBed(t, databases()[0], nil)
	b.serve(false)
	for _, road := range roads {
		for _, accept := range []string{"text/html", "application/json"} {
			said := func(path string) string {
				a := b.do("GET", path, append(road.header, "Accept: "+accept)...)
				a.Header.Del("Date")
				a.Header.Del("Content-Length") // the page has the code that was asked for
				return fmt.Sprint(a.Status, a.Header, strings.ReplaceAll(a.body, path, "/CODE"))
			}
			want := said("/nothing")
			for _, path := range []string{"/off", "/later", "/script"} {
				if got := said(path); got != want {
					t.Errorf("%s road, %s:\n%s\nwant\n%s", road.name, path, got, want)
				}
			}
		}
	}
}

// A pipeline of everything comes back in order.
func TestRedirect_Pipeline(t *testing.T) {
	b := newBed(t, databases()[0], nil)
	b.serve(false)
	get := func(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n" }
	raw := get("/asdf") + get("/plain") + get("/asdf") + get("/nothing") + get("/plain.") +
		"POST /api/v1/links HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}" +
		get("/once") + get("/once") + get("/+") + get("/temp")
	codes := []int{301, 302, 301, 404, 302, 200, 302, 410, 200, 307}
	methods := make([]string, len(codes))
	for i := range methods {
		methods[i] = "GET"
	}
	for i, a := range b.send(raw, methods...) {
		if a.StatusCode != codes[i] {
			t.Errorf("answer %d = %s, want %d", i, a.Status, codes[i])
		}
	}
}

func TestRedirect_UnknownHost(t *testing.T) {
	b := newBed(t, databases()[0], func(s *Settings) { s.Hosts = []string{"s.example"} })
	b.serve(false)
	for host, code := range map[string]int{"s.example": 302, "S.EXAMPLE:80": 302, "evil.example": 421,
		"127.0.0.1": 302} {
		raw := "GET /plain HTTP/1.1\r\nHost: " + host + "\r\n\r\n"
		for i, a := range b.send(raw+raw, "GET", "GET") {
			if a.StatusCode != code {
				t.Errorf("%s, request %d = %s, want %d", host, i, a.Status, code)
			}
		}
	}
}

func TestRedirect_AbsentAsTheOperatorSays(t *testing.T) {
	b := newBed(t, databases()[0], func(s *Settings) { s.MissURL = "https://example.net/?no" })
	b.serve(false)
	for _, path := range []string{"/nothing", "/off"} {
		if a := b.do("GET", path); a.StatusCode != 302 || a.location() != "https://example.net/?no" {
			t.Errorf("%s = %s to %q", path, a.Status, a.location())
		}
	}
	plain := newBed(t, databases()[0], func(s *Settings) { s.Own = true })
	plain.serve(false)
	for i := range 5 { // the seed lost the status after the first one
		a := plain.do("GET", "/nothing", "Accept: application/json")
		if a.StatusCode != 404 || a.Header.Get("Content-Type") != "application/problem+json" ||
			!strings.Contains(a.body, `"status":404`) {
			t.Fatalf("answer %d: %s %v %s", i, a.Status, a.Header, a.body)
		}
	}
	nothing, off := plain.do("GET", "/nothing"), plain.do("GET", "/off")
	if strings.ReplaceAll(nothing.body, "/nothing", "/off") != off.body ||
		!strings.Contains(off.body, "<h1>There is no such link") {
		t.Errorf("who guesses can tell:\n%s\n%s", nothing.body, off.body)
	}
	for path, want := range map[string]string{
		"/off":   "<code>/off</code><h1>There is no such link",
		"/later": `href="/later+">About`,
		"/over":  "<code>/over</code><h1>This link is no longer in use",
	} {
		if a := plain.do("GET", path); !strings.Contains(a.body, want) {
			t.Errorf("%s lacks %s:\n%s", path, want, a.body)
		}
	}
	own := newBed(t, databases()[0], func(s *Settings) { s.MissCode, s.MissPath = "code", "path" })
	own.serve(false)
	for path, want := range map[string]string{
		"/nothing": "code", "/!": "path", "/a+b/c": "path",
	} {
		if a := own.do("GET", path, "Accept: application/json"); a.StatusCode != 404 || a.body != want ||
			a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s, in the words of another program: %s %v %s", path, a.Status, a.Header, a.body)
		}
		if a := own.do("GET", path, "Accept: application/json, */*"); !strings.Contains(a.body, "problems") {
			t.Errorf("%s, for others: %s", path, a.body)
		}
	}
	if a := plain.do("GET", "/<script>alert(1)</script>"); strings.Contains(a.body, "alert") {
		t.Errorf("the page repeats what was asked: %s", a.body)
	}
}
