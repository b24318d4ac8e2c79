package api

import (
	"strings"
	"sync"
	"testing"

	"github.com/hotrow/hotrow/internal/links"
)

func TestAPI_CreateReadChangeDelete(t *testing.T) {
	b := newBed(t, links.Options{}, nil)
	a := b.want(201, "", "POST", "/api/v1/links", `{"url":"https://example.com/spring?x=1",
		"code":"spring","tags":["mail"],"expires_at":"2036-12-31T23:59:59Z"}`)
	if a.header.Get("Location") != "/api/v1/links/spring" || a.header.Get("ETag") != `"1"` ||
		a.header.Get("Content-Type") != "application/json" || a.member("short_url") !=
		"https://s.example/spring" || a.member("status") != "302" {
		t.Errorf("created: %v %s", a.header, a.body)
	}
	b.want(409, "code-taken", "POST", "/api/v1/links", `{"url":"https://b.example","code":"SPRING"}`)
	got := b.want(200, "", "GET", "/api/v1/links/Spring", "")
	if got.body != a.body {
		t.Errorf("read %s\nmade %s", got.body, a.body)
	}
	if n := b.do("GET", "/api/v1/links/spring", "", "If-None-Match", `W/"1"`); n.status != 304 {
		t.Errorf("not modified: %d", n.status)
	}
	if h := b.do("HEAD", "/api/v1/links/spring", ""); h.status != 200 || h.body != "" {
		t.Errorf("HEAD: %d %q", h.status, h.body)
	}
	b.want(412, "precondition", "PATCH", "/api/v1/links/spring", `{"title":"x"}`, "If-Match", `"7"`)
	b.want(412, "precondition", "PATCH", "/api/v1/links/spring", `{"title":"x"}`, "If-Match", `W/"1"`)
	b.want(400, "bad-query", "PATCH", "/api/v1/links/spring", `{"title":"x"}`, "If-Match", `1`)
	p := b.want(200, "", "PATCH", "/api/v1/links/spring", `{"title":"x","tags":null}`,
		"If-Match", `"1"`, "Content-Type", "application/merge-patch+json")
	if p.header.Get("ETag") != `"2"` || p.member("title") != "x" || p.member("tags") != "[]" {
		t.Errorf("patched: %v %s", p.header, p.body)
	}
	b.want(201, "", "PUT", "/api/v1/links/other", `{"url":"https://example.com/"}`)
	b.want(200, "", "PUT", "/api/v1/links/other", `{"url":"https://example.com/2"}`)
	b.want(422, "invalid", "PUT", "/api/v1/links/other", `{"url":"https://example.com/","code":"z"}`)
	b.want(412, "precondition", "PUT", "/api/v1/links/other", `{"url":"https://example.com/"}`,
		"If-None-Match", "*")
	if d := b.do("DELETE", "/api/v1/links/spring", ""); d.status != 204 || d.body != "" {
		t.Errorf("deleted: %d %q", d.status, d.body)
	}
	b.want(404, "not-found", "DELETE", "/api/v1/links/spring", "")
	b.want(404, "not-found", "GET", "/api/v1/links/spring", "")
	b.want(404, "not-found", "PATCH", "/api/v1/links/spring", `{"title":"x"}`)
	e := b.want(200, "", "GET", "/api/v1/links/spring/edits", "")
	if !strings.Contains(e.body, `"after":null`) || !strings.Contains(e.body, `"before":null`) {
		t.Errorf("history %s", e.body)
	}
	for _, want := range []string{"spring", "spring", "other", "other", "spring"} {
		if got := <-b.changed; got != want {
			t.Errorf("told of %s, want %s", got, want)
		}
	}
	first := b.want(201, "", "POST", "/api/v1/links", `{"url":"https://r.example/","reuse":true}`)
	again := b.want(200, "", "POST", "/api/v1/links", `{"url":"https://r.example/","reuse":true}`)
	if first.body != again.body || len(first.member("code")) != 7 {
		t.Errorf("reused %s\nmade %s", again.body, first.body)
	}
	long := b.want(201, "", "POST", "/api/v1/links", `{"url":"https://r.example/","code_length":16}`)
	if len(long.member("code")) != 16 {
		t.Errorf("code %s", long.member("code"))
	}
}

func TestAPI_ParallelCreatesOfOneCode(t *testing.T) {
	b := newBed(t, links.Options{}, nil)
	counts := make(map[int]int)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			a := b.do("POST", "/api/v1/links", `{"url":"https://a.com","code":"one"}`)
			mu.Lock()
			defer mu.Unlock()
			counts[a.status]++
		})
	}
	wg.Wait()
	if counts[201] != 1 || counts[409] != 99 {
		t.Errorf("%v", counts)
	}
}

func TestAPI_ParallelCreatesOfAnAlphabetThatRunsOut(t *testing.T) {
	b := newBed(t, links.Options{CodeAlphabet: "z", CodeLength: 1}, nil)
	codes := make(map[string]bool)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for range 50 {
				a := b.do("POST", "/api/v1/links", `{"url":"https://a.com"}`)
				mu.Lock()
				if a.status != 201 {
					t.Errorf("%d %s", a.status, a.body)
				}
				codes[a.member("code")] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(codes) != 1000 {
		t.Errorf("%d codes of 1000", len(codes))
	}
}

func TestAPI_StatsOfALink(t *testing.T) {
	b := newBed(t, links.Options{}, nil)
	b.want(201, "", "POST", "/api/v1/links", `{"url":"https://a.com","code":"a"}`)
	a := b.want(200, "", "GET",
		"/api/v1/links/a/stats?from=2026-11-14&to=2026-11-15&by=referrer,country", "")
	for _, want := range []string{`"code":"a","from":"2026-11-14","to":"2026-11-15","unit":"day"`,
		`"total":{"bots":0,"clicks":0,"visitors":0}`,
		`"series":[["2026-11-14",0,0,0],["2026-11-15",0,0,0]]`,
		`"by":{"country":[],"referrer":[]}`, `"as_of":"`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%s lacks %s", a.body, want)
		}
	}
	b.want(404, "not-found", "GET", "/api/v1/links/b/stats", "")
	o := b.want(200, "", "GET", "/api/v1/orphans", "")
	if !strings.HasPrefix(o.body, `{"orphans":[],`) {
		t.Errorf("orphans %s", o.body)
	}
	c := b.want(200, "", "GET", "/api/v1/clicks?code=a&order=-at&limit=50", "")
	if c.body != `{"clicks":[],"next":null}`+"\n" {
		t.Errorf("clicks %s", c.body)
	}
	b.want(404, "not-found", "GET", "/api/v1/clicks/live", "")
	page := b.want(200, "", "GET", "/api/v1/links?days=7", "")
	if !strings.Contains(page.body, `"days":{"from":"2`) ||
		!strings.Contains(page.body, `"clicks":{}}`) {
		t.Errorf("a page with days: %s", page.body)
	}
	b.want(400, "bad-query", "GET", "/api/v1/links?days=32", "")
	h := b.want(200, "", "GET", "/api/v1/health", "")
	if h.member("status") != "ok" || h.member("links") != "1" {
		t.Errorf("health %s", h.body)
	}
}
