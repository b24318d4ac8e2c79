package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/links"
)

func TestAPI_KeysAndRoles(t *testing.T) {
	b := newBed(t, links.Options{}, nil)
	link := `{"url":"https://a.com"}`
	admin := "Bearer " + b.want(201, "", "POST", "/api/v1/keys", `{"name":"a","role":"admin"}`).member("key")
	a := b.want(201, "", "POST", "/api/v1/keys", `{"name":"r","role":"read"}`, "Authorization", admin)
	reader := "Bearer " + a.member("key")
	if !strings.HasPrefix(a.member("key"), "hr_") || strings.Contains(
		b.do("GET", "/api/v1/keys", "", "Authorization", admin).body, a.member("key")) {
		t.Errorf("key %s", a.body)
	}
	// From now on everything needs a key.
	b.want(401, "unauthorized", "GET", "/api/v1/links", "")
	b.want(401, "unauthorized", "POST", "/api/v1/links", link)
	b.want(200, "", "GET", "/api/v1/health", "")
	b.want(401, "unauthorized", "POST", "/api/v1/keys", `{"name":"x","role":"admin"}`)
	w := b.want(201, "", "POST", "/api/v1/keys", `{"name":"w","role":"write"}`, "Authorization", admin)
	writer := "Bearer " + w.member("key")
	b.want(422, "invalid", "POST", "/api/v1/keys", `{"name":"w","role":"root"}`, "Authorization", admin)
	b.want(422, "invalid", "POST", "/api/v1/keys", `{"name":"w"}`, "Authorization", admin)
	for _, test := range []struct {
		method, path, body string
		read, write, admin int
	}{
		{"GET", "/api/v1/links", "", 200, 200, 200}, {"GET", "/api/v1/clicks", "", 200, 200, 200},
		{"GET", "/api/v1/stats", "", 200, 200, 200}, {"GET", "/api/v1/orphans", "", 200, 200, 200},
		{"POST", "/api/v1/links", link, 403, 201, 201},
		{"PUT", "/api/v1/links/a", link, 403, 201, 200},
		{"PATCH", "/api/v1/links/a", link, 403, 200, 200},
		{"GET", "/api/v1/keys", "", 403, 403, 200},
		{"POST", "/api/v1/keys", `{"name":"n","role":"read"}`, 403, 403, 201},
		{"DELETE", "/api/v1/keys/999", "", 403, 403, 404},
	} {
		for key, want := range map[string]int{reader: test.read, writer: test.write} {
			if a := b.do(test.method, test.path, test.body, "Authorization", key); a.status != want {
				t.Errorf("%s %s: %d, want %d: %s", test.method, test.path, a.status, want, a.body)
			}
		}
		if a := b.do(test.method, test.path, test.body, "Authorization", admin); a.status != test.admin {
			t.Errorf("admin %s %s: %d, want %d", test.method, test.path, a.status, test.admin)
		}
	}
	for _, header := range []string{"Bearer hr_wrong", "Basic x", "Bearer", "Bearer " + strings.ToUpper(
		w.member("key")), w.member("key")} {
		a := b.want(401, "unauthorized", "GET", "/api/v1/links", "", "Authorization", header)
		if !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s: %v", header, a.header)
		}
	}
	b.want(401, "unauthorized", "GET", "/api/v1/links?key="+w.member("key"), "")
	owner := b.want(201, "", "POST", "/api/v1/links", link, "Authorization", writer).member("owner")
	if owner != "w" {
		t.Errorf("owner %q", owner)
	}
	if a := b.do("DELETE", "/api/v1/keys/"+w.member("id"), "", "Authorization", admin); a.status != 204 {
		t.Errorf("key removed: %d", a.status)
	}
	b.want(401, "unauthorized", "GET", "/api/v1/links", "", "Authorization", writer)
}

// TestAPI_WithoutAKeyOnlyThisMachine: who is passed on by a proxy on this machine,
// or asks by another name, is not this machine; nor is anybody where the site is
// not private. A key of whatever role ends it for all.
func TestAPI_WithoutAKeyOnlyThisMachine(t *testing.T) {
	private := true
	b := newBed(t, links.Options{}, func(o *Options) { o.Private = func() bool { return private } })
	newKey := func(headers ...string) int {
		return b.do("POST", "/api/v1/keys", `{"name":"x","role":"admin"}`, headers...).status
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Proto",
		"x-forwarded-host", "X-Real-IP", "Via", "CF-Connecting-IP", "True-Client-IP",
		"X-Client-IP", "X-Envoy-External-Address"} {
		if got := newKey(name, "192.0.2.1"); got != 401 {
			t.Errorf("with %s: %d, want 401", name, got)
		}
		if got := newKey(name, "127.0.0.1"); got != 401 {
			t.Errorf("with %s of the loopback: %d, want 401", name, got)
		}
		if got := b.do("GET", "/api/v1/links", "", name, "x").status; got != 401 {
			t.Errorf("GET with %s: %d, want 401", name, got)
		}
	}
	if got := newKey("Host", "s.example"); got != 401 {
		t.Errorf("by the public name: %d, want 401", got)
	}
	private = false
	if got := newKey(); got != 401 {
		t.Errorf("where the site is public: %d, want 401", got)
	}
	private = true
	b.want(200, "", "GET", "/api/v1/links", "", "Host", "localhost")
	for _, role := range []links.Role{links.RoleRead, links.RoleWrite} {
		if _, _, err := b.keys.Add(t.Context(), "x", role); err != nil {
			t.Fatal(err)
		}
		if got := newKey(); got != 401 {
			t.Errorf("beside a key for %s: %d, want 401", role, got)
		}
	}
}

// far answers as on a listener that other machines reach.
func far(h *Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, nil)))
	})
}

func TestAPI_OpenListenerMayBeReadAndMade(t *testing.T) {
	for _, open := range []bool{false, true} {
		b := newBed(t, links.Options{}, func(o *Options) { o.Open, o.CreateRate, o.Hosts = open, 3, nil })
		server := httptest.NewServer(far(b.h))
		defer server.Close()
		b.url = server.URL
		read, make, never := 401, 401, 401
		if open {
			read, make = 200, 201
		}
		link := `{"url":"https://a.com","code":"a%d"}`
		for i := range 3 {
			if a := b.do("POST", "/api/v1/links", fmt.Sprintf(link, i)); a.status != make {
				t.Errorf("open %t: made %d %s", open, a.status, a.body)
			}
		}
		for path, want := range map[string]int{"links": read, "stats": read, "links?limit=1": read,
			"clicks": never, "clicks/live": never, "keys": never, "orphans": never, "health": 200,
			"links/a0/edits": never} {
			if a := b.do("GET", "/api/v1/"+path, ""); a.status != want {
				t.Errorf("open %t: GET %s: %d, want %d", open, path, a.status, want)
			}
		}
		if a := b.do("DELETE", "/api/v1/links/a0", ""); a.status != never {
			t.Errorf("open %t: deleted %d", open, a.status)
		}
		if a := b.do("PUT", "/api/v1/links/a0", `{"url":"https://b.com"}`); a.status != never {
			t.Errorf("open %t: replaced %d", open, a.status)
		}
		if !open {
			continue
		}
		a := b.want(429, "rate-limited", "POST", "/api/v1/links", fmt.Sprintf(link, 9))
		if a.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		bulk := b.do("POST", "/api/v1/links", fmt.Sprintf(link, 10), "Content-Type", typeNDJSON)
		if !strings.Contains(bulk.body, `"status":429`) {
			t.Errorf("the limit does not hold in bulk: %s", bulk.body)
		}
		b.clock.Add(60)
		b.want(201, "", "POST", "/api/v1/links", fmt.Sprintf(link, 11))
	}
}

func TestRate_CountsClientsApart(t *testing.T) {
	r := newRate(2)
	now := time.Unix(600, 0)
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	v6, neighbour := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	for i, test := range []struct {
		client netip.Addr
		n      int
		ok     bool
	}{{a, 2, true}, {a, 1, false}, {b, 1, true}, {b, 2, false}, {b, 1, true}, {v6, 2, true},
		{neighbour, 1, false}, {netip.Addr{}, 2, true}, {netip.Addr{}, 1, false}} {
		if wait := r.take(test.client, test.n, now); (wait == 0) != test.ok || wait > time.Minute {
			t.Errorf("%d: wait %v", i, wait)
		}
	}
	if r.take(a, 2, now.Add(time.Minute)) != 0 {
		t.Error("the next minute is not a new one")
	}
}
