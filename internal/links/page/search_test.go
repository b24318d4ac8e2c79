package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A farSearch answers searches with parts that have nothing and yet a next, but for
// the last one, as the API does while it has no index.
type farSearch struct {
	*standIn
	parts int
}

func (s farSearch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.URL.Path != "/api/v1/links" || q.Get("q") == "" {
		s.standIn.ServeHTTP(w, r)
		return
	}
	at, _ := strconv.Atoi(q.Get("after"))
	if at < s.parts {
		answer(w, 200, map[string]any{"links": []any{}, "next": fmt.Sprint(at + 1), "looked": 7500})
		return
	}
	s.list(w, r)
}

// TestPage_SearchSaysNothingOfWhatItHasNotLookedAt: it goes on, or says how far it is.
func TestPage_SearchSaysNothingOfWhatItHasNotLookedAt(t *testing.T) {
	serve := func(limit time.Duration) *httptest.Server {
		p, err := New(Options{API: farSearch{newStandIn(), 3}, BaseURL: "https://s.example"})
		if err != nil {
			t.Fatal(err)
		}
		p.searchTime = limit
		srv := httptest.NewServer(p)
		t.Cleanup(srv.Close)
		return srv
	}
	srv := serve(time.Hour)
	if _, body := send(t, request(t, "GET", srv.URL+"/+?q=xmas", nil)); !strings.Contains(body, "/christmas") {
		t.Error("the page does not go on to the part that has the link")
	}
	_, body := send(t, request(t, "GET", srv.URL+"/+?q=nowhere", nil))
	if !strings.Contains(body, "Nothing is found.") {
		t.Error("what is nowhere is not said to be")
	}
	srv = serve(-1)
	next := regexp.MustCompile(`<a href="([^"]*)" rel="next">Go on`)
	address := "/+?q=xmas"
	for _, looked := range []string{"7,500 links", "15,000 links", "22,500 links"} {
		_, body := send(t, request(t, "GET", srv.URL+address, nil))
		m := next.FindStringSubmatch(body)
		if m == nil || !strings.Contains(body, looked) || strings.Contains(body, "Nothing is found.") {
			t.Fatalf("%s does not say that it has looked at %s, and goes on to %q", address, looked, m)
		}
		address = strings.ReplaceAll(m[1], "&amp;", "&")
		if u, err := url.Parse(address); err != nil || u.Query().Get("q") != "xmas" {
			t.Errorf("it goes on to %s", address)
		}
	}
	if _, body := send(t, request(t, "GET", srv.URL+address, nil)); !strings.Contains(body, "/christmas") {
		t.Errorf("%s has not got to the link", address)
	}
}
