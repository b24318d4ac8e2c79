package load

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// replies are whole ones of the key-value protocols, with what a reader has to find.
var replies = []struct {
	name     string
	protocol protocol
	batch    int
	text     string
	status   int
	body     string
	refusal  string
}{
	{"value", redis, 1, "$5\r\nhello\r\n", 200, "hello", ""},
	{"empty value", redis, 1, "$0\r\n\r\n", 200, "", ""},
	{"value with line ends", redis, 1, "$4\r\n\r\n\r\n\r\n", 200, "\r\n\r\n", ""},
	{"no value", redis, 1, "$-1\r\n", 404, "", ""},
	{"status", redis, 1, "+OK\r\n", 200, "", ""},
	{"integer", redis, 1, ":-3\r\n", 200, "", ""},
	{"error", redis, 1, "-ERR no\r\n", 500, "", "-ERR no"},
	{"values", redis, 2, "*2\r\n$1\r\na\r\n$1\r\nb\r\n", 200, "a", ""},
	{"one is missing", redis, 2, "*2\r\n$1\r\na\r\n$-1\r\n", 404, "a", ""},
	{"one is refused", redis, 2, "*2\r\n-ERR no\r\n$-1\r\n", 500, "", "-ERR no"},
	{"arrays", redis, 1, "*2\r\n*2\r\n$1\r\na\r\n:1\r\n*0\r\n", 200, "a", ""},
	{"no array", redis, 1, "*-1\r\n", 404, "", ""},
	{"value", memcached, 1, "VALUE k 0 5\r\nhello\r\nEND\r\n", 200, "hello", ""},
	{"values", memcached, 2, "VALUE k 7 1 9\r\na\r\nVALUE l 0 2\r\nbc\r\nEND\r\n", 200, "a", ""},
	{"no value", memcached, 1, "END\r\n", 404, "", ""},
	{"one is missing", memcached, 2, "VALUE l 0 2\r\nbc\r\nEND\r\n", 404, "bc", ""},
	{"stored", memcached, 1, "STORED\r\n", 200, "", ""},
	{"error", memcached, 1, "SERVER_ERROR busy\r\n", 500, "", "SERVER_ERROR busy"},
}

// reading returns a reader of an answer that is checked.
func reading(p protocol, batch int) reader {
	r := newReader(p, batch)
	r.keep, r.greeted = true, true
	return r
}

func TestReader_FindsTheEndOfReplies(t *testing.T) {
	for _, tt := range replies {
		r := reading(tt.protocol, tt.batch)
		n, done, err := r.step([]byte(tt.text + tt.text))
		if err != nil || !done || n != len(tt.text) {
			t.Errorf("%s: %d of %d bytes, done %v, %v", tt.text, n, len(tt.text), done, err)
		}
		for cut := 1; ; cut++ {
			if r.status != tt.status || string(r.body) != tt.body ||
				string(r.refusal) != tt.refusal || r.size != len(tt.text) {
				t.Errorf("%s: %q: status %d, body %q, refused %q, %d bytes", tt.name, tt.text,
					r.status, r.body, r.refusal, r.size)
			}
			if cut == 9 {
				break
			}
			r = reading(tt.protocol, tt.batch)
			if n, done := feed(t, &r, []byte(tt.text), cut); n != len(tt.text) || !done {
				t.Errorf("%q in parts of %d: %d bytes, done %v", tt.text, cut, n, done)
			}
		}
	}
}

// The first value of several is what it was, though the buffer that it came in is filled again
// before the answer ends.
func TestReader_KeepsTheFirstValue(t *testing.T) {
	for _, tt := range []struct {
		protocol     protocol
		batch        int
		first, after string
	}{
		{redis, 2, "*2\r\n$5\r\nhello\r\n", "$1\r\nb\r\n"},
		{memcached, 1, "VALUE k 0 5\r\nhello\r\n", "END\r\n"},
	} {
		r := reading(tt.protocol, tt.batch)
		buffer := []byte(tt.first)
		if n, done, err := r.step(buffer); n != len(tt.first) || done || err != nil {
			t.Fatalf("%d of %d bytes, done %v, %v", n, len(tt.first), done, err)
		}
		for i := range buffer {
			buffer[i] = '!'
		}
		if _, done, err := r.step([]byte(tt.after)); !done || err != nil {
			t.Fatalf("done %v, %v", done, err)
		}
		if string(r.body) != "hello" {
			t.Errorf("the first value is %q", r.body)
		}
	}
}

// Keys of one read of HTTP stand where the URL has {keys}.
func TestLoad_SeveralKeysInAURL(t *testing.T) {
	seen := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case seen <- r.URL.RequestURI():
		default:
		}
	}))
	defer s.Close()
	c := Config{URL: s.URL + "/d?id=in.({keys})&a=1", Batch: 3, Connections: 1,
		Keys: Keys{First: 7, N: 100, Distribution: Scan}, Duration: 50 * time.Millisecond}
	wantNoErrors(t, mustRun(t, c))
	if got, want := <-seen, "/d?id=in.(7,8,9)&a=1"; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
	for _, bad := range []Config{{URL: s.URL + "/d?id={n}", Batch: 3}, {URL: s.URL + "/d?id={keys}"}} {
		if _, err := Run(t.Context(), bad); err == nil {
			t.Errorf("%s with %d keys is no error", bad.URL, bad.Batch)
		}
	}
}

func TestReader_RefusesWhatIsNoReply(t *testing.T) {
	for _, tt := range []struct {
		protocol protocol
		text     string
	}{
		{redis, "\r\n"}, {redis, "HTTP/1.1 400 Bad Request\r\n"}, {redis, "$x\r\n"},
		{redis, "$-2\r\n"}, {redis, "*\r\n"}, {redis, "$1234567890123456789\r\n"},
		{redis, "+" + strings.Repeat("x", maxHead+1)},
		{memcached, "VALUE k 0\r\n"}, {memcached, "VALUE k 0 x\r\n"}, {memcached, "VALUE \r\n"},
	} {
		r := reading(tt.protocol, 1)
		if _, done, err := r.step([]byte(tt.text)); err == nil {
			t.Errorf("%.60q: done = %v and no error", tt.text, done)
		}
	}
}

// FuzzReader_Replies: however the bytes of a reply are cut, the reader finds the same.
func FuzzReader_Replies(f *testing.F) {
	for i, tt := range replies {
		f.Add(tt.protocol == redis, tt.batch, []byte(tt.text), i%5+1)
	}
	f.Fuzz(func(t *testing.T, ofRedis bool, batch int, text []byte, part int) {
		p := memcached
		if ofRedis {
			p = redis
		}
		if batch = min(max(batch, 1), maxPipeline); part < 1 {
			part = 1
		}
		whole := reading(p, batch)
		n, done, err := whole.step(text)
		r := reading(p, batch)
		used, ended := 0, false
		for end := 0; !ended && end < len(text); {
			end = min(end+part, len(text))
			k, ok, failed := r.step(text[used:end])
			if failed != nil {
				if err == nil {
					t.Errorf("%q in parts of %d: %v", text, part, failed)
				}
				return
			}
			used, ended = used+k, ok
		}
		if err == nil && (used != n || ended != done || done && (r.status != whole.status ||
			!bytes.Equal(r.body, whole.body) || !bytes.Equal(r.refusal, whole.refusal))) {
			t.Errorf("%q in parts of %d: %d bytes, done %v, %d %q; at once %d, %v, %d %q", text,
				part, used, ended, r.status, r.body, n, done, whole.status, whole.body)
		}
	})
}

// A run writes and then reads what it has written, one key and several at a time.
func TestRun_KeyValueServers(t *testing.T) {
	for name, url := range map[string]string{
		"redis":     "redis://:secret@" + dbtest.NewRedis(t, "--requirepass", "secret").Addr(),
		"memcached": "memcache://" + dbtest.NewMemcached(t).Addr(),
	} {
		t.Run(name, func(t *testing.T) { eachForm(t, func(t *testing.T, f engine) { readsAndWrites(t, url, f) }) })
	}
}

// readsAndWrites makes runs at a server that takes keys.
func readsAndWrites(t *testing.T, url string, f engine) {
	c := Config{
		URL: url + "/d:{n}", Keys: Keys{First: 10, N: 40, Distribution: Scan}, Connections: 4,
		Pipeline: 3, engine: f, CheckEvery: 1, Check: checkKey,
	}
	write := c
	write.Write = Write{Percent: 100, Body: "<{n}>\r\n{i}"}
	if r := mustRun(t, write); r.Err() != nil || r.Writes.Count == 0 {
		t.Fatalf("%d writes, %v", r.Writes.Count, r.Err())
	}
	for _, c.Batch = range []int{1, 7} {
		r := mustRun(t, c)
		wantNoErrors(t, r)
		if r.Checked == 0 || r.Statuses[200] != r.Reads.Count {
			t.Errorf("%d keys a read: %d checked, statuses %v", c.Batch, r.Checked, r.Statuses)
		}
		if strings.Contains(r.URL, "secret") {
			t.Errorf("the result shows a password: %s", r.URL)
		}
	}
	c.Keys.N++ // the last has no value
	if r := mustRun(t, c); r.Errors["status"] == 0 || !strings.Contains(r.FirstError, "no value") {
		t.Errorf("a key without a value: %v, %q", r.Errors, r.FirstError)
	}
}

// checkKey wants the value that a run of readsAndWrites gives a key.
func checkKey(a Answer) error {
	if want := fmt.Sprintf("<%d>\r\n", a.Key); a.Status == 200 && !strings.HasPrefix(string(a.Body), want) {
		return fmt.Errorf("%q, want %q", a.Body, want)
	}
	return nil
}

func TestRun_SaysThatAPasswordIsWrong(t *testing.T) {
	s := dbtest.NewRedis(t, "--requirepass", "secret")
	eachForm(t, func(t *testing.T, f engine) {
		r := mustRun(t, Config{URL: "redis://:wrong@" + s.Addr() + "/a", engine: f})
		if r.Err() == nil || !strings.Contains(r.FirstError, "WRONGPASS") {
			t.Errorf("errors %v, %q", r.Errors, r.FirstError)
		}
		r = mustRun(t, Config{URL: "redis://" + s.Addr() + "/a", engine: f})
		if r.Err() == nil || !strings.Contains(r.FirstError, "NOAUTH") {
			t.Errorf("errors %v, %q", r.Errors, r.FirstError)
		}
	})
}
