package httpfront

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front"
)

const (
	listed   = "https://app.example"
	unlisted = "https://evil.example"
)

func named(o *Options)   { o.Origins = []string{"http://localhost:8000", listed} }
func anyPage(o *Options) { o.Origins = []string{"*"} }

// A pageAsk is a request that a page may send, and the status of its answer.
type pageAsk struct {
	method, path, body string
	code               int
	headers            []string
}

// pageAsks get every sort of answer that is not of a write.
func pageAsks(tag string) []pageAsk {
	return []pageAsk{
		{"GET", "/depts/10", "", 200, nil}, {"HEAD", "/depts/10", "", 200, nil},
		{"GET", "/depts/10", "", 200, []string{"Cache-Control: no-cache"}},
		{"GET", "/depts/10", "", 304, []string{"If-None-Match: " + tag}},
		{"GET", "/depts/10", "", 412, []string{`If-Match: "x"`}},
		{"GET", "/depts/10?format=cbor", "", 200, nil}, {"GET", "/depts/20", "", 200, nil},
		{"GET", "/depts/99", "", 404, nil}, {"GET", "/depts/x", "", 400, nil},
		{"GET", "/depts?limit=2", "", 200, nil}, {"GET", "/depts?deptNumber=in.(10,20)", "", 200, nil},
		{"GET", "/depts?dname=eq.SALES&select=loc", "", 200, nil}, {"GET", "/depts?nope=eq.1", "", 400, nil},
		{"GET", "/depts", "", 206, []string{"Range: 0-0", "Prefer: count=exact"}},
		{"GET", "/depts", "", 416, []string{"Range: 9-9", "Prefer: count=exact"}},
		{"GET", "/", "", 200, nil}, {"GET", "/", "", 200, []string{"Accept: text/html"}},
		{"GET", "/-/problems/not-found", "", 200, nil}, {"GET", "/-/nope", "", 404, nil},
		{"GET", "/nothing/1", "", 404, nil}, {"GET", "/depts/10/", "", 404, nil}, {"GET", "/depts/..", "", 400, nil},
		{"GET", "/depts/10", "", 406, []string{"Accept: text/html"}},
		{"GET", "/depts/10", "", 406, []string{"Accept-Profile: x"}},
		{"GET", "/depts/10", "", 504, []string{"Cache-Control: no-cache, only-if-cached"}},
		{"GET", "/depts/" + strings.Repeat("x", 2049), "", 414, nil},
		{"GET", "/depts/10", "", 421, []string{"Host: evil.example"}},
		{"TRACE", "/depts/10", "", 405, []string{"Sec-Fetch-Site: same-origin"}},
		{"OPTIONS", "/depts/10", "", 204, nil}, {"OPTIONS", "/depts", "", 204, nil}, {"OPTIONS", "/", "", 204, nil},
		{"NOPE", "/depts/10", "", 501, []string{"Sec-Fetch-Site: same-origin"}},
		{"POST", "/log", "{}", 405, []string{"Sec-Fetch-Site: same-origin"}},
		{"POST", "/depts", "{", 400, []string{"Sec-Fetch-Site: same-origin"}},
		{"POST", "/depts", "x", 415, []string{"Sec-Fetch-Site: same-origin", "Content-Type: text/plain"}},
		{"POST", "/depts", `{"dname":"` + strings.Repeat("x", 5000) + `"}`, 413,
			[]string{"Sec-Fetch-Site: same-origin"}},
		{"GET", "/pay/1", "", 401, nil}, {"GET", "/closed/10", "", 403, nil},
	}
}

// crossHeaders returns the headers of an answer that speak of other origins.
func crossHeaders(h http.Header) http.Header {
	found := http.Header{}
	for name, values := range h {
		if strings.HasPrefix(name, "Access-Control-") || name == "Timing-Allow-Origin" {
			found[name] = values
		}
	}
	return found
}

// variesByOrigin reports whether Vary names Origin.
func (a reply) variesByOrigin() bool {
	for _, name := range strings.Split(strings.Join(a.Header.Values("Vary"), ","), ",") {
		if strings.EqualFold(strings.TrimSpace(name), "Origin") {
			return true
		}
	}
	return false
}

// wantCross fails the test unless an answer lets the pages of an origin read it; "" of none.
func (s *site) wantCross(a reply, origin string, vary bool) {
	s.t.Helper()
	got, what := crossHeaders(a.Header), a.method()+" "+a.path()+" "+a.Status
	if allowed := got.Get("Access-Control-Allow-Origin"); allowed != origin {
		s.t.Errorf("%s: pages of %q may read, want %q", what, allowed, origin)
	}
	if a.variesByOrigin() != vary {
		s.t.Errorf("%s: Vary %q", what, a.Header.Values("Vary"))
	}
	exposed := got.Get("Access-Control-Expose-Headers")
	if (exposed == "") != (origin == "") {
		s.t.Errorf("%s: exposes %q", what, exposed)
	}
	exact := origin != "" && origin != "*"
	times := got.Get("Timing-Allow-Origin")
	if strings.Contains(exposed, "Cache-Status") != exact || exact && times != origin || !exact && times != "" {
		s.t.Errorf("%s: exposes %q, timings to %q", what, exposed, times)
	}
	if origin == "" && len(got) > 0 {
		s.t.Errorf("%s: %v", what, got)
	}
	if got["Access-Control-Allow-Credentials"] != nil {
		s.t.Errorf("%s: with credentials", what)
	}
}

// ask asks as a page of an origin does, or as no page.
func (s *site) askFrom(q pageAsk, origin string) reply {
	s.t.Helper()
	headers := q.headers
	if origin != "" {
		headers = append([]string{"Origin: " + origin}, headers...)
	}
	a := s.do(q.method, q.path, q.body, headers...)
	if a.StatusCode != q.code {
		s.t.Errorf("%s %s %q from %q: %d, want %d: %s", q.method, q.path, q.headers, origin, a.StatusCode,
			q.code, a.body)
	}
	return a
}

// Pages of a named origin read every answer, of no other any; and whoever keeps an answer
// knows that it depends on that.
func TestCORS_NamedOrigins(t *testing.T) {
	s := newServer(t, named, compressed)
	tag := s.hot("/depts/10").Header.Get("ETag")
	for range 2 { // the second time lists are in memory
		for _, q := range pageAsks(tag) {
			s.wantCross(s.askFrom(q, listed), listed, true)
			for _, origin := range []string{"", unlisted, "null", "*", "https://app.example.", "http://app.example",
				"https://app.example:443", "https://APP.example", listed + "," + listed} {
				s.wantCross(s.askFrom(q, origin), "", true)
			}
		}
	}
	s.wantCross(s.do("GET", "/depts/10", "", "Origin: "+listed, "Origin: "+listed), "", true)
	secret, token := newToken(t, "r", "reader")
	s.tokens.Set([]front.Token{token})
	a := s.do("GET", "/pay/1", "", "Authorization: Bearer "+secret, "Origin: "+listed)
	s.want(a, 200, "")
	s.wantCross(a, listed, true)
	a = s.do("GET", "/pay/1", "", "Authorization: Bearer "+secret, "Origin: "+unlisted)
	s.want(a, 200, "")
	s.wantCross(a, "", true)
}

// With "*" every page reads what everybody may, and nothing else; answers say so to whoever
// asks, so that a cache may give them to anybody.
func TestCORS_AnyOrigin(t *testing.T) {
	s := newServer(t, anyPage, compressed)
	tag := s.hot("/depts/10").Header.Get("ETag")
	secret, token := newToken(t, "r", "reader")
	s.tokens.Set([]front.Token{token})
	for range 2 {
		for _, q := range pageAsks(tag) {
			want := "*"
			if q.method != "GET" && q.method != "HEAD" || q.path == "/pay/1" || q.path == "/closed/10" {
				want = ""
			}
			for _, origin := range []string{"", unlisted, "null"} {
				s.wantCross(s.askFrom(q, origin), want, false)
			}
		}
		with := []string{"Authorization: Bearer " + secret, "Origin: " + unlisted}
		s.wantCross(s.do("GET", "/pay/1", "", with...), "", false)
		s.wantCross(s.do("GET", "/pay?id=in.(1)", "", with...), "", false)
		s.wantCross(s.do("GET", "/pay?sal=eq.100&limit=1", "", with...), "", false)
		s.wantCross(s.do("GET", "/pay/99", "", with...), "", false)
		s.wantCross(s.do("GET", "/", "", with...), "", false)
		s.wantCross(s.do("GET", "/depts/10", "", with...), "*", false)
	}
}

// Without origins nothing is said of them, a preflight is an OPTIONS as any other, and no
// page of another origin writes.
func TestCORS_IsOffByDefault(t *testing.T) {
	s := newServer(t)
	tag := s.hot("/depts/10").Header.Get("ETag")
	for _, q := range pageAsks(tag) {
		for _, origin := range []string{"", listed} {
			s.wantCross(s.askFrom(q, origin), "", false)
		}
	}
	plain := s.do("OPTIONS", "/depts/10", "")
	asked := s.do("OPTIONS", "/depts/10", "", "Origin: "+listed, "Access-Control-Request-Method: PUT",
		"Access-Control-Request-Headers: content-type")
	if a, b := plain.without(), asked.without(); a != b || plain.Header.Get("Allow") == "" {
		t.Errorf("a preflight is\n%s\nan OPTIONS\n%s", b, a)
	}
	s.want(s.do("PATCH", "/depts/10", `{"loc":"X"}`, "Origin: "+listed), 403, "cross-origin")
}

// A browser that asks first is answered whatever the path and without a token, from memory.
func TestCORS_Preflight(t *testing.T) {
	type want struct{ origin, methods, headers string }
	const all = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
	many := strings.TrimSuffix(strings.Repeat("x-a,", 40), ",")
	for _, tt := range []struct {
		on                      func(*Options)
		origin, method, headers string
		want                    want
	}{
		{named, listed, "PUT", "authorization,content-type", want{listed, all, "authorization, content-type"}},
		{named, listed, "GET", "", want{listed, all, ""}},
		{named, listed, "DELETE", " if-match , ,X-Client-Info", want{listed, all, "if-match, X-Client-Info"}},
		{named, listed, "PUT", "a b,*,x:y,ok,é", want{listed, all, "ok"}},
		{named, listed, "PUT", many, want{listed, all, strings.TrimSuffix(strings.Repeat("x-a, ", 32), ", ")}},
		{named, unlisted, "GET", "authorization", want{}},
		{named, "null", "GET", "", want{}},
		{anyPage, unlisted, "GET", "apikey,authorization", want{"*", "GET, HEAD", "apikey, authorization"}},
		{anyPage, "null", "HEAD", "", want{"*", "GET, HEAD", ""}},
		{anyPage, unlisted, "PUT", "authorization", want{}},
		{anyPage, unlisted, "POST", "content-type", want{}},
	} {
		s := newServer(t, tt.on)
		before := s.handedOver()
		for _, path := range []string{"/depts/10", "/depts", "/pay/1", "/closed/10", "/nothing", "/", "/depts/x"} {
			headers := []string{"Origin: " + tt.origin, "Access-Control-Request-Method: " + tt.method,
				"Access-Control-Request-Private-Network: true", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"}
			if tt.headers != "" {
				headers = append(headers, "Access-Control-Request-Headers: "+tt.headers)
			}
			a := s.do("OPTIONS", path, "", headers...)
			s.want(a, 204, "")
			h := a.Header
			got := want{h.Get("Access-Control-Allow-Origin"), h.Get("Access-Control-Allow-Methods"),
				h.Get("Access-Control-Allow-Headers")}
			if got != tt.want || a.variesByOrigin() != (s.h.live.Load().common != "") {
				t.Errorf("%s from %s for %s with %q: %+v, want %+v; Vary %q", path, tt.origin, tt.method, tt.headers,
					got, tt.want, h.Values("Vary"))
			}
			count := 0
			if tt.want.origin != "" {
				count = 3
				if tt.want.headers != "" {
					count = 4
				}
				if h.Get("Access-Control-Max-Age") != "600" {
					t.Errorf("Max-Age %q", h.Get("Access-Control-Max-Age"))
				}
			}
			if cross := crossHeaders(h); len(cross) != count {
				t.Errorf("%s from %s for %s: %v", path, tt.origin, tt.method, cross)
			}
		}
		if s.handedOver() != before {
			t.Errorf("%d preflights have left the loop", s.handedOver()-before)
		}
		a := s.do("OPTIONS", "/depts/10", "", "Host: evil.example", "Origin: "+tt.origin,
			"Access-Control-Request-Method: GET")
		s.want(a, 421, "misdirected")
		if s.hasLoop() && os.Getenv("HOTROW_TEST_ROAD") != "h2" && os.Getenv("HOTROW_TEST_ROAD") != "h2c" {
			s.sameByNetHTTP(tt.origin, tt.method)
		}
	}
}

// sameByNetHTTP wants the same answer to a preflight that has to leave the loop.
func (s *site) sameByNetHTTP(origin, method string) {
	s.t.Helper()
	ask := "OPTIONS /depts/10 HTTP/1.1\r\nHost: localhost\r\nOrigin: " + origin + "\r\n" +
		"Access-Control-Request-Method: " + method + "\r\n"
	onLoop := s.raw("OPTIONS", ask+"Access-Control-Request-Headers: a, b\r\n\r\n")
	behind := s.raw("OPTIONS", ask+"Access-Control-Request-Headers: a\r\nAccess-Control-Request-Headers: b\r\n\r\n")
	if a, b := onLoop.without(), behind.without(); a != b {
		s.t.Errorf("from net/http\n%s\non the loop\n%s", b, a)
	}
}

// A page of a named origin writes with a token; every other is refused before anything is done.
func TestCORS_Writes(t *testing.T) {
	writes := []pageAsk{
		{method: "PUT", path: "/depts/10", body: `{"dname":"X"}`},
		{method: "PATCH", path: "/depts/20", body: `{"dname":"Y"}`},
		{method: "POST", path: "/depts", body: `{"deptNumber":50,"dname":"Z"}`}, {method: "DELETE", path: "/depts/30"},
	}
	for name, on := range map[string]func(*Options){"named": named, "any": anyPage} {
		s := newServer(t, on)
		secret, token := newToken(t, "w", "writer")
		s.tokens.Set([]front.Token{token})
		bearer := "Authorization: Bearer " + secret
		for _, q := range writes {
			for _, from := range [][]string{{"Origin: " + unlisted}, {"Origin: null"}, {"Sec-Fetch-Site: cross-site"},
				{"Origin: " + unlisted, "Sec-Fetch-Site: same-site"}, {"Origin: " + listed, "Origin: " + listed},
				{"Origin: http://app.example"}, {"Origin: https://app.example:444"}} {
				for _, with := range [][]string{from, append([]string{bearer}, from...)} {
					a := s.do(q.method, q.path, q.body, with...)
					s.want(a, 403, "cross-origin")
					s.wantCross(a, "", name == "named")
				}
			}
			page := []string{"Origin: " + listed, "Sec-Fetch-Site: cross-site"}
			code, slug, allowed := 401, "unauthorized", listed
			if name == "any" {
				code, slug, allowed = 403, "cross-origin", ""
			}
			for _, with := range [][]string{page, append([]string{"Authorization: Bearer nobody"}, page...)} {
				a := s.do(q.method, q.path, q.body, with...)
				s.want(a, code, slug)
				s.wantCross(a, allowed, name == "named")
			}
		}
		for key, loc := range map[string]string{"10": "ACCOUNTING", "20": "RESEARCH", "30": "SALES",
			"50": "not there"} {
			if a := s.do("GET", "/depts/"+key, ""); !strings.Contains(a.body, loc) {
				t.Errorf("%s: a write was done: %s", name, a.body)
			}
		}
		for _, q := range writes {
			a := s.do(q.method, q.path, q.body, bearer, "Origin: "+listed, "Sec-Fetch-Site: cross-site")
			if ok := a.StatusCode < 300; ok != (name == "named") {
				t.Errorf("%s: %s %s: %d %s", name, q.method, q.path, a.StatusCode, a.body)
			}
		}
		// The page's own origin, and no page: as without origins.
		s.want(s.do("PUT", "/depts/40", `{"dname":"P"}`, "Origin: http://"+s.addr), 200, "")
		own := []string{"Sec-Fetch-Site: same-origin", "Origin: http://localhost"}
		s.want(s.do("PUT", "/depts/40", `{"dname":"Q"}`, own...), 200, "")
		s.want(s.do("PUT", "/depts/40", `{"dname":"R"}`), 200, "")
		a := s.do("PATCH", "/pay/1", `{"sal":1}`, bearer, "Origin: "+listed)
		s.want(a, 403, map[string]string{"named": "forbidden", "any": "cross-origin"}[name])
	}
}

// What is answered before there is a request says that it depends on the origin, too.
func TestCORS_AnswersToWhatIsNoRequest(t *testing.T) {
	s := newServer(t)
	road := os.Getenv("HOTROW_TEST_ROAD")
	if !s.hasLoop() || road == "h2" || road == "h2c" {
		return // others make these: see TestServe_AmendsWhatOthersAnswer, TestH2_AmendsItsOwnAnswers
	}
	line := func(target string) string { return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" }
	for raw, code := range map[string]int{
		line("/depts/10") + "bad\r\n\r\n":                       400,
		line("/depts/10") + "A: " + strings.Repeat("x", 20<<10): 431,
		"GET /" + strings.Repeat("x", 9000) + " HTTP/1.1\r\n":   414,
		"GET / HTTP/3.0\r\nHost: localhost\r\n\r\n":             505,
		line("/depts/%zz") + "\r\n":                             400, // of net/http
		line("http://localhost:x/") + "\r\n":                    400,
		"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n":         200,
		line("/depts/10") + "Connection: keep-alive, x\r\n\r\n": 200,
		"GET /depts/10 HTTP/1.0\r\nHost: localhost\r\n\r\n":     200,
		"GET /depts/10 HTTP/1.0\r\n\r\n":                        421,
		"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n":             421,
		line("//depts/10") + "\r\n":                             404,
	} {
		for _, on := range []func(*Options){named, anyPage, func(o *Options) { o.Origins = nil }} {
			o := s.h.live.Load().Options
			on(&o)
			s.h.Configure(o) // as a reload does
			a := s.raw("GET", raw)
			if want := s.h.live.Load().cors.exact(); a.StatusCode != code || a.variesByOrigin() != want {
				t.Errorf("%.80q: %d with Vary %q, want %d, Origin %v", raw, a.StatusCode, a.Header.Values("Vary"),
					code, want)
			}
		}
	}
	if s.trust == nil {
		return
	}
	plain := &site{t: t, addr: s.addr}
	if a := plain.raw("GET", plainGet); a.StatusCode != 400 || a.variesByOrigin() {
		t.Errorf("to who speaks no TLS: %d %v", a.StatusCode, a.Header)
	}
}

// A reload counts from the next request on, on open connections too.
func TestCORS_Reload(t *testing.T) {
	s := newServer(t)
	for _, on := range []struct {
		origins []string
		want    string
	}{{nil, ""}, {[]string{listed}, listed}, {[]string{"*"}, "*"}, {[]string{unlisted}, ""}, {nil, ""}} {
		o := s.h.live.Load().Options
		o.Origins = on.origins
		s.h.Configure(o)
		eventually(t, "a hit", func() bool { // a new wake-up of the loop has begun
			a := s.do("GET", "/depts/10", "", "Origin: "+listed)
			s.wantCross(a, on.want, on.want == listed || on.origins != nil && on.want == "")
			return a.Header.Get("Cache-Status") == "hotrow; hit; detail=mem"
		})
	}
}
