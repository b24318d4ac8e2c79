package trace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	queued     = 2048 // spans that wait to be sent; more are dropped
	batch      = 512  // spans of one request at most
	sendEvery  = time.Second
	sendLimit  = 5 * time.Second
	saidAtMost = time.Minute // how often the log says that spans do not arrive
)

// Options configure a Tracer.
type Options struct {
	Endpoint string  // of the collector: http://HOST:4318
	Sample   float64 // of the requests whose client says nothing, the share that is recorded
	Version  string  // of hotrow
	Log      *slog.Logger
}

// A Tracer records spans and sends them. A nil Tracer records nothing. Close it.
type Tracer struct {
	o      Options
	url    string
	client *http.Client
	spans  chan *Span
	end    chan struct{}
	ended  sync.WaitGroup
	said   time.Time // when the log said that spans do not arrive

	sent, dropped, failed atomic.Uint64
}

// A Span is a piece of work that has ended.
type Span struct {
	Context         // of the span itself
	Parent  [8]byte // zero: the trace begins here
	Kind    Kind
	Name    string
	Begin   time.Time
	Took    time.Duration
	Failed  bool
	Attrs   []Attr
}

// Kind says on which side of an exchange a span is, as OTLP numbers it.
type Kind int

// The kinds.
const (
	Internal Kind = 1
	Server   Kind = 2
	Client   Kind = 3
)

// An Attr is an attribute of a span: a text or a number.
type Attr struct {
	Key  string
	Text string
	Int  int64 // where Text is ""
}

// New returns a tracer that sends to o's endpoint.
func New(o Options) *Tracer {
	t := &Tracer{
		o: o, url: strings.TrimRight(o.Endpoint, "/") + "/v1/traces",
		client: &http.Client{Timeout: sendLimit},
		spans:  make(chan *Span, queued), end: make(chan struct{}),
	}
	t.ended.Go(t.run)
	return t
}

// Start decides whether a request is recorded, before or after its work: where its client
// says so by a traceparent, or, where that says nothing, a sample. The span that it returns
// has its context; nil: it is not.
func (t *Tracer) Start(traceparent string) *Span {
	if t == nil {
		return nil
	}
	parent, ok := Parse(traceparent)
	switch {
	case ok && !parent.Sampled, !ok && rand.Float64() >= t.o.Sample:
		return nil
	case !ok:
		parent.Trace = newTraceID()
	}
	return &Span{Kind: Server, Parent: parent.Span,
		Context: Context{Trace: parent.Trace, Span: newSpanID(), Sampled: true}}
}

// Child returns a span within s that began at begin.
func (s *Span) Child(name string, kind Kind, begin time.Time, took time.Duration) *Span {
	return &Span{Kind: kind, Name: name, Begin: begin, Took: took, Parent: s.Span,
		Context: Context{Trace: s.Trace, Span: newSpanID(), Sampled: true}}
}

// Record takes a span that has ended. It never waits: where too many are on their way the
// span is dropped.
func (t *Tracer) Record(s *Span) {
	select {
	case t.spans <- s:
	default:
		t.dropped.Add(1)
	}
}

// Stats are the spans of a Tracer by what became of them.
type Stats struct{ Sent, Dropped, Failed uint64 }

// Stats returns the counters; those of a nil Tracer are zero.
func (t *Tracer) Stats() Stats {
	if t == nil {
		return Stats{}
	}
	return Stats{t.sent.Load(), t.dropped.Load(), t.failed.Load()}
}

// Close sends what is recorded, within ctx, and ends.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	close(t.end)
	t.ended.Wait()
	t.client.CloseIdleConnections()
}

// run sends a batch when there is one, or what there is each second.
func (t *Tracer) run() {
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	var list []*Span
	flush := func() {
		if len(list) > 0 {
			t.send(list)
			list = list[:0]
		}
	}
	for {
		select {
		case s := <-t.spans:
			if list = append(list, s); len(list) >= batch {
				flush()
			}
		case <-tick.C:
			flush()
		case <-t.end:
			for len(t.spans) > 0 && len(list) < batch {
				list = append(list, <-t.spans)
			}
			flush()
			return
		}
	}
}

// send posts spans. Those that do not arrive are lost: a trace is not worth memory without
// a bound, nor a second load on a collector that is in trouble.
func (t *Tracer) send(list []*Span) {
	err := t.post(t.encode(list))
	if err == nil {
		t.sent.Add(uint64(len(list)))
		return
	}
	t.failed.Add(uint64(len(list)))
	if now := time.Now(); now.Sub(t.said) >= saidAtMost {
		t.said = now
		t.o.Log.Warn("spans do not reach the collector, and are lost", "err", err)
	}
}

func (t *Tracer) post(body []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), sendLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "hotrow/"+t.o.Version)
	resp, err := t.client.Do(req)
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
