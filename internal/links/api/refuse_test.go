package api

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/links"
)

// badBodies are the rows of what a create refuses, with the answer.
var badBodies = []struct {
	body   string
	status int
	slug   string
	field  string
}{
	{`{"url":"https://a.com","url":"https://b.com"}`, 400, "bad-json", ""},
	{`{"url":"https://a.com"} {}`, 400, "bad-json", ""},
	{`{"url":"https://a.com"}]`, 400, "bad-json", ""},
	{`{"url":"https://a.com"},"c":{"x":1}`, 400, "bad-json", ""},
	{"{\"url\":\"https://a.com/\xff\"}", 400, "bad-json", ""},
	{strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), 400, "bad-json", ""},
	{strings.Repeat("[", 10_000), 400, "bad-json", ""},
	{`{"url":"\ud800"}`, 400, "bad-json", ""}, {`{"url":`, 400, "bad-json", ""},
	{`{"url":"https://a.com","expire_at":"2036-01-01T00:00:00Z"}`, 422, "invalid", ""},
	{`{"url":"https://a.com","max_clicks":-1}`, 422, "invalid", "max_clicks"},
	{`{"url":"https://a.com","max_clicks":0}`, 422, "invalid", "max_clicks"},
	{`{"url":"https://a.com","max_clicks":1e30}`, 422, "invalid", "max_clicks"},
	{`{"url":"https://a.com","max_clicks":1.5}`, 422, "invalid", "max_clicks"},
	{`{"url":"https://a.com","max_clicks":"5"}`, 422, "invalid", "max_clicks"},
	{`{"url":"https://a.com","status":200}`, 422, "invalid", "status"},
	{`{"url":"https://a.com","status":999}`, 422, "invalid", "status"},
	{`{"url":"https://a.com","status":0}`, 422, "invalid", "status"},
	{`{"url":"https://a.com","expires_at":"yesterday"}`, 422, "invalid", "expires_at"},
	{`{"url":"https://a.com","expires_at":"infinity"}`, 422, "invalid", "expires_at"},
	{`{"url":"https://a.com","expires_at":"2020-01-01T00:00:00Z"}`, 422, "invalid", "expires_at"},
	{`{"url":"https://a.com","starts_at":"2036-01-02T00:00:00Z","expires_at":"2036-01-01T00:00:00Z"}`,
		422, "invalid", "starts_at"},
	{`{"url":"https://a.com","code":""}`, 422, "invalid", "code"},
	{`{"url":"https://a.com","code":"api"}`, 422, "invalid", "code"},
	{`{"url":"https://a.com","code":"a/b"}`, 422, "invalid", "code"},
	{`{"url":"https://a.com","code":"\u212a"}`, 422, "invalid", "code"},
	{`{"url":"https://a.com","code":"a\u0000"}`, 422, "invalid", "code"},
	{`{"url":"https://a.com","code_length":3}`, 422, "invalid", "code_length"},
	{`{"url":"https://a.com","tags":[""]}`, 422, "invalid", "tags"},
	{`{"url":"https://a.com","tags":[1]}`, 422, "invalid", "tags"},
	{`{"url":"https://a.com","tags":["a\nb"]}`, 422, "invalid", "tags"},
	{`{"url":"https://a.com","title":"a\u0000"}`, 422, "invalid", "title"},
	{`{"url":"https://a.com","title":"\u202e"}`, 422, "invalid", "title"},
	{`{"url":"https://a.com","enabled":1}`, 422, "invalid", "enabled"},
	{`{"url":"javascript:alert(1)"}`, 422, "invalid", "url"},
	{`{"url":"https://example.com/\r\nX: y"}`, 422, "invalid", "url"},
	{`{"url":"https://s.example/x"}`, 422, "loop", "url"},
	{`{"url":"https://a.com","expired_url":"javascript:alert(1)"}`, 422, "invalid", "expired_url"},
	{`{"url":"https://a.com","expired_url":"https://s.example/a"}`, 422, "loop", "expired_url"},
	{`{"url":null}`, 422, "invalid", "url"}, {`{}`, 422, "invalid", "url"},
	{`[]`, 422, "invalid", ""}, {`"https://a.com"`, 422, "invalid", ""},
	{`{"url":"https://a.com","title":"` + strings.Repeat("a", 65<<10) + `"}`, 413, "too-large", ""},
}

func TestAPI_RefusesBadBodies(t *testing.T) {
	b := newBed(t, links.Options{}, nil)
	for _, test := range badBodies {
		a := b.want(test.status, test.slug, "POST", "/api/v1/links", test.body)
		if test.field != "" && a.member("field") != test.field {
			t.Errorf("%.100s: field %q, want %q", test.body, a.member("field"), test.field)
		}
		if a.header.Get("Content-Type") != "application/problem+json" || a.header.Get("Location") != "" {
			t.Errorf("%.100s: headers %v", test.body, a.header)
		}
	}
	for _, headers := range [][]string{
		{"Content-Type", "text/plain"}, {"Content-Type", "application/x-www-form-urlencoded"},
		{"Content-Type", "multipart/form-data; boundary=x"}, {"Content-Type", ""},
		{"Content-Type", "application/json; charset=latin1"}, {"Content-Encoding", "gzip"},
		{"Content-Type", "text/plain", "Cookie", "hotrow_key=x"},
		{"Content-Type", "application/merge-patch+json"},
	} {
		b.want(415, "media-type", "POST", "/api/v1/links", `{"url":"https://a.com"}`, headers...)
	}
	b.want(201, "", "POST", "/api/v1/links", `{"url":"https://a.com"}`,
		"Content-Type", "application/json; charset=UTF-8")
	if a := b.want(200, "", "GET", "/api/v1/links?count=1", ""); a.member("count") != "1" {
		t.Errorf("something was stored: %s", a.body)
	}
}

// A link may lead into this network, for a redirect fetches nothing; nor does
// anything else that is done with a link.
func TestAPI_ConnectsToNoTarget(t *testing.T) {
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = target.Close() }()
	b := newBed(t, links.Options{}, nil)
	body := `{"code":"inside","url":"http://` + target.Addr().String() + `/"}`
	b.want(201, "", "POST", "/api/v1/links", body)
	b.want(200, "", "PATCH", "/api/v1/links/inside", `{"title":"x"}`,
		"Content-Type", "application/merge-patch+json")
	b.want(200, "", "GET", "/api/v1/links/inside", "")
	b.want(200, "", "GET", "/api/v1/links/inside/stats", "")
	if err := target.(*net.TCPListener).SetDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if c, err := target.Accept(); err == nil {
		t.Errorf("the target was asked, from %s", c.RemoteAddr())
	}
}

func TestAPI_RefusesForeignPagesAndHosts(t *testing.T) {
	b := newBed(t, links.Options{}, nil)
	body := `{"url":"https://a.com"}`
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
		{"Origin", "https://evil.example"}, {"Origin", "null"},
	} {
		b.want(403, "forbidden", "POST", "/api/v1/links", body, headers...)
		b.want(403, "forbidden", "DELETE", "/api/v1/links/a", "", headers...)
	}
	for _, host := range []string{"evil.example", "s.example.evil", "127.0.0.1.evil", "[::1"} {
		if a := b.do("GET", "/api/v1/links", "", "Host", host); a.status != 421 && a.status != 400 {
			t.Errorf("Host %s: %d", host, a.status)
		}
	}
	_, key, err := b.keys.Add(t.Context(), "w", links.RoleWrite)
	if err != nil {
		t.Fatal(err)
	}
	a := b.want(201, "", "POST", "/api/v1/links", body, "Host", "S.Example:443",
		"X-Forwarded-Host", "evil.example", "Authorization", "Bearer "+key)
	if !strings.HasPrefix(a.member("short_url"), "https://s.example/") {
		t.Errorf("short URL %s", a.member("short_url"))
	}
}

func TestAPI_PathsAndMethods(t *testing.T) {
	b := newBed(t, links.Options{}, nil)
	for _, path := range []string{"/api/v1/", "/api/v1/nothing", "/api/v1/links/a/b", "/api/", "/auth",
		"/api/shortcuts", "/api/v1/links/a/stats/x", "/api/v1/links//stats", "/api/v1/links/%2e%2e"} {
		b.want(404, "not-found", "GET", path, "")
	}
	if a := b.want(405, "method", "PUT", "/api/v1/links", `{}`); a.header.Get("Allow") !=
		"GET, HEAD, POST, OPTIONS" {
		t.Errorf("Allow %q", a.header.Get("Allow"))
	}
	b.want(405, "method", "POST", "/api/v1/links/a", `{}`)
	if a := b.do("OPTIONS", "/api/v1/links/a", ""); a.status != 204 ||
		a.header.Get("Allow") != "GET, HEAD, PUT, PATCH, DELETE, OPTIONS" {
		t.Errorf("OPTIONS: %d %v", a.status, a.header)
	}
	for _, query := range []string{"?key=hr_x", "?oder=code", "?order=url", "?limit=0", "?limit=x",
		"?limit=1001", "?after=x", "?q=" + strings.Repeat("a", 300), "?a=%zz", "?a;b"} {
		b.want(400, "bad-query", "GET", "/api/v1/links"+query, "")
	}
	b.want(406, "not-acceptable", "GET", "/api/v1/stats", "", "Accept", "image/png")
	for _, path := range []string{"/api/v1/stats?by=colour", "/api/v1/stats?unit=week",
		"/api/v1/stats?from=today", "/api/v1/stats?from=2026-02-01&to=2026-01-01",
		"/api/v1/clicks?order=up", "/api/v1/clicks?after=x", "/api/v1/orphans?from=0"} {
		b.want(400, "bad-query", "GET", path, "")
	}
}
