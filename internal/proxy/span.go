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
func (c *client) begin(x *roundTrip) {
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
	x.span = c.srv.opts.Trace.Start(parent, string(x.method), x.began)
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
func (x *roundTrip) appendParent(out []byte) []byte {
	if x.span == nil {
		return out
	}
	return append(append(append(out, "Traceparent: "...), x.span.Traceparent()...), "\r\n"...)
}

// endSpan records the span of the request, and in it the time that the upstream has taken.
func (c *client) endSpan(x *roundTrip) {
	s, e := x.span, &x.log
	if s == nil {
		return
	}
	x.span = nil
	if !x.sent.IsZero() {
		s.Child("upstream", true, x.sent, e.Waited,
			trace.Text("network.peer.address", e.Upstream))
	}
	s.End(e.Took, e.Status >= 500, // the texts outlive the request
		trace.Text("http.request.method", string(e.Method)),
		trace.Text("url.path", string(e.URI)), trace.Int("http.response.status_code", e.Status),
		trace.Text("server.address", string(e.Host)),
		trace.Int("http.request.resend_count", e.Retries),
		trace.Text("hotrow.proxy_id", string(e.ID)))
}
