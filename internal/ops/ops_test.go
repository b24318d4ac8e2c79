package ops_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/ops"
	"github.com/hotrow/hotrow/internal/waittest"
	"github.com/hotrow/hotrow/internal/webpage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sample has at least one of everything.
func sample() ops.Snapshot {
	h := ops.Histogram{Bounds: []float64{0.001, 0.01}, Counts: []uint64{5, 3, 2}, Sum: 0.5}
	return ops.Snapshot{
		Requests: []ops.Requests{{Proto: "http", Resource: "depts",
			Codes: map[string]uint64{"200": 9, "404": 1}, Duration: h}},
		Resources: []ops.Resource{{Name: "depts", Source: "main",
			Lookups:       []ops.Lookups{{Tier: "memory", Hit: 7, Miss: 2, Stale: 1, Negative: 1}},
			Fills:         ops.Fills{Stored: 2, Discarded: 1, Collapsed: 4, Error: 1},
			Invalidations: ops.Invalidations{Feed: 3, Write: 2, Admin: 1, Gap: 1},
			Cacheability:  0.75}},
		Tiers: []ops.Tier{{Name: "memory", Entries: 3, Negative: 1, Bytes: 6000,
			MaxBytes: 1 << 20, Hits: 7, Misses: 2, Evictions: 1,
			Sizes: []ops.Size{{Bytes: 4000}, {Most: 2048, Bytes: 3000, Free: 1000}}}},
		Feeds: []ops.Feed{{Source: "main", Mode: "logical", Up: true, State: "lagging",
			Lag: ops.Seconds(4 * time.Millisecond), Gaps: 1, Events: 12, Position: "16B3748",
			UnsettledOldest: ops.Seconds(2 * time.Second)}},
		Pools:    []ops.Pool{{Source: "main", InUse: 2, Idle: 3, Waiting: 1}},
		Queries:  []ops.Queries{{Source: "main", Op: "load", Duration: h}},
		Watchers: 2, WatchDropped: 1,
	}
}

func options() ops.Options {
	return ops.Options{
		Version: "1.0.0", Commit: "abc",
		Stats:      sample,
		Ready:      func() error { return nil },
		Invalidate: func(context.Context, ops.Target) (bool, error) { return true, nil },
		Authorize:  func(*http.Request) error { return nil },
	}
}

// ask sends one request with these headers ("Name: value") and returns the
// answer and its body.
func ask(h http.Handler, method, target string, headers ...string) (*http.Response, string) {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "localhost:8081"
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), w.Body.String()
}

func TestHandler_AnswersItsPaths(t *testing.T) {
	h := ops.New(options())
	tests := []struct {
		method, path string
		status       int
		contains     string
	}{
		{"GET", "/", 200, "/readyz"},
		{"GET", "/livez", 200, "ok"},
		{"HEAD", "/livez", 200, ""},
		{"GET", "/healthz", 200, "ok"},
		{"GET", "/-/healthy", 200, "ok"},
		{"GET", "/readyz", 200, "ok"},
		{"GET", "/-/ready", 200, "ok"},
		{"GET", "/metrics", 200, "go_goroutines"},
		{"GET", "/debug/pprof/", 200, "goroutine"},
		{"GET", "/debug/pprof/goroutine?debug=1", 200, "TestHandler_AnswersItsPaths"},
		{"GET", "/debug/pprof/heap", 200, ""},
		{"GET", "/debug/pprof/symbol", 200, "num_symbols"},
		{"GET", "/debug/pprof/cmdline", 404, ""}, // arguments may hold a password
		{"POST", "/livez", 405, ""},
		{"POST", "/metrics", 405, ""},
		{"GET", "/-/invalidate?resource=depts", 405, ""},
		{"GET", "/nothing", 404, ""},
	}
	for _, tt := range tests {
		resp, body := ask(h, tt.method, tt.path)
		if resp.StatusCode != tt.status || !strings.Contains(body, tt.contains) {
			t.Errorf("%s %s = %d %.200q, want %d with %q",
				tt.method, tt.path, resp.StatusCode, body, tt.status, tt.contains)
		}
		if got := resp.Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s %s: Cache-Control %q", tt.method, tt.path, got)
		}
	}
}

func TestReady_SaysWhyNot(t *testing.T) {
	o := options()
	o.Ready = func() error {
		return errors.Join(errors.New("source main: no connection"), errors.New("feed main: down"))
	}
	resp, body := ask(ops.New(o), "GET", "/readyz")
	want := "not ready\nsource main: no connection\nfeed main: down\n"
	if resp.StatusCode != 503 || body != want {
		t.Errorf("GET /readyz = %d %q, want 503 %q", resp.StatusCode, body, want)
	}
	if resp, _ := ask(ops.New(o), "GET", "/livez"); resp.StatusCode != 200 {
		t.Errorf("GET /livez = %d while not ready, want 200", resp.StatusCode)
	}
}

func TestReady_IsBounded(t *testing.T) {
	release, calls := make(chan struct{}), make(chan struct{}, 10)
	o := options()
	o.ReadyTimeout = 10 * time.Millisecond
	o.Ready = func() error {
		calls <- struct{}{}
		<-release
		return nil
	}
	h := ops.New(o)
	for range 5 {
		resp, body := ask(h, "GET", "/readyz")
		if resp.StatusCode != 503 || !strings.Contains(body, "has not answered within 10ms") {
			t.Errorf("GET /readyz = %d %q, want 503", resp.StatusCode, body)
		}
	}
	if n := len(calls); n != 1 {
		t.Errorf("a check that hangs was called %d times, want 1", n)
	}
	close(release)
	deadline := waittest.Deadline(time.Minute)
	for {
		if resp, _ := ask(h, "GET", "/readyz"); resp.StatusCode == 200 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("not ready a minute after the check has answered")
		}
	}
}

func TestReady_SurvivesPanic(t *testing.T) {
	o := options()
	o.Ready = func() error { panic("oops") }
	resp, body := ask(ops.New(o), "GET", "/readyz")
	if resp.StatusCode != 503 || !strings.Contains(body, "oops") {
		t.Errorf("GET /readyz = %d %q, want 503 with the panic", resp.StatusCode, body)
	}
}

// What is wrong with the cache is told an operator, a line each.
func TestCheck(t *testing.T) {
	o := options()
	wrong := errors.Join(errors.New("bytes differ"), errors.New("a lease is lost"))
	o.Check = func() error { return wrong }
	h := ops.New(o)
	if resp, body := ask(h, "GET", "/-/check"); resp.StatusCode != 500 ||
		body != "bytes differ\na lease is lost\n" {
		t.Errorf("GET /-/check = %d %q", resp.StatusCode, body)
	}
	wrong = nil
	if resp, body := ask(h, "GET", "/-/check"); resp.StatusCode != 200 || body != "ok\n" {
		t.Errorf("GET /-/check = %d %q of what is right", resp.StatusCode, body)
	}
	o.Authorize = func(*http.Request) error { return ops.ErrUnauthorized }
	if resp, _ := ask(ops.New(o), "GET", "/-/check"); resp.StatusCode != 401 {
		t.Errorf("GET /-/check = %d for others than the operator", resp.StatusCode)
	}
}

func TestHost(t *testing.T) {
	o := options()
	o.Hosts = func() []string { return []string{"hotrow.internal", "Ops.Example.COM:8081"} }
	h := ops.New(o)
	tests := []struct {
		host string
		want int
	}{
		{"localhost", 200}, {"localhost:8081", 200}, {"LOCALHOST.:1", 200},
		{"127.0.0.1:8081", 200}, {"127.0.0.2", 200}, {"[::1]:8081", 200}, {"[::1]", 200},
		{"hotrow.internal", 200}, {"hotrow.internal:99", 200}, {"ops.example.com", 200},
		{"evil.example", 421}, {"localhost.evil.example", 421}, {"xlocalhost", 421},
		{"127.0.0.1.evil.example", 421}, {"10.1.2.3", 421}, {"[2001:db8::1]:8081", 421},
		{"", 421}, {"0.0.0.0", 421}, {"[", 421}, {"a:b:c", 421},
	}
	for _, tt := range tests {
		for _, path := range []string{"/livez", "/metrics", "/debug/pprof/", "/-/feed", "/none"} {
			want := tt.want
			if path == "/none" && want == 200 {
				want = 404
			}
			if resp, _ := ask(h, "GET", path, "Host: "+tt.host); resp.StatusCode != want {
				t.Errorf("GET %s, Host %q = %d, want %d", path, tt.host, resp.StatusCode, want)
			}
		}
	}
}

// TestHost_IsAddressOfConnection needs a real connection: the address that the
// client has connected to is the server's own.
func TestHost_IsAddressOfConnection(t *testing.T) {
	s := httptest.NewServer(ops.New(options()))
	defer s.Close()
	client := s.Client()
	defer client.CloseIdleConnections()
	for host, want := range map[string]int{"": 200, "192.0.2.1": 421, "evil.example": 421} {
		r, err := http.NewRequest("GET", s.URL+"/livez", nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("GET /livez, Host %q = %d, want %d", r.Host, resp.StatusCode, want)
		}
	}
}

func TestInvalidate(t *testing.T) {
	var got string
	o := options()
	o.Invalidate = func(_ context.Context, t ops.Target) (bool, error) {
		got = t.Resource + t.Path
		if t.Key != nil {
			got += "/" + *t.Key
		}
		switch {
		case t.Resource == "none":
			return false, fmt.Errorf("%w: %q", ops.ErrNoResource, t.Resource)
		case t.Key != nil && *t.Key == "x":
			return false, fmt.Errorf("%w: %q", ops.ErrKey, *t.Key)
		case t.Resource == "broken":
			return false, errors.New("broken")
		}
		return got != "depts/99", nil
	}
	h := ops.New(o)
	tests := []struct {
		query  string
		status int
		want   string
	}{
		{"resource=depts&key=10", 204, "depts/10"},
		{"resource=cities&key=Tulsa%2COK", 204, "cities/Tulsa,OK"},
		{"resource=depts", 204, "depts"},
		{"resource=depts&key=", 204, "depts/"}, // the empty key, not the whole resource
		{"path=/a%252Fb/10", 204, "/a%2Fb/10"},
		{"resource=depts&key=99", 204, "depts/99"},
		{"path=/depts/10&key=10", 400, ""},
		{"resource=none", 404, "none"},
		{"resource=depts&key=x", 400, "depts/x"},
		{"resource=broken", 500, "broken"},
		{"key=10", 400, ""},
		{"", 400, ""},
		{"resource=depts&key=%zz", 400, ""},
		{"resource=depts;key=10", 400, ""},
		{"resource=depts&keys=10", 400, ""}, // a slip must not drop the whole resource
		{"resource=depts&key=1&key=2", 400, ""},
	}
	for _, tt := range tests {
		got = ""
		resp, body := ask(h, "POST", "/-/invalidate?"+tt.query)
		if resp.StatusCode != tt.status || got != tt.want {
			t.Errorf("POST /-/invalidate?%s = %d %q and drops %q, want %d and %q",
				tt.query, resp.StatusCode, body, got, tt.status, tt.want)
		}
		if none := resp.Header.Get("Hotrow-Forgotten") == "none"; none != (tt.want == "depts/99") {
			t.Errorf("POST /-/invalidate?%s: that nothing was kept is said: %v", tt.query, none)
		}
	}
}

func TestInvalidate_RefusesForeignPages(t *testing.T) {
	called := false
	o := options()
	o.Invalidate = func(context.Context, ops.Target) (bool, error) {
		called = true
		return true, nil
	}
	h := ops.New(o)
	for _, header := range []string{
		"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site",
		"Origin: http://evil.example", "Host: evil.example",
	} {
		resp, _ := ask(h, "POST", "/-/invalidate?resource=depts", header)
		if resp.StatusCode < 400 || called {
			t.Errorf("%s: %d, called %t; want a refusal", header, resp.StatusCode, called)
		}
	}
}

func TestFeedAndCache_AreJSON(t *testing.T) {
	h := ops.New(options())
	tests := []struct{ path, want string }{
		{"/-/feed", `{"feeds":[{"source":"main","mode":"logical","up":true,"state":"lagging",
			"lag_seconds":0.004,"gaps":1,"events":12,"position":"16B3748","epoch":0,"unsettled":0,
			"unsettled_oldest_seconds":2}]}`},
		{"/-/cache", `{"tiers":[{"name":"memory","entries":3,"negative":1,"bytes":6000,
			"max_bytes":1048576,"hits":7,"misses":2,"evictions":1,"copy_bytes":0,
			"sizes":[{"bytes":4000,"free":0},{"up_to":2048,"bytes":3000,"free":1000}]}],
			"resources":[{"name":"depts","source":"main",
			"lookups":[{"tier":"memory","hit":7,"miss":2,"stale":1,"negative":1}],
			"fills":{"stored":2,"discarded":1,"collapsed":4,"error":1,"written":0},
			"invalidations":{"feed":3,"write":2,"admin":1,"gap":1},"cacheability":0.75,"bypass":0,"watchers":0,
			"lists":{"hits":0,"absent":0,"evicted":0,"discarded":0,
			"moved":0,"dirty":0,"bypass":0,"once":0,"too_large":0,"unchanged":0}}]}`},
	}
	for _, tt := range tests {
		resp, body := ask(h, "GET", tt.path)
		if got := resp.Header.Get("Content-Type"); got != "application/json" {
			t.Errorf("%s: Content-Type %q", tt.path, got)
		}
		if diff := cmp.Diff(decoded(t, tt.want), decoded(t, body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.path, diff)
		}
	}

	o := options()
	o.Stats = func() ops.Snapshot { return ops.Snapshot{} }
	if _, body := ask(ops.New(o), "GET", "/-/feed"); strings.Contains(body, "null") {
		t.Errorf("no feeds are shown as %s", body)
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// TestReady_Strict: a node that answers, but keeps nothing, says so, and is not
// ready for who asks strictly.
func TestReady_Strict(t *testing.T) {
	o := options()
	o.Notes = func() []string { return []string{"source main: no change feed"} }
	o.Strict = func() error { return errors.New("source main: no change feed") }
	for path, want := range map[string]int{"/readyz": 200, "/readyz?strict": 503} {
		resp, body := ask(ops.New(o), "GET", path)
		if resp.StatusCode != want || !strings.Contains(body, "source main: no change feed") {
			t.Errorf("GET %s = %d %q, want %d", path, resp.StatusCode, body, want)
		}
	}
}

// TestConsole_HasTheDoctorOfThePort: the bound of how often the databases are looked at is one,
// wherever it is asked.
func TestConsole_HasTheDoctorOfThePort(t *testing.T) {
	looks := 0
	p := ops.New(ops.Options{
		Stats:     func() ops.Snapshot { return ops.Snapshot{} },
		Authorize: func(*http.Request) error { return nil },
		Doctor:    func(context.Context) ([]ops.Finding, error) { looks++; return nil, nil },
	})
	console := p.Console(func(*http.Request) error { return nil }, webpage.Pages{})
	for _, h := range []http.Handler{p, console, p, console} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1/-/doctor", nil))
		if w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if looks != 1 {
		t.Errorf("the databases were looked at %d times", looks)
	}
}
