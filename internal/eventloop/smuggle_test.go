package eventloop

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// smuggled are requests of which two servers may think differently. Each is
// refused by the event loop itself, whatever net/http would make of it.
func smuggled() map[string]string {
	put := func(lines ...string) string {
		return "PUT /put HTTP/1.1\r\nHost: a\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"
	}
	list := map[string]string{
		"length and chunked":    put("Content-Length: 3", "Transfer-Encoding: chunked"),
		"chunked and length":    put("Transfer-Encoding: chunked", "Content-Length: 3"),
		"two lengths":           put("Content-Length: 3", "Content-Length: 4"),
		"one length twice":      put("Content-Length: 3", "Content-Length: 3"),
		"chunked twice":         put("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
		"no Host":               "GET /hit/1 HTTP/1.1\r\n\r\n",
		"two Hosts":             "GET /hit/1 HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
		"another authority":     "GET http://b/hit/1 HTTP/1.1\r\nHost: a\r\n\r\n",
		"bare LF":               "GET /hit/1 HTTP/1.1\nHost: a\n\n",
		"bare LF behind a line": "GET /hit/1 HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
		"bare CR":               "GET /hit/1 HTTP/1.1\r\nHost: a\rX: y\r\n\r\n",
		"first line folded":     "GET /hit/1 HTTP/1.1\r\n Host: a\r\nHost: a\r\n\r\n",
		"long method":           "ABCDEFGHIJKLMNOPQ /hit/1 HTTP/1.1\r\nHost: a\r\n\r\n",
		"long request line":     get("/hit/" + strings.Repeat("x", 8<<10)),
		"chunked on HTTP/1.0":   "PUT /put HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
		"two empty lines":       "\r\n\r\n" + get("/hit/1"),
		"memcached":             "get depts:10\r\n",
		"TLS":                   "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"HTTP/2":                "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	}
	for _, v := range []string{"+5", "-1", "0x5", "5,5", "5, 5", "5_0", "", "5 5", "99999999999999999999",
		"21000000000000000000", "1e1", "٥"} {
		list["length "+v] = put("Content-Length: " + v)
	}
	for _, v := range []string{"chunked, chunked", ",chunked", "identity", "gzip, chunked", "xchunked",
		"chunked\x0b", "chunked;q=1", "", "\"chunked\""} {
		list["coding "+v] = put("Transfer-Encoding: " + v)
	}
	for _, v := range []string{"a/b", "u@a", "a,b", "a b", "a\\b", "a?b", "a#b"} {
		list["Host "+v] = "GET /hit/1 HTTP/1.1\r\nHost: " + v + "\r\n\r\n"
	}
	for _, v := range []string{"X : y", "X\t: y", ": y", "X", "X Y: z", "X\x00: y", "X: y\x00z", "X: y\rz",
		"X(: y", "X:y\r\n z", "X:y\r\n\tz", "Content-Length : 3", "Transfer-Encoding : chunked",
		"X: \x7f", "Expect: bogus"} {
		list["line "+v] = get("/hit/1", v)
	}
	for _, v := range []string{"HTTP/1.10", "HTTP/1.", "http/1.1", "HTTP/2.0", "HTTP/1.1 ", "HTTP/0.9",
		"HTTP/1,1", "HTTP/11", " HTTP/1.1", ""} {
		list["version "+v] = "GET /hit/1 " + v + "\r\nHost: a\r\n\r\n"
	}
	return list
}

// TestLoop_RefusesWhatCouldSmuggle: one refusal, then the end; nothing is handed
// over, and nothing of what follows is answered.
func TestLoop_RefusesWhatCouldSmuggle(t *testing.T) {
	many := get("/hit/1", strings.Repeat("A: b\r\n", 100)+"A: b")
	large := get("/hit/1", "A: "+strings.Repeat("b", 16<<10))
	eachAtOnce(t, loopForms, Config{}, func(t *testing.T, s *site) {
		check := func(name, text string, status int) {
			t.Helper()
			c := s.dial(t)
			defer c.Close()
			go func() { // the server need not read all of it
				_, _ = io.WriteString(c, get("/hit/2")+text+get("/hit/forged"))
			}()
			c.want(200, "hit 2")
			a, err := http.ReadResponse(c.r, nil)
			if err != nil || a.StatusCode != status || !a.Close {
				t.Errorf("%s: %+v, %v; want %d", name, a, err, status)
				return
			}
			_, _ = io.Copy(io.Discard, a.Body)
			c.wantEnd()
		}
		other := map[string]int{"long request line": 414, "HTTP/2": 505, "version HTTP/2.0": 505,
			"version HTTP/0.9": 505}
		for name, text := range smuggled() {
			check(name, text, max(400, other[name]))
		}
		check("101 header lines", many, 431)
		check("16 KiB of headers", large, 431)
		if n := s.server.Stats(); n.HandedOver != 0 {
			t.Errorf("%d were handed over", n.HandedOver)
		}
	})
}

// TestHandOver_BodyOfAGet: it belongs to its request, read or not; a large one
// that nobody reads ends the connection.
func TestHandOver_BodyOfAGet(t *testing.T) {
	with := func(path string, body string) string {
		request, _ := put(body)
		return strings.Replace(request, "PUT /put", "GET "+path, 1)
	}
	forged := get("/hit/forged")
	each(t, loopForms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		_, answer := put(forged)
		c.send(with("/put", forged) + get("/hit/1"))
		c.want(200, answer)
		c.want(200, "hit 1")
		c.send(with("/hit/2", forged) + get("/hit/3")) // net/http answers it, and drains
		c.want(200, "hit 2")
		c.want(200, "hit 3")
		c.send(get("/unread", "Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAAA"))
		c.want(200, "unread")
		c.wantEnd()
		large := s.dial(t)
		go func() {
			_, _ = io.WriteString(large, with("/unread", strings.Repeat(forged, 20_000))+forged)
		}()
		if a := large.want(200, "unread"); !a.Close {
			t.Error("a body that nobody reads is drained to its end")
		}
		for {
			if _, err := large.r.ReadByte(); err != nil {
				break // a reset, or the end
			}
			t.Fatal("an answer to what the body holds")
		}
	})
}
