package load

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// short is a run for a moment.
func short(url string) Config {
	return Config{URL: url, Method: "GET", First: 5, Keys: 3, Connections: 4,
		Duration: 50 * time.Millisecond, Warmup: 10 * time.Millisecond, Timeout: waittest.Limit(time.Minute)}
}

// until makes runs, each twice as long as the one before, until one is as ok says: on a busy
// machine a short one may have no answer.
func until(t *testing.T, c Config, ok func(*Result, error) bool) {
	t.Helper()
	for {
		r, err := Run(t.Context(), c)
		if ok(r, err) {
			return
		}
		if c.Duration *= 2; c.Duration > time.Minute {
			t.Fatalf("%+v, %v", r, err)
		}
		c.Timeout *= 2
	}
}

// good reports whether a run was answered, and nothing failed.
func good(r *Result, err error) bool { return err == nil && r.Answers > 0 && r.Err() == nil }

func TestRun_AsksForEveryKey(t *testing.T) {
	var mu sync.Mutex
	asked := make(map[string]int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.Method+" "+r.URL.String()+" "+r.Header.Get("X-A")]++
		_, _ = io.WriteString(w, "some text")
	}))
	defer s.Close()
	c := short(s.URL + "/a/{n}?b={n}")
	c.Header = []string{"X-A: yes"}
	until(t, c, func(r *Result, err error) bool {
		mu.Lock()
		defer mu.Unlock()
		return good(r, err) && asked["GET /a/5?b=5 yes"] > 0 && asked["GET /a/6?b=6 yes"] > 0 &&
			asked["GET /a/7?b=7 yes"] > 0 && len(asked) == 3
	})
}

// Each handler gives an answer of another form; the next over the connection is read, too.
func TestRun_ReadsEveryFormOfAnswer(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter){
		"length": func(w http.ResponseWriter) { _, _ = io.WriteString(w, strings.Repeat("x", 100_000)) },
		"chunks": func(w http.ResponseWriter) {
			w.Header().Set("Trailer", "X-T")
			for range 3 {
				_, _ = io.WriteString(w, strings.Repeat("y", 3000))
				w.(http.Flusher).Flush()
			}
			w.Header().Set("X-T", "1")
		},
		"none":      func(w http.ResponseWriter) { w.WriteHeader(204) },
		"unchanged": func(w http.ResponseWriter) { w.WriteHeader(304) },
		"last": func(w http.ResponseWriter) {
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, "z")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
			defer s.Close()
			for _, method := range []string{"GET", "HEAD"} {
				c := short(s.URL)
				c.Method = method
				until(t, c, func(r *Result, err error) bool { return good(r, err) && r.Answers > c.Connections })
			}
		})
	}
}

func TestRun_CountsWhatFails(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	until(t, short(s.URL), func(r *Result, err error) bool {
		return err == nil && r.Statuses[404] > 0 && r.Errors["status"] == r.Statuses[404] && r.Err() != nil &&
			r.FirstError == "the status is 404"
	})
	for url, want := range map[string]string{
		"http://127.0.0.1:1/": "refused", "ftp://a/b": "want http://", "http://a/ b": "escape it",
		"http:///a": "want http://",
	} {
		if _, err := Run(t.Context(), short(url)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
	}
	c := short(s.URL)
	c.Header = []string{"no colon"}
	if _, err := Run(t.Context(), c); err == nil {
		t.Error("a header without a colon is taken")
	}
}

// raw answers the requests of each connection by answer, which reports whether the next is read.
func raw(t *testing.T, answer func(net.Conn) bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				for in := bufio.NewReader(nc); ; {
					if r, err := http.ReadRequest(in); err != nil || r.Body.Close() != nil || !answer(nc) {
						return
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// A connection that ends between two requests is made anew; one that ends within an answer is a
// failure.
func TestRun_ConnectionsThatEnd(t *testing.T) {
	var n atomic.Int64
	url := raw(t, func(nc net.Conn) bool {
		_, err := io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		return err == nil && n.Add(1)%3 != 0
	})
	until(t, short(url), func(r *Result, err error) bool { return good(r, err) && r.Answers > 20 })
	url = raw(t, func(nc net.Conn) bool {
		_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok")
		return false
	})
	until(t, short(url), func(r *Result, err error) bool {
		return err == nil && r.Errors["connection"] > 0 && r.Answers == 0 &&
			r.FirstError == "the connection ended within an answer"
	})
	url = raw(t, func(nc net.Conn) bool { _, _ = io.WriteString(nc, "nothing of HTTP\r\n\r\n"); return true })
	until(t, short(url), func(r *Result, err error) bool { return err == nil && r.Errors["connection"] > 0 })
	c := short(raw(t, func(net.Conn) bool { return true }))
	c.Timeout = 20 * time.Millisecond
	until(t, c, func(r *Result, err error) bool { return err == nil && r.Errors["timeout"] > 0 })
}

// With a rate no more is asked than is due; a latency counts from when it was.
func TestRun_OpenLoop(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { n.Add(1) }))
	defer s.Close()
	c := short(s.URL)
	c.Rate = 100 // in 60 ms 6
	r, err := Run(t.Context(), c)
	if err != nil || r.Err() != nil || r.Offered != 100 || n.Load() != 6 {
		t.Errorf("%d requests: %+v, %v", n.Load(), r, err)
	}
}

func TestRun_OverTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok")
	}))
	defer s.Close()
	c := short(s.URL)
	c.PID = os.Getpid()
	until(t, c, good)
}

func TestRun_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := short(raw(t, func(net.Conn) bool { cancel(); return true })) // which answers nothing
	c.Duration = time.Hour
	if _, err := Run(ctx, c); err == nil {
		t.Error("no error")
	}
}

func TestResult_Quantiles(t *testing.T) {
	c := &caller{statuses: map[int]int{200: 1000}}
	for i := range 1000 {
		c.times = append(c.times, uint32(1000-i))
	}
	r := (&run{Config: Config{Duration: 2 * time.Second}}).result([]*caller{c})
	if got := fmt.Sprint(r.Answers, r.Rate, r.P50, r.P99, r.P999, r.Max); got != "1000 500 500 990 999 1000" {
		t.Error(got)
	}
}
