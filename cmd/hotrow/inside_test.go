package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/browsertest"
	httpfront "github.com/hotrow/hotrow/internal/front/http"
)

// insidePaths are what the console asks, and what of the operator's port it does not.
var insidePaths = []string{"", "-/console/console.js", "-/live", "-/resources", "-/doctor",
	"-/inspect?path=/depts/10", "metrics", "debug/pprof/", "-/check", "-/cache", "livez"}

var httpAddress = regexp.MustCompile(`proto=http addr=(\S+)`)

// told is the address of the console that the page at / is told, "" for none.
func told(t *testing.T, base string, headers ...string) (inside string) {
	t.Helper()
	resp := answerTo(t, "GET", base+"/-/explore/tables", headers...)
	var of struct{ Tabs []struct{ Name, URL string } }
	if err := json.NewDecoder(resp.Body).Decode(&of); err != nil && resp.StatusCode == 200 {
		t.Errorf("the tables: %v", err)
	}
	for _, tab := range of.Tabs {
		if tab.Name == "Inside" {
			inside = tab.URL
		}
	}
	return inside
}

// answerTo is the answer to a request with headers, by name and value; Host is one.
func answerTo(t *testing.T, method, url string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// TestInside_IsForTheOwner: without a configuration who is at this machine has the console at the
// HTTP port, and nothing of the operator's port is there for anybody else, nor more than the
// console asks.
func TestInside_IsForTheOwner(t *testing.T) {
	t.Parallel()
	r := start(t, nil, "demo", "--still", "--file", filepath.Join(t.TempDir(), "demo.db"))
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(r.http, "http://"))
	inside := r.http + httpfront.ConsolePath
	for _, path := range insidePaths {
		want := 200
		if strings.HasPrefix(path, "debug") || path == "livez" ||
			path == "-/check" || path == "-/cache" {
			want = 404
		}
		if resp := answerTo(t, "GET", inside+path); resp.StatusCode != want {
			t.Errorf("GET %q: %d, want %d", path, resp.StatusCode, want)
		}
	}
	if got := told(t, r.http, "Host", "localhost:"+port); got != "."+httpfront.ConsolePath {
		t.Errorf("the page leads to %q", got)
	}
	for name, others := range map[string]struct {
		headers []string
		want    int // of what is not there; 403 but for the page itself
	}{
		"rebound":          {[]string{"Host", "rebound.example"}, 421},
		"behind a proxy":   {[]string{"X-Forwarded-For", "192.0.2.1"}, 404},
		"behind another":   {[]string{"Forwarded", "for=192.0.2.1"}, 404},
		"behind a third":   {[]string{"Via", "1.1 proxy"}, 404},
		"a foreign origin": {[]string{"Origin", "https://evil.example"}, 403},
		"a foreign site":   {[]string{"Sec-Fetch-Site", "cross-site"}, 403},
		"another port":     {[]string{"Sec-Fetch-Site", "same-site"}, 403},
		"no origin":        {[]string{"Origin", "null"}, 403},
	} {
		for _, path := range insidePaths {
			if path == "" && others.want == 403 {
				continue // a link may lead to the page
			}
			if resp := answerTo(t, "GET", inside+path, others.headers...); resp.StatusCode != others.want {
				t.Errorf("%s: GET %q: %d, want %d", name, path, resp.StatusCode, others.want)
			}
		}
		for _, more := range [][]string{nil, {"Sec-Fetch-Mode", "no-cors"}} {
			resp := answerTo(t, "POST", inside+"-/invalidate?resource=products", append(more, others.headers...)...)
			if resp.StatusCode < 400 {
				t.Errorf("%s: POST: %d", name, resp.StatusCode)
			}
		}
		if got := told(t, r.http, others.headers...); others.want != 403 && got != "" {
			t.Errorf("%s: the page leads to %q", name, got)
		}
	}
	// What a proxy adds to a request of HTTP/2 is passed over.
	var h2 http.Protocols
	h2.SetUnencryptedHTTP2(true)
	req, err := http.NewRequestWithContext(t.Context(), "GET", inside+"-/resources", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{Protocols: &h2}).RoundTrip(req)
	if err != nil || resp.ProtoMajor != 2 || resp.StatusCode != 404 {
		t.Errorf("HTTP/2: %v %v", resp, err)
	}
	// An old proxy adds nothing, and asks in HTTP/1.0.
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.http, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "GET "+httpfront.ConsolePath+"-/resources HTTP/1.0\r\nHost: localhost\r\n\r\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, " 404 ") {
		t.Errorf("HTTP/1.0: %q %v", line, err)
	}
}

// TestInside_WithAConfiguration: only a token opens the console there, and where there is none, or
// no operator's port, nothing is there.
func TestInside_WithAConfiguration(t *testing.T) {
	t.Parallel()
	db := database(t, deptSQL)
	config := func(more string) string {
		return configFile(t, "version: 1\nsources: {main: {url: 'sqlite:"+db+"'}}\n"+
			"resources: {depts: {table: dept}}\n"+more)
	}
	tokens := "auth:\n  tokens:\n" + tokenLine("r", "reader", "reader") + tokenLine("o", "operator", "operator")
	for name, c := range map[string]struct {
		more   string
		env    []string
		want   map[string]int // by token
		public int            // of the files, which tell nothing
	}{
		"no tokens": {"", nil, map[string]int{"": 404, "operator": 404}, 404},
		"no operator": {"auth:\n  tokens:\n" + tokenLine("r", "reader", "reader"), nil,
			map[string]int{"": 404, "reader": 404}, 404},
		"an operator":    {tokens, nil, map[string]int{"": 401, "wrong": 401, "reader": 403, "operator": 200}, 200},
		"no port of ops": {tokens, []string{"HOTROW_OPS_LISTEN=off"}, map[string]int{"": 404, "operator": 404}, 404},
	} {
		r := begin(t, c.env, "-c", config(c.more))
		until(t, r.log, func() bool {
			m := httpAddress.FindStringSubmatch(r.log.String())
			if m != nil {
				r.http = "http://" + m[1]
			}
			return m != nil && status(r.http+"/") == 200
		})
		file := r.http + httpfront.ConsolePath + "-/console/console.js"
		if resp := answerTo(t, "GET", file); resp.StatusCode != c.public {
			t.Errorf("%s: a file: %d, want %d", name, resp.StatusCode, c.public)
		}
		for token, want := range c.want {
			var headers []string
			if token != "" {
				headers = []string{"Authorization", "Bearer " + token}
			}
			for _, path := range []string{"-/live", "-/resources", "-/doctor", "-/inspect?path=/depts/10", "metrics"} {
				if resp := answerTo(t, "GET", r.http+httpfront.ConsolePath+path, headers...); resp.StatusCode != want {
					t.Errorf("%s, token %q: GET %q: %d, want %d", name, token, path, resp.StatusCode, want)
				}
			}
			if got := told(t, r.http, headers...); (got == "."+httpfront.ConsolePath) != (want == 200) {
				t.Errorf("%s, token %q: the page leads to %q", name, token, got)
			}
		}
		if got := told(t, r.http, "X-Forwarded-For", "192.0.2.1"); got != "" {
			t.Errorf("%s: others are told of %q", name, got)
		}
		r.stop()
	}
}

// TestChromium_ThreeTabs goes from page to page, as people do.
func TestChromium_ThreeTabs(t *testing.T) {
	t.Parallel()
	r := start(t, nil, "demo", "--file", filepath.Join(t.TempDir(), "demo.db"))
	tab := browsertest.New(t).Tab(browsertest.Desktop)
	tab.Open(r.http + "/")
	tab.Until(`document.querySelectorAll('.tabs a').length === 3`)
	tab.Screenshot("tabs/rows")
	follow := func(name, until string) {
		t.Helper()
		tab.Eval(`[...document.querySelectorAll('.tabs a')].find((a) => a.innerText === '` + name + `').click()`)
		tab.Until(`document.querySelector('.tabs [aria-current]')?.innerText === '` + name + `' && ` + until)
		tab.Screenshot("tabs/" + strings.ToLower(name))
	}
	follow("Inside", `document.querySelector('#stream')?.classList.contains('live')`)
	if at := tab.Eval("location.href"); at != r.http+httpfront.ConsolePath {
		t.Errorf("the console is at %v", at)
	}
	tab.Eval(`(fetch('-/invalidate?path=/products/1', {method: 'POST'}).then((r) => { window.forgot = r.status; }), 1)`)
	tab.Until(`window.forgot === 204`)
	follow("Links", `document.querySelector('#rows')`)
	follow("Rows", `document.querySelector('.table-card')`)
	for _, m := range tab.Console() {
		t.Errorf("console: %s", m)
	}
}
