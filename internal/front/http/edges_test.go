package httpfront

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// roadPaths has a path of each road: a way to have a request answered, by memory, by the Handler while the
// connection waits, or by net/http.
var roadPaths = map[string]string{
	"memory": "/depts/10", "parked": "/log/10", "net/http": "/depts?limit=1",
}

// edge sends text on a connection of its own and reads one answer. It reports
// whether the connection takes another request afterwards.
func (s *loopSite) edge(t *testing.T, text string) (a reply, kept bool) {
	t.Helper()
	conn := s.dial()
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, text) }() // the server need not read all of it
	in := bufio.NewReader(conn)
	read := func() (reply, error) {
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			return reply{}, err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return reply{res, string(body)}, err
	}
	a, err := read()
	if err != nil {
		t.Fatalf("%.60q: %v", text, err)
	}
	if _, err := io.WriteString(conn, plainGet); err != nil {
		return a, false
	}
	_, err = read()
	return a, err == nil
}

// What a request line may look like is the same question on every road, and has the
// same answer.
func TestRoads_AgreeOnRequestLines(t *testing.T) {
	s := newLoopSite(t)
	s.answers(plainGet, "GET")
	long := "?x=" + strings.Repeat("y", http1.MaxRequestLine)
	for road, path := range roadPaths {
		query := long
		if strings.Contains(path, "?") {
			query = "&" + long[1:]
		}
		const host = "\r\nHost: localhost\r\n"
		for _, tt := range []struct {
			name, text string
			code       int
			kept       bool
		}{
			{"plain", "GET " + path + " HTTP/1.1" + host + "\r\n", 200, true},
			{"line over 8 KiB", "GET " + path + query + " HTTP/1.1" + host + "\r\n", 414, false},
			{"PUT of a line over 8 KiB", "PUT " + path + query + " HTTP/1.1" + host +
				"Content-Length: 0\r\n\r\n", 414, false},
			{"HTTP/1.2", "GET " + path + " HTTP/1.2" + host + "\r\n", 200, true},
			{"HTTP/1.9", "GET " + path + " HTTP/1.9" + host + "\r\n", 200, true},
			{"HTTP/1.2 without a Host", "GET " + path + " HTTP/1.2\r\n\r\n", 400, false},
			{"HTTP/1.10", "GET " + path + " HTTP/1.10" + host + "\r\n", 400, false},
			{"HTTP/1.x", "GET " + path + " HTTP/1.x" + host + "\r\n", 400, false},
			{"HTTP/2.0", "GET " + path + " HTTP/2.0" + host + "\r\n", 505, false},
			{"HTTP/0.9", "GET " + path + " HTTP/0.9" + host + "\r\n", 505, false},
			{"an empty line before", "\r\nGET " + path + " HTTP/1.1" + host + "\r\n", 200, true},
			{"two empty lines", "\r\n\r\nGET " + path + " HTTP/1.1" + host + "\r\n", 400, false},
			{"an LF before", "\nGET " + path + " HTTP/1.1" + host + "\r\n", 400, false},
			{"a CR before", "\rGET " + path + " HTTP/1.1" + host + "\r\n", 400, false},
			{"HTTP/1.0", "GET " + path + " HTTP/1.0" + host + "\r\n", 200, false},
			{"HTTP/1.0 kept", "GET " + path + " HTTP/1.0" + host + "Connection: keep-alive\r\n\r\n",
				200, true},
		} {
			a, kept := s.edge(t, tt.text)
			if a.StatusCode != tt.code || kept != tt.kept {
				t.Errorf("%s, %s: %d, kept %v; want %d, %v: %.80s", road, tt.name, a.StatusCode, kept,
					tt.code, tt.kept, a.body)
			}
			says := a.Header.Get("Connection")
			if old := strings.Contains(tt.text, "HTTP/1.0"); old && kept && says != "keep-alive" {
				t.Errorf("%s, %s: the answer says Connection: %q", road, tt.name, says)
			}
		}
	}
}

// An empty line may come before every request, also before those that follow another,
// and in whatever pieces: one, not two.
func TestRoads_PassOverOneEmptyLineBeforeEachRequest(t *testing.T) {
	s := newLoopSite(t)
	put := "PATCH /depts/20 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
		"Content-Length: 11\r\n\r\n{\"loc\":\"X\"}"
	list := "GET /depts?limit=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
	text := "\r\n" + plainGet + "\r\n" + plainGet + "\r\n" + list + "\r\n" + put + "\r\n" + plainGet
	methods := []string{"GET", "GET", "GET", "PATCH", "GET"}
	for i, a := range s.answers(text, methods...) {
		if a.StatusCode != 200 {
			t.Errorf("answer %d: %d %s", i, a.StatusCode, a.body)
		}
	}
	for i := range len(text) { // byte by byte
		if _, err := io.WriteString(s.conn, text[i:i+1]); err != nil {
			t.Fatal(err)
		}
		if i%16 == 0 {
			<-time.After(time.Millisecond) // so that the pieces come one by one
		}
	}
	for i, a := range s.answers("", methods...) {
		if a.StatusCode != 200 {
			t.Errorf("byte by byte: answer %d: %d %s", i, a.StatusCode, a.body)
		}
	}
	for _, part := range []string{"\r\n", "\r", "\n"} { // a second one, in pieces
		_, _ = io.WriteString(s.conn, part) // it may be refused by its beginning
		<-time.After(5 * time.Millisecond)
	}
	a, err := http.ReadResponse(s.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if a.StatusCode != 400 || !a.Close {
		t.Errorf("a second empty line: %d", a.StatusCode)
	}
}

// A tag that is none is refused on every road; one that is, is compared.
func TestRoads_AgreeOnEntityTags(t *testing.T) {
	s := newLoopSite(t)
	for _, gzip := range []string{"", "Accept-Encoding: gzip\r\n"} {
		for tag, code := range map[string]int{
			`"a b"`: 400, "\"a\tb\"": 400, `"`: 400, `a`: 400, `"a"b`: 400, `"a" "b"`: 400,
			`"ab"`: 200, `""`: 200, `"!#~"`: 200, "\"\xe4\xff\"": 200, `"a", "b"`: 200, `W/"a"`: 200,
		} {
			head := "GET /depts/10 HTTP/1.1\r\nHost: localhost\r\n" + gzip + "If-None-Match: " + tag + "\r\n"
			s.hotRaw()
			fast := s.answers(head+"\r\n", "GET")[0]
			full := s.answers(head+"Connection: keep-alive, x\r\n\r\n", "GET")[0]
			if fast.StatusCode != code || full.StatusCode != code {
				t.Errorf("%s%s: the loop answers %d, net/http %d; want %d", gzip, tag, fast.StatusCode,
					full.StatusCode, code)
			}
		}
	}
}

// hotRaw has memory hold the document of plainGet.
func (s *loopSite) hotRaw() {
	s.t.Helper()
	eventually(s.t, "a hit", func() bool {
		a := s.answers(plainGet, "GET")[0]
		return a.Header.Get("Cache-Status") == "hotrow; hit; detail=mem"
	})
}
