package httpfront

import (
	"net/url"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/vmihailenco/msgpack/v5"
)

func TestSelect_AnswersFilters(t *testing.T) {
	s := newServer(t)
	for _, tt := range []struct{ query, want string }{
		{"dname=eq.SALES&select=deptNumber", `[{"deptNumber":30}]`},
		{"loc=is.null&select=n:deptno", `[{"n":40}]`},
		{"order=dname.desc&limit=2&select=deptNumber", `[{"deptNumber":30},{"deptNumber":20}]`},
		{"or=(dname.like.S*,loc.eq.DALLAS)&select=deptNumber", `[{"deptNumber":20},{"deptNumber":30}]`},
		{"deptNumber=gt.10&offset=1&limit=1&select=deptNumber", `[{"deptNumber":30}]`},
		{"deptNumber=in.(30,10)&order=deptNumber&select=deptNumber",
			`[{"deptNumber":10},{"deptNumber":30}]`},
		{"limit=0", `[]`},
		{"dname=in.()", `[]`},
		{"select=loc&order=loc&limit=1", `[{"loc":null}]`},
	} {
		a := s.do("GET", "/depts?"+tt.query, "")
		s.want(a, 200, "")
		if a.body != tt.want {
			t.Errorf("%s: %s, want %s", tt.query, a.body, tt.want)
		}
	}
}

func TestSelect_ErrorsSayWhatAndWhere(t *testing.T) {
	s := newServer(t)
	for _, tt := range []struct {
		query  string
		status int
		slug   string
		says   string
	}{
		{"nope=eq.1", 400, "bad-query", `"code":"42703"`},
		{"deptNumber=gt.abc", 400, "bad-query", `"code":"22P02"`},
		{"dname=like.a%5C", 400, "bad-query", `"code":"22025"`},
		{"dname=cs.a", 400, "bad-query", `"code":"PGRST100"`},
		{"limit=4", 400, "bad-query", "from 0 to 3"},
		{"limit=-1", 416, "range-not-satisfiable", `"code":"PGRST103"`},
		{"dname=eq.x&after=abc", 400, "bad-query", "not a place in this list"},
		{"dname=eq.x&format=xml", 400, "bad-query", "format must be"},
	} {
		a := s.do("GET", "/depts?"+tt.query, "")
		s.want(a, tt.status, tt.slug)
		if !strings.Contains(a.body, tt.says) {
			t.Errorf("%s: %s does not say %s", tt.query, a.body, tt.says)
		}
	}
	a := s.do("GET", "/depts?dname=eq.x", "", "Cache-Control: only-if-cached")
	s.want(a, 504, "not-cached")
}

func TestSelect_RangesAndCounts(t *testing.T) {
	s := newServer(t)
	for _, tt := range []struct {
		query, headers string
		status         int
		contentRange   string
	}{
		{"dname=neq.x&limit=2", "", 200, "0-1/*"},
		{"dname=eq.x", "", 200, "*/*"},
		{"limit=2", "Prefer: count=exact", 206, "0-1/4"},
		{"deptNumber=lte.20", "Prefer: count=exact", 200, "0-1/2"},
		{"", "Range: 1-2", 200, "1-2/*"},
		{"deptNumber=gt.10", "Range: 1-1\nPrefer: count=estimated", 206, "1-1/3"},
		{"offset=4", "Prefer: count=planned", 206, "*/4"},
		{"offset=5", "Prefer: count=exact", 416, "*/4"},
		{"", "Range: 5-2", 416, ""},
		{"limit=2", "Range: bytes=0-5", 200, "0-1/*"},
	} {
		a := s.do("GET", "/depts?"+tt.query, "", strings.FieldsFunc(tt.headers,
			func(r rune) bool { return r == '\n' })...)
		if a.StatusCode != tt.status || a.Header.Get("Content-Range") != tt.contentRange {
			t.Errorf("%s %s: %d, Content-Range %q", tt.query, tt.headers, a.StatusCode,
				a.Header.Get("Content-Range"))
		}
	}
	a := s.do("HEAD", "/depts?dname=neq.x&limit=1", "", "Prefer: count=exact")
	if a.StatusCode != 206 || a.Header.Get("Content-Range") != "0-0/4" || a.body != "" ||
		a.Header.Get("Preference-Applied") != "count=exact" {
		t.Errorf("HEAD: %d %v", a.StatusCode, a.Header)
	}
}

func TestSelect_SingleObject(t *testing.T) {
	s := newServer(t)
	const accept = "Accept: application/vnd.pgrst.object+json"
	a := s.do("GET", "/depts?dname=eq.SALES&select=deptNumber", "", accept)
	s.want(a, 200, "")
	if a.body != `{"deptNumber":30}` ||
		a.Header.Get("Content-Type") != "application/vnd.pgrst.object+json" {
		t.Errorf("%s, %v", a.body, a.Header)
	}
	for _, query := range []string{"dname=eq.x", "deptNumber=in.(10,20)"} {
		a = s.do("GET", "/depts?"+query, "", accept)
		s.want(a, 406, "not-singular")
		if !strings.Contains(a.body, `"code":"PGRST116"`) {
			t.Error(a.body)
		}
	}
}

func TestSelect_PagesByCursor(t *testing.T) {
	s := newServer(t)
	var got []string
	for path := "/depts?deptNumber=gt.0&order=loc.desc&limit=1&select=loc&format=json"; path != ""; {
		a := s.do("GET", path, "")
		s.want(a, 200, "")
		got = append(got, a.body)
		path = strings.TrimSuffix(strings.TrimPrefix(a.Header.Get("Link"), "<"), `>; rel="next"`)
		if len(got) > 5 {
			t.Fatal("the pages do not end")
		}
		if u, err := url.Parse(path); err != nil || path != "" && u.Query().Get("format") != "json" {
			t.Errorf("the next page is %s, %v", path, err)
		}
	}
	want := `[{"loc":"NEW YORK"}] [{"loc":"DALLAS"}] [{"loc":"CHICAGO"}] [{"loc":null}]`
	if strings.Join(got, " ") != want {
		t.Errorf("pages %s", got)
	}
}

func TestSelect_BinaryFormats(t *testing.T) {
	s := newServer(t)
	for format, decode := range map[string]func([]byte, any) error{
		"msgpack": msgpack.Unmarshal, "cbor": cbor.Unmarshal} {
		a := s.do("GET", "/depts?dname=eq.SALES&select=x:loc&format="+format, "")
		s.want(a, 200, "")
		var docs []map[string]any
		if err := decode([]byte(a.body), &docs); err != nil || len(docs) != 1 ||
			docs[0]["x"] != "CHICAGO" {
			t.Errorf("%s: %v, %v", format, docs, err)
		}
	}
}
