package proxy

import (
	"github.com/hotrow/hotrow/internal/trace"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// fieldParent is the field that says which trace a request belongs to (W3C Trace Context).
const fieldParent = "traceparent"

// begin starts the span of a request, if its trace is recorded. The upstream is told of it
// and not of what the client has sent, so that its own spans are below ours: see
// appendParent.
func (c *client) begin(x *exchange) {
	x.span = nil
	if c.srv.opts.Trace == nil {
		return
	}
	parent, n := "", 0
	for i := range x.req.Fields {
		if f := &x.req.Fields[i]; isParent(&x.req, f) {
			parent, n = string(x.req.FieldValue(f)), n+1
		}
	}
	if n > 1 { // which of them counts is not said: a trace begins anew
		parent = ""
	}
	x.span = c.srv.opts.Trace.Start(parent)
	for i := range x.req.Fields {
		if f := &x.req.Fields[i]; x.span != nil && isParent(&x.req, f) {
			f.Kind = http1.FieldHop // another goes on
		}
	}
}

func isParent(r *http1.RequestHead, f *http1.Field) bool {
	return f.Kind == http1.EndToEnd && isName(r.Name(f), fieldParent)
}

// appendParent appends the field that tells the upstream of our span, if there is one.
func (x *exchange) appendParent(out []byte) []byte {
	if x.span == nil {
		return out
	}
	return append(append(append(out, "Traceparent: "...), x.span.String()...), "\r\n"...)
}

// endSpan records the span of the request, and in it the time that the upstream has taken.
func (c *client) endSpan(x *exchange) {
	s, e := x.span, &x.log
	if s == nil {
		return
	}
	x.span = nil
	// The texts outlive the request.
	s.Name, s.Begin, s.Took, s.Failed = string(e.Method), x.began, e.Took, e.Status >= 500
	s.Attrs = []trace.Attr{
		{Key: "http.request.method", Text: s.Name}, {Key: "url.path", Text: string(e.URI)},
		{Key: "http.response.status_code", Int: int64(e.Status)},
		{Key: "server.address", Text: string(e.Host)},
		{Key: "http.request.resend_count", Int: int64(e.Retries)},
		{Key: "hotrow.proxy_id", Text: string(e.ID)},
	}
	if !x.sent.IsZero() {
		up := s.Child("upstream", trace.Client, x.sent, e.Waited)
		up.Attrs = []trace.Attr{{Key: "network.peer.address", Text: e.Upstream}}
		c.srv.opts.Trace.Record(up)
	}
	c.srv.opts.Trace.Record(s)
}
