package httpfront

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/eventloop"
)

// stepSeeds are inputs of a connection: hits, misses, what is handed over, what
// is refused, some of them pipelined.
func stepSeeds() []string {
	get := func(path string, headers ...string) string {
		s := "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n"
		for _, h := range headers {
			s += h + "\r\n"
		}
		return s + "\r\n"
	}
	return []string{
		plainGet, plainGet + plainGet + get("/depts/20"), get("/depts/99"), get("/depts/010"),
		get("/depts/10", "Accept: application/vnd.msgpack"), get("/depts/10", "If-None-Match: \"x\""),
		get("/depts/10", "Accept-Encoding: gzip, zstd;q=0.5"), get("/depts/10", "Connection: close"),
		get("/depts/10", "Accept-Encoding: identity;q=0, *"), get("/cities/Tulsa,OK"),
		get("/depts/10", "Authorization: Bearer x"), get("/secrets/1", "Authorization: Bearer x"),
		"HEAD /depts/10 HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n" + plainGet,
		plainGet + "GET /depts/10 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + plainGet,
		plainGet + "\x00\x01 garbage\r\n\r\n", get("/depts?limit=1"), get("/"), "\r\n" + plainGet,
		"PUT /depts/10 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}" + plainGet,
		get("/depts/10", "Cache-Control: max-age=9, no-transform", "X-Request-Id: r-1"),
		get("/depts/10", "Hotrow-Min-Position: hr1.other.x.1", "Origin: null", "Range: bytes=0-"),
		"OPTIONS /depts/10 HTTP/1.1\r\nHost: localhost\r\nOrigin: " + listed +
			"\r\nAccess-Control-Request-Method: PUT\r\n\r\n" + plainGet,
		get("/depts/10", "Origin: "+listed), get("/depts/99", "Origin: "+unlisted, "Accept-Encoding: gzip"),
		get("/depts/10", "Origin: "+listed, "Origin: "+listed), get("/depts/10", "Origin:"),
		get("/depts/10?format=cbor", "If-Match: \"x\"", "Pragma: no-cache"), get("/depts/10?"),
		get("/depts/10", `If-None-Match: "a b"`), get("/depts/10", "If-None-Match: \"\xe4\""),
		"\r\n" + plainGet + "\r\n" + plainGet + "\r\n\r\n" + plainGet,
		strings.Replace(plainGet, "1.1", "1.2", 1) + plainGet, strings.Replace(plainGet, "1.1", "2.0", 1),
		"GET /" + strings.Repeat("x", 8<<10), get("/depts/10?x=" + strings.Repeat("x", 8<<10)),
		get("/depts/10", "Accept: text/html, */*;q=0.1", "X-Amzn-Trace-Id: Root=1-2-3"),
	}
}

// FuzzStep: what the loop answers is what the Handler answers to what
// net/http reads from the same bytes, however they are cut.
func FuzzStep(f *testing.F) {
	for i, s := range stepSeeds() {
		f.Add([]byte(s), uint16(i))
	}
	set, _ := openSet(f)
	h := New(Options{Resources: set, Origins: []string{listed}})
	for _, path := range []string{"/depts/10", "/depts/20", "/depts/99", "/cities/Tulsa,OK"} {
		for range 2 { // the second is a hit
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "http://localhost"+path, nil))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, cut uint16) {
		s := newStepper(t, h)
		used, out, next := s.l.Step(s.conn, in, nil)
		if used > len(in) || next == eventloop.Flush && used == 0 {
			t.Fatalf("Step(%q) consumes %d and says %v", in, used, next)
		}
		again := newStepper(t, h)
		part := int(cut) % (len(in) + 1)
		at, got, then := again.l.Step(again.conn, in[:part], nil)
		if then == eventloop.More {
			var more int
			more, got, then = again.l.Step(again.conn, in[at:], got)
			at += more
		}
		cutShort := then == eventloop.Close && at == part // refused by its beginning alone
		if then == next && (at != used && !cutShort || len(got) != len(out)) {
			t.Fatalf("%q cut at %d: %d bytes consumed and %d answered, whole: %d and %d",
				in, part, at, len(got), used, len(out))
		}
		compareAnswers(t, h, in[:used], out)
	})
}

// compareAnswers wants out to hold the answers of h to the requests of in, in
// order. The last request may have been parked, and an answer be a refusal.
func compareAnswers(t *testing.T, h *Handler, in, out []byte) {
	t.Helper()
	requests := bufio.NewReader(bytes.NewReader(in))
	answers := bufio.NewReader(bytes.NewReader(out))
	for n := 0; ; n++ {
		status, _ := answers.Peek(len("HTTP/1.1 400"))
		if len(status) == 0 {
			return
		}
		status = bytes.Clone(status)
		skipEmptyLine(requests)
		req, err := http.ReadRequest(requests)
		if err != nil || isRefusal(status) {
			// A refusal has a body: what is no request has no method either.
			req = &http.Request{Method: "GET"}
		}
		resp, readErr := http.ReadResponse(answers, req)
		if readErr != nil {
			t.Fatalf("answer %d to %q: %v", n, in, readErr)
		}
		body, readErr := io.ReadAll(resp.Body)
		if readErr != nil {
			t.Fatalf("answer %d to %q: %v", n, in, readErr)
		}
		if isRefusal(status) {
			if _, err := answers.Peek(1); err != io.EOF {
				t.Fatalf("%q: an answer after the refusal", in)
			}
			return
		}
		if err != nil {
			t.Fatalf("%q is answered with %d; net/http: %v", in, resp.StatusCode, err)
		}
		compareWithHandler(t, h, req, resp, body)
	}
}

// skipEmptyLine passes over what a request may follow, for net/http does not.
func skipEmptyLine(r *bufio.Reader) {
	if b, _ := r.Peek(2); string(b) == "\r\n" {
		_, _ = r.Discard(2)
	}
}

// isRefusal reports whether an answer begins as one to what is no request.
func isRefusal(status []byte) bool {
	switch string(status[len("HTTP/1.1 "):]) {
	case "400", "414", "431", "505":
		return true
	}
	return false
}

// compareWithHandler wants an answer of the loop to be the Handler's.
func compareWithHandler(
	t *testing.T, h *Handler, req *http.Request, resp *http.Response, body []byte,
) {
	t.Helper()
	req.RemoteAddr = "127.0.0.1:2"
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req.WithContext(
		context.WithValue(req.Context(), http.LocalAddrContextKey, net.Addr(local))))
	full := w.Result()
	for _, header := range []http.Header{resp.Header, full.Header} {
		for _, name := range []string{"Date", "Hotrow-Position", "Server-Timing", "Connection"} {
			header.Del(name)
		}
	}
	want := w.Body.Bytes()
	if req.Method == http.MethodHead {
		want = nil
	}
	ours := fmt.Sprint(resp.StatusCode, resp.Header)
	if theirs := fmt.Sprint(full.StatusCode, full.Header); ours != theirs || !bytes.Equal(body, want) {
		if !anewOrLate(full.Header) {
			t.Fatalf("%s %s: the loop answers\n%s %q\nthe Handler\n%s %q",
				req.Method, req.URL, ours, body, theirs, want)
		}
	}
}

// anewOrLate reports whether the Handler's answer is no hit: the feed may have
// lagged for a moment, on a machine that is busy.
func anewOrLate(h http.Header) bool {
	return h.Get("Cache-Status") != "hotrow; hit; detail=mem"
}
