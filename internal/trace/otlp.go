package trace

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
)

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
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		ParentID   string     `json:"parentSpanId,omitempty"`
		Flags      uint32     `json:"flags"`
		Name       string     `json:"name"`
		Kind       Kind       `json:"kind"`
		Begin      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []otlpAttr `json:"attributes,omitempty"`
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

func (t *Tracer) encode(list []*Span) []byte {
	var all otlpResourceSpans
	all.Resource.Attributes = attributes([]Attr{
		{Key: "service.name", Text: "hotrow"}, {Key: "service.version", Text: t.o.Version}})
	all.ScopeSpans = make([]otlpScopeSpans, 1)
	in := &all.ScopeSpans[0]
	in.Scope.Name, in.Scope.Version = "hotrow", t.o.Version
	for _, s := range list {
		in.Spans = append(in.Spans, s.otlp())
	}
	body, err := json.Marshal(otlpRequest{[]otlpResourceSpans{all}})
	if err != nil { // there is nothing in it that JSON does not have
		panic("BUG: spans as JSON: " + err.Error())
	}
	return body
}

func (s *Span) otlp() otlpSpan {
	o := otlpSpan{
		TraceID: s.ID(), SpanID: hex.EncodeToString(s.Span[:]), Name: s.Name, Kind: s.Kind,
		Flags: 1, Begin: strconv.FormatInt(s.Begin.UnixNano(), 10),
		End:        strconv.FormatInt(s.Begin.Add(s.Took).UnixNano(), 10),
		Attributes: attributes(s.Attrs),
	}
	if s.Parent != [8]byte{} {
		o.ParentID = hex.EncodeToString(s.Parent[:])
	}
	if s.Failed {
		o.Status.Code = 2
	}
	return o
}

func attributes(list []Attr) []otlpAttr {
	out := make([]otlpAttr, len(list))
	for i, a := range list {
		out[i].Key = a.Key
		if a.Text != "" {
			out[i].Value.Text = &list[i].Text
		} else {
			out[i].Value.Int = strconv.FormatInt(a.Int, 10)
		}
	}
	return out
}
