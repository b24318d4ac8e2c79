package httpfront

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
)

func TestList_PagesByKey(t *testing.T) {
	s := newServer(t)
	next := regexp.MustCompile(`^<(.+)>; rel="next"$`)
	var bodies []string
	for path := "/depts?limit=2"; path != ""; {
		a := s.do("GET", path, "")
		s.want(a, 200, "")
		bodies = append(bodies, a.body)
		if len(bodies) == 1 && a.Header.Get("Content-Range") != "0-1/*" {
			t.Errorf("Content-Range %q", a.Header.Get("Content-Range"))
		}
		path = ""
		if m := next.FindStringSubmatch(a.Header.Get("Link")); m != nil {
			path = m[1]
		}
		if len(bodies) > 5 {
			t.Fatal("the pages do not end")
		}
	}
	want := []string{
		"[" + dept10 + `,{"deptNumber":20,"dname":"RESEARCH","loc":"DALLAS"}]`,
		`[{"deptNumber":30,"dname":"SALES","loc":"CHICAGO"},` +
			`{"deptNumber":40,"dname":"OPERATIONS","loc":null}]`,
	}
	if d := cmp.Diff(want, bodies); d != "" {
		t.Errorf("pages (-want +got):\n%s", d)
	}
	whole := s.do("GET", "/depts", "")
	if whole.Header.Get("Link") == "" || strings.Count(whole.body, "dname") != 3 {
		t.Errorf("the resource's largest limit is not kept: %s", whole.body)
	}
	a := s.do("GET", "/depts?after=99", "")
	s.want(a, 200, "")
	if a.body != "[]" || a.Header.Get("Link") != "" {
		t.Errorf("after the end: %s, Link %q", a.body, a.Header.Get("Link"))
	}
}

func TestList_PagesCompositeKeys(t *testing.T) {
	s := newServer(t)
	seen := 0
	for path := "/cities?limit=1"; path != ""; seen++ {
		a := s.do("GET", path, "")
		s.want(a, 200, "")
		link := strings.TrimSuffix(strings.TrimPrefix(a.Header.Get("Link"), "<"), `>; rel="next"`)
		if path = link; seen > 5 {
			t.Fatal("the pages do not end")
		}
	}
	if seen != 3 {
		t.Errorf("%d pages, want 3", seen)
	}
}

// TestList_ByKeysSaysWhereAbsencesAreFrom: that a row is not there is an answer as well.
func TestList_ByKeysSaysWhereAbsencesAreFrom(t *testing.T) {
	// With a stale_after of a second, for which the test waits.
	set, src := openSet(t, func(src source.Source) source.Source { return src })
	s := newServerOf(t, set, src)
	for _, key := range []string{"10", "98", "99"} {
		s.hot("/depts/" + key)
	}
	if err := s.src.Close(); err != nil { // what is kept is stale, rows that are not there as well
		t.Fatal(err)
	}
	eventually(t, "a stale answer", func() bool {
		return s.do("GET", "/depts/98", "").Header.Get("Cache-Status") == "hotrow; fwd=stale"
	})
	for _, query := range []string{"in.(98,99)", "in.(10,98)", "eq.98"} {
		a := s.do("GET", "/depts?deptno="+query, "")
		s.want(a, 200, "")
		if got := a.Header.Get("Cache-Status"); got != "hotrow; fwd=stale" {
			t.Errorf("%s: %s, Cache-Status %q", query, a.body, got)
		}
	}
}

func TestList_ByKeys(t *testing.T) {
	s := newServer(t)
	tests := []struct{ query, want string }{
		{"deptNumber=in.(20,99,10)", `[20,10]`},
		{"deptno=in.(10,010,10)", `[10]`},
		{"deptno=eq.30", `[30]`},
		{"deptno=eq.99", `[]`},
		{"deptno=in.()", `[]`},
		{"deptno=in.(10,20,30)&limit=2", `[10,20]`},
	}
	number := regexp.MustCompile(`"deptNumber":(\d+)`)
	for _, tt := range tests {
		a := s.do("GET", "/depts?"+tt.query, "")
		s.want(a, 200, "")
		var got []string
		for _, m := range number.FindAllStringSubmatch(a.body, -1) {
			got = append(got, m[1])
		}
		if g := "[" + strings.Join(got, ",") + "]"; g != tt.want {
			t.Errorf("%s: %s, want %s", tt.query, a.body, tt.want)
		}
	}
	a := s.do("GET", "/cities?"+url.Values{"city": {"eq.a,b"}, "state": {"eq.c/d"}}.Encode(), "")
	s.want(a, 200, "")
	if !strings.Contains(a.body, `"people":1`) {
		t.Errorf("composite: %s", a.body)
	}
	// After eq. quotes are part of the value, as in PostgREST.
	a = s.do("GET", "/cities?"+url.Values{"city": {`eq."a,b"`}, "state": {"eq.c/d"}}.Encode(), "")
	s.want(a, 200, "")
	if a.body != "[]" {
		t.Errorf("quotes are taken off: %s", a.body)
	}
	s.want(s.do("GET", "/depts?deptno=in.(10,abc)", ""), 400, "bad-key")
	s.want(s.do("GET", "/depts?nope=eq.SALES", ""), 400, "bad-query")
	s.want(s.do("GET", "/depts?limit=4", ""), 400, "bad-query")
}

func TestList_MessagePack(t *testing.T) {
	s := newServer(t)
	a := s.do("GET", "/depts?format=msgpack&limit=2", "")
	s.want(a, 200, "")
	var docs []map[string]any
	if err := msgpack.Unmarshal([]byte(a.body), &docs); err != nil || len(docs) != 2 {
		t.Errorf("%v, %v", docs, err)
	}
	if link := a.Header.Get("Link"); !strings.Contains(link, "format=msgpack") {
		t.Errorf("the next page has another format: %s", link)
	}
}

func TestList_HasABoundInBytes(t *testing.T) {
	s := newServer(t, func(o *Options) { o.MaxList = 70 })
	a := s.do("GET", "/depts?limit=3", "")
	s.want(a, 200, "")
	if a.body != "["+dept10+"]" || !strings.Contains(a.Header.Get("Link"), "after=10") {
		t.Errorf("%s, Link %q", a.body, a.Header.Get("Link"))
	}
	s.want(s.do("GET", "/depts?deptno=in.(10,20)", ""), 413, "too-large")
}

func TestList_HeadHasNoBody(t *testing.T) {
	s := newServer(t)
	a := s.do("HEAD", "/depts", "")
	s.want(a, 200, "")
	if a.body != "" || a.Header.Get("Content-Length") == "0" {
		t.Errorf("%v %q", a.Header, a.body)
	}
	s.want(s.do("GET", "/depts", "", "Cache-Control: only-if-cached"), 504, "not-cached")
}

func TestSummary_IsTheWeakest(t *testing.T) {
	hit := resource.Answer{Origin: resource.HitMemory, Lag: 2}
	hit.Token.Pos = 7
	miss := resource.Answer{Origin: resource.Stored, Lag: 1}
	miss.Token.Pos = 5
	stale := resource.Answer{Origin: resource.HitStale}
	tests := []struct {
		answers []resource.Answer
		want    string
	}{
		{nil, ""},
		{[]resource.Answer{hit, hit}, "hotrow; hit; detail=mem"},
		{[]resource.Answer{miss}, "hotrow; fwd=uri-miss; stored; detail=db"},
		{[]resource.Answer{hit, miss}, "hotrow; fwd=partial; detail=db"},
		{[]resource.Answer{hit, stale, miss}, "hotrow; fwd=stale"},
	}
	for _, tt := range tests {
		if got := summary(tt.answers).status; got != tt.want {
			t.Errorf("summary = %q, want %q", got, tt.want)
		}
	}
	// It shows what the newer of the two does, and includes what both do.
	if a := summary([]resource.Answer{hit, miss}); a.token.Pos != 7 || a.token.Since() != 5 ||
		a.lag != 2 {
		t.Errorf("position %v, since %v, lag %v", a.token.Pos, a.token.Since(), a.lag)
	}
}
