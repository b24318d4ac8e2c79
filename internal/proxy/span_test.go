package proxy

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/trace"
)

// A sentSpan is a span as a collector gets it.
type sentSpan struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	Status                              struct{ Code int }
}

// TestProxy_SpansOfRequests: one of each request whose trace is recorded, and the upstream's
// is below it.
func TestProxy_SpansOfRequests(t *testing.T) {
	const trace1, other = "4bf92f3577b34da6a3ce929d0e0e4736", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	var mu sync.Mutex
	var spans []sentSpan
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var got struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []sentSpan } }
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		spans = append(spans, got.ResourceSpans[0].ScopeSpans[0].Spans...)
	}))
	defer collector.Close()
	seen := make(chan []string, 10)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Values("Traceparent")
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusBadGateway)
		}
		_, _ = io.WriteString(w, "hello")
	}))
	defer upstream.Close()
	tracer := trace.New(trace.Options{Endpoint: collector.URL, Version: "1", Log: slog.Default()})
	_, addr := start(t, Options{Upstreams: []string{upstream.URL}, Trace: tracer})
	ask := func(path string, parents ...string) (parent string) {
		t.Helper()
		c := call(t, addr)
		text := "GET " + path + " HTTP/1.1\r\nHost: a.example\r\n"
		for _, p := range parents {
			text += "traceParent: " + p + "\r\n"
		}
		c.send(text + "\r\n")
		c.answer("GET")
		return strings.Join(<-seen, ",")
	}
	up := ask("/a?secret", "00-"+trace1+"-00f067aa0ba902b7-01")
	if got := ask("/b", "00-"+other+"-00f067aa0ba902b7-00"); got != "00-"+other+"-00f067aa0ba902b7-00" {
		t.Errorf("a trace that is not recorded goes on as %q", got)
	}
	if got := ask("/c"); got != "" {
		t.Errorf("without a trace the upstream gets %q", got)
	}
	bad := ask("/bad", "00-"+trace1+"-00f067aa0ba902b7-01")
	// A span ends after its answer is sent: Close must not come before.
	for come, until := 0, time.Now().Add(time.Minute); come < 4 && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
		mu.Lock()
		come = len(spans)
		mu.Unlock()
	}
	tracer.Close()
	if len(spans) != 4 {
		t.Fatalf("%d spans, want 2 of each of 2 requests: %+v", len(spans), spans)
	}
	// Those of two connections come in either order.
	by := make(map[string]sentSpan)
	for _, s := range spans {
		by[s.Name+s.ParentSpanID+strconv.Itoa(s.Status.Code)] = s
	}
	for status, want := range map[int]string{0: up, 2: bad} {
		root := by["GET00f067aa0ba902b7"+strconv.Itoa(status)]
		child := by["upstream"+root.SpanID+"0"]
		if root.TraceID != trace1 || root.Kind != 2 || child.TraceID != trace1 || child.Kind != 3 {
			t.Errorf("status %d: %+v, and in it %+v, of %+v", status, root, child, spans)
		}
		if want != "00-"+trace1+"-"+root.SpanID+"-01" {
			t.Errorf("the upstream was told %q, the span is %s", want, root.SpanID)
		}
	}
}
