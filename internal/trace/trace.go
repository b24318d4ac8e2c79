// Package trace takes part in distributed traces, by the library of OpenTelemetry: it reads
// W3C's traceparent, and sends spans to a collector as OTLP over HTTP. A request that is not
// recorded makes no span, nor does one that memory answers.
//
// The exporter is ours and posts OTLP's JSON: the library's (otlptracehttp 1.47) links 70
// packages of gRPC and its gateway, which run at each start, and makes the stripped program
// 2.3 MB larger than this one does (39.4 MB without spans, 40.6 with, 42.9 with theirs).
package trace

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdkresource "go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	waiting    = 2048 // spans that have ended and are not sent; more are dropped
	batch      = 512  // spans of one request at most
	sendEvery  = time.Second
	sendLimit  = 5 * time.Second // of one request, and of all that Close sends
	saidAtMost = time.Minute     // how often the log says that spans do not arrive
)

// Options configure a Tracer.
type Options struct {
	Endpoint string  // of the collector: http://HOST:4318
	Sample   float64 // of the requests whose client says nothing, the share that is recorded
	Version  string  // of hotrow
	Log      *slog.Logger
}

// A Tracer makes spans and sends them. A nil Tracer makes none. Close it.
type Tracer struct {
	tracer   trace.Tracer
	provider *sdktrace.TracerProvider
	out      *exporter
}

// New returns a tracer that sends to o's endpoint. The environment variables of OpenTelemetry
// that describe the process (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES) count.
func New(o Options) *Tracer {
	out := newExporter(o)
	about, err := sdkresource.Merge(sdkresource.NewSchemaless(
		attribute.String("service.name", "hotrow"),
		attribute.String("service.version", o.Version)), sdkresource.Environment())
	if err != nil { // two schemas that differ, of which the first has none
		panic("BUG: the resource of spans: " + err.Error())
	}
	t := &Tracer{out: out, provider: sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Sample))),
		sdktrace.WithResource(about),
		sdktrace.WithSpanProcessor(&bounded{out: out,
			SpanProcessor: sdktrace.NewBatchSpanProcessor(out,
				sdktrace.WithMaxQueueSize(waiting), sdktrace.WithMaxExportBatchSize(batch),
				sdktrace.WithBatchTimeout(sendEvery), sdktrace.WithExportTimeout(sendLimit))}))}
	t.tracer = t.provider.Tracer("hotrow", trace.WithInstrumentationVersion(o.Version))
	return t
}

// A bounded is a processor that drops spans where too many wait, and counts them. The
// library's own drops them too, but tells nobody how many.
type bounded struct {
	sdktrace.SpanProcessor
	out *exporter
}

// OnEnd takes a span that has ended. It never waits.
func (b *bounded) OnEnd(s sdktrace.ReadOnlySpan) {
	if b.out.waiting.Add(1) > waiting {
		b.out.waiting.Add(-1)
		b.out.dropped.Add(1)
		return
	}
	b.SpanProcessor.OnEnd(s)
}

// Stats are the spans of a Tracer by what became of them.
type Stats struct{ Sent, Dropped, Failed uint64 }

// Stats returns the counters; those of a nil Tracer are zero.
func (t *Tracer) Stats() Stats {
	if t == nil {
		return Stats{}
	}
	return Stats{t.out.sent.Load(), t.out.dropped.Load(), t.out.failed.Load()}
}

// Close sends the spans that wait, and ends. Those that the collector has not taken within
// sendLimit are lost.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	late := time.AfterFunc(sendLimit, t.out.giveUp)
	_ = t.provider.Shutdown(context.Background()) // the exporter has said what failed
	late.Stop()
	t.out.giveUp()
	t.out.client.CloseIdleConnections()
}

// A Span is a piece of work of a request whose trace is recorded.
type Span struct {
	span   trace.Span
	tracer trace.Tracer
	begin  time.Time
}

// An Attr is an attribute of a span.
type Attr = attribute.KeyValue

// Text returns an attribute that is a text.
func Text(key, value string) Attr { return attribute.String(key, value) }

// Int returns an attribute that is a number.
func Int(key string, value int) Attr { return attribute.Int(key, value) }

// Start begins the span of a request that began at begin, before or after its work. nil: it
// is not recorded. That is said by its client's traceparent, or, where that says nothing, by
// a sample.
func (t *Tracer) Start(traceparent, name string, begin time.Time) *Span {
	if t == nil {
		return nil
	}
	ctx := context.Background()
	if traceparent != "" {
		ctx = propagation.TraceContext{}.Extract(ctx,
			propagation.MapCarrier{"traceparent": traceparent})
	}
	_, s := t.tracer.Start(ctx, name, trace.WithTimestamp(begin),
		trace.WithSpanKind(trace.SpanKindServer))
	if !s.IsRecording() {
		return nil
	}
	return &Span{s, t.tracer, begin}
}

// Child records a part of s that began at begin and has ended. remote: somebody else was
// waited for, such as a database.
func (s *Span) Child(name string, remote bool, begin time.Time, took time.Duration, as ...Attr) {
	kind := trace.SpanKindInternal
	if remote {
		kind = trace.SpanKindClient
	}
	_, c := s.tracer.Start(trace.ContextWithSpan(context.Background(), s.span), name,
		trace.WithTimestamp(begin), trace.WithSpanKind(kind), trace.WithAttributes(as...))
	c.End(trace.WithTimestamp(begin.Add(took)))
}

// End records s, which took so long.
func (s *Span) End(took time.Duration, failed bool, as ...Attr) {
	s.span.SetAttributes(as...)
	if failed {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End(trace.WithTimestamp(s.begin.Add(took)))
}

// Traceparent returns what tells others that their work is within s.
func (s *Span) Traceparent() string {
	out := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpan(context.Background(), s.span), out)
	return out["traceparent"]
}
