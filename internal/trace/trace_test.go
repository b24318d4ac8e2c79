package trace

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// TestID_AsTheSpecificationSays has the cases of W3C Trace Context, section 3.2.
func TestID_AsTheSpecificationSays(t *testing.T) {
	for text, want := range map[string]bool{
		parent:                                  true,
		strings.TrimSuffix(parent, "01") + "00": true,
		strings.TrimSuffix(parent, "01") + "03": true,  // its id is random
		strings.TrimSuffix(parent, "01") + "ff": false, // flags that version 00 must not set
		"cc" + parent[2:53] + "ff":              true,  // a later version
		"cc" + parent[2:] + "-what-comes":       true,
		"cc" + parent[2:] + ".what-comes":       false,
		parent + "-more":                        false,
		"ff" + parent[2:]:                       false,
		strings.ToUpper(parent):                 false,
		"":                                      false,
		parent[:54]:                             false,
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": false,
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01": false,
		"00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01": false,
		"0x" + parent[2:]: false,
	} {
		if got := ID(text); got != librarysID(text) || (got != "") != want {
			t.Errorf("%q: %q, the library says %q, want one: %t", text, got, librarysID(text), want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { sink = ID(parent) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

var sink string

// librarysID returns the id that spans have.
func librarysID(traceparent string) string {
	c := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(),
		propagation.MapCarrier{"traceparent": traceparent}))
	if !c.IsValid() {
		return ""
	}
	return c.TraceID().String()
}

func FuzzID(f *testing.F) {
	f.Add(parent)
	f.Add("cc" + parent[2:] + "-x")
	f.Add("00" + parent[2:53] + "04")
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := ID(text), librarysID(text); got != want {
			t.Errorf("%q: %q, the library says %q", text, got, want)
		}
	})
}

func TestTracer_StartsWhatIsToBeRecorded(t *testing.T) {
	tracer := func(sample float64) *Tracer {
		tr := New(Options{Endpoint: "http://127.0.0.1:1", Sample: sample, Log: slog.Default()})
		t.Cleanup(tr.Close)
		return tr
	}
	never, always, now := tracer(0), tracer(1), time.Now()
	off := strings.TrimSuffix(parent, "01") + "00"
	if (*Tracer)(nil).Start(parent, "", now) != nil || always.Start(off, "", now) != nil ||
		never.Start("", "", now) != nil || never.Start("nonsense", "", now) != nil {
		t.Error("recorded what is not to be")
	}
	if s := never.Start(parent, "", now); s == nil || ID(s.Traceparent()) != parent[3:35] ||
		s.Traceparent()[36:52] == parent[36:52] {
		t.Errorf("with a parent: %+v", s)
	}
	if s := always.Start("nonsense", "", now); s == nil || ID(s.Traceparent()) == "" {
		t.Errorf("anew: %+v", s)
	}
	half, n := tracer(0.5), 0
	for range 10_000 {
		if half.Start("", "", now) != nil {
			n++
		}
	}
	if n < 4500 || n > 5500 {
		t.Errorf("%d of 10,000 at one half", n)
	}
}

// TestTracer_SpeaksOTLP compares what is sent with the example of the protocol's own
// repository (opentelemetry-proto/examples/trace.json), field by field.
func TestTracer_SpeaksOTLP(t *testing.T) {
	bodies := make(chan []byte, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method != "POST" || r.URL.Path != "/v1/traces" ||
			r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %s", r.Method, r.URL, r.Header)
		}
		body, _ := io.ReadAll(r.Body)
		bodies <- body
	}))
	defer srv.Close()
	t.Setenv("OTEL_SERVICE_NAME", "shop")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	tr := New(Options{Endpoint: srv.URL + "/", Version: "1.2", Log: slog.New(slog.DiscardHandler)})
	begin := time.Unix(0, 1544712660000000000)
	s := tr.Start(parent, "GET /depts/{key}", begin)
	s.End(time.Second, true, Text("http.request.method", "GET"),
		Int("http.response.status_code", 503))
	s.Child("database", true, begin, time.Millisecond)
	tr.Close()
	var got struct {
		ResourceSpans []struct {
			Resource   struct{ Attributes []map[string]any }
			ScopeSpans []struct {
				Scope map[string]any
				Spans []map[string]any
			}
		}
	}
	var spans []map[string]any
	for close(bodies); len(bodies) > 0; { // the second follows later where a second begins
		if err := json.Unmarshal(<-bodies, &got); err != nil {
			t.Fatal(err)
		}
		spans = append(spans, got.ResourceSpans[0].ScopeSpans[0].Spans...)
	}
	about, scope := got.ResourceSpans[0].Resource.Attributes, got.ResourceSpans[0].ScopeSpans[0].Scope
	if text := fmt.Sprint(about, scope); text != "[map[key:deployment.environment.name "+
		"value:map[stringValue:test]] map[key:service.name value:map[stringValue:shop]] "+
		"map[key:service.version value:map[stringValue:1.2]]] map[name:hotrow version:1.2]" {
		t.Error(text)
	}
	text, err := json.Marshal(spans[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"attributes":[{"key":"http.request.method","value":{"stringValue":"GET"}},` +
		`{"key":"http.response.status_code","value":{"intValue":"503"}}],` +
		`"endTimeUnixNano":"1544712661000000000","flags":1,"kind":2,"name":"GET /depts/{key}",` +
		`"parentSpanId":"00f067aa0ba902b7","spanId":"` + s.Traceparent()[36:52] + `",` +
		`"startTimeUnixNano":"1544712660000000000","status":{"code":2},` +
		`"traceId":"4bf92f3577b34da6a3ce929d0e0e4736"}`
	if string(text) != want {
		t.Errorf("sent\n%s\nwant\n%s", text, want)
	}
	if len(spans) != 2 || spans[1]["parentSpanId"] != spans[0]["spanId"] ||
		spans[1]["traceId"] != spans[0]["traceId"] || spans[1]["kind"] != 3.0 {
		t.Errorf("the child: %v", spans[1:])
	}
	if st := tr.Stats(); st != (Stats{Sent: 2}) {
		t.Errorf("%+v", st)
	}
}

// TestTracer_LosesSpansRatherThanWait records more than are queued, while the collector is
// away or refuses.
func TestTracer_LosesSpansRatherThanWait(t *testing.T) {
	var asked atomic.Int64
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		<-release
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer srv.Close()
	var log strings.Builder
	tr := New(Options{Endpoint: srv.URL, Log: slog.New(slog.NewTextHandler(&log, nil))})
	const all = waiting + 100
	for range all {
		tr.Start(parent, "", time.Now()).End(0, false)
	}
	close(release)
	tr.Close()
	st := tr.Stats()
	if st.Sent != 0 || st.Dropped == 0 || st.Dropped+st.Failed != all {
		t.Errorf("%+v", st)
	}
	if n := strings.Count(log.String(), "do not reach"); n != 1 {
		t.Errorf("the log says so %d times:\n%s", n, log.String())
	}
}

// TestTracer_CloseGivesUp closes a tracer whose collector answers nothing, while four
// batches wait: the first is waited for, and the second for what is left of the limit.
func TestTracer_CloseGivesUp(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // net/http looks for a client that has gone after it
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer srv.Close()
	tr := New(Options{Endpoint: srv.URL, Log: slog.New(slog.DiscardHandler)})
	for range 4 * batch {
		tr.Start(parent, "", time.Now()).End(0, false)
	}
	tr.Close()
	if st := tr.Stats(); st != (Stats{Failed: 4 * batch}) || len(asked) > 2 {
		t.Errorf("%+v, %d batches sent", st, len(asked))
	}
}
