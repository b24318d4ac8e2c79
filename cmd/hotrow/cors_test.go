//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/browsertest"
	"github.com/hotrow/hotrow/internal/tlstest"
)

const appOrigin = "https://app.example"

// allowedAt returns which pages may read the answer to a GET from a page of appOrigin.
func allowedAt(t *testing.T, via http.RoundTripper, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", appOrigin)
	a, err := via.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	if a.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", url, a.Status)
	}
	return a.Header.Get("Access-Control-Allow-Origin")
}

// TestServe_OriginsInEveryForm: by the variable, over each form of the listener.
func TestServe_OriginsInEveryForm(t *testing.T) {
	t.Parallel()
	db, made, dir := database(t, deptSQL), tlstest.New(t, "cors"), t.TempDir()
	made.Write(t, dir)
	secure := []string{"HOTROW_HTTP_TLS_CERT=" + filepath.Join(dir, "cert.pem"),
		"HOTROW_HTTP_TLS_KEY=" + filepath.Join(dir, "key.pem")}
	for value, want := range map[string]string{"": "", "HTTPS://App.example:443": appOrigin, "*": "*",
		"https://other.example": "", "http://localhost:8000," + appOrigin: appOrigin} {
		set := "HOTROW_HTTP_CORS_ORIGINS=" + value
		plain := start(t, []string{set}, db)
		until(t, plain.log, plain.complete)
		for version, c := range clientsOf(t, nil) {
			if got := allowedAt(t, c.Transport, plain.http+"/dept/10"); got != want {
				t.Errorf("%s over HTTP/%d: %q, want %q", set, version, got, want)
			}
		}
		plain.stop()
		overTLS := start(t, append(secure, set), db)
		until(t, overTLS.log, overTLS.complete)
		for version, c := range clientsOf(t, &made) {
			if got := allowedAt(t, c.Transport, overTLS.http+"/dept/10"); got != want {
				t.Errorf("%s over TLS by HTTP/%d: %q, want %q", set, version, got, want)
			}
		}
		overTLS.stop()
		socket := start(t, []string{set, "HOTROW_HTTP_LISTEN=unix:" + filepath.Join(shortDir(t), "s")}, db)
		until(t, socket.log, socket.complete)
		d := socket.doorTo("http")
		if got := allowedAt(t, d.via, d.base+"/dept/10"); got != want {
			t.Errorf("%s over a unix socket: %q, want %q", set, got, want)
		}
		socket.stop()
	}
}

// TestServe_OriginsAreReloaded, and what is no origin is refused by check, start and reload.
func TestServe_OriginsAreReloaded(t *testing.T) {
	const with = "version: 1\nsources: {main: {url: 'sqlite:%s'}}\nresources: {dept: {table: dept}}\n" +
		"http: {cors: {origins: %s}}\n"
	db := database(t, deptSQL)
	file := configFile(t, fmt.Sprintf(with, db, "[]"))
	r := serve(t, "-c", file)
	for _, step := range []struct{ origins, want string }{
		{`["` + appOrigin + `"]`, appOrigin}, {`["null"]`, appOrigin}, {`"*"`, "*"}, {"[]", ""},
	} {
		if err := os.WriteFile(file, []byte(fmt.Sprintf(with, db, step.origins)), 0o600); err != nil {
			t.Fatal(err)
		}
		refused := strings.Count(r.log.String(), "names nobody")
		sighup(t)
		if strings.Contains(step.origins, "null") {
			until(t, r.log, func() bool { return strings.Count(r.log.String(), "names nobody") > refused })
			for _, args := range [][]string{{"check", "-c", file}, {"serve", "-c", file}} {
				code, out, errs := failing(t, args...)
				if out += errs; code == 0 || !strings.Contains(out, "http.cors.origins[0]: null is") ||
					!strings.Contains(out, file+":4:") {
					t.Errorf("%s: %d %s", args, code, out)
				}
			}
		}
		until(t, r.log, func() bool { return allowedAt(t, http.DefaultTransport, r.http+"/dept/10") == step.want })
	}
}

// A visitor has a page open.
type visitor struct {
	t   *testing.T
	tab *browsertest.Tab
}

// A pageAnswer is what a page gets of a fetch.
type pageAnswer struct {
	Error, Body, ETag, Status string
	Code                      int
}

// fetch has the page ask, and returns what it can read.
func (v visitor) fetch(url, options string) (a pageAnswer) {
	v.t.Helper()
	v.tab.Eval(`(window.got = null, fetch("` + url + `", ` + options + `).then(async a => { window.got = {
		Code: a.status, Body: await a.text(), ETag: a.headers.get("ETag") ?? "",
		Status: a.headers.get("Cache-Status") ?? "" } }).catch(e => { window.got = {Error: e.name} }), true)`)
	v.tab.Until("window.got")
	text, err := json.Marshal(v.tab.Eval("window.got"))
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		v.t.Fatal(err)
	}
	return a
}

// follow has the page follow a document, and returns when it has heard something: the state, or
// that it may not.
func (v visitor) follow(url string) {
	v.t.Helper()
	v.tab.Eval(`(window.events?.close(), window.seen = [], window.events = new EventSource("` + url + `"),
		events.onmessage = e => seen.push(e.data),
		events.onerror = () => seen.push("error " + events.readyState), true)`)
	v.tab.Until("window.seen.length > 0")
}

// TestServe_PagesOfOtherOrigins in a browser: they read, follow, and write with a token, where their
// origin is named; else the browser keeps the answers from them.
func TestServe_PagesOfOtherOrigins(t *testing.T) {
	t.Parallel()
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>page</title>"))
	})
	app, evil := httptest.NewServer(page), httptest.NewServer(page)
	defer app.Close()
	defer evil.Close()
	b := browsertest.New(t)
	visit := func(url string) visitor {
		tab := b.Tab(browsertest.Desktop)
		tab.Open(url)
		return visitor{t, tab}
	}
	friend, stranger := visit(app.URL), visit(evil.URL)
	const blocked = "TypeError"
	for origins, mayRead := range map[string][2]bool{
		"[]": {}, `["` + app.URL + `"]`: {true, false}, `"*"`: {true, true},
	} {
		bed := newAccessBed(t, "{read: public, write: 'role:editor'}}\n"+
			"  secret: {table: pay, access: {read: 'role:reader'}",
			"read", "  base_url: http://localhost\nhttp: {cors: {origins: "+origins+"}}\n")
		r := bed.serve(t, formTCP)
		exact := strings.HasPrefix(origins, `["`)
		auth := func(role string) string { return `"Authorization": "Bearer ` + bed.tokens[role] + `"` }
		write := `{method: "PATCH", body: '{"sal": 7}', headers: {"Content-Type": "application/json", ` +
			auth("editor") + `}}`
		for i, v := range []visitor{friend, stranger} {
			a := v.fetch(r.http+"/pay/1", "{}")
			if mayRead[i] != (a.Error == "" && a.Code == 200 && a.Body == `{"id":1,"sal":2}` && a.ETag != "") ||
				(a.Status != "") != (mayRead[i] && exact) {
				t.Errorf("%s: page %d reads %+v", origins, i, a)
			}
			if a = v.fetch(r.http+"/pay/99", "{}"); mayRead[i] != (a.Code == 404) {
				t.Errorf("%s: page %d reads what is not there: %+v", origins, i, a)
			}
			named := exact && i == 0
			if a = v.fetch(r.http+"/secret/1", "{headers: {"+auth("reader")+"}}"); named != (a.Code == 200) {
				t.Errorf("%s: page %d reads what needs a token: %+v", origins, i, a)
			}
			if a = v.fetch(r.http+"/pay/1", strings.Replace(write, auth("editor"), "", 1)); named != (a.Code == 401) {
				t.Errorf("%s: page %d writes without a token: %+v", origins, i, a)
			}
			for _, closed := range []string{r.ops + "/livez", r.ops + "/", r.linksAddr() + "/robots.txt",
				r.linksAddr() + "/api/v1/health", r.linksAddr() + "/"} {
				if a = v.fetch(closed, "{}"); a.Error != blocked {
					t.Errorf("%s: page %d reads %s: %+v", origins, i, closed, a)
				}
			}
			v.follow(r.http + "/pay/1")
			if first := v.tab.Eval("window.seen[0]"); mayRead[i] != (first == `{"id":1,"sal":2}`) ||
				!mayRead[i] != (first == "error 2") {
				t.Errorf("%s: page %d follows %v", origins, i, first)
			}
			if a = v.fetch(r.http+"/pay/1", write); named != (a.Code == 200 && a.Body == `{"id":1,"sal":7}`) {
				t.Errorf("%s: page %d writes: %+v", origins, i, a)
			}
			if !named && a.Error != blocked {
				t.Errorf("%s: page %d is not kept from writing: %+v", origins, i, a)
			}
			if _, body := get(t, r.http+"/pay/1"); strings.Contains(body, "7") != named {
				t.Errorf("%s: after page %d the row is %s", origins, i, body)
			}
			if named { // the row as it was
				v.tab.Until(`window.seen.includes('{"id":1,"sal":7}')`)
				v.fetch(r.http+"/pay/1", strings.Replace(write, "7", "2", 1))
			}
			v.tab.Eval("(window.events.close(), true)")
		}
		r.stop()
	}
}
