package trace

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// TestParse_AsTheSpecificationSays has the cases of W3C Trace Context, section 3.2.
func TestParse_AsTheSpecificationSays(t *testing.T) {
	c, ok := Parse(parent)
	if !ok || !c.Sampled || c.String() != parent || c.ID() != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("%+v %t %s", c, ok, c)
	}
	for text, want := range map[string]bool{
		strings.TrimSuffix(parent, "01") + "00": true,
		strings.TrimSuffix(parent, "01") + "ff": true, // unknown flags
		"cc" + parent[2:]:                       true, // a later version
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
		if _, ok := Parse(text); ok != want {
			t.Errorf("%q: %t, want %t", text, ok, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(parent)
	f.Add("cc" + parent[2:] + "-x")
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := Parse(text)
		if !ok {
			return
		}
		again, ok := Parse(c.String())
		if !ok || again != c || c.String()[3:52] != text[3:52] {
			t.Errorf("%q: %+v, then %+v", text, c, again)
		}
	})
}

func TestTracer_StartsWhatIsToBeRecorded(t *testing.T) {
	never, always := &Tracer{o: Options{Sample: 0}}, &Tracer{o: Options{Sample: 1}}
	off := strings.TrimSuffix(parent, "01") + "00"
	if (*Tracer)(nil).Start(parent) != nil || always.Start(off) != nil || never.Start("") != nil {
		t.Error("recorded what is not to be")
	}
	s := never.Start(parent)
	if s == nil || s.ID() != parent[3:35] || (Context{Span: s.Parent}).String()[36:52] != parent[36:52] {
		t.Errorf("with a parent: %+v", s)
	}
	if s := always.Start("nonsense"); s == nil || s.Parent != [8]byte{} || s.Trace == [16]byte{} {
		t.Errorf("anew: %+v", s)
	}
	half, n := &Tracer{o: Options{Sample: 0.5}}, 0
	for range 10_000 {
		if half.Start("") != nil {
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
	tr := New(Options{Endpoint: srv.URL + "/", Version: "1.2", Log: slog.New(slog.DiscardHandler)})
	s := tr.Start(parent)
	s.Name, s.Begin, s.Took, s.Failed = "GET /depts/{key}", time.Unix(0, 1544712660000000000), time.Second, true
	s.Attrs = []Attr{{Key: "http.request.method", Text: "GET"}, {Key: "http.response.status_code", Int: 503}}
	c := s.Child("database", Client, s.Begin, time.Millisecond)
	tr.Record(s)
	tr.Record(c)
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
	if err := json.Unmarshal(<-bodies, &got); err != nil {
		t.Fatal(err)
	}
	spans := got.ResourceSpans[0].ScopeSpans[0].Spans
	text, err := json.Marshal(spans[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"attributes":[{"key":"http.request.method","value":{"stringValue":"GET"}},` +
		`{"key":"http.response.status_code","value":{"intValue":"503"}}],` +
		`"endTimeUnixNano":"1544712661000000000","flags":1,"kind":2,"name":"GET /depts/{key}",` +
		`"parentSpanId":"00f067aa0ba902b7","spanId":"` + s.String()[36:52] + `",` +
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
	const all = batch + queued + 100
	for range all {
		tr.Record(tr.Start(parent))
	}
	close(release)
	tr.Close()
	st := tr.Stats()
	if st.Sent != 0 || st.Dropped == 0 || st.Dropped+st.Failed > all {
		t.Errorf("%+v", st)
	}
	if n := strings.Count(log.String(), "do not reach"); n != 1 {
		t.Errorf("the log says so %d times:\n%s", n, log.String())
	}
}
