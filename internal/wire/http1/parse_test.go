package http1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// get returns a GET of path with header lines.
func get(path string, lines ...string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + join(lines)
}

// put returns a PUT with header lines.
func put(lines ...string) string {
	return "PUT /depts/10 HTTP/1.1\r\nHost: localhost\r\n" + join(lines)
}

// join returns header lines and the end of the head.
func join(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	return b.String() + "\r\n"
}

// parsed is a Request with strings, for comparison. "-" stands for nil.
type parsed struct {
	Path, Query, Host, Accept, Encoding, Match, Auth string
	IfMatch, CacheControl, MinPosition, RequestID    string
	Head, HTTP10, Close                              bool
}

func readable(r *Request) parsed {
	text := func(b []byte) string {
		if b == nil {
			return "-"
		}
		return string(b)
	}
	return parsed{
		text(r.Path), text(r.Query), text(r.Host), text(r.Accept), text(r.AcceptEncoding),
		text(r.IfNoneMatch), text(r.Authorization), text(r.IfMatch), text(r.CacheControl),
		text(r.MinPosition), text(r.RequestID), r.Head, r.HTTP10, r.Close,
	}
}

func TestParse_ReadsWhatTheLaneAnswers(t *testing.T) {
	plain := parsed{"/depts/10", "-", "localhost", "-", "-", "-", "-", "-", "-", "-", "-",
		false, false, false}
	with := func(change func(*parsed)) parsed {
		p := plain
		change(&p)
		return p
	}
	tests := []struct {
		name, in string
		want     parsed
	}{
		{"plain", get("/depts/10"), plain},
		{"query", get("/a?format=json&x=%20"), with(func(p *parsed) {
			p.Path, p.Query = "/a", "format=json&x=%20"
		})},
		{"empty query", get("/a?"), with(func(p *parsed) { p.Path, p.Query = "/a", "" })},
		{"escapes", get("/a%2Fb/Tulsa,OK"), with(func(p *parsed) { p.Path = "/a%2Fb/Tulsa,OK" })},
		{"root", get("/"), with(func(p *parsed) { p.Path = "/" })},
		{"head", "HEAD /depts/10 HTTP/1.1\r\nHost: localhost\r\n\r\n",
			with(func(p *parsed) { p.Head = true })},
		{"all that is answered", get("/depts/10", "accept: a/b", "ACCEPT-ENCODING:gzip",
			"If-None-Match: \t\"x\" \t", "Authorization: Bearer t", `if-match: "y"`,
			"cache-control: max-age=1", "HOTROW-MIN-POSITION: p", "x-request-id: r"),
			with(func(p *parsed) {
				p.Accept, p.Encoding, p.Match, p.Auth = "a/b", "gzip", `"x"`, "Bearer t"
				p.IfMatch, p.CacheControl, p.MinPosition, p.RequestID = `"y"`, "max-age=1", "p", "r"
			})},
		{"all that is passed over", get("/depts/10", "User-Agent: curl/8\tx", "Referer: http://x/",
			"Accept-Language: de", "Cookie: a=b", "DNT: 1", "Sec-Fetch-Site: none", "Sec-GPC: 1",
			"traceparent: 00-1-2-01", "tracestate: a=b", "Upgrade-Insecure-Requests: 1",
			"Priority: u=1", "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Proto: https",
			"X-Real-IP: 1.2.3.4", "User-Agent: \xff\xfe", "Sec-CH-UA-Platform-Version: x",
			"Sec-CH-A: fourteen", "Sec-X-Y: 123456789",
			"Pragma: no-cache", "If-Modified-Since: x", "If-Unmodified-Since: x", "Range: bytes=0-",
			"If-Range: x", "Origin: http://x", "Prefer: wait=1", "Last-Event-ID: x",
			"X-Http-Method-Overridf: x", "Accept-Profilf: x", "Digest: x", "Content-Digest: x",
			"Keep-Alive: x", "X-Forwarded-Host: x", "Sec-: x", "Secx: x",
			"Hosts: x", "X: x", "Content-Type: x", "Accept-Encodinh: x", "TE: trailers", "Cookie:",
			"Hotrow-Min-Positiom: x", "X-Request-Ie: x", "Cache-Controm: x", "If-Matcj: x"), plain},
		{"close", get("/depts/10", "Connection: Close"), with(func(p *parsed) { p.Close = true })},
		{"keep-alive", get("/depts/10", "Connection: keep-alive"), plain},
		{"old", "GET /depts/10 HTTP/1.0\r\nHost: localhost\r\n\r\n",
			with(func(p *parsed) { p.HTTP10, p.Close = true, true })},
		{"later", "GET /depts/10 HTTP/1.2\r\nHost: localhost\r\n\r\n", plain},
		{"last", "GET /depts/10 HTTP/1.9\r\nHost: localhost\r\n\r\n", plain},
		{"old and persistent",
			"GET /depts/10 HTTP/1.0\r\nHost: localhost\r\nConnection: Keep-Alive\r\n\r\n",
			with(func(p *parsed) { p.HTTP10 = true })},
		{"port", strings.Replace(get("/depts/10"), "localhost", "[::1]:8080", 1),
			with(func(p *parsed) { p.Host = "[::1]:8080" })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, rest := range []string{"", "\r\n", "GET / HTTP/1.1\r\n", "\x00"} {
				var r Request
				n, v := r.Parse([]byte(tt.in + rest))
				if v != Complete || n != len(tt.in) {
					t.Fatalf("Parse = %d, %v, want %d, complete", n, v, len(tt.in))
				}
				if d := cmp.Diff(tt.want, readable(&r)); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
			}
		})
	}
}

// TestParse_WaitsForTheEnd cuts a good request at every byte.
func TestParse_WaitsForTheEnd(t *testing.T) {
	for _, in := range []string{
		get("/depts/10", "Accept: */*", "User-Agent: x"), put("Content-Length: 3"),
	} {
		for i := range len(in) {
			var r Request
			if n, v := r.Parse([]byte(in[:i])); n != 0 || v != NeedMore {
				t.Errorf("Parse(%q) = %d, %v, want 0, need more", in[:i], n, v)
			}
		}
	}
}

func TestParse_HandsOver(t *testing.T) {
	tests := map[string]string{
		"put":              put("Content-Length: 3"),
		"put chunked":      put("Transfer-Encoding: Chunked"),
		"put expect":       put("Content-Length: 3", "Expect: 100-Continue"),
		"get body":         get("/", "Content-Length: 3"),
		"get empty body":   get("/", "Content-Length: 0"),
		"upgrade":          get("/", "Connection: Upgrade", "Upgrade: websocket"),
		"h2c":              get("/", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"),
		"options":          "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"connect":          "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
		"odd method":       "PROPFIND / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"lower method":     "get / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"absolute":         get("http://LOCALHOST/x"),
		"absolute, tls":    get("https://localhost"),
		"two slashes":      get("//x"),
		"fragment":         get("/x#y"),
		"bad escape":       get("/%zz"),
		"half escape":      get("/%2"),
		"query escape":     get("/?%zz"),
		"brackets":         get("/a[1]"),
		"utf-8":            get("/\xc3\xa9"),
		"backslash":        get(`/a\b`),
		"old without host": "GET / HTTP/1.0\r\n\r\n",
		"empty host":       "GET / HTTP/1.1\r\nHost:\r\n\r\n",
		"two accepts":      get("/", "Accept: a/b", "Accept: c/d"),
		"empty accept":     get("/", "Accept:"),
		"two tags":         get("/", `If-None-Match: "a"`, `If-None-Match: "b"`),
		"two tokens":       get("/", "Authorization: a", "Authorization: b"),
		"connection list":  get("/", "Connection: close, te"),
		"connection twice": get("/", "Connection: close", "Connection: close"),
		"two ids":          get("/", "X-Request-Id: a", "X-Request-Id: b"),
		"two positions":    get("/", "Hotrow-Min-Position: a", "Hotrow-Min-Position: b"),
		"two directives":   get("/", "Cache-Control: a", "Cache-Control: b"),
		"two matches":      get("/", `If-Match: "a"`, `If-Match: "b"`),
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			var r Request
			if n, v := r.Parse([]byte(in)); n != 0 || v != HandOver {
				t.Errorf("Parse(%q) = %d, %v, want 0, hand over", in, n, v)
			}
		})
	}
}

// TestParse_RefusesBadFraming has what request smugglers send, and what other
// protocols do.
func TestParse_RefusesBadFraming(t *testing.T) {
	tests := map[string]string{
		"length and chunked":   put("Content-Length: 3", "Transfer-Encoding: chunked"),
		"chunked and length":   put("Transfer-Encoding: chunked", "Content-Length: 3"),
		"two equal lengths":    put("Content-Length: 3", "Content-Length: 3"),
		"two lengths":          put("Content-Length: 3", "Content-Length: 4"),
		"two chunked":          put("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
		"chunked on HTTP/1.0":  strings.Replace(put("Transfer-Encoding: chunked"), "1.1", "1.0", 1),
		"bogus expect":         put("Content-Length: 3", "Expect: bogus"),
		"two expects":          put("Expect: 100-continue", "Expect: 100-continue"),
		"bare LF":              "GET / HTTP/1.1\nHost: localhost\n\n",
		"bare LF, header":      "GET / HTTP/1.1\r\nHost: localhost\n\r\n",
		"bare LF at the end":   "GET / HTTP/1.1\r\nHost: localhost\r\n\n",
		"bare CR":              get("/", "Accept: a\rb"),
		"bare CR in the name":  get("/", "User\rAgent: a"),
		"bare CR, request":     "GET /\r HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"two CRs":              get("/", "Accept: a\r"),
		"folded":               get("/", "Accept: a/b,", " c/d"),
		"folded by tab":        get("/", "Accept: a/b,", "\tc/d: e"),
		"first folded":         "GET / HTTP/1.1\r\n Host: localhost\r\n\r\n",
		"blank before colon":   get("/", "Accept : a/b"),
		"tab before colon":     get("/", "Accept\t: a/b"),
		"host blank":           "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
		"no name":              get("/", ": x"),
		"no colon":             get("/", "Accept"),
		"NUL in value":         get("/", "Cookie: a\x00b"),
		"control in value":     get("/", "Cookie: 12345678\x1b"),
		"DEL in value":         get("/", "Cookie: 1234\x7f678"),
		"odd byte in name":     get("/", "Acc(ept: a"),
		"odd byte in sec-":     get("/", "Sec-(x: a"),
		"NUL in name":          get("/", "X\x00: a"),
		"high byte in name":    get("/", "X\xff: a"),
		"no host":              "GET / HTTP/1.1\r\n\r\n",
		"no host, put":         "PUT / HTTP/1.1\r\nContent-Length: 1\r\n\r\n",
		"two hosts":            get("/", "Host: localhost"),
		"two hosts, HTTP/1.0":  "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n",
		"host slash":           "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
		"host at":              "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n",
		"host comma":           "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n",
		"host blank inside":    "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
		"another host":         get("http://evil/x"),
		"another port":         get("http://localhost:81/x"),
		"user in target":       get("http://a@localhost/x"),
		"no authority":         get("http:///x"),
		"no version":           "GET /\r\n\r\n",
		"no target":            "GET HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"empty target":         "GET  HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"relative target":      get("depts"),
		"asterisk blank":       get("* *"),
		"blank in target":      get("/a b"),
		"control in target":    get("/a\x01"),
		"DEL in target":        get("/a\x7f"),
		"NUL in query":         get("/a?\x00"),
		"tab after method":     "GET\t/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"blank before method":  " GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"blank after version":  "GET / HTTP/1.1 \r\nHost: localhost\r\n\r\n",
		"method too long":      strings.Repeat("G", 17) + " / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"method with colon":    "GE:T / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"empty line first":     "\r\n" + get("/"),
		"TLS":                  "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"TLS, first byte":      "\x16",
		"memcached":            "get depts:10\r\n",
		"memcached, binary":    "\x80\x00\x00\x05",
		"gofast":               "\xd9\xd9\xf7\xc6",
		"unfinished garbage":   strings.Repeat("x", 17),
		"garbage, long":        strings.Repeat("x", MaxRequestLine+1),
		"garbage, long, ended": strings.Repeat("x", MaxRequestLine+1) + "\r\n",
	}
	for _, v := range []string{"HTTP/1.10", "HTTP/1.", "http/1.1", "HTTP/1.x", "HTTP/x.1", "HTTP/1.:",
		"HTTP/10.1", "HTTP/1.1.1", "HTTP/01.1", "HTTP/1,1", "HTTP/11", "HTTP/1.1x", "HTTP 1.1",
		"HTTPS/1.1"} {
		tests["version "+v] = "GET / " + v + "\r\nHost: localhost\r\n\r\n"
	}
	for _, v := range []string{"+5", "-1", "0x5", "5,5", "5_0", "", "5 5", "99999999999999999999",
		"21000000000000000000", "1e3", "5;a", "\x0b5"} {
		tests["length "+v] = put("Content-Length: " + v)
	}
	for _, v := range []string{"chunked, chunked", ",chunked", "identity", "gzip, chunked",
		"xchunked", "chunked\x0b", "", "chunked;a=b"} {
		tests["coding "+v] = put("Transfer-Encoding: " + v)
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			var r Request
			if n, v := r.Parse([]byte(in)); n != 0 || v != Bad {
				t.Errorf("Parse(%q) = %d, %v, want 0, bad", in, n, v)
			}
			if n, ok := Frame([]byte(in)); ok {
				t.Errorf("Frame(%q) = %d, certain", in, n)
			}
		})
	}
}

func TestParse_BoundsTheHead(t *testing.T) {
	many := make([]string, MaxHeaders)
	for i := range many {
		many[i] = fmt.Sprintf("X-%d: y", i)
	}
	big := strings.Repeat("x", MaxHead)
	tests := []struct {
		name, in string
		want     Verdict
	}{
		{"100 headers", get("/", many[1:]...), Complete},
		{"101 headers", get("/", many...), TooLarge},
		{"line without end", "GET / HTTP/1.1\r\nCookie: " + big, TooLarge},
		{"long line", get("/", "Cookie: "+big), TooLarge},
		{"many lines", get("/", "Cookie: "+big[:9000], "Cookie: "+big[:9000]), TooLarge},
		{"just enough", get("/", "Cookie: "+big[:MaxHead-len(get("/", "Cookie: "))]), Complete},
		{"one too many", get("/", "Cookie: "+big[:MaxHead-len(get("/", "Cookie: "))+1]), TooLarge},
		{"line too long", get("/" + big[:MaxRequestLine-len("GET / HTTP/1.1\r")+1]), LongLine},
		{"line too long, not ended", "GET /" + big[:MaxRequestLine], LongLine},
		{"PUT of a long line", "PUT /" + big[:MaxRequestLine] + " HTTP/1.1\r\n", LongLine},
		{"line that may be long enough", "GET /" + big[:MaxRequestLine-len("GET /")], NeedMore},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", OtherVersion},
		{"HTTP/0.9", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", OtherVersion},
		{"HTTP/3.1", "PUT /a HTTP/3.1\r\n", OtherVersion},
		{"longest line", get("/" + big[:MaxRequestLine-len("GET / HTTP/1.1\r")]), Complete},
	}
	for _, tt := range tests {
		var r Request
		if _, v := r.Parse([]byte(tt.in)); v != tt.want {
			t.Errorf("%s: Parse says %v, want %v", tt.name, v, tt.want)
		}
	}
}

func TestFrame_IsCertainOrSilent(t *testing.T) {
	tests := []struct {
		name, in string
		body     int64 // -1: not certain
	}{
		{"get", get("/x"), 0},
		{"get with body", get("/x", "Content-Length: 7"), 7},
		{"put", put("Content-Length: 200", "Content-Type: application/json"), 200},
		{"largest", put("Content-Length: 999999999999999999"), 999999999999999999},
		{"put without length", put(), 0},
		{"expect", put("Content-Length: 3", "Expect: 100-continue"), 3},
		{"odd path", get("/%zz"), 0},
		{"unknown header", get("/", "X: y"), 0},
		{"chunked", put("Transfer-Encoding: chunked"), -1},
		{"upgrade", put("Upgrade: x", "Content-Length: 3"), -1},
		{"old", "POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 3\r\n\r\n", 3},
		{"old without length", "POST / HTTP/1.0\r\nHost: a\r\n\r\n", 0},
		{"later", "POST / HTTP/1.2\r\nHost: a\r\nContent-Length: 3\r\n\r\n", 3},
		{"empty line first", "\r\n" + get("/"), -1},
		{"connect", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", -1},
		{"odd method", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", -1},
		{"half", put("Content-Length: 3")[:40], -1},
		{"nothing", "", -1},
		{"too large", get("/", "Cookie: "+strings.Repeat("x", MaxHead)), -1},
	}
	for _, tt := range tests {
		n, ok := Frame([]byte(tt.in + "abc"))
		if ok != (tt.body >= 0) || ok && n != int64(len(tt.in))+tt.body {
			t.Errorf("%s: Frame = %d, %v, want %d and a body of %d", tt.name, n, ok,
				len(tt.in), tt.body)
		}
	}
}

func TestSkipEmptyLine(t *testing.T) {
	tests := []struct {
		in string
		n  int
		v  Verdict
	}{
		{"", 0, Complete}, {"\r", 0, NeedMore}, {"\r\n", 2, Complete}, {"\r\n\r\n", 2, Complete},
		{"\n", 0, Complete}, {"\rG", 0, Complete}, {"GET", 0, Complete},
	}
	for _, tt := range tests {
		if n, v := SkipEmptyLine([]byte(tt.in)); n != tt.n || v != tt.v {
			t.Errorf("SkipEmptyLine(%q) = %d, %v, want %d, %v", tt.in, n, v, tt.n, tt.v)
		}
	}
}

// TestGap_PassesOverOneEmptyLine: before each request, wherever the pieces are cut.
func TestGap_PassesOverOneEmptyLine(t *testing.T) {
	for _, tt := range []struct {
		in       string
		requests int
		end      Verdict
	}{
		{get("/a") + get("/b"), 2, NeedMore},
		{"\r\n" + get("/a") + "\r\n" + get("/b") + "\r\n", 2, NeedMore},
		{"\r\n\r\n" + get("/a"), 0, Bad},
		{get("/a") + "\r\n\r\n" + get("/b"), 1, Bad},
		{"\n" + get("/a"), 0, Bad}, {"\r" + get("/a"), 0, Bad}, {"\r\r\n" + get("/a"), 0, Bad},
		{"\r\n\n" + get("/a"), 0, Bad}, {" \r\n" + get("/a"), 0, Bad},
		{"\r\n" + put("Content-Length: 0"), 0, HandOver},
	} {
		for cut := range tt.in {
			if n, v := readAll([]byte(tt.in), cut); n != tt.requests || v != tt.end {
				t.Errorf("%q, cut at %d: %d requests, %v; want %d, %v", tt.in, cut, n, v,
					tt.requests, tt.end)
			}
		}
	}
}

// readAll reads the requests of one connection, whose input comes in two pieces, as a
// server does.
func readAll(b []byte, cut int) (requests int, v Verdict) {
	var gap Gap
	at := 0
	for _, end := range []int{cut, len(b)} {
		for {
			skip, wait := gap.Skip(b[at:end])
			if at += skip; wait == NeedMore {
				break
			}
			var r Request
			n, verdict := r.Parse(b[at:end])
			if v = verdict; v == NeedMore {
				break
			}
			if v != Complete {
				return requests, v
			}
			at, requests = at+n, requests+1
		}
	}
	return requests, v
}
