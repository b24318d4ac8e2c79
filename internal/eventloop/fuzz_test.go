package eventloop

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzHandOver sends the same bytes to every form, in random cuts, and to a plain
// net/http server. A form may be stricter: refuse, or end the connection after
// an answer that says so. It never gives another answer.
func FuzzHandOver(f *testing.F) {
	request, _ := put("abc")
	fake, _ := put(get("/hit/forged"))
	post := strings.Replace(request, "PUT", "POST", 1)
	chunked := "PUT /put HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
	for i, s := range []string{
		get("/hit/1"), get("/hit/1") + request + get("/miss/2") + get("/nothing") + get("/hit/3"),
		request + fake + get("/hit/1"), chunked + get("/hit/2"), post + "\r\n" + get("/hit/2"),
		get("/hit/1", "Connection: close") + get("/hit/2"), request + "garbage" + get("/hit/1"),
		get("/put", "Upgrade: h2c") + get("/hit/1"), get("/now/1") + get("/now/2") + request,
		"HEAD /hit/1 HTTP/1.1\r\nHost: a\r\n\r\n" + get("/hit/2", "X: y"),
		get("/hit/1", "Content-Length: 5") + "abcde" + get("/hit/2"),
		strings.Replace(request, "/put", "/unread", 1) + get("/hit/1"),
		strings.ReplaceAll(get("/hit/1", "Connection: keep-alive"), "1.1", "1.0") + get("/hit/2"),
		strings.Replace(request, "PUT", "PUT ", 1), request[:len(request)-1],
		"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n" + get("/hit/2"),
		"GET /hit/1 HTTP/0.0\r\n0", "GET /" + strings.Repeat("a", 9000),
		strings.Replace(request, "\r\n", "\r\nExpect: 100-continue\r\n", 1) + get("/hit/1"),
	} {
		f.Add([]byte(s), uint64(i))
	}
	var sites []*site
	for _, form := range []string{"nethttp", "epoll", "goroutine"} {
		s := open(f, form, Config{Idle: timeLimit, Header: timeLimit, Write: timeLimit}, func(s *site) {
			s.proto.strict = true
			s.full.all = true // so that a hit is one both ways
		})
		f.Cleanup(func() { _ = s.stop(f.Context()) })
		sites = append(sites, s)
	}
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		text := string(b)
		if strings.Contains(text, "/slow") || strings.Contains(text, "/hijack") || len(b) > 1<<16 {
			return // no answer to compare
		}
		reference := exchange(t, sites[0], b, seed)
		for _, s := range sites[1:] {
			if why := stricter(reference, exchange(t, s, b, seed)); why != "" {
				t.Errorf("%s: %s\nrequests: %q", s.form, why, b)
			}
		}
	})
}

// A reply is one answer.
type reply struct {
	status int
	body   string
	last   bool // says that the connection ends
}

// String returns the reply for messages.
func (r reply) String() string { return fmt.Sprintf("{%d %.60q %v}", r.status, r.body, r.last) }

// exchange sends b in pieces and returns the answers.
func exchange(t *testing.T, s *site, b []byte, seed uint64) []reply {
	nc, err := s.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(timeLimit)); err != nil {
		t.Fatal(err)
	}
	go func() {
		rnd := rand.New(rand.NewPCG(seed, 1))
		for rest := b; len(rest) > 0; {
			n := min(len(rest), 1+rnd.IntN([]int{4, 40, 4000}[rnd.IntN(3)]))
			if _, err := nc.Write(rest[:n]); err != nil {
				return // refused; the answer says why
			}
			rest = rest[n:]
		}
		_ = nc.(interface{ CloseWrite() error }).CloseWrite()
	}()
	var replies []reply
	r := bufio.NewReader(nc)
	for _, method := range append(methods(b), "GET", "GET", "GET") {
		a, err := http.ReadResponse(r, &http.Request{Method: method})
		for err == nil && a.StatusCode == http.StatusContinue {
			a, err = http.ReadResponse(r, &http.Request{Method: method})
		}
		if err != nil {
			break
		}
		body, err := io.ReadAll(a.Body)
		if err != nil {
			break
		}
		replies = append(replies, reply{a.StatusCode, string(body), a.Close})
		if a.Close {
			if method == "HEAD" && a.StatusCode >= 400 {
				return replies // what is refused may get a text whatever its method
			}
			break
		}
	}
	if _, err := r.ReadByte(); err == nil && len(replies) > 0 && replies[len(replies)-1].last {
		replies = append(replies, reply{body: "more after the last answer"})
	}
	return replies
}

// methods returns those of the requests that net/http reads from b.
func methods(b []byte) (list []string) {
	r := bufio.NewReader(bytes.NewReader(b))
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return list
		}
		list = append(list, req.Method)
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return list
		}
	}
}

// refusals are the statuses of what http1.AppendRefusal says.
var refusals = []int{400, 414, 431, 505}

// stricter says why got is not what net/http answers nor a stricter form of it.
func stricter(want, got []reply) string {
	for i, a := range got {
		refusal := i == len(got)-1 && a.last && slices.Contains(refusals, a.status)
		switch {
		case i < len(want) && a.status == want[i].status && a.body == want[i].body:
		case refusal:
			return ""
		case i < len(want) && a.status >= 400 && a.status == want[i].status:
		case i >= len(want):
			return fmt.Sprintf("answer %d to nothing: %v", i, a)
		default:
			return fmt.Sprintf("answer %d: %v, net/http has %v", i, a, want[i])
		}
	}
	if n := len(want); n == len(got)+1 && want[n-1].last && want[n-1].status >= 400 {
		return "" // half a request, then the end: net/http says 400 to that
	}
	if len(got) < len(want) && (len(got) == 0 || !got[len(got)-1].last) {
		return fmt.Sprintf("%d answers of %d, and no word of the end: %v", len(got), len(want), got)
	}
	return ""
}
