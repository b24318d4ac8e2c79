//go:build unix

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/browsertest"
	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/tlstest"
)

// clientsOf returns a client for each version of HTTP that r speaks, each with one
// connection at most.
func clientsOf(t *testing.T, made *tlstest.Certificate) map[int]*http.Client {
	t.Helper()
	all := map[int]*http.Client{}
	for _, version := range []int{1, 2} {
		tr := &http.Transport{Protocols: new(http.Protocols), MaxConnsPerHost: 1}
		if made != nil {
			tr.TLSClientConfig = &tls.Config{RootCAs: made.Pool()}
		}
		tr.Protocols.SetHTTP1(version == 1)
		tr.Protocols.SetHTTP2(version == 2)
		tr.Protocols.SetUnencryptedHTTP2(version == 2)
		t.Cleanup(tr.CloseIdleConnections)
		all[version] = &http.Client{Transport: tr, Timeout: 30 * time.Second}
	}
	return all
}

// said returns what an answer says but for what differs from one to the next.
func said(t *testing.T, c *http.Client, version int, method, url string) string {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Do(r)
	if err != nil {
		t.Fatalf("%s %s over HTTP/%d: %v", method, url, version, err)
	}
	defer func() { _ = a.Body.Close() }()
	body, err := io.ReadAll(a.Body)
	if err != nil || a.ProtoMajor != version {
		t.Fatalf("%s %s over HTTP/%d: %s, %v", method, url, version, a.Proto, err)
	}
	for _, name := range []string{"Date", "Hotrow-Position", "Server-Timing"} {
		if a.Header.Get(name) != "" {
			a.Header.Set(name, "some")
		}
	}
	return fmt.Sprintf("%d %v %s", a.StatusCode, a.Header, body)
}

// TestPostgres_HTTP2InAnOutage: by each way to start it, over TLS and without, HTTP/2 says
// what HTTP/1.1 says: a copy that is marked, or 503, and the new row afterwards.
func TestPostgres_HTTP2InAnOutage(t *testing.T) {
	t.Parallel()
	db := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	url := db.Database(t, dbtest.Setup("CREATE TABLE users (id int PRIMARY KEY, name text);"+
		"INSERT INTO users VALUES (1, 'ada'), (2, 'bob')"))
	made := tlstest.New(t, "first")
	file := configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\n"+
		"resources: {users: {table: users, access: {read: public, write: public}}}\n", url))
	made.Write(t, filepath.Dir(file))
	servers := map[*running]map[int]*http.Client{
		start(t, []string{"HOTROW_HTTP_TLS_CERT=" + filepath.Join(filepath.Dir(file), "cert.pem"),
			"HOTROW_HTTP_TLS_KEY=" + filepath.Join(filepath.Dir(file), "key.pem")}, url): clientsOf(t, &made),
		serve(t, "-c", file): clientsOf(t, nil),
	}
	for r, c := range servers {
		until(t, r.log, r.complete)
		until(t, r.log, func() bool {
			return strings.Contains(said(t, c[2], 2, "GET", r.http+"/users/1"), "detail=mem")
		})
	}
	db.Stop(dbtest.Immediate)
	for r, c := range servers {
		until(t, r.log, func() bool { return !r.complete() })
		until(t, r.log, func() bool {
			return strings.Contains(said(t, c[1], 1, "GET", r.http+"/users/1"), "fwd=stale")
		})
		for want, ask := range map[string]string{
			"200": "GET /users/1", "503": "GET /users/2", "503 ": "GET /users?limit=1", "4": "PUT /users/1",
		} {
			method, path, _ := strings.Cut(ask, " ")
			one := said(t, c[1], 1, method, r.http+path)
			two := said(t, c[2], 2, method, r.http+path)
			if one != two || !strings.HasPrefix(one, strings.TrimSpace(want)) {
				t.Errorf("%s: over HTTP/1.1\n%s\nover HTTP/2\n%s", ask, one, two)
			}
		}
	}
	db.Start()
	dbtest.Psql(t, url, "UPDATE users SET name = 'eve' WHERE id = 1")
	for r, c := range servers {
		until(t, r.log, func() bool {
			a := said(t, c[2], 2, "GET", r.http+"/users/1")
			return strings.Contains(a, "eve") && strings.Contains(a, "detail=mem")
		})
	}
}

// TestServe_RestartFailsNoRequestOverHTTP2: the client is told which of its requests were
// taken, and asks for the others again over a connection to who comes next.
func TestServe_RestartFailsNoRequestOverHTTP2(t *testing.T) {
	t.Parallel()
	u := newUnit(t, "")
	url := "http://" + u.socket("tcp", "127.0.0.1:0")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var answers atomic.Int64
	var all sync.WaitGroup
	cmd, log := u.start("LISTEN_FDNAMES=http")
	for range 2 {
		c := clientsOf(t, nil)[2]
		for i := range 8 {
			all.Go(func() {
				for n := i; ctx.Err() == nil; n++ {
					want := fmt.Sprintf(`{"id":%d,"name":"name %[1]d"}`, n%100+1)
					got := said(t, c, 2, "GET", fmt.Sprintf("%s/docs/%d", url, n%100+1))
					if !strings.HasSuffix(got, want) {
						t.Errorf("%s, want %s", got, want)
					}
					answers.Add(1)
				}
			})
		}
	}
	for range 4 {
		from := answers.Load()
		until(t, log, func() bool { return answers.Load() > from+200 || t.Failed() })
		u.end(cmd, log)
		cmd, log = u.start("LISTEN_FDNAMES=http")
	}
	from := answers.Load()
	until(t, log, func() bool { return answers.Load() > from+200 || t.Failed() })
	stop()
	all.Wait()
	u.end(cmd, log)
}

// TestServe_BrowserSpeaksHTTP2 over TLS: documents, an absence, and what net/http answers.
func TestServe_BrowserSpeaksHTTP2(t *testing.T) {
	t.Parallel()
	s := serveTLS(t, tlstest.New(t, "first"))
	tab := browsertest.New(t, "ignore-certificate-errors").Tab(browsertest.Desktop)
	tab.Open(s.http + "/dept/10") // whose page may fetch
	tab.Eval(`(window.texts = null, Promise.all(['/dept/10', '/dept/10', '/dept/99', '/dept?limit=1', '/'].map(
		(p) => fetch(p).then((a) => a.text().then((b) => a.status + ' ' + b)))).then((l) => window.texts = l), 1)`)
	tab.Until(`window.texts`)
	texts := fmt.Sprint(tab.Eval(`window.texts.join('|')`))
	if strings.Count(texts, "200 ") != 4 || strings.Count(texts, "404 ") != 1 ||
		!strings.Contains(texts, "ACCOUNTING") {
		t.Errorf("%s", texts)
	}
	protocols := fmt.Sprint(tab.Eval(`performance.getEntriesByType('resource').concat(
		performance.getEntriesByType('navigation')).map((e) => e.nextHopProtocol).join(' ')`))
	if n := len(strings.Fields(protocols)); n < 6 || strings.Count(protocols, "h2") != n {
		t.Errorf("the browser spoke %s", protocols)
	}
}

// TestServe_BehindProxiesOverHTTP2AsThePageSays: Caddy and HAProxy speak it with hotrow,
// without TLS.
func TestServe_BehindProxiesOverHTTP2AsThePageSays(t *testing.T) {
	t.Parallel()
	page := onThePage(t, "text")
	part := func(pattern string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("the page has no %s", pattern)
		}
		return m[1]
	}
	caddy, haproxy := part(`reverse_proxy (h2c://)127`), part(`8080 (proto h2 check check-proto h1) port`)
	r := start(t, []string{"HOTROW_HTTP_HOSTS=" + behindHost},
		database(t, deptSQL), "--writable")
	until(t, r.log, r.complete)
	addr, _ := hostPort(t, r.http)
	_, ops := hostPort(t, r.ops)
	streams := func() string {
		_, text := get(t, r.ops+"/metrics")
		return regexp.MustCompile(`hotrow_http2_streams_total{listener="http"} (\d+)`).FindString(text)
	}
	none := streams()
	unasked := func(block string) string {
		return regexp.MustCompile(`(?s)        health_uri.*?}\n`).ReplaceAllString(block, "")
	}
	asks(t, "caddy", caddyBefore(t, ops, unasked, caddy+addr), behindHost, http.StatusOK)
	some := streams()
	asks(t, "haproxy", dbtest.HAProxy(t, func(at string) string {
		return strings.NewReplacer(
			"bind :443 ssl crt /etc/haproxy/api.example.org.pem", "bind "+at,
			"127.0.0.1:8080 check port 8081", addr+" "+haproxy+" port "+ops,
		).Replace(onThePage(t, "haproxy"))
	}), behindHost, http.StatusOK)
	if more := streams(); none == some || some == more {
		t.Errorf("over HTTP/2 came %s, then %s, then %s", none, some, more)
	}
}

// TestServe_ClicksAreFollowedOverHTTP2 by Go's client and by curl, until the server stops.
func TestServe_ClicksAreFollowedOverHTTP2(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("needs curl")
	}
	r := start(t, nil, "demo", "--file", filepath.Join(t.TempDir(), "demo.db"))
	until(t, r.log, r.complete)
	live := r.linksAddr() + "/api/v1/clicks/live"
	c := clientsOf(t, nil)[2]
	c.Timeout = 0
	a, err := c.Get(live)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	var ours, theirs output
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := io.Copy(&ours, a.Body); err != nil || a.ProtoMajor != 2 {
			t.Errorf("%s: %v", a.Proto, err)
		}
	})
	cmd := exec.CommandContext(t.Context(), curl, "-sSN", "--noproxy", "*", "--http2-prior-knowledge", live)
	cmd.Stdout, cmd.Stderr = &theirs, &theirs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, r.log, func() bool { return strings.Contains(theirs.String(), "retry:") })
	for i := range 3 {
		if b, err := c.Get(r.linksAddr() + "/api/v1/health"); err != nil || b.StatusCode != 200 {
			t.Errorf("beside it: %v, %v", b, err)
		} else {
			_ = b.Body.Close()
		}
		followed(t, "GET", r.linksAddr()+"/asdf")
		until(t, r.log, func() bool {
			return strings.Count(ours.String(), "event: click") > i &&
				strings.Count(theirs.String(), "event: click") > i
		})
	}
	if code := r.stop(); code != 0 {
		t.Errorf("exit %d:\n%s", code, r.log)
	}
	all.Wait()
	if err := cmd.Wait(); err != nil {
		t.Errorf("curl: %v\n%s", err, theirs.String())
	}
}
