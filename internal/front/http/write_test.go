package httpfront

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/hotrow/hotrow/internal/row"
)

func TestWrite_CreateReplaceMergeDelete(t *testing.T) {
	s := newServer(t)
	a := s.do("POST", "/depts", `{"deptNumber":50,"dname":"IT","loc":"ROME"}`)
	s.want(a, 201, "")
	if a.Header.Get("Location") != "/depts/50" || a.Header.Get("ETag") == "" ||
		a.body != `{"deptNumber":50,"dname":"IT","loc":"ROME"}` {
		t.Errorf("POST: %v %s", a.Header, a.body)
	}
	read := func(want string) {
		t.Helper()
		if got := s.do("GET", "/depts/50", ""); got.body != want {
			t.Errorf("GET: %s, want %s", got.body, want)
		}
	}
	read(`{"deptNumber":50,"dname":"IT","loc":"ROME"}`)
	s.want(s.do("PUT", "/depts/50", `{"dname":"IT2","loc":null}`), 200, "")
	read(`{"deptNumber":50,"dname":"IT2","loc":null}`)
	s.want(s.do("PATCH", "/depts/50", `{"loc":"PISA"}`,
		"Content-Type: application/merge-patch+json"), 200, "")
	read(`{"deptNumber":50,"dname":"IT2","loc":"PISA"}`)
	a = s.do("PUT", "/depts/60", `{"deptNumber":60,"dname":"HR"}`)
	s.want(a, 201, "")
	if a.Header.Get("Location") != "/depts/60" {
		t.Errorf("Location %q", a.Header.Get("Location"))
	}
	a = s.do("DELETE", "/depts/50", "")
	s.want(a, 204, "")
	if a.body != "" || a.Header.Get("Hotrow-Position") == "" {
		t.Errorf("DELETE: %v %q", a.Header, a.body)
	}
	s.want(s.do("GET", "/depts/50", ""), 404, "not-found")
	s.want(s.do("DELETE", "/depts/50", ""), 404, "not-found")
	s.want(s.do("PATCH", "/depts/50", `{"loc":"X"}`), 404, "not-found")
	s.want(s.do("POST", "/depts", `{"deptNumber":10,"dname":"NEW"}`), 409, "conflict")
	s.want(s.do("POST", "/depts", `{"dname":"SALES"}`), 409, "conflict")
}

func TestWrite_CompositeKey(t *testing.T) {
	s := newServer(t)
	a := s.do("POST", "/cities", `{"city":"x,y","state":"z/w","people":3}`)
	s.want(a, 201, "")
	location := a.Header.Get("Location")
	if location != "/cities/x%2Cy,z%2Fw" {
		t.Errorf("Location %q", location)
	}
	s.want(s.do("GET", location, ""), 200, "")
	s.want(s.do("PUT", location, `{"city":"x,y","state":"z/w","people":4}`), 200, "")
	s.want(s.do("PUT", location, `{"city":"other","people":4}`), 422, "key-mismatch")
	s.want(s.do("DELETE", location, ""), 204, "")
}

func TestWrite_MessagePack(t *testing.T) {
	s := newServer(t)
	body, err := msgpack.Marshal(map[string]any{"dname": "MP", "loc": "X"})
	if err != nil {
		t.Fatal(err)
	}
	a := s.do("PUT", "/depts/70", string(body), "Content-Type: application/msgpack",
		"Accept: application/msgpack")
	s.want(a, 201, "")
	var doc map[string]any
	if err := msgpack.Unmarshal([]byte(a.body), &doc); err != nil || doc["dname"] != "MP" {
		t.Errorf("%v, %v", doc, err)
	}
	s.want(s.do("PUT", "/depts/70", "\xdd\xff\xff\xff\xff", "Content-Type: application/msgpack"),
		400, "bad-body")
}

func TestWrite_Prefer(t *testing.T) {
	s := newServer(t)
	a := s.do("PUT", "/depts/10", `{"dname":"A"}`, "Prefer: return=minimal")
	s.want(a, 204, "")
	if a.body != "" || a.Header.Get("Preference-Applied") != "return=minimal" ||
		a.Header.Get("ETag") == "" {
		t.Errorf("PUT: %v %q", a.Header, a.body)
	}
	a = s.do("POST", "/depts", `{"deptNumber":80,"dname":"B"}`, "Prefer: return=minimal")
	s.want(a, 201, "")
	if a.body != "" || a.Header.Get("Location") != "/depts/80" {
		t.Errorf("POST: %v %q", a.Header, a.body)
	}
	a = s.do("PUT", "/depts/10", `{"dname":"C"}`, "Prefer: return=representation")
	s.want(a, 200, "")
	if a.body == "" || a.Header.Get("Preference-Applied") != "return=representation" {
		t.Errorf("PUT: %v %q", a.Header, a.body)
	}
}

func TestWrite_Conditional(t *testing.T) {
	s := newServer(t)
	tag := s.do("GET", "/depts/10", "").Header.Get("ETag")
	put := func(header string) reply { return s.do("PUT", "/depts/10", `{"dname":"A"}`, header) }
	s.want(put(`If-Match: "x"`), 412, "precondition-failed")
	s.want(put("If-Match: W/"+tag), 412, "precondition-failed")
	s.want(put("If-None-Match: *"), 412, "precondition-failed")
	s.want(put("If-None-Match: "+tag), 412, "precondition-failed")
	s.want(put("If-None-Match: W/"+tag), 412, "precondition-failed")
	s.want(put("If-Match: nonsense"), 400, "bad-header")
	s.want(put(`If-Match: "x", `+strings.Replace(tag, "-j", "-m", 1)), 200, "")
	s.want(put("If-Match: "+tag), 412, "precondition-failed")
	s.want(s.do("PUT", "/depts/90", `{"dname":"N"}`, "If-None-Match: *"), 201, "")
	s.want(s.do("PUT", "/depts/91", `{"dname":"M"}`, "If-Match: *"), 412, "precondition-failed")
	s.want(s.do("DELETE", "/depts/90", "", `If-Match: "x"`), 412, "precondition-failed")
}

func TestWrite_BodiesThatAreRefused(t *testing.T) {
	s := newServer(t)
	big := `{"dname":"` + strings.Repeat("x", 5000) + `"}`
	tests := []struct {
		name, method, path, body, contentType string
		status                                int
		slug                                  string
	}{
		{"a form's text", "POST", "/depts", `{"dname":"X"}`, "text/plain", 415,
			"unsupported-media-type"},
		{"a form", "POST", "/depts", "dname=X", "application/x-www-form-urlencoded", 415,
			"unsupported-media-type"},
		{"no type", "POST", "/depts", `{"dname":"X"}`, "", 415, "unsupported-media-type"},
		{"a patch of POST", "POST", "/depts", `{"dname":"X"}`, "application/merge-patch+json", 415,
			"unsupported-media-type"},
		{"another charset", "PUT", "/depts/10", `{"dname":"X"}`, "application/json; charset=utf-16",
			415, "unsupported-media-type"},
		{"too large", "PUT", "/depts/10", big, "application/json", 413, "too-large"},
		{"malformed", "PUT", "/depts/10", `{"dname":`, "application/json", 400, "bad-body"},
		{"a list", "PUT", "/depts/10", `[]`, "application/json", 400, "bad-body"},
		{"unknown member", "PUT", "/depts/10", `{"dnam":"X"}`, "application/json", 400, "bad-body"},
		{"wrong type", "PATCH", "/depts/10", `{"deptNumber":"x"}`, "application/json", 400,
			"bad-body"},
		{"another key", "PUT", "/depts/10", `{"deptNumber":11,"dname":"X"}`, "application/json",
			422, "key-mismatch"},
		{"a null key", "PATCH", "/depts/10", `{"deptNumber":null}`, "application/json", 422,
			"key-mismatch"},
		{"no key at all", "PUT", "/depts/abc", `{"dname":"X"}`, "application/json", 400, "bad-key"},
		{"a missing column", "POST", "/depts", `{"loc":"X"}`, "application/json", 400,
			"invalid-value"},
	}
	for _, tt := range tests {
		t.Log(tt.name)
		a := s.do(tt.method, tt.path, tt.body, "Content-Type: "+tt.contentType)
		s.want(a, tt.status, tt.slug)
	}
	if a := s.do("GET", "/depts/10", ""); a.body != dept10 {
		t.Errorf("a refused body has changed the document: %s", a.body)
	}
	a := s.do("PUT", "/depts/10", `{"dname":"X"}`, "Content-Encoding: gzip")
	s.want(a, 415, "unsupported-media-type")
}

func TestWrite_BodiesByFraming(t *testing.T) {
	s := newServer(t)
	head := "PUT /depts/10 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	chunk := "1000\r\n" + strings.Repeat(" ", 0x1000) + "\r\n"
	tests := []struct {
		name, text string
		status     int
	}{
		{"chunked", head + "Transfer-Encoding: chunked\r\n\r\n" +
			"d\r\n{\"dname\":\"X\"}\r\n0\r\n\r\n", 200},
		{"chunked, too large", head + "Transfer-Encoding: chunked\r\n\r\n" + chunk + chunk, 413},
		{"promises too much", head + "Content-Length: 99999999\r\n\r\n", 413},
		{"empty", head + "Content-Length: 0\r\n\r\n", 400},
		{"no number", head + "Content-Length: +5\r\n\r\n12345", 400},
		{"two lengths", head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345", 400},
	}
	for _, tt := range tests {
		if a := s.raw("PUT", tt.text); a.StatusCode != tt.status {
			t.Errorf("%s: status %d, want %d: %s", tt.name, a.StatusCode, tt.status, a.body)
		}
	}
}

func TestMethods(t *testing.T) {
	s := newServer(t)
	tests := []struct{ method, path, allow string }{
		{"POST", "/depts/10", "GET, HEAD, OPTIONS, PUT, PATCH, DELETE"},
		{"PUT", "/depts", "GET, HEAD, OPTIONS, POST"},
		{"TRACE", "/depts", "GET, HEAD, OPTIONS, POST"},
		{"TRACE", "/depts/10", "GET, HEAD, OPTIONS, PUT, PATCH, DELETE"},
		{"PUT", "/log/10", "GET, HEAD, OPTIONS"},
		{"POST", "/log", "GET, HEAD, OPTIONS"},
		{"DELETE", "/closed/10", "GET, HEAD, OPTIONS"},
	}
	for _, tt := range tests {
		a := s.do(tt.method, tt.path, "")
		s.want(a, http.StatusMethodNotAllowed, "method-not-allowed")
		if got := a.Header.Get("Allow"); got != tt.allow {
			t.Errorf("%s %s: Allow %q, want %q", tt.method, tt.path, got, tt.allow)
		}
	}
	a := s.do("OPTIONS", "/depts/10", "")
	s.want(a, 204, "")
	if a.Header.Get("Allow") == "" || a.Header.Get("Accept-Patch") == "" {
		t.Errorf("OPTIONS: %v", a.Header)
	}
}

func TestBodyFormat(t *testing.T) {
	tests := []struct {
		in    string
		patch bool
		want  row.Format
		ok    bool
	}{
		{"application/json", false, row.FormatJSON, true},
		{"Application/JSON; charset=UTF-8", false, row.FormatJSON, true},
		{"application/merge-patch+json", true, row.FormatJSON, true},
		{"application/merge-patch+json", false, 0, false},
		{"application/x-msgpack", false, row.FormatMsgPack, true},
		{"application/cbor", true, row.FormatCBOR, true},
		{"application/json; charset=latin1", false, 0, false},
		{"text/plain; application/json", false, 0, false},
		{"application/json, text/plain", false, 0, false},
		{"multipart/form-data; boundary=x", false, 0, false},
		{"", false, 0, false},
	}
	for _, tt := range tests {
		got, ok := bodyFormat(tt.in, tt.patch)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("bodyFormat(%q, %v) = %v, %v; want %v, %v",
				tt.in, tt.patch, got, ok, tt.want, tt.ok)
		}
	}
}
