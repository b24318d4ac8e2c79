package httpfront

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

// A demand is a request with a header of another server, and what it is answered with.
type demand struct {
	line, header string
	status       int
	slug         string // of a problem
}

// demanded has cases for each line of the table "Headers of other servers", by its first cell.
var demanded = map[string][]demand{
	"`Accept-Profile`, `Content-Profile`: `public`": {
		{"GET /depts/10", "Accept-Profile: public", 200, ""},
		{"GET /depts", "Accept-Profile: public", 200, ""},
		{"PATCH /depts/10", "Content-Profile: public", 200, ""},
	},
	"any other schema, with any method": {
		{"GET /depts/10", "Accept-Profile: personal", 406, "unknown-schema"},
		{"GET /depts/99", "Accept-Profile: personal", 406, "unknown-schema"},
		{"GET /depts/10", "Content-Profile: personal", 406, "unknown-schema"},
		{"GET /depts/10", "Accept-Profile: public, personal", 406, "unknown-schema"},
		{"GET /depts/10", "Accept-Profile: Public", 406, "unknown-schema"},
		{"HEAD /depts/10", "Accept-Profile: personal", 406, ""},
		{"GET /depts?limit=2", "Accept-Profile: personal", 406, "unknown-schema"},
		{"GET /depts?deptno=in.(10,20)", "Accept-Profile: personal", 406, "unknown-schema"},
		{"GET /depts?dname=eq.SALES", "Accept-Profile: personal", 406, "unknown-schema"},
		{"GET /", "Accept-Profile: personal", 406, "unknown-schema"},
		{"POST /depts", "Content-Profile: personal", 406, "unknown-schema"},
		{"PUT /depts/10", "Content-Profile: personal", 406, "unknown-schema"},
		{"PATCH /depts/10", "Content-Profile: personal", 406, "unknown-schema"},
		{"PATCH /depts/10", "Accept-Profile: personal", 406, "unknown-schema"},
		{"DELETE /depts/10", "Content-Profile: personal", 406, "unknown-schema"},
	},
	"`Prefer: return=`": {
		{"PATCH /depts/10", "Prefer: return=minimal", 204, ""},
		{"PATCH /depts/10", "Prefer: return=representation", 200, ""},
		{"DELETE /depts/30", "Prefer: return=representation", 204, ""},
	},
	"`Prefer: count=`": {
		{"GET /depts?limit=1", "Prefer: count=exact", 206, ""},
		{"GET /depts?limit=1", "Prefer: count=planned", 206, ""},
		{"GET /depts?limit=1", "Prefer: count=estimated", 206, ""},
		{"GET /depts/10", "Prefer: count=exact", 200, ""},
		{"PATCH /depts/10", "Prefer: count=exact", 200, ""},
	},
	"`Prefer: wait=`": {{"GET /depts/10", "Prefer: wait=1", 200, ""}},
	"`Prefer: tx=rollback`": {
		{"PATCH /depts/10", "Prefer: tx=rollback", 400, "refused-header"},
		{"POST /depts", "Prefer: return=minimal, TX=rollback", 400, "refused-header"},
		{"DELETE /depts/10", `Prefer: tx="rollback"`, 400, "refused-header"},
		{"GET /depts/10", "Prefer: tx=rollback", 400, "refused-header"},
		{"GET /depts?limit=1", "Prefer: tx=rollback", 400, "refused-header"},
		{"PATCH /depts/10", "Prefer: tx=commit, tx=rollback", 200, ""},
	},
	"`Prefer: resolution=`": {
		{"POST /depts", "Prefer: resolution=merge-duplicates", 400, "refused-header"},
		{"POST /depts", "Prefer: resolution=ignore-duplicates", 400, "refused-header"},
		{"PUT /depts/10", "Prefer: resolution=merge-duplicates", 200, ""},
		{"PUT /depts/10", "Prefer: resolution=ignore-duplicates", 400, "refused-header"},
		{"PATCH /depts/10", "Prefer: resolution=merge-duplicates", 200, ""},
		{"POST /depts?on_conflict=dname", "A: b", 400, "bad-query"},
		{"POST /depts?columns=dname", "A: b", 400, "bad-query"},
		{"PATCH /depts/10?select=dname", "A: b", 400, "bad-query"},
	},
	"`Prefer: missing=`": {
		{"PUT /depts/10", "Prefer: missing=default", 200, ""},
		{"PUT /depts/10", "Prefer: missing=null", 400, "refused-header"},
		{"POST /depts", "Prefer: missing=null", 400, "refused-header"},
	},
	"`Prefer: max-affected=N`": {
		{"PATCH /depts/10", "Prefer: handling=strict, max-affected=1", 200, ""},
		{"DELETE /depts/10", "Prefer: handling=strict, max-affected=0", 400, "refused-header"},
		{"PATCH /depts/10", "Prefer: max-affected=x", 400, "refused-header"},
	},
	"`Prefer: timezone=`": {
		{"GET /depts/10", "Prefer: timezone=UTC", 200, ""},
		{"GET /depts/10", "Prefer: timezone=America/New_York", 400, "refused-header"},
		{"PATCH /depts/10", "Prefer: timezone=Asia/Tokyo", 400, "refused-header"},
	},
	"`Prefer: handling=strict`": {
		{"GET /depts/10", "Prefer: handling=strict, x=y", 400, "refused-header"},
		{"GET /depts?limit=1", "Prefer: handling=strict, count=all", 400, "refused-header"},
		{"PATCH /depts/10", "Prefer: x=y, handling=strict", 400, "refused-header"},
		{"PATCH /depts/10", "Prefer: return=minimal, handling=strict", 204, ""},
		{"GET /depts/10", "Prefer: handling=lenient, x=y", 200, ""},
	},
	"`Range-Unit`": {{"GET /depts", "Range-Unit: items", 200, ""}},
	"`If-Range`": {
		{"GET /depts", "Range: 0-1\r\nIf-Range: \"x\"", 400, "refused-header"},
		{"HEAD /depts", "Range: 0-1\r\nIf-Range: \"x\"", 200, ""},
		{"GET /depts", "Range: bytes=0-1\r\nIf-Range: \"x\"", 200, ""},
		{"GET /depts/10", "If-Range: \"x\"", 200, ""},
	},
	"`If-Match: *`": {
		{"PATCH /depts/10", "If-Match: *", 200, ""},
		{"PUT /depts/99", "If-Match: *", 412, "precondition-failed"},
		{"DELETE /depts/99", "If-Match: *", 412, "precondition-failed"},
	},
	"`If-Unmodified-Since`": {
		{"PATCH /depts/10", "If-Unmodified-Since: " + longAgo, 400, "refused-header"},
		{"DELETE /depts/10", "If-Unmodified-Since: " + longAgo, 400, "refused-header"},
		{"POST /depts", "If-Unmodified-Since: " + longAgo, 400, "refused-header"},
		{"PATCH /depts/10", "If-Match: *\r\nIf-Unmodified-Since: " + longAgo, 200, ""},
		{"GET /depts/10", "If-Unmodified-Since: " + longAgo, 200, ""},
	},
	"`If-Modified-Since`": {{"GET /depts/10", "If-Modified-Since: " + longAgo, 200, ""}},
	"`X-HTTP-Method-Override`, `X-HTTP-Method`, `X-Method-Override`": {
		{"POST /depts", "X-HTTP-Method-Override: GET", 400, "refused-header"},
		{"GET /depts/10", "X-HTTP-Method: DELETE", 400, "refused-header"},
		{"PUT /depts/10", "X-Method-Override: PATCH", 400, "refused-header"},
		{"PATCH /depts/10", "X-Method-Override: patch", 200, ""},
	},
	"`Content-Encoding` of a body": {
		{"PATCH /depts/10", "Content-Encoding: gzip", 415, "unsupported-media-type"},
		{"PATCH /depts/10", "Content-Encoding: identity\r\nContent-Encoding: br", 415,
			"unsupported-media-type"},
		{"PATCH /depts/10", "Content-Encoding: identity", 200, ""},
	},
	"`Content-Digest`, `Repr-Digest`, `Digest`, `Content-MD5`": {
		{"PATCH /depts/10", "Content-MD5: 1B2M2Y8AsgTpgAmY7PhCfg==", 400, "bad-body"},
		{"PATCH /depts/10", "Content-MD5: t4OMoUUURaAaqvv7xT2Kvw==", 200, ""},
		{"PATCH /depts/10", "Digest: SHA-256=x", 400, "bad-body"},
		{"PATCH /depts/10", "Digest: unixsum=30637", 200, ""},
		{"PATCH /depts/10", "Content-Digest: sha-512=:AAAA:", 400, "bad-body"},
		{"PATCH /depts/10", "Repr-Digest: sha-256=:AAAA:", 400, "bad-body"},
		{"PATCH /depts/10", "Content-Digest: sha-256=:Migi/zGgQcU0wduihqNJUOMAYVJGfMs015stblu5/ZY=:",
			200, ""},
	},
	"`Expect: 100-continue`": {{"PATCH /depts/10", "Expect: 100-continue", 200, ""}},
	"`apikey`": {
		{"GET /depts/10", "apikey: x", 200, ""}, {"GET /pay/1", "apikey: x", 401, "unauthorized"},
	},
	"`Idempotency-Key`": {{"POST /depts", "Idempotency-Key: x", 409, "conflict"}},
	"`Cookie`, `Forwarded`, `X-Forwarded-For` and all that are not named on this page": {
		{"GET /depts/10", "Cookie: a=b", 200, ""},
	},
}

const longAgo = "Thu, 01 Jan 1970 00:00:00 GMT"

// Each line of the table of headers of other servers says what happens, on every road.
func TestHeaders_OfOtherServers(t *testing.T) {
	s := newServer(t)
	s.hot("/depts/10")
	page, err := os.ReadFile("../../../docs/reference/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Headers of other servers")
	table, _, _ = strings.Cut(table, "\n## ")
	lines := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		name := strings.TrimPrefix(cells[0], "| ")
		if len(cells) != 2 || name == "header" {
			continue
		}
		if lines++; demanded[name] == nil {
			t.Errorf("no test of %s", name)
		}
		for _, d := range demanded[name] {
			s.demand(d)
		}
	}
	if lines != len(demanded) {
		t.Errorf("the table has %d lines, the test %d", lines, len(demanded))
	}
}

// demand sends a request, and fails the test unless it is answered as it must be. What is
// refused has changed nothing.
func (s *site) demand(d demand) {
	s.t.Helper()
	method, path, _ := strings.Cut(d.line, " ")
	body := map[string]string{"POST": `{"deptNumber":40,"dname":"NEW"}`,
		"PUT": `{"dname":"TEN"}`, "PATCH": `{"loc":"OSLO"}`}[method]
	before := s.do(http.MethodGet, "/depts", "").body
	a := s.do(method, path, body, strings.Split(d.header, "\r\n")...)
	if a.StatusCode != d.status {
		s.t.Errorf("%s with %s: %d %s, want %d", d.line, d.header, a.StatusCode, a.body, d.status)
		return
	}
	s.want(a, d.status, d.slug)
	if after := s.do(http.MethodGet, "/depts", "").body; d.slug != "" && after != before {
		s.t.Errorf("%s with %s was refused, and has changed %s to %s", d.line, d.header, before, after)
	}
}

// Another schema is refused in PostgREST's words, whatever memory holds.
func TestHeaders_OtherSchema(t *testing.T) {
	s := newServer(t)
	const list = "/depts?dname=eq.SALES"
	s.hot("/depts/10")
	s.hot(list)
	for _, path := range []string{"/depts/10", list} {
		a := s.do(http.MethodGet, path, "", "Accept-Profile: personal")
		s.want(a, 406, "unknown-schema")
		for _, part := range []string{`"code":"PGRST106"`, `"message":"Invalid schema: personal"`,
			`"details":null`, `"hint":"Only the following schemas are exposed: public"`} {
			if !strings.Contains(a.body, part) {
				t.Errorf("%s: %s, want %s", path, a.body, part)
			}
		}
		if before := s.handedOver(); s.hasLoop() {
			s.hot(path, "Accept-Profile: public")
			if s.handedOver() != before {
				t.Errorf("%s of the schema public leaves the loop", path)
			}
		}
	}
}
