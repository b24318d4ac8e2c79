package httpfront

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

const dept10 = `{"deptNumber":10,"dname":"ACCOUNTING","loc":"NEW YORK"}`

func TestRead_Document(t *testing.T) {
	s := newServer(t)
	a := s.do("GET", "/depts/10", "", "X-Request-Id: r-1")
	s.want(a, 200, "")
	if a.body != dept10 {
		t.Errorf("body %s", a.body)
	}
	a = s.hot("/depts/10", "X-Request-Id: r-1")
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Vary": "Accept", "Cache-Control": "no-cache",
		"Server": "hotrow", "X-Request-Id": "r-1", "Content-Length": "55",
		"X-Content-Type-Options": "nosniff",
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if tag := a.Header.Get("ETag"); !regexp.MustCompile(`^"\w+-j"$`).MatchString(tag) {
		t.Errorf("ETag: %s", tag)
	}
	position := regexp.MustCompile(`^hr1\.main\.\w+\.[0-9a-f]+; lag=\d+\.\d{3}$`)
	if p := a.Header.Get("Hotrow-Position"); !position.MatchString(p) {
		t.Errorf("Hotrow-Position: %q", p)
	}
	head := s.do("HEAD", "/depts/10", "")
	s.want(head, 200, "")
	if head.body != "" || head.Header.Get("ETag") != a.Header.Get("ETag") ||
		head.Header.Get("Content-Length") != "55" {
		t.Errorf("HEAD differs: %v", head.Header)
	}
}

func TestRead_MessagePackUnderTheNameAskedFor(t *testing.T) {
	s := newServer(t)
	for _, name := range []string{"application/vnd.msgpack", "application/msgpack",
		"application/x-msgpack"} {
		a := s.do("GET", "/depts/10", "", "Accept: "+name)
		s.want(a, 200, "")
		var doc map[string]any
		err := msgpack.Unmarshal([]byte(a.body), &doc)
		if err != nil || doc["dname"] != "ACCOUNTING" {
			t.Errorf("%s: %v, %v", name, doc, err)
		}
		if got := a.Header.Get("Content-Type"); got != name {
			t.Errorf("Content-Type %q, want %q", got, name)
		}
		if tag := a.Header.Get("ETag"); !strings.HasSuffix(tag, `-m"`) {
			t.Errorf("ETag %s is not that of MessagePack", tag)
		}
	}
	s.want(s.do("GET", "/depts/10?format=msgpack", "", "Accept: text/html"), 200, "")
	s.want(s.do("GET", "/depts/10", "", "Accept: text/html"), 406, "not-acceptable")
}

func TestRead_Conditional(t *testing.T) {
	s := newServer(t)
	tag := s.do("GET", "/depts/10", "").Header.Get("ETag")
	tests := []struct {
		header string
		status int
	}{
		{"If-None-Match: " + tag, 304},
		{"If-None-Match: W/" + tag, 304},
		{`If-None-Match: "x", ` + tag, 304},
		{"If-None-Match: *", 304},
		{`If-None-Match: "x"`, 200},
		{"If-None-Match: " + strings.Replace(tag, "-j", "-m", 1), 200},
		{"If-None-Match: nonsense", 400},
		{"If-Match: " + tag, 200},
		{"If-Match: *", 200},
		{`If-Match: "x"`, 412},
		{"If-Match: W/" + tag, 412},
	}
	for _, tt := range tests {
		a := s.do("GET", "/depts/10", "", tt.header)
		if a.StatusCode != tt.status {
			t.Errorf("%s: status %d, want %d", tt.header, a.StatusCode, tt.status)
		}
		if tt.status == 304 && (a.body != "" || a.Header.Get("ETag") != tag ||
			a.Header.Get("Vary") != "Accept" || a.Header.Get("Cache-Status") == "" ||
			a.Header.Get("Content-Type") != "") {
			t.Errorf("%s: 304 with %v %q", tt.header, a.Header, a.body)
		}
	}
	s.want(s.do("GET", "/depts/99", "", "If-None-Match: *"), 404, "not-found")
}

func TestRead_AbsentDocument(t *testing.T) {
	s := newServer(t)
	a := s.do("GET", "/depts/99", "")
	s.want(a, 404, "not-found")
	if a.Header.Get("Cache-Status") == "" || a.Header.Get("Cache-Control") != "no-cache" ||
		a.Header.Get("ETag") != "" || !strings.Contains(a.body, "depts/99") {
		t.Errorf("404 with %v: %s", a.Header, a.body)
	}
	head := s.do("HEAD", "/depts/99", "")
	s.want(head, 404, "not-found")
	if head.body != "" {
		t.Errorf("HEAD has the body %q", head.body)
	}
}

func TestRead_KeySpellings(t *testing.T) {
	s := newServer(t)
	for path, status := range map[string]int{
		"/depts/10": 200, "/depts/010": 200, "/depts/%31%30": 200, "/cities/Tulsa,OK": 200,
		"/cities/a%2Cb,c%2Fd": 200, "/cities/50%25,x": 200, "/cities/50%2525,x": 404,
		"/cities/Tulsa": 400, "/cities/Tulsa%2COK": 400, "/depts/abc": 400,
		"/depts/99999999999999999999": 400, "/depts/10?x=1": 400, "/depts/10?format=xml": 400,
		"/nothing": 404, "/nothing/1": 404, "/%3Cb%3E/1": 200,
	} {
		a := s.do("GET", path, "")
		if a.StatusCode != status {
			t.Errorf("GET %s: status %d, want %d: %s", path, a.StatusCode, status, a.body)
		}
	}
}

func TestRead_HostilePaths(t *testing.T) {
	s := newServer(t)
	for path, status := range map[string]int{
		"/..": 400, "/depts/..": 400, "/depts/%2e%2e": 400, "/depts/%2e%2e%2f": 400,
		"/depts/%252e": 400, "/depts/%5c": 400, "/depts/%00": 400, "/depts/%c0%ae": 400,
		"//depts/10": 404, "/depts//10": 404, "/depts/10;a=b": 400, "/depts/": 404,
		"/depts/10/": 404, "/depts/" + strings.Repeat("9", 8<<10): 414,
		"/cities/" + strings.Repeat("a", 8<<10) + ",b": 414,
		"/cities/%2e%2e%2f,x":                          404,
		"/-/etc/passwd":                                404, "/-": 404, "*": 400, "depts": 400,
		"http://127.0.0.1/depts/10": 200, "/depts/10?a=%zz": 400, "/depts/10#x": 400,
	} {
		if os.Getenv("HOTROW_TEST_ROAD") != "" && path[0] == 'h' {
			status = 400 // the loop refuses a target that is not for the Host
		}
		a := s.raw("GET", "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if a.StatusCode != status {
			t.Errorf("GET %.60s: status %d, want %d: %.200s", path, a.StatusCode, status, a.body)
		}
	}
	s.want(s.do("GET", "/depts/10", ""), 200, "")
}

func TestRead_CacheDirectives(t *testing.T) {
	s := newServer(t)
	s.want(s.do("GET", "/depts/20", "", "Cache-Control: only-if-cached"), 504, "not-cached")
	both := "Cache-Control: only-if-cached, no-cache"
	s.want(s.do("GET", "/depts/20", "", both), 504, "not-cached")
	s.hot("/depts/20")
	s.want(s.do("GET", "/depts/20", "", "Cache-Control: only-if-cached"), 200, "")
	for _, d := range []string{"no-cache", "max-age=0"} {
		a := s.do("GET", "/depts/20", "", "Cache-Control: "+d)
		s.want(a, 200, "")
		if got := a.Header.Get("Cache-Status"); got != "hotrow; fwd=request" {
			t.Errorf("%s: Cache-Status %q", d, got)
		}
	}
}

func TestRead_SeesTheWriteWhosePositionItHolds(t *testing.T) {
	s := newServer(t)
	s.hot("/depts/10")
	put := s.do("PATCH", "/depts/10", `{"loc":"BOSTON"}`)
	s.want(put, 200, "")
	position := put.Header.Get("Hotrow-Position")
	if position == "" {
		t.Fatal("the write has no position")
	}
	a := s.do("GET", "/depts/10", "", "Hotrow-Min-Position: "+position, "Prefer: wait=1")
	s.want(a, 200, "")
	if !strings.Contains(a.body, "BOSTON") {
		t.Errorf("body %s", a.body)
	}
	s.want(s.do("GET", "/depts/10", "", "Hotrow-Min-Position: nonsense"), 400, "bad-header")
	s.want(s.do("GET", "/depts", "", "Hotrow-Min-Position: nonsense"), 400, "bad-header")
	s.want(s.do("GET", "/depts/10", "", "Hotrow-Min-Position: hr1.other.x.1"), 200, "")
	future := "Hotrow-Min-Position: hr1.main.x.ffffffffffffffff"
	s.want(s.do("GET", "/depts/10", "", future), 200, "")
}

func TestIndex(t *testing.T) {
	s := newServer(t)
	a := s.do("GET", "/", "")
	s.want(a, 200, "")
	var index struct{ Resources []entry }
	if err := json.Unmarshal([]byte(a.body), &index); err != nil {
		t.Fatal(err)
	}
	byName := map[string]entry{}
	for _, e := range index.Resources {
		byName[e.Name] = e
	}
	if e := byName["depts"]; e.Example != "/depts/10" || e.URL != "/depts" ||
		strings.Join(e.Key, " ") != "deptNumber" || strings.Join(e.Methods, " ") !=
		"GET HEAD POST PUT PATCH DELETE" {
		t.Errorf("depts: %+v", e)
	}
	if e := byName["log"]; strings.Join(e.Methods, " ") != "GET HEAD" {
		t.Errorf("log: %+v", e)
	}
	for _, hidden := range []string{"pay", "closed"} {
		if _, ok := byName[hidden]; ok {
			t.Errorf("%s is listed for everybody", hidden)
		}
	}
	for _, e := range index.Resources {
		s.want(s.do("GET", e.Example, ""), 200, "")
	}
	text := s.do("GET", "/", "", "Accept: text/plain")
	if !strings.Contains(text.body, "depts\t/depts/10\tGET") {
		t.Errorf("text: %s", text.body)
	}
	s.want(s.do("POST", "/", "{}"), 405, "method-not-allowed")
	s.want(s.do("GET", "/", "", "Accept: image/png"), 406, "not-acceptable")
}

func TestSystemPaths(t *testing.T) {
	s := newServer(t)
	a := s.do("GET", "/-/problems/not-found", "")
	s.want(a, 200, "")
	if !strings.HasPrefix(a.body, "404 Not Found (not-found)") {
		t.Errorf("body %s", a.body)
	}
	for _, path := range []string{"/-", "/-/", "/-/resources", "/-/problems/", "/-/problems/x"} {
		s.want(s.do("GET", path, ""), 404, "not-found")
	}
}

func TestBasePath(t *testing.T) {
	s := newServer(t, func(o *Options) { o.BasePath = "/api/" })
	s.want(s.do("GET", "/api/depts/10", ""), 200, "")
	s.want(s.do("GET", "/api/", ""), 200, "")
	for _, path := range []string{
		"/", "/depts/10", "/api", "/api?limit=1", "/apix", "/apix/y", "/api%2Fdepts/10", "/apidepts/10",
	} {
		a := s.do("GET", path, "")
		s.want(a, 404, "")
		if !strings.Contains(a.body, "nothing is served at this path") {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	a := s.do("GET", "/api/depts?limit=1", "")
	if want := `</api/depts?after=10&limit=1>; rel="next"`; a.Header.Get("Link") != want {
		t.Errorf("Link %q, want %q", a.Header.Get("Link"), want)
	}
	a = s.do("PUT", "/api/depts/77", `{"dname":"X"}`)
	if a.StatusCode != http.StatusCreated || a.Header.Get("Location") != "/api/depts/77" {
		t.Errorf("PUT: %d, Location %q", a.StatusCode, a.Header.Get("Location"))
	}
}

func TestStats_CountsRequests(t *testing.T) {
	s := newServer(t)
	s.do("GET", "/depts/10", "")
	s.do("GET", "/depts/99", "")
	s.do("GET", "/nothing", "")
	s.do("GET", "/", "")
	eventually(t, "the counts", func() bool {
		codes := map[string]map[int]uint64{}
		for _, st := range s.h.Stats() {
			codes[st.Resource] = st.Codes
		}
		return codes["depts"][200] == 1 && codes["depts"][404] == 1 && codes[""][404] == 1 &&
			codes[""][200] == 1 && len(codes) == 2
	})
}
