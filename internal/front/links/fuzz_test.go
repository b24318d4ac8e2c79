package linksfront

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

// known are the headers that an answer of ours may have.
var known = map[string]bool{
	"Date": true, "Location": true, "X-Robots-Tag": true, "Cache-Control": true,
	"Content-Length": true, "Content-Type": true, "Connection": true, "Retry-After": true,
	"Content-Security-Policy": true, "X-Content-Type-Options": true, "Allow": true,
}

// FuzzStep: what the event loop answers is what the handler of net/http answers to what net/http
// reads from the same bytes, however they are cut, and no input puts a header of
// its own into an answer.
func FuzzStep(f *testing.F) {
	get := func(path string, headers ...string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + strings.Join(headers, "") + "\r\n"
	}
	for i, s := range []string{
		get("/asdf"), get("/plain?x=1") + get("/query?x=2&y&z=%0d%0a"), get("/path/a/b?c"), browser,
		get("/nothing") + get("/plain"), get("/plain."), get("/%61sdf"), get("/PLAIN"), get("/+"),
		get("/plain", "Sec-Purpose: prefetch\r\n"), get("/plain", "X-Forwarded-For: 1.2.3.4\r\n"),
		get("/over") + get("/overto"), "HEAD /asdf HTTP/1.0\r\nHost: localhost\r\n\r\n",
		"POST /plain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", get("//evil.com/.."),
		get("/plain", "Connection: close\r\n") + get("/asdf"), "\x16\x03\x01\x02\x00",
		"\r\n" + get("/plain") + "\r\n" + get("/plain") + "\r\n\r\n" + get("/plain"),
		strings.Replace(get("/plain"), "1.1", "1.2", 1) + strings.Replace(get("/plain"), "1.1", "2.0", 1),
		get("/plain?" + strings.Repeat("x", 8<<10)), "HEAD /plain HTTP/1.0\r\nHost: localhost\r\n" +
			"Connection: keep-alive\r\n\r\n" + get("/asdf"),
	} {
		f.Add([]byte(s), uint16(i))
	}
	b := newBed(f, databases()[0], func(s *Settings) { s.MissRate = 0 })
	b.warm("/asdf", "/plain", "/query", "/path", "/over", "/overto")
	f.Fuzz(func(t *testing.T, in []byte, cut uint16) {
		s := newStepper(b)
		used, out, next := s.l.Step(s.conn, in, nil)
		if used > len(in) || next == eventloop.Flush && used == 0 {
			t.Fatalf("Step(%q) consumes %d and says %v", in, used, next)
		}
		again := newStepper(b)
		part := int(cut) % (len(in) + 1)
		var at int
		var got []byte
		then := eventloop.More
		if part > 0 {
			at, got, then = again.l.Step(again.conn, in[:part], nil)
		}
		if then == eventloop.More && at < len(in) {
			var more int
			more, got, then = again.l.Step(again.conn, in[at:], got)
			at += more
		}
		cutShort := then == eventloop.Close && at == part // refused by its beginning alone
		if then == next && (at != used && !cutShort || len(got) != len(out)) {
			t.Fatalf("%q cut at %d: %d bytes consumed and %d answered, whole: %d and %d", in, part,
				at, len(got), used, len(out))
		}
		compareAnswers(t, b, in[:used], out)
	})
}

// compareAnswers wants out to hold the answers of the handler to the requests
// of in, in order; the last one may have been parked.
func compareAnswers(t *testing.T, b *bed, in, out []byte) {
	t.Helper()
	requests := bufio.NewReader(bytes.NewReader(in))
	answers := bufio.NewReader(bytes.NewReader(out))
	for n := 0; ; n++ {
		status, _ := answers.Peek(len("HTTP/1.1 400"))
		if len(status) == 0 {
			return
		}
		if b, _ := requests.Peek(2); string(b) == "\r\n" { // net/http knows no empty line
			_, _ = requests.Discard(2)
		}
		req, err := http.ReadRequest(requests)
		code := string(status[max(len(status)-3, 0):])
		refused := code == "400" || code == "414" || code == "431" || code == "505"
		if err != nil || refused {
			req = &http.Request{Method: "GET"}
		}
		resp, readErr := http.ReadResponse(answers, req)
		if readErr != nil {
			t.Fatalf("answer %d to %q: %v", n, in, readErr)
		}
		if _, readErr = io.Copy(io.Discard, resp.Body); readErr != nil {
			t.Fatalf("answer %d to %q: %v", n, in, readErr)
		}
		if refused {
			return
		}
		if err != nil {
			t.Fatalf("%q is answered with %d; net/http: %v", in, resp.StatusCode, err)
		}
		for name, values := range resp.Header {
			if !known[name] || len(values) != 1 {
				t.Fatalf("%q is answered with %s: %q", in, name, values)
			}
		}
		req.RemoteAddr = "127.0.0.1:2"
		local := net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1})
		w := httptest.NewRecorder()
		b.front.ServeHTTP(w, req.WithContext(
			context.WithValue(req.Context(), http.LocalAddrContextKey, local)))
		ours := fmt.Sprint(resp.StatusCode, resp.Header["Location"], resp.Header["Cache-Control"])
		full := fmt.Sprint(w.Code, w.Header()["Location"], w.Header()["Cache-Control"])
		if ours != full {
			t.Fatalf("%s %q: the event loop answers %s, the handler %s", req.Method, req.RequestURI,
				ours, full)
		}
	}
}
