package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// A proxied is how a proxy on this machine passes a request on.
type proxied struct {
	name    string
	rewrite func(*httputil.ProxyRequest)
}

// proxies are the ways in which proxies are set up: as Go's, as nginx by our guide,
// and as nginx by one line, which gives the upstream's address as the Host and says
// nothing of whom it asks for.
var proxies = []proxied{
	{"Go's", func(r *httputil.ProxyRequest) { r.Out.Host = r.In.Host; r.SetXForwarded() }},
	{"by the guide", func(r *httputil.ProxyRequest) {
		r.Out.Host = "s.example"
		r.Out.Header.Set("X-Forwarded-For", "192.0.2.1")
	}},
	{"Host only", func(r *httputil.ProxyRequest) { r.Out.Host = "s.example" }},
	{"one line", func(*httputil.ProxyRequest) {}},
}

// behind starts a reverse proxy in front of an address, which it reaches by via.
func behind(t *testing.T, address string, via http.RoundTripper, p proxied) string {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{Transport: via, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		p.rewrite(r)
	}})
	t.Cleanup(server.Close)
	return server.URL
}

// TestServe_LinksBehindAProxyHaveNoLocals: behind a proxy on this machine everybody
// comes from the loopback, and nobody may do anything for that: not with no key,
// nor with one that is not for keys, by the API or by the page.
func TestServe_LinksBehindAProxyHaveNoLocals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := configFile(t, "version: 1\nlinks:\n  base_url: https://s.example\n"+
		"  database: 'sqlite:"+dir+"/l.db'\n  log: {dir: '"+dir+
		"/clicks', max: 64MiB}\n")
	r := serve(t, "-c", file)
	ask := func(base, method, path, contentType, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", contentType)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	check := func(when string) {
		t.Helper()
		bases := map[string]string{"directly": r.linksAddr()}
		for _, p := range proxies {
			bases["behind a proxy, "+p.name] = behind(t, r.linksAddr(), http.DefaultTransport, p)
		}
		for how, base := range bases {
			const form, doc = "application/x-www-form-urlencoded", "application/json"
			for _, a := range []struct{ method, path, contentType, body string }{
				{"POST", "/api/v1/keys", doc, `{"name":"m","role":"admin"}`},
				{"POST", "/api/v1/links", doc, `{"url":"https://evil.example"}`},
				{"GET", "/api/v1/links", doc, ""},
				{"GET", "/api/v1/keys", doc, ""},
				{"GET", "/+", doc, ""},
				{"POST", "/+", form, "url=https%3A%2F%2Fevil.example&code=e"},
			} {
				got := ask(base, a.method, a.path, a.contentType, a.body)
				if got != 401 && got != 421 { // 421: it does not know the proxy's own name
					t.Errorf("%s, %s: %s %s = %d, want 401", when, how, a.method, a.path, got)
				}
			}
		}
	}
	check("without a key")
	key := strings.TrimSpace(mustCommand(t, "links", "key", "add", "mailer", "-c", file))
	check("with a key to write")
	if !strings.HasPrefix(key, "hr_") {
		t.Fatalf("the key is %q", key)
	}
	until(t, r.log, func() bool { // the server looks for keys of others every 5 s
		code, _, _ := command(t, "links", "ls", "--server="+r.linksAddr(), "--key="+key)
		return code == 0
	})
	check("with a key to write that is known")
	admin := strings.TrimSpace(mustCommand(t, "links", "key", "add", "ana", "--role=admin", "-c", file))
	until(t, r.log, func() bool {
		code, _, _ := command(t, "links", "key", "ls", "--server="+r.linksAddr(), "--key="+admin)
		return code == 0
	})
}

// TestLinksKey_IntoTheDatabase: the first key of a shortener that is not on this
// machine's loopback is made before it starts.
func TestLinksKey_IntoTheDatabase(t *testing.T) {
	dir := t.TempDir()
	file := configFile(t, "version: 1\nlinks:\n  listen: 0.0.0.0:0\n  base_url: http://s.example\n"+
		"  database: 'sqlite:"+dir+"/l.db'\n  log: {dir: '"+dir+
		"/clicks', max: 64MiB}\n")
	mustCommand(t, "links", "key", "add", "ana", "--role=admin", "-c", file)
	r := start(t, []string{"HOTROW_LINKS_LISTEN=0.0.0.0:0"}, "-c", file)
	until(t, r.log, r.complete)
	none := configFile(t, "version: 1\n")
	if code, _, stderr := command(t, "links", "key", "add", "x", "-c", none); code == 0 ||
		!strings.Contains(stderr, "no section links") {
		t.Errorf("without links: %d %s", code, stderr)
	}
}
