package http1

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// ask returns a preflight with further header lines.
func ask(lines ...string) string {
	return "OPTIONS /depts/10 HTTP/1.1\r\nHost: localhost\r\nOrigin: http://a\r\n" + join(lines)
}

const forPut = "Access-Control-Request-Method: PUT"

// TestParse_Origin: a page's origin is known of every request, and takes no read away.
func TestParse_Origin(t *testing.T) {
	for lines, want := range map[string]string{
		"": "-", "Origin: http://a\r\n": "http://a", "ORIGIN:null\r\n": "null", "Origin:\r\n": "",
		"Origin: http://a\r\nOrigin: http://a\r\n": ",", "Origin:\r\nOrigin: http://a\r\n": ",",
		"Origin: http://a\r\nLast-Event-ID: 7\r\nAccess-Control-Request-Method: x\r\n": "http://a",
	} {
		in := "GET / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n"
		var r Request
		n, v := r.Parse([]byte(in))
		got := string(r.Origin)
		if r.Origin == nil {
			got = "-"
		}
		follows := string(r.LastEventID) == "7"
		if v != Complete || n != len(in) || got != want || strings.Contains(in, "Last") != follows {
			t.Errorf("%q: %d, %v, Origin %q, want %q; Last-Event-ID %q", lines, n, v, got, want, r.LastEventID)
		}
	}
}

func TestPreflight(t *testing.T) {
	for in, want := range map[string]bool{
		ask(forPut): true, ask(forPut, "Content-Length: 0"): true, ask("access-control-request-method: x"): true,
		ask(forPut, "Access-Control-Request-Headers: a,b", "Sec-Fetch-Mode: cors"): true,

		ask(): false, ask(forPut, forPut): false, ask(forPut, "Content-Length: 1"): false,
		ask(forPut, "Access-Control-Request-Headers: a", "Access-Control-Request-Headers: b"): false,
		ask(forPut, "Transfer-Encoding: chunked"):                                             false,
		ask(forPut, "Upgrade: x"):                                                             false,
		ask(forPut, "Expect: 100-continue"):                                                   false,
		ask(forPut, "X-HTTP-Method: PUT"):                                                     false,
		strings.Replace(ask(forPut), "Origin", "Origim", 1):                                   false,
		strings.Replace(ask(forPut), "OPTIONS", "GET", 1):                                     false,
		strings.Replace(ask(forPut), "OPTIONS", "options", 1):                                 false,
		strings.Replace(ask(forPut), "OPTIONS", "POST", 1):                                    false,
		strings.Replace(ask(forPut), "1.1", "1.0", 1):                                         false,
		strings.Replace(ask(forPut), "/depts/10", "*", 1):                                     false,
		strings.Replace(ask(forPut), "/depts/10", "//depts", 1):                               false,
		strings.Replace(ask(forPut), "Host: ", "Host: b/", 1):                                 false,
	} {
		var r Request
		text := []byte(in + "GET / HTTP/1.1\r\n")
		r.Parse(text)
		n, ok := r.Preflight(text)
		if ok != want || ok && n != len(in) {
			t.Errorf("Preflight(%q) = %d, %v, want %v", in, n, ok, want)
		}
	}
}

// FuzzPreflight: what is one net/http reads as an OPTIONS without a body, of the same length.
func FuzzPreflight(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Request
		_, v := r.Parse(b)
		n, ok := r.Preflight(b)
		if !ok {
			return
		}
		if v != HandOver {
			t.Fatalf("Parse(%q) says %v, and it is a preflight", b, v)
		}
		rd := bytes.NewReader(b)
		br := bufio.NewReader(rd)
		req, err := http.ReadRequest(br)
		if err != nil {
			t.Fatalf("Preflight accepts %q, net/http does not: %v", b[:n], err)
		}
		if got := len(b) - rd.Len() - br.Buffered(); got != n || req.Method != http.MethodOptions ||
			len(req.Header.Values("Access-Control-Request-Method")) != 1 {
			t.Fatalf("Preflight(%q) = %d, net/http reads %d bytes: %+v", b, n, got, req)
		}
		if origins := req.Header.Values("Origin"); len(origins) == 1 && origins[0] != string(r.Origin) ||
			len(origins) > 1 && string(r.Origin) != "," {
			t.Fatalf("Origin %q, net/http has %q", r.Origin, origins)
		}
		compare(t, &r, req)
		for i := range b[:n] {
			r.Parse(b[:i])
			if _, ok := r.Preflight(b[:i]); ok {
				t.Fatalf("Preflight(%q), cut at %d", b, i)
			}
		}
	})
}
