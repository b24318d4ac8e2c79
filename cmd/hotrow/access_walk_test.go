//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// The forms of a listener.
const (
	formTCP  = "TCP"
	formTLS  = "TLS"
	formUnix = "unix socket"
)

// A door is a way to a listener: its base URL and what connects to it.
type door struct {
	form, base string
	via        http.RoundTripper
}

// doorTo returns the way to what listens at the address of the log.
func (r *running) doorTo(proto string) door {
	r.t.Helper()
	m := regexp.MustCompile(`proto=` + proto + ` addr=(\S+)`).FindStringSubmatch(r.log.String())
	if m == nil {
		r.t.Fatalf("no listener of %s:\n%s", proto, r.log)
	}
	if !strings.HasPrefix(m[1], "/") {
		return door{formTCP, "http://" + m[1], http.DefaultTransport}
	}
	via := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", m[1])
	}}
	r.t.Cleanup(via.CloseIdleConnections)
	return door{formUnix, "http://localhost", via}
}

// A walk asks the paths of one listener as everybody.
type walk struct {
	t        *testing.T
	page     accessPage
	listener string // its cell in the table of listeners
	door     door
	proxy    door              // the same behind a reverse proxy
	keys     map[string]string // by role
	cookie   bool              // the key is in the page's cookie
	named    bool              // the configuration names appOrigin
	may      func(role string, r reach) bool
}

// newWalk returns a walk of what listens for proto.
func newWalk(t *testing.T, page accessPage, r *running, proto string) *walk {
	r.t = t
	listener := map[string]string{"http": "`http.listen`", "links": "`links.listen`", "ops": "`ops.listen`"}
	d := r.doorTo(proto)
	proxy := door{d.form, behind(t, d.base, d.via, proxies[0]), http.DefaultTransport}
	return &walk{t: t, page: page, listener: listener[proto], door: d, proxy: proxy}
}

// body returns what a form of the page has to say.
func (r reach) body() (mediaType, text string) {
	switch {
	case r.method != http.MethodPost:
	case r.path == "/+", r.path == "/{code}+":
		return "application/x-www-form-urlencoded", "url=https%3A%2F%2Fx.example%2F"
	case r.path == "/+/several":
		return "application/x-www-form-urlencoded", "do=restore&code=spring"
	case r.path == "/+/import":
		var b bytes.Buffer
		form := multipart.NewWriter(&b)
		part, err := form.CreateFormFile("file", "links.csv")
		if err != nil {
			panic(err)
		}
		fmt.Fprint(part, "url\nhttps://x.example/\n")
		_ = form.Close() // memory takes all
		return form.FormDataContentType(), b.String()
	}
	return "", ""
}

// ask returns the status of a request; bodies are not waited for.
func (w *walk) ask(r reach, d door, token string, headers ...string) int {
	w.t.Helper()
	path := strings.NewReplacer("{code}", "spring", "{id}", "999", "{resource}", "pay", "{key}", "1",
		"{slug}", "not-found").Replace(r.path)
	if strings.HasSuffix(path, "pprof/trace") {
		path += "?seconds=0.01"
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), waittest.Limit(20*time.Second))
	defer cancel()
	mediaType, body := r.body()
	req, err := http.NewRequestWithContext(ctx, r.method, d.base+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Accept", "*/*")
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	if token != "" && w.cookie {
		req.AddCookie(&http.Cookie{Name: "hotrow_key", Value: token})
	} else if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := d.via.RoundTrip(req)
	if err != nil {
		w.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	_ = resp.Body.Close()
	w.wantOrigins(r, req, resp)
	return resp.StatusCode
}

// wantOrigins fails the test if a page of another origin may read what it must not: any answer
// but those of resources to a page of the origin that the configuration names.
func (w *walk) wantOrigins(r reach, req *http.Request, resp *http.Response) {
	w.t.Helper()
	want := ""
	if w.named && w.listener == "`http.listen`" && req.Header.Get("Origin") == appOrigin {
		want = appOrigin
	}
	if got := resp.Header.Get("Access-Control-Allow-Origin"); got != want ||
		resp.Header.Get("Access-Control-Allow-Credentials") != "" {
		w.t.Errorf("%s %s: %s %s from %q may be read by pages of %q, want %q", w.listener, w.door.form,
			req.Method, r.path, req.Header.Get("Origin"), got, want)
	}
}

// ofPage reports whether a path is of the page of links, which asks for a key
// again where the API says that the role is not enough, and says of a file that
// it could not be imported.
func (r reach) ofPage() bool { return strings.Contains(r.path, "+") }

// check asks once, and says when somebody got an answer who may not, or none who may.
func (w *walk) check(r reach, d door, how, role string, may bool, headers ...string) {
	w.t.Helper()
	got := w.ask(r, d, w.token(role), headers...)
	denied := got == 401 || got == 403 || r.path == "/+/import" && got == 422
	denied = denied || got == 400 && role == "" && r.who == "user" // shortcut's word for no token
	known := w.keys[role] != ""
	if denied == may || !may && !r.ofPage() && (got == 403) != known {
		w.t.Errorf("%s, %s: %s %s as %q = %d, and it is for %s", d.form, how, r.method, r.path, role, got, r.who)
	}
}

func (w *walk) token(role string) string {
	if role == "wrong" {
		return "hr_wrong"
	}
	return w.keys[role]
}

// roles are everybody: who has no token, a wrong one, or one of each role.
func (w *walk) roles() []string {
	roles := []string{"", "wrong"}
	for role := range w.keys {
		roles = append(roles, role)
	}
	return roles
}

// all asks every path as everybody: directly, through a proxy, by a foreign Host
// and as a foreign page does.
func (w *walk) all(list []reach) {
	for _, r := range list {
		r.line.asked[w.door.form] = true
		for _, role := range w.roles() {
			may := w.may(role, r)
			w.check(r, w.door, "directly", role, may)
			w.check(r, w.proxy, "behind a proxy", role, may)
			w.foreign(r, role)
		}
	}
	w.page.ask(w.t, accessTop, w.listener, w.door.form)
}

// foreign asks by the Host and from the page of another site.
func (w *walk) foreign(r reach, role string) {
	w.t.Helper()
	token := w.token(role)
	if got := w.ask(r, w.door, token, "Host", "evil.example"); got != 421 {
		w.t.Errorf("%s: %s %s as %q for a foreign Host = %d", w.door.form, r.method, r.path, role, got)
	}
	preflight := reach{line: r.line, method: http.MethodOptions, path: r.path}
	w.ask(preflight, w.door, "", "Origin", appOrigin, "Access-Control-Request-Method", r.method)
	if r.method == "GET" || r.method == "HEAD" {
		w.ask(r, w.door, token, "Origin", appOrigin)
		return
	}
	for name, value := range map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"} {
		if got := w.ask(r, w.door, token, name, value); got != 403 {
			w.t.Errorf("%s: %s %s as %q with %s = %d", w.door.form, r.method, r.path, role, name, got)
		}
	}
}

// hosts asks by the names that the configuration has for the listener, and others.
func (w *walk) hosts(path string, names ...string) {
	w.t.Helper()
	names = append(names, "localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:80")
	for _, name := range append(names, "http.example", "links.example", "ops.example", "s.example",
		"evil.example", "localhost.evil.example", "127.0.0.1.evil.example") {
		got := w.ask(reach{method: "GET", path: path}, w.door, "", "Host", name)
		if slices.Contains(names, name) == (got == 421) {
			w.t.Errorf("%s %s: %s for %s = %d", w.listener, w.door.form, path, name, got)
		}
	}
}

// byRank reports whether a role has what a role of links has.
func byRank(role, who string) bool {
	ranks := []string{"", "wrong", "anybody", "read", "write", "admin"}
	return who == "anybody" || slices.Index(ranks, role) >= slices.Index(ranks, who)
}

// same reports whether a role is the one that is asked for.
func same(role, who string) bool { return who == "anybody" || role == who }

// An accessBed is a configuration with everything in it, and who may what.
type accessBed struct {
	file         string
	tokens, keys map[string]string // by role
}

// newAccessBed makes one; more are lines of the configuration.
func newAccessBed(t *testing.T, access, linkKeys, more string) *accessBed {
	t.Helper()
	dir, db := t.TempDir(), database(t,
		"CREATE TABLE pay (id INTEGER PRIMARY KEY, sal INT); INSERT INTO pay VALUES (1, 2);")
	b := &accessBed{tokens: map[string]string{}, keys: map[string]string{}}
	tokens := ""
	for _, role := range []string{"reader", "editor", "operator"} {
		b.tokens[role] = "t-" + role
		tokens += tokenLine(role, "t-"+role, role)
	}
	if strings.Contains(more, "no tokens") {
		tokens, b.tokens = "", nil
	} else {
		tokens = "auth:\n  tokens:\n" + tokens
	}
	b.file = configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: 'sqlite:%s'}}\nresources:\n"+
		"  pay: {table: pay, access: %s}\n%slinks:\n  database: 'sqlite:%s/l.db'\n"+
		"  log: {dir: '%s/clicks', max: 64MiB}\n%s", db, access, tokens, dir, dir, more))
	for _, role := range strings.Fields(linkKeys) {
		b.keys[role] = strings.TrimSpace(mustCommand(t, "links", "key", "add", role, "--role="+role, "-c", b.file))
	}
	return b
}

// serve starts it in a form.
func (b *accessBed) serve(t *testing.T, form string, flags ...string) *running {
	t.Helper()
	var env []string
	if form == formUnix {
		dir := shortDir(t)
		for _, name := range []string{"HTTP", "LINKS", "OPS", "WIRE", "RESP", "MEMCACHE"} {
			env = append(env, "HOTROW_"+name+"_LISTEN=unix:"+filepath.Join(dir, name))
		}
	}
	r := start(t, env, append(flags, "-c", b.file)...)
	ops := r.doorTo("ops")
	until(t, r.log, func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ops.base+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := ops.via.RoundTrip(req)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK && strings.Contains(r.log.String(), "proto=links")
	})
	return r
}

// shortDir returns a directory for sockets, whose paths have 107 bytes at most.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "access")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
