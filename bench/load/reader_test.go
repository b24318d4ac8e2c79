package load

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"
)

// answers are whole ones, with what a reader has to find in them.
var answers = []struct {
	name   string
	text   string
	status int
	body   string
	close  bool
}{
	{"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false},
	{"empty", "HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n", 200, "", false},
	{"no reason", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", 200, "x", false},
	{"not modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, "", false},
	{"no content", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", false},
	{"close", "HTTP/1.1 404 Not Found\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nno", 404, "no", true},
	{"1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, "x", true},
	{"1.0 kept", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", 200, "x", false},
	{"continue", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, "x", false},
	{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n" +
		"3\r\nhel\r\n00A;x=y\r\nlo, world!\r\n0\r\n\r\n", 200, "hello, world!", false},
	{"trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n", 200, "x", false},
}

func TestReader_FindsTheEnd(t *testing.T) {
	for _, tt := range answers {
		// At once with a further answer behind, then byte by byte.
		r := reader{keep: true}
		n, done, err := r.step([]byte(tt.text + small))
		if err != nil || !done || n != len(tt.text) {
			t.Errorf("%s: %d of %d bytes, done %v, %v", tt.name, n, len(tt.text), done, err)
		}
		wantAnswer(t, tt.name, &r, tt.status, tt.body, tt.close)
		for cut := 1; cut < 9; cut++ {
			r := reader{keep: true}
			if n, done := feed(t, &r, []byte(tt.text), cut); n != len(tt.text) || !done {
				t.Errorf("%s in parts of %d: %d of %d bytes, done %v", tt.name, cut, n, len(tt.text), done)
			}
			wantAnswer(t, tt.name, &r, tt.status, tt.body, tt.close)
		}
	}
}

func wantAnswer(t *testing.T, name string, r *reader, status int, body string, closes bool) {
	t.Helper()
	if r.status != status || string(r.body) != body || r.close != closes {
		t.Errorf("%s: status %d, body %q, close %v", name, r.status, r.body, r.close)
	}
}

// feed gives text to a reader in parts and returns how much of it was consumed.
func feed(t testing.TB, r *reader, text []byte, part int) (n int, done bool) {
	t.Helper()
	for end := 0; !done && end < len(text); {
		end = min(end+part, len(text))
		used, ok, err := r.step(text[n:end])
		if err != nil {
			t.Fatalf("%q after %d bytes: %v", text, n, err)
		}
		n, done = n+used, ok
	}
	return n, done
}

func TestReader_RefusesWhatIsNoAnswer(t *testing.T) {
	for _, text := range []string{
		"GET / HTTP/1.1\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
		"HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		"HTTP/1.1 200 OK\r\nA: " + string(bytes.Repeat([]byte("x"), maxHead+1)),
	} {
		var r reader
		if _, done, err := r.step([]byte(text)); err == nil {
			t.Errorf("%.60q: done = %v and no error", text, done)
		}
	}
}

// FuzzReader compares the reader with net/http's: an answer that both accept
// has the same status, body and end. And however the bytes are cut, the
// reader finds the same.
func FuzzReader(f *testing.F) {
	for i, tt := range answers {
		f.Add([]byte(tt.text), i%7+1)
		f.Add([]byte(tt.text+small), i+1)
	}
	f.Fuzz(func(t *testing.T, text []byte, part int) {
		r := reader{keep: true}
		n, done, err := r.step(text)
		if part > 0 {
			compareCut(t, text, part, &r, n, done, err != nil)
		}
		if !done || err != nil || r.status < 200 || bytes.Contains(text[:n], []byte("HTTP/1.1 1")) {
			return
		}
		in := bufio.NewReader(bytes.NewReader(text[:n]))
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return
		}
		if resp.StatusCode != r.status || !bytes.Equal(body, r.body) {
			t.Errorf("%q: status %d, body %q; net/http: %d, %q", text, r.status, r.body,
				resp.StatusCode, body)
		}
		if in.Buffered() > 0 {
			t.Errorf("%q: net/http leaves %d of %d bytes", text, in.Buffered(), n)
		}
	})
}

// compareCut reads text in parts and wants what whole, which had it at once,
// has found.
func compareCut(t *testing.T, text []byte, part int, whole *reader, n int, done, bad bool) {
	r := reader{keep: true}
	used, ended := 0, false
	for end := 0; !ended && end < len(text); {
		end = min(end+part, len(text))
		k, ok, err := r.step(text[used:end])
		if err != nil {
			if !bad {
				t.Errorf("%q in parts of %d: %v", text, part, err)
			}
			return
		}
		used, ended = used+k, ok
	}
	if bad {
		return // what makes it bad may be far behind
	}
	if used != n || ended != done || r.status != whole.status || !bytes.Equal(r.body, whole.body) {
		t.Errorf("%q in parts of %d: %d bytes, done %v, %d %q; at once %d, %v, %d %q", text, part,
			used, ended, r.status, r.body, n, done, whole.status, whole.body)
	}
}
