package http1

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// seeds are requests of every kind, good and bad, some of them pipelined.
func seeds() []string {
	return []string{
		get("/depts/10"), get("/a%2Fb?x=%20&y", "Accept: a/b", "If-None-Match: \"x\""),
		get("/", "Connection: close"), get("/", "Authorization: Bearer t", "Cookie: a=b\tc"),
		"GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
		"HEAD / HTTP/1.1\r\nhost: [::1]:80\r\n\r\n" + get("/second"),
		put("Content-Length: 3") + "abc" + get("/"),
		put("Content-Length: 3", "Content-Length: 3") + "abc",
		put("Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\n\r\n" + get("/"),
		put("Content-Length: 3", "Transfer-Encoding: chunked") + "0\r\n\r\n",
		put("Content-Length: 3", "Expect: 100-continue") + "abc",
		put("Content-Length: 3", "Content-Type: application/json") + "abc" + get("/"),
		put("Content-Length: 2", "Content-Type: a/b", "Content-Encoding: gzip") + "{}",
		put("Content-Length: 2", "Content-Type: a/b", "Content-Type: a/c") + "{}",
		put("Content-Length: 2", "Origin: http://a") + "{}", put("Sec-Fetch-Site: none"),
		"DELETE /a?b HTTP/1.1\r\nHost: a\r\nIf-Match: \"x\"\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\n\r\n\r\n" + get("/"),
		ask(forPut) + get("/"), ask(forPut, "Access-Control-Request-Headers: a,b", "Content-Length: 0"),
		ask(forPut, "Origin: http://b"), ask(forPut, forPut), ask("Content-Length: 3", forPut) + "abc",
		get("/", "Origin: http://a", "Last-Event-ID: 7"), get("/", "Origin:", "Origin: null"),
		"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", get("http://localhost/x"), get("//x/y"),
		"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n", get("/", " folded: x"), get("/", "a\x0b: x"),
		"GET / HTTP/1.1\nHost: a\n\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "get a\r\n",
		get("/", "Upgrade: h2c", "Connection: Upgrade"), get("/", "Host: b"),
		strings.Replace(get("/"), "1.1", "1.2", 1) + get("/x"), "GET / HTTP/0.9\r\nHost: a\r\n\r\n",
		strings.Replace(put("Content-Length: 3"), "1.1", "1.9", 1) + "abc" + get("/"),
		strings.Replace(put("Content-Length: 3", "Connection: keep-alive"), "1.1", "1.0", 1) + "abc" +
			get("/"), "POST / HTTP/1.0\r\n\r\n" + get("/"), "\r\n" + get("/"),
		"GET /" + strings.Repeat("x", MaxRequestLine) + " HTTP/1.1\r\n", get("/", `If-None-Match: "a b"`),
		get("/", "Content-Length: 00"), get("/", "Content-Length: 999999999999999999"),
	}
}

// FuzzParse: whatever the event loop would answer, net/http reads as the same request.
func FuzzParse(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Request
		n, v := r.Parse(b)
		if v != Complete {
			if n != 0 {
				t.Fatalf("Parse(%q) consumes %d bytes and says %v", b, n, v)
			}
			return
		}
		rd := bytes.NewReader(b)
		br := bufio.NewReaderSize(rd, 16)
		req, err := http.ReadRequest(br)
		if err != nil {
			t.Fatalf("Parse accepts %q, net/http does not: %v", b[:n], err)
		}
		if got := len(b) - rd.Len() - br.Buffered(); got != n {
			t.Fatalf("Parse(%q) = %d, net/http reads %d bytes", b, n, got)
		}
		compare(t, &r, req)
		cutEverywhere(t, b[:n])
	})
}

// compare wants r and req to be the same request.
func compare(t *testing.T, r *Request, req *http.Request) {
	t.Helper()
	same := func(what, ours, theirs string) {
		if ours != theirs {
			t.Fatalf("%s: %q, net/http has %q", what, ours, theirs)
		}
	}
	same("method", r.Method, req.Method)
	same("path", string(r.Path), req.URL.EscapedPath())
	same("query", string(r.Query), req.URL.RawQuery)
	same("host", string(r.Host), req.Host)
	headers := map[string][]byte{
		"Accept": r.Accept, "Accept-Encoding": r.AcceptEncoding, "Authorization": r.Authorization,
		"If-None-Match": r.IfNoneMatch,
	}
	for name, value := range headers {
		theirs := req.Header.Values(name)
		if len(theirs) > 1 || (value != nil) != (len(theirs) == 1) {
			t.Fatalf("%s: %q, net/http has %q", name, value, theirs)
		}
		same(name, string(value), req.Header.Get(name))
	}
	if req.ContentLength != r.length || (r.length == 0) != (req.Body == http.NoBody) ||
		len(req.TransferEncoding) > 0 || req.Close != r.Close ||
		req.ProtoAtLeast(1, 1) == r.HTTP10 || req.URL.Host != "" {
		t.Fatalf("net/http sees another request: %+v", req)
	}
}

// cutEverywhere wants no prefix of a request to be taken for anything else.
func cutEverywhere(t *testing.T, b []byte) {
	t.Helper()
	if len(b) > 4<<10 {
		return
	}
	var r Request
	for i := range b {
		if n, v := r.Parse(b[:i]); n != 0 || v != NeedMore {
			t.Fatalf("Parse(%q), cut at %d = %d, %v", b, i, n, v)
		}
		if n, ok := Frame(b[:i]); ok {
			t.Fatalf("Frame(%q), cut at %d = %d", b, i, n)
		}
	}
}

// FuzzFrame: where Frame says that a message ends, net/http finds its end too,
// message after message.
func FuzzFrame(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rd := bytes.NewReader(b)
		br := bufio.NewReader(rd)
		for at := 0; ; {
			n, ok := Frame(b[at:])
			if !ok || n > int64(len(b)-at) {
				return
			}
			req, err := http.ReadRequest(br)
			if err != nil {
				return // it answers 400 and closes: nothing of this is given back
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				t.Fatalf("%q: body: %v", b[at:], err)
			}
			at += int(n)
			if got := len(b) - rd.Len() - br.Buffered(); got != at {
				t.Fatalf("%q: Frame ends at %d, net/http at %d", b, at, got)
			}
			if req.ContentLength < 0 || req.Header.Get("Upgrade") != "" {
				t.Fatalf("%q: Frame is certain of %+v", b, req)
			}
		}
	})
}

// FuzzBody: what Body returns is what net/http reads of the same request, which no page of a
// browser has sent.
func FuzzBody(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Request
		_, v := r.Parse(b)
		body, n, ok := r.Body(b)
		if !ok {
			return
		}
		if v != HandOver {
			t.Fatalf("Parse(%q) says %v, and there is a body", b, v)
		}
		rd := bytes.NewReader(b)
		br := bufio.NewReader(rd)
		req, err := http.ReadRequest(br)
		if err != nil {
			t.Fatalf("Body accepts %q, net/http does not: %v", b[:n], err)
		}
		theirs, err := io.ReadAll(req.Body)
		if err != nil || !bytes.Equal(body, theirs) {
			t.Fatalf("%q: body %q, net/http has %q, %v", b, body, theirs, err)
		}
		if got := len(b) - rd.Len() - br.Buffered(); got != n {
			t.Fatalf("%q: Body ends at %d, net/http at %d", b, n, got)
		}
		compare(t, &r, req)
		for name, value := range map[string][]byte{
			"Content-Type": r.ContentType, "Content-Encoding": r.ContentEncoding,
			"If-Match": r.IfMatch, "Prefer": r.Prefer,
		} {
			if theirs := req.Header.Values(name); len(theirs) > 1 ||
				string(value) != strings.Join(theirs, "") {
				t.Fatalf("%s: %q, net/http has %q", name, value, theirs)
			}
		}
		var pages http.CrossOriginProtection
		if err := pages.Check(req); err != nil || req.Header.Get("Origin") != "" ||
			req.Header.Get("Expect") != "" || req.Header.Get("Upgrade") != "" {
			t.Fatalf("%q: %v, %v", b, err, req.Header)
		}
		for i := range b[:n] {
			r.Parse(b[:i])
			if _, n, ok := r.Body(b[:i]); ok {
				t.Fatalf("Body(%q), cut at %d = %d", b, i, n)
			}
		}
	})
}
