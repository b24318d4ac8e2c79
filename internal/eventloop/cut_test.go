package eventloop

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// cuts are the requests that are cut at every byte, each with its answer.
func cuts() []struct{ request, answer string } {
	put, answer := put("abc")
	fake, fakeAnswer := fakeRequest()
	return []struct{ request, answer string }{
		{get("/hit/2", "User-Agent: x"), "hit 2"},
		{get("/miss/3"), "miss 3"},
		{put, answer},
		{fake, fakeAnswer},
		{get("/put", "X-Unknown: header"), "put 0 00000000"},
	}
}

// fakeRequest is a body that looks like a request.
func fakeRequest() (request, answer string) { return put(get("/hit/forged")) }

// TestLoop_CutAtEveryByte cuts requests in two. An answer to what stands before
// the cut, sent in the same write, shows that the server has read the first
// part before the second is sent.
func TestLoop_CutAtEveryByte(t *testing.T) {
	eachAtOnce(t, loopForms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		for _, tt := range cuts() {
			text := tt.request + get("/hit/9")
			for at := 1; at < len(text); at++ {
				c.send(get("/hit/1") + text[:at])
				c.want(200, "hit 1")
				if at >= len(tt.request) {
					c.want(200, tt.answer)
				}
				c.send(text[at:])
				if at < len(tt.request) {
					c.want(200, tt.answer)
				}
				c.want(200, "hit 9")
			}
		}
	})
}

// TestLoop_RefusesAtEveryCut: what is bad gets one 400 or 431 and the end, in
// whatever parts it comes.
func TestLoop_RefusesAtEveryCut(t *testing.T) {
	bad := map[string]int{
		"GET /hit/1 HTTP/1.1\nHost: a\n\n":                                              400,
		"GET /hit/1 HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n":                             400,
		"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nab": 400,
		"\x16\x03\x01\x02\x00\x01":                                                      400,
		get("/hit/1", strings.Repeat("A: b\r\n", 100)+"A: b"):                           431,
	}
	eachAtOnce(t, loopForms, Config{}, func(t *testing.T, s *site) {
		for text, status := range bad {
			step := 1 + len(text)/80 // every byte of the short ones
			for at := 1; at < len(text); at += step {
				c := s.dial(t)
				c.send(get("/hit/1") + text[:at])
				c.want(200, "hit 1")
				_, _ = io.WriteString(c, text[at:]+get("/hit/forged")) // it may be over by now
				a, err := http.ReadResponse(c.r, nil)
				if err != nil || a.StatusCode != status || !a.Close {
					t.Fatalf("%.40q cut at %d: %+v, %v; want %d", text, at, a, err, status)
				}
				_, _ = io.Copy(io.Discard, a.Body)
				c.wantEnd()
				_ = c.Close()
			}
		}
	})
}
