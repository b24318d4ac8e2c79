package fallback

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// newServer returns a Server in front of h, below a path.
func newServer(t *testing.T, path string, h http.HandlerFunc, change ...func(*Options)) *Server {
	t.Helper()
	behind := httptest.NewServer(h)
	t.Cleanup(behind.Close)
	return serverOf(t, behind.URL+path, change...)
}

func serverOf(t *testing.T, text string, change ...func(*Options)) *Server {
	t.Helper()
	u, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{URL: u, Most: 1 << 10}
	for _, f := range change {
		f(&o)
	}
	s := New(o)
	t.Cleanup(s.Close)
	return s
}

func get(path string) *Request { return &Request{Method: "GET", Path: path} }

func TestServer_SendsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	s := newServer(t, "/rest/v1/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusTemporaryRedirect)
		_, _ = io.WriteString(w, r.Method+" "+r.RequestURI+" "+r.Host+" "+r.Header.Get("Prefer")+" "+string(body))
	})
	a, err := s.Ask(t.Context(), &Request{Method: "POST", Path: "/a%2Fb%20c", Query: "x=%2C&y=(a,b)",
		Header: http.Header{"Prefer": {"return=minimal"}}, Body: []byte(`{"a":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := "POST /rest/v1/a%2Fb%20c?x=%2C&y=(a,b) " + strings.TrimPrefix(s.Origin(), "http://") +
		` return=minimal {"a":1}`
	if a.Status != 307 || string(a.Body) != want { // no redirect is followed
		t.Errorf("%d %s, want %s", a.Status, a.Body, want)
	}
	if st := s.Stats(); st.Answered != 1 || st.UnderWay != 0 {
		t.Errorf("%+v", st)
	}
}

func TestServer_Bounds(t *testing.T) {
	t.Parallel()
	s := newServer(t, "", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			_, _ = io.WriteString(w, strings.Repeat("x", 2<<10))
		case "/flowing":
			for range 100 {
				_, _ = io.WriteString(w, strings.Repeat("x", 100))
				w.(http.Flusher).Flush()
			}
		case "/slow":
			<-r.Context().Done()
		case "/broken":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "x")
		}
	}, func(o *Options) { o.Wait = 200 * time.Millisecond })
	for path, want := range map[string]error{"/large": ErrTooLarge, "/flowing": ErrTooLarge, "/slow": ErrTimeout,
		"/broken": ErrLost} {
		if _, err := s.Ask(t.Context(), get(path)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Ask(gone, get("/slow")); !errors.Is(err, context.Canceled) {
		t.Errorf("of a client that has gone: %v", err)
	}
	if st := s.Stats(); st.TimedOut != 1 || st.Failed != 3 || st.Open {
		t.Errorf("%+v", st)
	}
}

func TestServer_WaitsForItsTurn(t *testing.T) {
	t.Parallel()
	let, entered := make(chan struct{}), make(chan struct{}, Relays)
	s := newServer(t, "", func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-let
	})
	done := make(chan error, Relays)
	for range Relays {
		go func() {
			_, err := s.Ask(t.Context(), get("/"))
			done <- err
		}()
	}
	for range Relays {
		<-entered
	}
	if _, err := s.Ask(t.Context(), get("/")); !errors.Is(err, ErrBusy) {
		t.Errorf("one too many: %v", err)
	}
	close(let)
	for range Relays {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A server that is away is not asked by everybody, and asked again once it is back.
func TestServer_LeavesAloneWhatIsAway(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	var now atomic.Int64
	s := serverOf(t, "http://"+addr, func(o *Options) {
		o.Now = func() time.Time { return time.Unix(now.Load(), 0) }
	})
	now.Store(1000)
	for range failuresToOpen + 3 {
		if _, err := s.Ask(t.Context(), get("/")); !errors.Is(err, ErrAway) {
			t.Fatalf("%v, want %v", err, ErrAway)
		}
	}
	if st := s.Stats(); !st.Open || st.Away != failuresToOpen+3 || s.circuit.failures.Load() != failuresToOpen {
		t.Errorf("%+v after %d failures", st, s.circuit.failures.Load())
	}
	now.Add(1)
	_, err = s.Ask(t.Context(), get("/"))
	if !errors.Is(err, ErrAway) || s.circuit.failures.Load() != failuresToOpen+1 {
		t.Errorf("%v: it was not tried after its time", err)
	}
	// It is back.
	waittest.Until(t, "its port is free", func() bool {
		l, err = net.Listen("tcp", addr)
		return err == nil
	})
	srv := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	now.Add(60)
	waittest.Until(t, "it is asked again", func() bool {
		_, err := s.Ask(t.Context(), get("/"))
		return err == nil
	})
	if st := s.Stats(); st.Open || s.circuit.failures.Load() != 0 {
		t.Errorf("%+v", st)
	}
}

func TestCircuit_OneTriesAtATime(t *testing.T) {
	t.Parallel()
	var c circuit
	at := time.Unix(1000, 0)
	for range failuresToOpen {
		if !c.admits(at) {
			t.Fatal("it is left alone too early")
		}
		c.failed(at)
	}
	if c.admits(at) || c.admits(at.Add(openFirst-1)) {
		t.Error("it is asked while it is left alone")
	}
	at = at.Add(openFirst)
	if !c.admits(at) || c.admits(at) {
		t.Error("not one request tries it")
	}
	for range 20 {
		c.failed(at)
	}
	if c.pause() != openLast {
		t.Errorf("%v, want %v", c.pause(), openLast)
	}
	if !c.succeeded() || c.succeeded() || !c.admits(at) {
		t.Error("it is not asked after an answer")
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://127.0.0.1:3000": "", "https://a.example/rest/v1/": "", "http://[::1]:3000/x": "",
		"": "want a URL", "postgrest:3000": "want a URL", "/rest": "want a URL", "http://:3000": "want a URL",
		"ftp://a/": "want http or https", "http://u:p@a/": "without a user",
		"http://a/?x": "without a query", "http://a/?": "without a query", "http://a/#x": "without a query",
		"http://a/#": "without a query",
	} {
		_, err := Parse(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"http://127.0.0.1:3000", "https://a.example/rest/v1/", "http://a/%2F", "ftp://a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := Parse(text)
		if err != nil {
			return
		}
		s := New(Options{URL: u})
		var sent atomic.Bool
		r := s.request(t.Context(), get("/a%2Fb"), &sent)
		if r.URL.EscapedPath() != s.Base()+"/a%2Fb" {
			t.Errorf("%q: the path is %q", text, r.URL.EscapedPath())
		}
		if _, err := url.ParseRequestURI(r.URL.RequestURI()); err != nil {
			t.Error(err)
		}
	})
}
