package httpfront

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// A list of documents that are named by their keys is answered on the loop if memory has
// all of them, and as net/http answers it.
func TestLists_ByKeysAreAnsweredOnTheLoop(t *testing.T) {
	s := newLoopSite(t)
	for _, path := range []string{"/depts/10", "/depts/20", "/depts/30", "/depts/99", "/depts/98",
		"/cities/Tulsa,OK"} {
		for range 2 {
			s.do("GET", path, "")
			s.do("GET", path, "", "Accept: application/vnd.msgpack")
		}
	}
	for _, tt := range []struct {
		path, headers string
		stays         bool
	}{
		{"/depts?deptNumber=in.(10,20)", "", true},
		{"/depts?deptno=in.(20,99,10,98)", "", true},
		{"/depts?deptno=in.%2820%2C10%29", "", true},
		{`/depts?deptno=in.("10",20,10,20)`, "", false}, // http1 takes no quotes in a target
		{"/depts?deptno=in.(10,20,10,20)", "", true},
		{"/depts?deptno=in.(10,20,30)&limit=2", "", true},
		{"/depts?limit=2&deptno=in.(99,10,98,20,30)", "", true},
		{"/depts?deptno=eq.10", "", true},
		{"/depts?deptno=in.(10,20)&format=msgpack", "", true},
		{"/depts?deptno=in.(10,20)", "Accept: application/x-msgpack\r\n", true},
		{"/depts?deptno=in.(10,20)", "X-Request-Id: r-1\r\n", true},
		{"/depts?deptno=in.(10,20)", "If-None-Match: *\r\n", true},
		{"/depts?deptno=in.(10,20)", "Accept-Encoding: gzip\r\n", true},
		{"/depts?deptno=in.(10,20)", "Cache-Control: max-age=3600\r\n", true},
		{"/cities?city=eq.Tulsa&state=eq.OK", "", true},
		{"/depts?deptno=in." + many(10, 20, 12), "", true},
		{"/depts?deptno=in." + many(10, 20, 500), "", true},
		{"/depts?deptno=in.(99,98)", "", false}, // of none there is a position
		{"/depts?deptno=in.()", "", false},
		{"/depts?deptno=in.(10,010)", "", false},
		{"/depts?deptno=in.(10,x)", "", false},
		{"/depts?deptno=in.(10,20)", "Cache-Control: no-cache\r\n", false},
		{"/depts?deptno=in.(10,20)", "Accept: text/html\r\n", false},
		{"/depts?limit=2", "", true},
		{"/depts?limit=2&after=10", "", true},
		{"/depts?limit=2", "If-None-Match: *\r\n", true},
		{"/pay?id=in.(1)", "", false},
		{"/depts?deptno=gt.1", "", true},
		{"/depts?deptno=gt.1&format=msgpack", "", false},
		{"/depts?limit=1", "Prefer: count=planned\r\n", false},
		{"/depts?deptno=gt.1", "Accept: application/vnd.pgrst.object+json\r\n", false},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			raw := method + " " + tt.path + " HTTP/1.1\r\nHost: localhost\r\n" + tt.headers
			fast, full, left := s.both(raw, method)
			if tt.stays { // when the feed does not lag
				eventually(t, raw+" is answered on the loop", func() bool {
					fast, full, left = s.both(raw, method)
					return left == 0
				})
			} else if left == 0 && s.hasLoop() {
				t.Errorf("%s %s %q: answered on the loop", method, tt.path, tt.headers)
			}
			if ours, theirs := fast.without(), full.without(); ours != theirs {
				t.Errorf("%s %s %q:\nloop     %s\nnet/http %s", method, tt.path, tt.headers, ours, theirs)
			}
		}
	}
}

// many returns a list of n keys, a and b in turn.
func many(a, b, n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprint([]int{a, b}[i%2]))
	}
	return "(" + strings.Join(list, ",") + ")"
}

// A list that is answered on the loop follows writes, and counts as one request.
func TestLists_OnTheLoopFollowWritesAndCount(t *testing.T) {
	s := newLoopSite(t)
	s.hot("/depts/10")
	s.hot("/depts/20")
	const path = "/depts?deptno=in.(10,20)"
	before := s.handedOver()
	s.do("GET", "/depts?deptno=in.(10,40)", "")
	if s.handedOver() == before && s.hasLoop() {
		t.Error("a list with a document that memory does not have is answered on the loop")
	}
	s.want(s.do("PATCH", "/depts/20", `{"loc":"OSLO"}`), 200, "")
	if a := s.do("GET", path, ""); !strings.Contains(a.body, "OSLO") {
		t.Errorf("%s", a.body)
	}
	r, _ := s.h.live.Load().Resources.Lookup("depts")
	count := func() (n uint64) {
		for _, st := range s.h.Stats() {
			if st.Resource == "depts" {
				n = st.Codes[http.StatusOK]
			}
		}
		return n
	}
	eventually(t, "memory has both", func() bool {
		return s.do("GET", path, "").Header.Get("Cache-Status") == "hotrow; hit; detail=mem"
	})
	// net/http counts behind its answers, and while the feed is late memory answers none.
	eventually(t, "ten lists are counted as ten requests and twenty look-ups", func() bool {
		requests, hits, handedOver := count(), r.Stats().Hits, s.handedOver()
		for range 10 {
			s.do("GET", path, "")
		}
		return count()-requests == 10 && r.Stats().Hits-hits == 20 &&
			(s.handedOver() < handedOver+10 || !s.hasLoop())
	})
}

// Who may not read gets no list, and who does not take what memory has, another.
func TestLists_OnTheLoopAreNotForEverybody(t *testing.T) {
	s := newProtectedSite(t)
	for range 2 {
		a := s.ask("/pay?id=in.(1)", bearerLine(s.reader))
		if a.StatusCode != 200 || a.Header.Get("Cache-Control") != privateControl {
			t.Errorf("%d %v", a.StatusCode, a.Header)
		}
		s.wantCode(401, "/pay?id=in.(1)", "")
		s.wantCode(403, "/pay?id=in.(1)", bearerLine(s.editor))
	}
}

// listStepper has the departments 10, 20 and 30 in memory, and asks for them.
func listStepper(tb testing.TB, h *Handler) (*stepper, []byte) {
	tb.Helper()
	r, _ := h.live.Load().Resources.Lookup("depts")
	eventually(tb, "memory has them", func() bool {
		hits := 0
		for _, a := range r.Load(tb.Context(), []row.Key{"10", "20", "30"}, resource.Options{}) {
			if a.Err == nil && a.Origin == resource.HitMemory {
				hits++
			}
		}
		return hits == 3
	})
	return newStepper(tb, h), []byte("GET /depts?deptno=in.(10,20,30) HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

func TestLists_OnTheLoopAllocateNothing(t *testing.T) {
	set, _ := openSet(t)
	s, in := listStepper(t, New(Options{Resources: set}))
	escaped := []byte("GET /depts?deptno=in.%2820%2C10%29 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	long := []byte("GET /depts?deptno=in." + many(10, 20, 100) + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
	for _, in := range [][]byte{in, escaped, long} {
		n := s.allocs(t, in, func(got []byte) bool { return bytes.Contains(got, []byte("RESEARCH")) })
		if n != 0 {
			t.Errorf("%s: %v allocations", in, n)
		}
	}
}

// BenchmarkLoop_Keys is a list of three documents by their keys: beside three of
// BenchmarkLoop_Step.
func BenchmarkLoop_Keys(b *testing.B) {
	set, _ := openSet(b)
	s, in := listStepper(b, New(Options{Resources: set}))
	s.bench(b, in, 16)
}
