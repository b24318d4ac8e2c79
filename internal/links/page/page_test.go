package page

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// send sends a request and returns the answer and its body. Redirects are not
// followed.
func send(t *testing.T, req *http.Request) (*http.Response, string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func request(t *testing.T, method, address string, form url.Values, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

func TestPage_HeadersAreStrict(t *testing.T) {
	_, srv := newPage(t)
	for _, path := range []string{"/+", "/spring+", "/nothing+", "/+/import", "/+/style.css"} {
		resp, _ := send(t, request(t, "GET", srv.URL+path, nil))
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; " +
				"img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}

// An address of ours that has nothing is answered by a page, too.
func TestPage_NoSuchPage(t *testing.T) {
	_, srv := newPage(t)
	for _, path := range []string{"/+/nosuch", "/+/nosuch/deeper", "/+x/y"} {
		resp, body := send(t, request(t, "GET", srv.URL+path, nil))
		if resp.StatusCode != 404 || !strings.Contains(body, "<h1>There is no such page</h1>") ||
			!strings.Contains(resp.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %.80s", path, resp.StatusCode, body)
		}
	}
}

// TestPage_HasNothingInline: what the policy forbids would not work.
func TestPage_HasNothingInline(t *testing.T) {
	_, srv := newPage(t)
	for _, path := range []string{"/+", "/spring+", "/+/import"} {
		_, body := send(t, request(t, "GET", srv.URL+path, nil))
		for _, bad := range []string{"<style", " style=", "<script>", " onclick=", "javascript:"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
		for _, part := range strings.Split(body, `<a class="target"`)[1:] {
			tag, _, _ := strings.Cut(part, ">")
			if !strings.Contains(tag, ` rel="noopener noreferrer nofollow"`) ||
				!strings.Contains(tag, ` href="http`) {
				t.Errorf("%s leads to a target by <a%s>", path, tag)
			}
		}
	}
}

func TestPage_OtherSitesChangeNothing(t *testing.T) {
	api, srv := newPage(t)
	n := len(api.links)
	form := url.Values{"url": {"https://example.com/evil"}, "do": {"delete"}}
	for _, path := range []string{"/+", "/spring+", "/+/session", "/+/import", "/api/v1/links"} {
		for _, header := range [][]string{
			{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"},
		} {
			resp, _ := send(t, request(t, "POST", srv.URL+path, form, header...))
			if resp.StatusCode != http.StatusForbidden {
				t.Errorf("POST %s with %v: %d", path, header, resp.StatusCode)
			}
		}
	}
	if len(api.links) != n {
		t.Errorf("%d links became %d", n, len(api.links))
	}
}

func TestPage_KeyIsInACookieThatNobodyElseSends(t *testing.T) {
	api := newStandIn()
	api.key = "hr_0123456789abcdef"
	p, err := New(Options{API: api, BaseURL: "https://s.example"})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(p)
	defer srv.Close()
	if resp, body := send(t, request(t, "GET", srv.URL+"/spring+", nil)); resp.StatusCode != 401 ||
		strings.Contains(body, "example.com/spring") {
		t.Errorf("without a key: %d", resp.StatusCode)
	}
	if resp, _ := send(t, request(t, "GET", srv.URL+"/spring+?key="+api.key, nil)); resp.StatusCode != 401 {
		t.Errorf("a key in the query is taken: %d", resp.StatusCode)
	}
	for _, bad := range []string{"", "short", "hr_wrong0123456789", "hr_a b; Path=/", strings.Repeat("x", 300)} {
		resp, _ := send(t, request(t, "POST", srv.URL+"/+/session", url.Values{"key": {bad}}))
		if resp.StatusCode != 401 || len(resp.Cookies()) != 0 {
			t.Errorf("the key %.20q: %d, %v", bad, resp.StatusCode, resp.Cookies())
		}
	}
	resp, _ := send(t, request(t, "POST", srv.URL+"/+/session", url.Values{
		"key": {api.key}, "back": {"//evil.example/"},
	}))
	if resp.StatusCode != 303 || resp.Header.Get("Location") != "/+" || len(resp.Cookies()) != 1 {
		t.Fatalf("signing in: %d to %s", resp.StatusCode, resp.Header.Get("Location"))
	}
	c := resp.Cookies()[0]
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode {
		t.Errorf("the cookie is %v", c)
	}
	cookie := c.Name + "=" + c.Value
	if resp, _ := send(t, request(t, "GET", srv.URL+"/spring+", nil, "Cookie", cookie)); resp.StatusCode != 200 {
		t.Errorf("with the cookie: %d", resp.StatusCode)
	}
	if resp, _ := send(t, request(t, "GET", srv.URL+"/api/v1/links", nil, "Cookie", cookie)); resp.StatusCode != 200 {
		t.Errorf("the API with the cookie: %d", resp.StatusCode)
	}
	resp, _ = send(t, request(t, "POST", srv.URL+"/+/session", url.Values{"do": {"out"}}, "Cookie", cookie))
	if got := resp.Cookies(); len(got) != 1 || got[0].MaxAge >= 0 || got[0].Value != "" {
		t.Errorf("signing out leaves %v", got)
	}
}

func TestPage_RefusalsKeepWhatWasTyped(t *testing.T) {
	api, srv := newPage(t)
	tests := []struct {
		form   url.Values
		status int
		want   []string
	}{
		{url.Values{"url": {"javascript:alert(1)"}, "title": {"My title"}}, 422,
			[]string{"must begin with https://", `value="javascript:alert(1)"`, `value="My title"`}},
		{url.Values{"url": {"https://example.com/other"}, "code": {"spring"}}, 409,
			[]string{"already points to another URL", `href="/spring+"`, `value="https://example.com/other"`}},
		{url.Values{"url": {"https://example.com/"}, "expires_at": {"soon"}}, 422, []string{"is not a date and time"}},
		{url.Values{"url": {"https://example.com/"}, "max_clicks": {"many"}}, 422, []string{"is not a number"}},
	}
	n := len(api.links)
	for _, tt := range tests {
		resp, body := send(t, request(t, "POST", srv.URL+"/+", tt.form))
		if resp.StatusCode != tt.status {
			t.Errorf("%v: %d, want %d", tt.form, resp.StatusCode, tt.status)
		}
		for _, want := range tt.want {
			if !strings.Contains(body, want) {
				t.Errorf("%v: the page lacks %q", tt.form, want)
			}
		}
	}
	if len(api.links) != n {
		t.Errorf("%d links became %d", n, len(api.links))
	}
}

func TestPage_MissedCodeOpensTheForm(t *testing.T) {
	_, srv := newPage(t)
	resp, body := send(t, request(t, "GET", srv.URL+"/sprng+", nil))
	if resp.StatusCode != 404 || !strings.Contains(body, `value="sprng"`) {
		t.Errorf("%d; the form has the code: %v", resp.StatusCode, strings.Contains(body, `value="sprng"`))
	}
}

// TestPage_EditsOnlyWhatWasSeen: two people who edit one link do not undo each
// other's work.
func TestPage_EditsOnlyWhatWasSeen(t *testing.T) {
	api, srv := newPage(t)
	save := func(tag, target string) int {
		resp, _ := send(t, request(t, "POST", srv.URL+"/spring+", url.Values{
			"do": {"save"}, "etag": {tag}, "url": {target}, "enabled": {"1"}, "tags": {"a, b"},
		}))
		return resp.StatusCode
	}
	if got := save(`"0"`, "https://example.com/first"); got != 303 {
		t.Errorf("the first: %d", got)
	}
	if got := save(`"0"`, "https://example.com/second"); got != 412 {
		t.Errorf("the second: %d", got)
	}
	l := api.find("spring")
	if tags, _ := json.Marshal(l["tags"]); l["url"] != "https://example.com/first" || string(tags) != `["a","b"]` {
		t.Errorf("it is %v", l)
	}
	if l["expires_at"] != nil || l["title"] != nil || l["pass_query"] != false {
		t.Errorf("what the form left empty is still there: %v", l)
	}
}

func TestPage_ImportsAFile(t *testing.T) {
	api, srv := newPage(t)
	text, err := os.ReadFile("../transfer/testdata/yourls.sql")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "INSERT INTO yourls_url VALUES ('spring','https://example.com/','','','',0);\n"...)
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	if err := w.WriteField("from", "yourls"); err != nil {
		t.Fatal(err)
	}
	part, err := w.CreateFormFile("file", "dump.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write(text)
	_ = w.Close()
	req, err := http.NewRequest("POST", srv.URL+"/+/import", &form)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	resp, body := send(t, req)
	if resp.StatusCode != 200 || !strings.Contains(body, "3 of 4 links imported") ||
		!strings.Contains(body, "it is taken") {
		t.Errorf("%d\n%s", resp.StatusCode, body)
	}
	if api.find("ozh") == nil {
		t.Error("the link is not there")
	}
}

func TestPage_Handles(t *testing.T) {
	p := &Page{}
	for path, want := range map[string]bool{
		"/+": true, "/+/style.css": true, "/spring+": true, "/spring.svg": true, "/spring.png": true,
		"/api/v1/links": true,
		"/spring":       false, "/": false, "/a/b+": false, "/a.b+": false, "/spring.gif": false,
	} {
		if got := p.Handles(path); got != want {
			t.Errorf("Handles(%q) = %v", path, got)
		}
	}
}

func TestFormats(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 88213904: "88,213,904", -1234: "−1,234"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %s", n, got)
		}
	}
	for n, want := range map[int64]string{
		0: "0", 950: "950", 1200: "1.2k", 2000: "2k", 34567: "34k", 5e6: "5M", 7e9: "7G",
	} {
		if got := short(n); got != want {
			t.Errorf("short(%d) = %s", n, got)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "now", 2 * time.Second: "2 s ago", 3 * time.Minute: "3 min ago", 26 * time.Hour: "1 d ago",
		100 * 24 * time.Hour: "13 Aug 2026",
	} {
		if got := ago(noon, noon.Add(-d)); got != want {
			t.Errorf("ago(%v) = %s", d, got)
		}
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "expired", 90 * time.Second: "in 2 min", 5 * time.Hour: "in 5 h", 40 * 24 * time.Hour: "31 Dec",
		400 * 24 * time.Hour: "26 Dec 2027",
	} {
		if got := until(noon, noon.Add(d)); got != want {
			t.Errorf("until(%v) = %s", d, got)
		}
	}
}

func TestDraw_FillsGapsAndRoundsUp(t *testing.T) {
	c := draw("day", []bucket{{"2026-11-21", 1500, 90, 1211}, {"2026-11-19", 3, 0, 3}, {"nonsense", 9, 9, 9}}, noon)
	if len(c.Bars) != 30 || c.Total != (totals{1503, 90, 1214}) {
		t.Errorf("%d bars, %+v", len(c.Bars), c.Total)
	}
	if c.Bars[28].Clicks != 0 || c.Bars[29].Clicks != 1500 || c.Bars[27].Clicks != 3 {
		t.Errorf("the last three: %+v", c.Bars[27:])
	}
	if got := c.Ticks[0].Text + c.Ticks[1].Text + c.Ticks[2].Text; got != "2k1k0" {
		t.Errorf("the axis: %s", got)
	}
	if got := len(draw("hour", nil, noon).Bars); got != 48 {
		t.Errorf("%d hours", got)
	}
	if got := len(draw("month", nil, noon).Bars); got != 12 {
		t.Errorf("%d months", got)
	}
	for n, want := range map[int64]int64{0: 2, 2: 2, 3: 4, 5: 6, 11: 20, 50_001: 60_000, 99: 100, 1 << 62: 6e18} {
		if got := roundUp(n); got != want {
			t.Errorf("roundUp(%d) = %d, want %d", n, got, want)
		}
	}
}

// A list asks the API once for the weeks of all of its links.
func TestPage_ListAsksOnceForItsWeeks(t *testing.T) {
	api := newStandIn()
	var stats, lists atomic.Int64
	p, err := New(Options{
		API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/stats") {
				stats.Add(1)
			}
			if r.URL.Path == "/api/v1/links" && r.URL.Query().Get("days") == "7" {
				lists.Add(1)
			}
			api.ServeHTTP(w, r)
		}),
		BaseURL: "https://s.example", Now: func() time.Time { return noon },
	})
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	p.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/+", nil))
	if stats.Load() != 0 || lists.Load() != 1 {
		t.Errorf("%d questions about single links, %d about lists", stats.Load(), lists.Load())
	}
	if want := "last 7 days: 350, 1000, 1150, 1100, 1050, 900, 400"; rec.Code != 200 ||
		!strings.Contains(rec.Body.String(), want) {
		t.Errorf("%d: the page lacks %q", rec.Code, want)
	}
}

// TestPage_ListSaysWhenALinkBegins that is scheduled, where the others have their last click.
func TestPage_ListSaysWhenALinkBegins(t *testing.T) {
	_, srv := newPage(t)
	_, body := send(t, request(t, "GET", srv.URL+"/+", nil))
	if want := `title="2026-11-30T19:11:00Z">begins 30 Nov</time>`; strings.Count(body, want) != 1 {
		t.Errorf("the list lacks %q", want)
	}
}
