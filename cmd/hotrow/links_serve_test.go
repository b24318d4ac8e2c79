package main

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// linksAddr returns where a server's links are.
func (r *running) linksAddr() string {
	r.t.Helper()
	m := regexp.MustCompile(`proto=links addr=(\S+)`).FindStringSubmatch(r.log.String())
	if m == nil {
		r.t.Fatalf("no listener of links:\n%s", r.log)
	}
	return "http://" + m[1]
}

// followed returns the status and the target of a short link.
func followed(t *testing.T, method, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Firefox/145.0")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("Location")
}

// makeLink makes a link by the API.
func makeLink(t *testing.T, base, body string) int {
	t.Helper()
	resp, err := http.Post(base+"/api/v1/links", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// newLinks serves links out of a new file, and returns the file.
func newLinks(t *testing.T, more string) (r *running, db string) {
	t.Helper()
	dir := t.TempDir()
	db = filepath.Join(dir, "links.db")
	file := configFile(t, "version: 1\nlinks:\n  database: 'sqlite:"+db+"'\n  log: {dir: '"+
		filepath.Join(dir, "clicks")+"', max: 64MiB"+more+"}\n")
	return serve(t, "-c", file), db
}

// The demo has the seed's link, over every front; what is made by the API or
// changed by another program is followed at once; every click is counted.
func TestServe_Links(t *testing.T) {
	t.Parallel()
	r, db := newLinks(t, "")
	base := r.linksAddr()
	if code := makeLink(t, base, `{"code":"spring","url":"https://example.com/1"}`); code != 201 {
		t.Fatalf("create: %d", code)
	}
	if code, target := followed(t, "GET", base+"/Spring"); code != 302 || target != "https://example.com/1" {
		t.Errorf("GET = %d %s", code, target)
	}
	req, err := http.NewRequestWithContext(t.Context(), "PATCH", base+"/api/v1/links/spring",
		strings.NewReader(`{"url":"https://example.com/2"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if _, target := followed(t, "GET", base+"/spring"); target != "https://example.com/2" {
		t.Errorf("after a PATCH (%s): %s", resp.Status, target)
	}
	dbtest.SQLiteShell(t, db, `UPDATE links SET url = 'https://example.com/3'`)
	until(t, r.log, func() bool {
		_, target := followed(t, "GET", base+"/spring")
		return target == "https://example.com/3"
	})
	if code, body := get(t, r.http+"/links/spring"); code != 200 ||
		!strings.Contains(body, `"https://example.com/3"`) || strings.Contains(body, "url_hash") {
		t.Errorf("over the HTTP front: %d %s", code, body)
	}
	if code, body := get(t, r.ops+"/metrics"); code != 200 ||
		!regexp.MustCompile(`hotrow_links_requests_total\{result="redirect"\} [1-9]`).MatchString(body) {
		t.Errorf("metrics: %d", code)
	}
	if code, target := followed(t, "GET", base+"/"); code != 302 || target != "/+" {
		t.Errorf("/ = %d %s", code, target)
	}
	if code := r.stop(); code != 0 {
		t.Fatalf("it ended with %d:\n%s", code, r.log)
	}
	recorded := regexp.MustCompile(`\d+`).FindString(dbtest.SQLiteShell(t, db,
		"SELECT count(*) FROM clicks WHERE link_id > 0"))
	if n, err := strconv.Atoi(recorded); err != nil || n < 2 {
		t.Errorf("%q clicks in the database after the end, want 2 at least", recorded)
	}
}

// get gets a URL and returns the status and the body of an answer.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestServe_LinksWithoutRecording(t *testing.T) {
	r, _ := newLinks(t, ", record: false")
	base := r.linksAddr()
	if code := makeLink(t, base, `{"code":"twice","url":"https://example.com/","max_clicks":2}`); code != 201 {
		t.Fatalf("create: %d", code)
	}
	for i, want := range []int{302, 302, 410} {
		if code, _ := followed(t, "GET", base+"/twice"); code != want {
			t.Errorf("GET %d = %d, want %d", i, code, want)
		}
	}
}

// The demo's links are those of the original's benchmark.
func TestServe_DemoHasLinks(t *testing.T) {
	t.Parallel()
	r := serve(t, "demo", "--file", filepath.Join(t.TempDir(), "demo.db"))
	if code, target := followed(t, "GET", r.linksAddr()+"/asdf"); code != 301 ||
		target != "https://davidkroell.github.io" {
		t.Errorf("/asdf = %d %s", code, target)
	}
	until(t, r.out, func() bool { return strings.Contains(r.out.String(), r.linksAddr()+"/+") })
}

// A listener that others reach needs somebody who may make links.
func TestServe_LinksForOthersNeedAKey(t *testing.T) {
	t.Setenv("HOTROW_HTTP_LISTEN", "off")
	t.Setenv("HOTROW_OPS_LISTEN", "off")
	t.Setenv("HOTROW_WIRE_LISTEN", "off")
	dir := t.TempDir()
	text := "version: 1\nlinks:\n  listen: 0.0.0.0:0\n  database: 'sqlite:" + dir + "/l.db'\n" +
		"  log: {dir: '" + dir + "/clicks', max: 64MiB}\n"
	if code, _, stderr := command(t, "serve", "-c", configFile(t, text)); code == 0 ||
		!strings.Contains(stderr, "links.base_url") {
		t.Errorf("without base_url: %d %s", code, stderr)
	}
	text += "  base_url: https://s.example\n"
	if code, _, stderr := command(t, "serve", "-c", configFile(t, text)); code == 0 ||
		!strings.Contains(stderr, "links key add") {
		t.Errorf("without a key: %d %s", code, stderr)
	}
}

// A shortener whose database is away starts, says so, answers 503, and redirects
// as soon as the database is there. So does one whose database has been away
// from its first start on, which has to make the tables then.
func TestPostgres_LinksStartWithoutTheirDatabase(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, nil)
	url := server.Database(t)
	dir := t.TempDir()
	file := configFile(t, "version: 1\nlinks:\n  database: '"+url+"'\n  log: {dir: '"+
		filepath.Join(dir, "clicks")+"', max: 64MiB}\n")
	for _, code := range []string{"first", "second"} {
		server.Stop(dbtest.Immediate)
		r := start(t, nil, "-c", file)
		until(t, r.log, func() bool {
			return strings.Contains(r.log.String(), "the database of links is not reached")
		})
		base := r.linksAddr()
		until(t, r.log, func() bool { return status(base+"/"+code) == 503 })
		if got := status(r.ops + "/readyz"); got != 503 {
			t.Errorf("readyz = %d while the database of links is away", got)
		}
		if got := makeLink(t, base, `{"url":"https://example.com/"}`); got != 503 {
			t.Errorf("create = %d while the database is away", got)
		}
		server.Start()
		until(t, r.log, r.complete)
		if got := makeLink(t, base, `{"code":"`+code+`","url":"https://example.com/"}`); got != 201 {
			t.Errorf("create = %d once the database is there", got)
		}
		for _, one := range []string{"first", code} {
			if got, target := followed(t, "GET", base+"/"+one); got != 302 {
				t.Errorf("/%s = %d %s", one, got, target)
			}
		}
		if got := r.stop(); got != 0 {
			t.Errorf("it ended with %d:\n%s", got, r.log)
		}
	}
	if n := strings.TrimSpace(dbtest.Psql(t, url, "SELECT count(*) FROM clicks")); n != "4" {
		t.Errorf("%s clicks in the database, want 4", n)
	}
}

// Servers that begin at the same time with new logs take different writer numbers, and
// each records what it answers.
func TestPostgres_LinksOfTwoServersBeginTogether(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t)
	clicks, counted := 0, func() string {
		const sql = "SELECT COALESCE(sum(clicks), 0) FROM link_stats WHERE link_id > 0"
		return strings.TrimSpace(dbtest.Psql(t, url, sql))
	}
	for round := range 3 {
		var servers []*running
		for range 3 {
			file := configFile(t, "version: 1\nlinks:\n  database: '"+url+"'\n  log: {dir: '"+
				filepath.Join(t.TempDir(), "clicks")+"', max: 64MiB}\n")
			servers = append(servers, begin(t, nil, "-c", file))
		}
		for _, r := range servers {
			r.listens()
			until(t, r.log, r.complete)
		}
		if round == 0 {
			body := `{"code":"one","url":"https://example.com/"}`
			if got := makeLink(t, servers[0].linksAddr(), body); got != 201 {
				t.Fatalf("create = %d", got)
			}
		}
		for _, r := range servers {
			until(t, r.log, func() bool {
				code, _ := followed(t, "GET", r.linksAddr()+"/one")
				return code == 302
			})
			clicks++ // an end does not wait for long for the database
			until(t, r.log, func() bool { return counted() == strconv.Itoa(clicks) })
			if code := r.stop(); code != 0 || strings.Contains(r.log.String(), "put aside") {
				t.Errorf("it ended with %d:\n%s", code, r.log)
			}
		}
	}
	const sql = "SELECT count(*) FROM clicks WHERE link_id > 0"
	if n := strings.TrimSpace(dbtest.Psql(t, url, sql)); n != "9" || counted() != "9" {
		t.Errorf("%s clicks in the database, and %s counted, want 9", n, counted())
	}
}

// A server that waits for the database of its links ends when it is told to.
func TestServe_EndsWhileLinksWait(t *testing.T) {
	dir := t.TempDir()
	file := configFile(t, "version: 1\nlinks:\n  database: 'postgres://nobody@127.0.0.1:1/none'\n"+
		"  log: {dir: '"+filepath.Join(dir, "clicks")+"', max: 64MiB}\n")
	r := start(t, nil, "-c", file)
	until(t, r.log, func() bool { return strings.Contains(r.log.String(), "links is not reached") })
	until(t, r.log, func() bool { return status(r.linksAddr()+"/x") == 503 })
	if code := r.stop(); code != 0 {
		t.Errorf("it ended with %d:\n%s", code, r.log)
	}
}

// An export of no links is an answer without a body, and not a connection that ends.
func TestServe_LinksExportOfNothing(t *testing.T) {
	r, _ := newLinks(t, "")
	for _, mediaType := range []string{"application/x-ndjson", "text/csv"} {
		req, err := http.NewRequest(http.MethodGet, r.linksAddr()+"/api/v1/links", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", mediaType)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatalf("%s: %v", mediaType, err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("%s: %d", mediaType, resp.StatusCode)
		}
	}
}
