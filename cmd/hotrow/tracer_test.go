package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A sentSpan is a span as a collector gets it.
type sentSpan struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	Attributes                          []struct {
		Key   string
		Value struct{ StringValue, IntValue string }
	}
}

func (s *sentSpan) attr(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.StringValue + a.Value.IntValue
		}
	}
	return ""
}

// collector returns the address of a server that takes OTLP, and what it was sent.
func collector(t *testing.T) (url string, spans func() []sentSpan) {
	var mu sync.Mutex
	var all []sentSpan
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []sentSpan } }
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, rs := range got.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				all = append(all, ss.Spans...)
			}
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() []sentSpan {
		mu.Lock()
		defer mu.Unlock()
		return append([]sentSpan(nil), all...)
	}
}

// TestTracer_SendsMissesAndWritesAndNoHits reads a row twice and writes it, in a trace that
// is recorded, and in one that is not.
func TestTracer_SendsMissesAndWritesAndNoHits(t *testing.T) {
	t.Parallel()
	const trace, other = "4bf92f3577b34da6a3ce929d0e0e4736", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	in := "Traceparent: 00-" + trace + "-00f067aa0ba902b7-01"
	url, spans := collector(t)
	db := database(t, deptSQL)
	r := start(t, nil, "-c", configFile(t, "version: 1\nsources: {main: {url: 'sqlite:"+db+"'}}\n"+
		"resources: {depts: {table: dept, access: {write: public}}}\n"+
		"log: {access: all}\ntrace: {endpoint: '"+url+"'}\n"))
	r.hit("/depts/30") // the feed has attached: before, each read bypasses memory
	r.get("/depts/20", "Traceparent: 00-"+other+"-00f067aa0ba902b7-00")
	r.get("/depts/20")
	r.get("/depts/10", in)
	r.hit("/depts/10")
	r.get("/depts/10", in) // a hit
	r.do("PATCH", "/depts/10", `{"loc":"BOSTON"}`, in, "Content-Type: application/json")
	roots := func() (list []sentSpan) {
		for _, s := range spans() {
			if s.TraceID != trace {
				t.Errorf("a span of trace %s", s.TraceID)
			}
			if s.ParentSpanID == "00f067aa0ba902b7" {
				list = append(list, s)
			}
		}
		return list
	}
	until(t, r.log, func() bool { return len(roots()) >= 2 })
	list := roots()
	if len(list) != 2 || list[0].Name != "GET /depts" || list[0].attr("hotrow.cache") != "miss" ||
		list[0].attr("http.response.status_code") != "200" || list[1].Name != "PATCH /depts" {
		t.Errorf("%+v", list)
	}
	children := ""
	for _, s := range spans() {
		if s.ParentSpanID == list[0].SpanID {
			children += s.Name + " "
		}
	}
	if children != "lease pool database encode " {
		t.Errorf("the parts of the miss are %q", children)
	}
	if _, body := get(t, r.ops+"/metrics"); !strings.Contains(body, `hotrow_trace_spans_total{result="failed"} 0`) {
		t.Error("the metrics say nothing of spans")
	}
}
