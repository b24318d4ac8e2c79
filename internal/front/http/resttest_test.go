package httpfront

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front"
)

// With Resttest the paths of resttest are served, and others stay what they are.
func TestResttest_Paths(t *testing.T) {
	s := newServer(t, func(o *Options) { o.Resttest = true })
	seen := make(map[string]bool)
	for range 400 { // a miss draws twice: each new one must be drawn so
		a := s.do("GET", "/depts/random", "")
		s.want(a, 200, "")
		seen[a.body] = true
	}
	if len(seen) != 4 {
		t.Errorf("400 documents at random are %d ones, of 4", len(seen))
	}
	s.want(s.do("GET", "/depts/random?format=msgpack", ""), 200, "")
	s.want(s.do("GET", "/cities/random", ""), 200, "")
	s.want(s.do("GET", "/closed/random", ""), 403, "forbidden")
	s.want(s.do("GET", "/pay/random", ""), 401, "unauthorized")
	s.want(s.do("PATCH", "/depts/random", `{"loc":"X"}`), 400, "bad-key")

	a := s.do("PUT", "/depts/random", "null")
	s.want(a, 200, "")
	if !seen[a.body] {
		t.Errorf("a document that was written back is %s", a.body)
	}
	s.want(s.do("PUT", "/log/random", ""), 405, "method-not-allowed")
	s.want(s.do("PUT", "/pay/random", ""), 401, "unauthorized")

	s.want(s.do("PUT", "/depts", `{"deptNumber":10,"dname":"BOOKS","loc":null}`), 200, "")
	if a := s.do("GET", "/depts/10", ""); a.body != `{"deptNumber":10,"dname":"BOOKS","loc":null}` {
		t.Errorf("GET after PUT: %s", a.body)
	}
	s.want(s.do("PUT", "/depts", `{"deptNumber":99,"dname":"NONE"}`), 404, "not-found")
	s.want(s.do("PUT", "/depts", `{"dname":"NONE"}`), 422, "key-mismatch")
	s.want(s.do("PUT", "/depts", `{"deptNumber":null,"dname":"NONE"}`), 422, "key-mismatch")
	s.want(s.do("PUT", "/depts", `{"deptNumber":10,"dname":"A"}`, `If-Match: "x"`), 412, "precondition-failed")
	s.want(s.do("PUT", "/depts", "x=1", "Content-Type: text/plain"), 415, "unsupported-media-type")
	s.want(s.do("PUT", "/cities", `{"city":"a,b","state":"c/d","people":9}`), 200, "")
	s.want(s.do("PUT", "/log", `{"deptno":10}`), 405, "method-not-allowed")
	if a := s.do("OPTIONS", "/depts", ""); !strings.Contains(a.Header.Get("Allow"), "PUT") {
		t.Errorf("Allow: %s", a.Header.Get("Allow"))
	}

	s.want(s.do("GET", "/depts/cities/Tulsa,OK", ""), 200, "")
	s.want(s.do("GET", "/depts/none/1", ""), 404, "not-found")
	s.want(s.do("GET", "/depts/cities/a/b", ""), 404, "not-found")
	s.want(s.do("GET", "/depts/../10", ""), 404, "not-found")
	a = s.do("POST", "/depts/cities", `{"city":"Reno","state":"NV","people":1}`)
	s.want(a, 201, "")
	if a.Header.Get("Location") != "/cities/Reno,NV" {
		t.Errorf("Location: %s", a.Header.Get("Location"))
	}
	s.want(s.do("POST", "/depts/pay", `{"sal":1}`), 401, "unauthorized")
	s.want(s.do("POST", "/depts/log", `{}`), 405, "method-not-allowed")
	s.want(s.do("POST", "/depts/10", `{}`), 405, "method-not-allowed")
}

// Rows that go and come are seen by who reads keys anew.
func TestResttest_RowsThatAreGone(t *testing.T) {
	s := newServer(t, func(o *Options) { o.Resttest = true })
	s.want(s.do("GET", "/cities/random", ""), 200, "")
	if err := s.src.Exec(t.Context(), "DELETE FROM city"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no row", func() bool { return s.do("GET", "/cities/random", "").StatusCode == 404 })
	s.want(s.do("PUT", "/cities/random", ""), 404, "not-found")
	s.h.Configure(s.h.live.Load().Options)
	s.want(s.do("GET", "/cities/random", ""), 404, "not-found")
	s.want(s.do("PUT", "/cities/random", ""), 404, "not-found")
}

// Without Resttest a collection takes no PUT, and random is a key.
func TestResttest_IsOffByDefault(t *testing.T) {
	s := newServer(t)
	s.want(s.do("GET", "/depts/random", ""), 400, "bad-key")
	s.want(s.do("PUT", "/depts", `{"deptNumber":10}`), 405, "method-not-allowed")
	s.want(s.do("GET", "/depts/cities/Tulsa,OK", ""), 404, "not-found")
	s.want(s.do("POST", "/depts/cities", `{}`), 405, "method-not-allowed")
}

// Who may write by a token writes these paths with it.
func TestResttest_Tokens(t *testing.T) {
	s := newServer(t, func(o *Options) { o.Resttest = true })
	secret, token := newToken(t, "e", "editor", "reader")
	s.tokens.Set([]front.Token{token})
	bearer := "Authorization: Bearer " + secret
	for _, r := range [][3]string{
		{http.MethodGet, "/pay/random"}, {http.MethodPut, "/pay/random"},
		{http.MethodPut, "/pay", `{"id":1,"sal":200}`},
	} {
		s.want(s.do(r[0], r[1], r[2], bearer), 200, "")
	}
	s.want(s.do("POST", "/depts/pay", `{"id":2,"sal":1}`, bearer), 201, "")
}
