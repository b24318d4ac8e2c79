//go:build unix

package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hotrow/hotrow/internal/tlstest"
)

const byRoles = "{read: 'role:reader', write: 'role:editor'}"

// ofLinks are the paths of links but those of shortcut, and what has the key in
// its body.
const ofLinks = `^/($|robots|api/v1/|\{code\}|\+$|\+/(import|export|style|script|icon))`

// byRule reports who may by the rules of the resource.
func byRule(role string, r reach) bool {
	return same(role, strings.NewReplacer("`access.read`", "reader", "`access.write`", "editor").Replace(r.who))
}

// walkRoles asks where there are tokens and keys.
func walkRoles(t *testing.T, page accessPage) {
	for _, form := range []string{formTCP, formUnix} {
		b := newAccessBed(t, byRoles, "read write admin",
			"  base_url: https://s.example\n  hosts: [links.example]\n"+
				"http: {hosts: [http.example], cors: {origins: ['"+appOrigin+"']}}\n"+
				"ops: {hosts: [ops.example]}\n")
		r := b.serve(t, form)
		w := newWalk(t, page, r, "ops")
		w.keys, w.may = b.tokens, func(role string, r reach) bool { return same(role, r.who) }
		w.all(page.reaches(t, "## The operator's port", "^/"))
		w.hosts("/livez", "ops.example")
		w = newWalk(t, page, r, "http")
		w.keys, w.may, w.named = b.tokens, byRule, true
		w.all(page.reaches(t, "## HTTP: resources", "^/"))
		w.hosts("/", "http.example")
		w = newWalk(t, page, r, "links")
		w.keys, w.may = b.keys, func(role string, r reach) bool { return byRank(role, r.who) }
		w.all(page.reaches(t, "## Links", ofLinks))
		w.hosts("/robots.txt", "links.example", "s.example")
		r.stop()
	}
}

// walkThisMachine asks where nobody has a token or a key: what this machine asks
// itself is answered, and nothing else that is not for anybody.
func walkThisMachine(t *testing.T, page accessPage) {
	for _, form := range []string{formTCP, formUnix} {
		b := newAccessBed(t, "{read: public, write: none}", "", "  base_url: http://localhost\n# no tokens\n")
		r := b.serve(t, form)
		for proto, list := range map[string][]reach{
			"ops": page.reaches(t, "## The operator's port", "^/"), "links": page.reaches(t, "## Links", ofLinks),
		} {
			w := newWalk(t, page, r, proto)
			for _, r := range list {
				w.check(r, w.door, "by this machine", "", true)
				w.check(r, w.proxy, "for another through a proxy", "", r.who == "anybody")
				w.check(r, w.door, "for another", "", r.who == "anybody", "X-Forwarded-For", "192.0.2.1")
				w.foreign(r, "")
			}
		}
		r.stop()
	}
}

// walkOpen asks where the configuration says that anybody is meant.
func walkOpen(t *testing.T, page accessPage) {
	b := newAccessBed(t, "{read: public, write: public}", "read write admin",
		"  base_url: https://s.example\n  open: true\n  rate: {create: 1000000}\nops: {public_metrics: true}\n")
	r := b.serve(t, formTCP, "--open")
	w := newWalk(t, page, r, "links")
	w.keys = b.keys
	w.may = func(role string, r reach) bool { return byRank(role, r.who) || role == "" && r.with["links.open"] }
	w.all(page.reaches(t, "## Links", ofLinks))
	w = newWalk(t, page, r, "ops")
	w.keys = b.tokens
	w.may = func(role string, r reach) bool { return same(role, r.who) || r.with["ops.public_metrics"] }
	w.all(page.reaches(t, "## The operator's port", "^/"))
	w = newWalk(t, page, r, "http") // reading is for anybody, and writing for whoever has a token
	w.keys = b.tokens
	w.may = func(role string, r reach) bool { return r.who != "`access.write`" || b.tokens[role] != "" }
	w.all(page.reaches(t, "## HTTP: resources", "^/"))
}

// walkTLS asks for resources over TLS, by HTTP/1.1 and by HTTP/2.
func walkTLS(t *testing.T, page accessPage) {
	made := tlstest.New(t, "access")
	b := newAccessBed(t, byRoles, "", "http: {tls: {cert: cert.pem, key: key.pem}}\n")
	made.Write(t, filepath.Dir(b.file))
	r := b.serve(t, formTCP)
	for _, two := range []bool{false, true} {
		via := &http.Transport{ForceAttemptHTTP2: two, TLSClientConfig: &tls.Config{RootCAs: made.Pool()}}
		t.Cleanup(via.CloseIdleConnections)
		w := &walk{t: t, page: page, listener: "`http.listen`", door: door{formTLS, r.http, via}, keys: b.tokens,
			may: byRule}
		w.proxy = door{formTLS, behind(t, r.http, via, proxies[0]), http.DefaultTransport}
		w.all(page.reaches(t, "## HTTP: resources", "^/"))
		w.hosts("/")
	}
}

// walkSession signs in with each key, and asks with the cookie.
func walkSession(t *testing.T, page accessPage) {
	b := newAccessBed(t, byRoles, "read write admin", "  base_url: http://s.example\n")
	w := newWalk(t, page, b.serve(t, formTCP), "links")
	w.keys, w.cookie = b.keys, true
	w.may = func(role string, r reach) bool { return byRank(role, r.who) }
	w.all(page.reaches(t, "## Links", ofLinks))
	in := page.reaches(t, "## Links", `^/\+/session$`)[0]
	in.line.asked[w.door.form] = true
	for _, role := range w.roles() {
		w.foreign(in, role)
		form := url.Values{"key": {w.token(role)}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.door.base+"/+/session",
			strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		known := b.keys[role] != ""
		took := slices.ContainsFunc(resp.Cookies(), func(c *http.Cookie) bool {
			return c.Value == b.keys[role] && c.HttpOnly && c.SameSite == http.SameSiteStrictMode
		})
		if want := map[bool]int{true: 303, false: 401}[known]; resp.StatusCode != want || took != known {
			t.Errorf("POST /+/session as %q = %d %v, want %d", role, resp.StatusCode, resp.Cookies(), want)
		}
	}
}

// walkShortcut asks the endpoints of shortcut, where anybody can register.
func walkShortcut(t *testing.T, page accessPage) {
	b := newAccessBed(t, byRoles, "",
		"  base_url: https://s.example\n  jwt_secret: 0123456789abcdef\n")
	w := newWalk(t, page, b.serve(t, formTCP), "links")
	sign := func(path, email, password string) (code int, jwt string) {
		resp, err := http.Post(w.door.base+path, "application/json", strings.NewReader(fmt.Sprintf(
			`{"email":%q,"password":%q,"firstName":"A","lastName":"B"}`, email, password)))
		if err != nil {
			t.Fatal(err)
		}
		var user struct{ JWT string }
		_ = json.NewDecoder(resp.Body).Decode(&user) // a refusal has none
		_ = resp.Body.Close()
		return resp.StatusCode, user.JWT
	}
	code, jwt := sign("/auth/new", "a@s.example", "long enough")
	if jwt == "" {
		t.Fatalf("nobody can register: %d", code)
	}
	w.keys = map[string]string{"user": jwt}
	w.may = func(role string, r reach) bool { return role == r.who }
	users := page.reaches(t, "## Links", "^/api/(shortcuts|user)")
	for _, r := range users { // a token is that of a user, or none: nobody has too little
		r.line.asked[formTCP] = true
		for _, role := range w.roles() {
			w.check(r, w.door, "directly", role, w.may(role, r))
			w.check(r, w.proxy, "behind a proxy", role, w.may(role, r))
			w.foreign(r, role)
		}
	}
	for _, r := range page.reaches(t, "## Links", "^/auth") {
		r.line.asked[formTCP] = true
		w.foreign(r, "")
	}
	if code, got := sign("/auth", "a@s.example", "long enough"); got == "" {
		t.Errorf("a user gets no token: %d", code)
	}
	if code, got := sign("/auth", "a@s.example", "another"); code != 401 || got != "" {
		t.Errorf("a wrong password: %d %q", code, got)
	}
	// At once: a busy machine may take longer for one after the other than they are allowed.
	var guesses sync.WaitGroup
	var refused atomic.Int64
	for range 30 {
		guesses.Go(func() {
			resp, err := http.Post(w.door.base+"/auth", "application/json",
				strings.NewReader(`{"email":"a@s.example","password":"another"}`))
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			if resp.StatusCode == 429 {
				refused.Add(1)
			}
		})
	}
	if guesses.Wait(); refused.Load() == 0 {
		t.Error("30 wrong passwords at once: none is refused with 429")
	}
}

// TestAccess_TheTableHasThePage: a path of the page, or of the endpoints of
// shortcut, that is added needs a line that says who may reach it.
func TestAccess_TheTableHasThePage(t *testing.T) {
	list := readAccess(t).reaches(t, "## Links", "^/")
	has := func(path string) bool {
		return slices.ContainsFunc(list, func(r reach) bool { return strings.TrimSuffix(r.path, "{id}") == path })
	}
	var paths []string
	for file, pattern := range map[string]string{
		"page/page.go":  `"(/\+[\w./]*\w|/\+)"`,
		"api/compat.go": `"(/(?:auth|api)[\w/]*)"`,
	} {
		code, err := os.ReadFile("../../internal/links/" + file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(code), -1)
		if len(found) < 4 {
			t.Fatalf("%s has only the paths %q", file, found)
		}
		for _, m := range found {
			paths = append(paths, m[1])
		}
	}
	assets, err := os.ReadDir("../../internal/links/page/assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range assets {
		if filepath.Ext(a.Name()) != ".html" {
			paths = append(paths, "/+/"+a.Name())
		}
	}
	for _, path := range paths {
		if !has(path) {
			t.Errorf("docs/explanation/access.md does not say who may reach %s", path)
		}
	}
}
