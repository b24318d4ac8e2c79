package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

var now = time.Date(1994, 11, 6, 9, 49, 37, 5, time.FixedZone("CET", 3600))

func TestAppend_WritesWhatNetHTTPReads(t *testing.T) {
	for _, code := range []int{
		200, 201, 204, 206, 301, 302, 304, 400, 401, 403, 404, 405, 406, 409, 412, 413, 414, 415, 421, 422,
		425, 428, 429, 431, 500, 503, 504, 505, 507, 599,
	} {
		b := AppendDate(AppendStatus(nil, code), now)
		b = AppendEnd(AppendLength(AppendHeader(b, "ETag", `"x"`), 0))
		a, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(b)), nil)
		if err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if want := fmt.Sprintf("HTTP/1.1 %d %s\r\n", code, http.StatusText(code)); !strings.HasPrefix(string(b), want) {
			t.Errorf("%q, want %q", b, want)
		}
		if a.StatusCode != code || a.Header.Get("ETag") != `"x"` || a.ContentLength != 0 ||
			a.Header.Get("Date") != "Sun, 06 Nov 1994 08:49:37 GMT" {
			t.Errorf("%q is read as %+v", b, a)
		}
	}
}

func TestAppendRefusal(t *testing.T) {
	for v, code := range map[Verdict]int{Bad: 400, TooLarge: 431} {
		b := AppendRefusal(nil, v, now, "Vary: Origin\r\n")
		a, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(b)), nil)
		if err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		body, err := io.ReadAll(a.Body)
		if a.StatusCode != code || !a.Close || err != nil || int64(len(body)) != a.ContentLength {
			t.Errorf("%v: %+v, body %q, %v", v, a, body, err)
		}
	}
}

func TestAppendConnection(t *testing.T) {
	tests := []struct {
		old, closing bool
		want         string
	}{
		{false, false, ""}, {false, true, "Connection: close\r\n"},
		{true, false, "Connection: keep-alive\r\n"}, {true, true, "Connection: close\r\n"},
	}
	for _, tt := range tests {
		r := Request{HTTP10: tt.old}
		if got := string(r.AppendConnection(nil, tt.closing)); got != tt.want {
			t.Errorf("HTTP/1.0 %v, closing %v: %q, want %q", tt.old, tt.closing, got, tt.want)
		}
	}
}

// Requests as they come: of a load generator, of curl, of a browser.
var (
	bare    = []byte(get("/depts/10"))
	curl    = []byte(get("/depts/10", "User-Agent: curl/8.14.1", "Accept: */*"))
	browser = []byte(get("/depts/10?format=json",
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
		"Accept-Language: en-US,en;q=0.5", "Accept-Encoding: gzip, deflate, br, zstd",
		"Connection: keep-alive", `If-None-Match: "k3f9a1c27e-j"`, "Upgrade-Insecure-Requests: 1",
		"Sec-Fetch-Dest: document", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Site: none",
		"Sec-Fetch-User: ?1", "Priority: u=0, i", "Cookie: session=0123456789abcdef0123456789abcdef"))
)

func TestParse_AllocatesNothing(t *testing.T) {
	with := []byte(put("Content-Length: 3"))
	var r Request
	n := testing.AllocsPerRun(100, func() {
		for _, b := range [][]byte{bare, curl, browser} {
			if _, v := r.Parse(b); v != Complete {
				t.Fatalf("Parse(%q) says %v", b, v)
			}
		}
		if _, ok := Frame(with); !ok {
			t.Fatal("Frame is not certain")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkParse(b *testing.B) {
	for name, in := range map[string][]byte{"bare": bare, "curl": curl, "browser": browser} {
		b.Run("request="+name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			var r Request
			for b.Loop() {
				if _, v := r.Parse(in); v != Complete {
					b.Fatal(v)
				}
			}
		})
	}
}

func BenchmarkFrame(b *testing.B) {
	in := []byte(put("Content-Length: 200", "Content-Type: application/json"))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Frame(in); !ok {
			b.Fatal("not certain")
		}
	}
}
