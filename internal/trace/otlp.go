package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// An exporter posts spans to a collector. Those that do not arrive are lost: a trace is not
// worth memory without a bound, nor a second load on a collector that is in trouble.
type exporter struct {
	url, agent string
	client     *http.Client
	log        *slog.Logger
	said       time.Time       // when the log said that spans do not arrive
	open       context.Context // ends when the spans that are left are given up
	giveUp     context.CancelFunc

	waiting               atomic.Int64 // spans that have ended and are neither sent nor lost
	sent, dropped, failed atomic.Uint64
}

func newExporter(o Options) *exporter {
	e := &exporter{
		url:   strings.TrimRight(o.Endpoint, "/") + "/v1/traces",
		agent: "hotrow/" + o.Version, client: &http.Client{}, log: o.Log,
	}
	e.open, e.giveUp = context.WithCancel(context.Background())
	return e
}

// ExportSpans posts a batch, within ctx. It returns no error: the log says so here, at most
// once a minute, and the library would print each.
func (e *exporter) ExportSpans(ctx context.Context, list []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.open, cancel)()
	err := e.open.Err() // cancel runs beside: a batch that begins now could be sent before
	if err == nil {
		err = e.post(ctx, encode(list))
	}
	e.waiting.Add(-int64(len(list)))
	if err == nil {
		e.sent.Add(uint64(len(list)))
		return nil
	}
	e.failed.Add(uint64(len(list)))
	if now := time.Now(); now.Sub(e.said) >= saidAtMost {
		e.said = now
		e.log.Warn("spans do not reach the collector, and are lost", "err", err)
	}
	return nil
}

// Shutdown has nothing to do: Close gives up.
func (*exporter) Shutdown(context.Context) error { return nil }

func (e *exporter) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", e.agent)
	resp, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(text))
	}
	return nil
}

// The JSON of OTLP 1.x, ExportTraceServiceRequest: ids are hexadecimal, 64-bit numbers are
// texts (opentelemetry.io/docs/specs/otlp, JSON Protobuf Encoding).
type (
	otlpRequest struct {
		ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
	}
	otlpResourceSpans struct {
		Resource struct {
			Attributes []otlpAttr `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
	}
	otlpScopeSpans struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version,omitempty"`
		} `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID    string         `json:"traceId"`
		SpanID     string         `json:"spanId"`
		ParentID   string         `json:"parentSpanId,omitempty"`
		Flags      uint32         `json:"flags"`
		Name       string         `json:"name"`
		Kind       trace.SpanKind `json:"kind"` // the library numbers them as OTLP does
		Begin      string         `json:"startTimeUnixNano"`
		End        string         `json:"endTimeUnixNano"`
		Attributes []otlpAttr     `json:"attributes,omitempty"`
		Status     struct {
			Code int `json:"code,omitempty"` // 2: error
		} `json:"status"`
	}
	otlpAttr struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		Text *string `json:"stringValue,omitempty"`
		Int  string  `json:"intValue,omitempty"`
	}
)

// encode returns spans of one Tracer, one at least.
func encode(list []sdktrace.ReadOnlySpan) []byte {
	var all otlpResourceSpans
	all.Resource.Attributes = attributes(list[0].Resource().Attributes())
	all.ScopeSpans = make([]otlpScopeSpans, 1)
	in, scope := &all.ScopeSpans[0], list[0].InstrumentationScope()
	in.Scope.Name, in.Scope.Version = scope.Name, scope.Version
	for _, s := range list {
		in.Spans = append(in.Spans, encodeSpan(s))
	}
	body, err := json.Marshal(otlpRequest{[]otlpResourceSpans{all}})
	if err != nil { // there is nothing in it that JSON does not have
		panic("BUG: spans as JSON: " + err.Error())
	}
	return body
}

func encodeSpan(s sdktrace.ReadOnlySpan) otlpSpan {
	c, parent := s.SpanContext(), s.Parent()
	o := otlpSpan{
		TraceID: c.TraceID().String(), SpanID: c.SpanID().String(), Name: s.Name(),
		Kind: s.SpanKind(), Flags: uint32(c.TraceFlags()),
		Begin:      strconv.FormatInt(s.StartTime().UnixNano(), 10),
		End:        strconv.FormatInt(s.EndTime().UnixNano(), 10),
		Attributes: attributes(s.Attributes()),
	}
	if parent.HasSpanID() {
		o.ParentID = parent.SpanID().String()
	}
	if s.Status().Code == codes.Error {
		o.Status.Code = 2
	}
	return o
}

// attributes returns what hotrow and its environment say: texts and whole numbers.
func attributes(list []attribute.KeyValue) []otlpAttr {
	out := make([]otlpAttr, len(list))
	for i, a := range list {
		out[i].Key = string(a.Key)
		if a.Value.Type() == attribute.INT64 {
			out[i].Value.Int = strconv.FormatInt(a.Value.AsInt64(), 10)
		} else {
			text := a.Value.String()
			out[i].Value.Text = &text
		}
	}
	return out
}
