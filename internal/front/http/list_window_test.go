package httpfront

import (
	"net/http"
	"testing"
)

// Where rows are counted, a window behind the last is 416, however far behind.
func TestList_WindowsFarBehindTheLast(t *testing.T) {
	s := newServer(t)
	for _, count := range []string{"exact", "planned", "estimated"} {
		for _, ask := range [][2]string{{"/depts?offset=100000", "X: y"}, {"/depts", "Range: 100000-"},
			{"/depts?limit=2", "Range: 100000-100009"}, {"/depts?dname=neq.X&offset=20000", "X: y"},
			{"/depts", "Range: 7-"}, {"/depts?offset=4000000000", "X: y"}} {
			a := s.do(http.MethodGet, ask[0], "", ask[1], "Prefer: count="+count)
			s.want(a, 416, "range-not-satisfiable")
			if got := a.Header.Get("Content-Range"); got != "*/4" {
				t.Errorf("%v: Content-Range %q", ask, got)
			}
		}
	}
	s.want(s.do(http.MethodGet, "/depts", "", "Range: 100000-"), 400, "bad-query")
	s.want(s.do(http.MethodGet, "/depts?offset=100000", ""), 400, "bad-query")
	err := s.src.Exec(t.Context(), `INSERT INTO dept (deptno, dname) WITH RECURSIVE c(x) AS
		(SELECT 1000 UNION ALL SELECT x + 1 FROM c WHERE x < 12000) SELECT x, x FROM c`)
	if err != nil {
		t.Fatal(err)
	}
	s.want(s.do(http.MethodGet, "/depts?offset=10500", "", "Prefer: count=exact"), 400, "bad-query")
	s.want(s.do(http.MethodGet, "/depts?offset=20500", "", "Prefer: count=exact"), 416,
		"range-not-satisfiable")
}

// A method that is none of HTTP's is 501, one that the path does not take 405.
func TestMethods_UnknownAndNotAllowed(t *testing.T) {
	s := newServer(t)
	for _, path := range []string{"/", "/depts", "/depts/10", "/depts/99"} {
		for _, method := range []string{"PROPFIND", "FOO", "get", "query"} {
			s.want(s.do(method, path, ""), 501, "unknown-method")
		}
		for _, method := range []string{"TRACE", "QUERY"} {
			a := s.do(method, path, "")
			s.want(a, 405, "method-not-allowed")
			if a.Header.Get("Allow") == "" {
				t.Errorf("%s %s: no Allow", method, path)
			}
		}
	}
}
