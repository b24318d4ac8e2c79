package http1

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// request returns a request head with these lines after Host.
func request(lines ...string) string {
	return "POST /x HTTP/1.1\r\nHost: a\r\n" + strings.Join(append(lines, ""), "\r\n") + "\r\n"
}

func TestRequestHead_RefusesWhatTwoMayReadDifferently(t *testing.T) {
	long := strings.Repeat("a", MaxRelayLine)
	tests := map[string]struct {
		head   string
		status int
	}{
		"length and coding":     {request("Content-Length: 3", "Transfer-Encoding: chunked"), 400},
		"two lengths":           {request("Content-Length: 3", "Content-Length: 3"), 400},
		"length +":              {request("Content-Length: +5"), 400},
		"length -":              {request("Content-Length: -1"), 400},
		"length hex":            {request("Content-Length: 0x5"), 400},
		"length list":           {request("Content-Length: 5,5"), 400},
		"length underscore":     {request("Content-Length: 5_0"), 400},
		"length empty":          {request("Content-Length:"), 400},
		"length too long":       {request("Content-Length: 99999999999999999999"), 400},
		"length wraps":          {request("Content-Length: 21000000000000000000"), 400},
		"coding twice":          {request("Transfer-Encoding: chunked, chunked"), 400},
		"coding comma":          {request("Transfer-Encoding: ,chunked"), 400},
		"coding identity":       {request("Transfer-Encoding: identity"), 400},
		"coding gzip":           {request("Transfer-Encoding: gzip, chunked"), 400},
		"coding x":              {request("Transfer-Encoding: xchunked"), 400},
		"coding vt":             {request("Transfer-Encoding: chunked\x0b"), 400},
		"coding lines":          {request("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), 400},
		"coding in 1.0":         {"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
		"bare lf":               {"GET / HTTP/1.1\nHost: a\n\n", 400},
		"bare lf in fields":     {"GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", 400},
		"bare cr":               {request("X: a\rb"), 400},
		"fold":                  {request("X: a", " b"), 400},
		"space before colon":    {request("X : a"), 400},
		"no name":               {request(": a"), 400},
		"nul":                   {request("X: a\x00b"), 400},
		"no token":              {request("X(y): a"), 400},
		"first line blank":      {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
		"no host":               {"GET / HTTP/1.1\r\n\r\n", 400},
		"two hosts":             {request("Host: a"), 400},
		"host slash":            {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
		"host at":               {"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400},
		"host comma":            {"GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", 400},
		"authority differs":     {"GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"authority userinfo":    {"GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"version 1.10":          {"GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400},
		"version 1.":            {"GET / HTTP/1.\r\nHost: a\r\n\r\n", 400},
		"version lower":         {"GET / http/1.1\r\nHost: a\r\n\r\n", 400},
		"version 2":             {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 400},
		"long method":           {strings.Repeat("A", 17) + " / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"long line":             {"GET /" + long + " HTTP/1.1\r\nHost: a\r\n\r\n", 414},
		"many fields":           {request(strings.Repeat("X: y\r\n", MaxRelayFields) + "Z: y"), 431},
		"large":                 {request("X: " + strings.Repeat("a", MaxRelayHead)), 431},
		"expect":                {request("Expect: bogus"), 400},
		"tls":                   {"\x16\x03\x01\x02\x00\x01", 400},
		"memcached":             {"get a\r\n\r\n", 400},
		"preface":               {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
		"space in target":       {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"control in target":     {"GET /a\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"asterisk for get":      {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"connect with a path":   {"CONNECT /x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"two spaces":            {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"unfinished, no method": {"\x00\x01", 400},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var h RequestHead
			n, err := h.Parse([]byte(tt.head))
			var bad *HeadError
			if n != 0 && err == nil || !errors.As(err, &bad) || bad.Status != tt.status {
				t.Errorf("Parse = %d, %v, want status %d", n, err, tt.status)
			}
		})
	}
}

func TestRequestHead_ReadsEveryForm(t *testing.T) {
	tests := map[string]struct{ head, method, target, host string }{
		"origin":    {"GET /a?b HTTP/1.1\r\nHost: h:1\r\n\r\n", "GET", "/a?b", "h:1"},
		"absolute":  {"GET http://h/a HTTP/1.1\r\nHost: h\r\n\r\n", "GET", "/a", "h"},
		"authority": {"CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n", "CONNECT", "", "h:1"},
		"asterisk":  {"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "OPTIONS", "*", "h"},
		"no path":   {"GET http://h HTTP/1.1\r\nHost: h\r\n\r\n", "GET", "", "h"},
		"later":     {"GET / HTTP/1.9\r\nHost: h\r\n\r\n", "GET", "/", "h"},
		"1.0":       {"GET / HTTP/1.0\r\n\r\n", "GET", "/", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var h RequestHead
			n, err := h.Parse([]byte(tt.head + "rest"))
			if n != len(tt.head) || err != nil || string(h.Method) != tt.method ||
				string(h.Target) != tt.target || string(h.Host) != tt.host {
				t.Errorf("Parse = %d, %v: %q %q of %q", n, err, h.Method, h.Target, h.Host)
			}
			for i := range tt.head {
				if n, err := h.Parse([]byte(tt.head[:i])); n != 0 || err != nil {
					t.Fatalf("cut at %d: %d, %v", i, n, err)
				}
			}
		})
	}
}

func TestMessage_KnowsWhatConnectionNames(t *testing.T) {
	var h RequestHead
	head := request("Connection: close, X-Secret,Upgrade", "x-secret: 1", "X-Other: 2", "TE: trailers")
	if _, err := h.Parse([]byte(head)); err != nil {
		t.Fatal(err)
	}
	if !h.Close || h.KeepAlive || h.Upgrade || !h.Trailers || h.Persists() {
		t.Errorf("%+v", h)
	}
	for i := range h.Fields {
		f := &h.Fields[i]
		if got := h.Nominated(f); got != (string(h.Name(f)) == "x-secret") {
			t.Errorf("%s: nominated %v", h.Name(f), got)
		}
	}
}

func TestResponseHead(t *testing.T) {
	good := map[string]int{
		"HTTP/1.1 200 OK\r\n\r\n": 200, "HTTP/1.0 404\r\n\r\n": 404, "HTTP/1.1 599 \r\nA: b\r\n\r\n": 599,
		"HTTP/1.1 204 No \xfcContent\r\n\r\n": 204, "HTTP/1.2 200 OK\r\n\r\n": 200,
	}
	var h ResponseHead
	for head, status := range good {
		if n, err := h.Parse([]byte(head + "x")); n != len(head) || err != nil || h.Status != status {
			t.Errorf("%q: %d, %v, %d", head, n, err, h.Status)
		}
	}
	for _, head := range []string{
		"HTTP/1.1 200 OK\n\n", "HTTP/1.1 99 X\r\n\r\n", "HTTP/1.1 600 X\r\n\r\n", "HTTP/2 200 OK\r\n\r\n",
		"HTTP/1.1 2000 OK\r\n\r\n", "ICY 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n" +
			"Content-Length: 2\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 01\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n", "HTTP/1.a 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "<html>", "HTTP/1.0 200 OK\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\n a: b\r\n\r\n",
	} {
		if n, err := h.Parse([]byte(head)); err == nil {
			t.Errorf("%q: %d, no error", head, n)
		}
	}
}

// A length that is said again in the same words is said once.
func TestResponseHead_RepeatedLength(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: y\r\ncontent-length:3 \r\n" +
		"Content-Length: 3\r\n\r\n"
	var h ResponseHead
	if n, err := h.Parse([]byte(head)); n != len(head) || err != nil || h.Length != 3 {
		t.Fatalf("%d, %v, length %d", n, err, h.Length)
	}
	if len(h.Fields) != 2 || string(h.Line(&h.Fields[1])) != "X: y\r\n" {
		t.Errorf("%d fields", len(h.Fields))
	}
}

// What may be in no trailer section is left out where that is asked for.
func TestChunked_DropsForbiddenTrailers(t *testing.T) {
	for in, want := range map[string]string{
		"0\r\nContent-Length: 3\r\nX: y\r\nHost: a\r\nZ:\r\nTrailer: X\r\nTE: a\r\n\r\n": "X: y\r\nZ:\r\n",
		"0\r\nTransfer-Encoding: chunked\r\n\r\n":                                        "",
		"0\r\nX: y\r\n\r\n": "X: y\r\n",
	} {
		for cut := range in {
			c := Chunked{Drop: true}
			n, _, err := c.Next([]byte(in[:cut]))
			if err != nil || c.Done() {
				t.Fatalf("%q: %v", in[:cut], err)
			}
			_, _, err = c.Next([]byte(in[n:]))
			if err != nil || !c.Done() || string(c.Trailers) != want {
				t.Fatalf("%q cut at %d: %q, %v, want %q", in, cut, c.Trailers, err, want)
			}
		}
	}
	for _, in := range []string{"0\r\nX : a\r\n\r\n", "0\r\n folded\r\n\r\n", "0\r\nX: a\n\r\n"} {
		c := Chunked{Drop: true}
		if _, _, err := c.Next([]byte(in)); err == nil {
			t.Errorf("%q: no error", in)
		}
	}
}

func TestChunked_ReadsWhatIsWellFormed(t *testing.T) {
	in := "3 \r\nabc\r\n05 \t ; x = \"y\"\r\n01234\r\n5;x\r\n56789\r\n0\t\r\nX-Sum: 1\r\nY: 2\r\n\r\nnext"
	for size := 1; size <= len(in); size++ {
		var c Chunked
		var got []byte
		trailers := ""
		buf, rest := []byte(nil), in
		for !c.Done() {
			take := min(size, len(rest))
			buf, rest = append(buf, rest[:take]...), rest[take:]
			for {
				n, data, err := c.Next(buf)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, data...)
				if c.Done() {
					trailers = string(c.Trailers)
				}
				buf = append([]byte(nil), buf[n:]...)
				if n == 0 || c.Done() {
					break
				}
			}
		}
		if string(got) != "abc0123456789" || trailers != "X-Sum: 1\r\nY: 2\r\n" ||
			!strings.HasSuffix(in, string(buf)+rest) || len(buf)+len(rest) != len("next") {
			t.Fatalf("in pieces of %d: %q, trailers %q, left %q%q", size, got, trailers, buf, rest)
		}
	}
}

func TestChunked_RefusesWhatTwoMayReadDifferently(t *testing.T) {
	for _, in := range []string{
		"\r\n", "0x5\r\nabcde\r\n", "+5\r\n", "5 a\r\n", "5 ;a\x01\r\n", "5 5\r\n", " 5;a\r\n",
		"5 \n", "5 \r;a\r\n", "12345678901234567\r\n", "5\nabcde\r\n",
		"5;a\rb\r\n", "5;a\nb\r\n", "5;" + strings.Repeat("a", 10<<10) + "\r\n", "3\r\nabcX\r\n",
		"3\r\nabc\n", "3\r\nabcd\r\n", "0\r\nContent-Length: 3\r\n\r\n", "0\r\nHost: a\r\n\r\n", " 3\r\nabc\r\n",
		"0\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\nX : a\r\n\r\n", "0\r\n folded\r\n\r\n", "0\r\nX: a\n\r\n",
		"-1\r\n", "g\r\n", "3\v\r\nabc\r\n", "0\r\nX: " + strings.Repeat("a", maxTrailers+1) + "\r\n\r\n",
	} {
		var c Chunked
		b := []byte(in)
		for {
			n, _, err := c.Next(b)
			if err != nil {
				break
			}
			if b = b[n:]; n == 0 || c.Done() {
				t.Errorf("%.40q: accepted, %v", in, c.Done())
				break
			}
		}
	}
}

func TestRelayHeads_AllocateNothing(t *testing.T) {
	in := []byte(request("User-Agent: curl/8.14.1", "Accept: */*", "Connection: keep-alive"))
	out := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc")
	var req RequestHead
	var resp ResponseHead
	n := testing.AllocsPerRun(100, func() {
		if n, err := req.Parse(in); n != len(in) || err != nil {
			t.Fatal(n, err)
		}
		if n, err := resp.Parse(out); n != len(out)-3 || err != nil {
			t.Fatal(n, err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
	if !bytes.Equal(req.Method, []byte("POST")) || resp.Length != 3 {
		t.Errorf("%q, %d", req.Method, resp.Length)
	}
}

func BenchmarkRequestHead(b *testing.B) {
	b.ReportAllocs()
	var h RequestHead
	for b.Loop() {
		if _, err := h.Parse(browser); err != nil {
			b.Fatal(err)
		}
	}
}
