package httpfront

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/trace"
)

// A part is one of Steps, under its name.
type part struct {
	name string
	took time.Duration
}

func parts(s *resource.Steps) [4]part {
	return [...]part{{"lease", s.Lease}, {"pool", s.Pool}, {"database", s.Database},
		{"encode", s.Encode}}
}

// appendServerTiming appends how long the parts of an answer took, in milliseconds
// (Server-Timing, W3C). Parts that there were not are left out.
func appendServerTiming(dst []byte, s *resource.Steps) []byte {
	dst = append(dst, "Server-Timing: "...)
	sep := ""
	for _, p := range parts(s) {
		if p.took <= 0 {
			continue
		}
		dst = append(append(append(dst, sep...), p.name...), ";dur="...)
		dst = strconv.AppendFloat(dst, float64(p.took)/float64(time.Millisecond), 'f', 3, 64)
		sep = ", "
	}
	return append(dst, "\r\n"...)
}

// traceparent returns what the client says of its trace; "" where it says nothing.
func (r *request) traceparent() string {
	if r.http != nil {
		return r.http.Header.Get("Traceparent")
	}
	return headerText(r.head, "traceparent:")
}

// traceID returns the id of the client's trace, for logs. It aliases the request.
func (r *request) traceID() string { return trace.ID(r.traceparent()) }

// headerText is headerOf as a text, which aliases head.
func headerText(head []byte, name string) string { return row.Alias(headerOf(head, name)) }

// headerOf returns the value of the first line of a head that http1 has read whose name is
// name, in lower case with its colon.
func headerOf(head []byte, name string) []byte {
	for {
		end := bytes.IndexByte(head, '\n')
		if end < 0 {
			return nil
		}
		head = head[end+1:]
		if len(head) > len(name) && head[0]|0x20 == name[0] && head[len(name)-1] == ':' &&
			bytes.EqualFold(head[:len(name)], []byte(name)) {
			value, _, _ := bytes.Cut(head[len(name):], []byte("\r\n"))
			return bytes.Trim(value, " \t")
		}
	}
}

// trace records the request as a span with its parts, if it is one that memory did not
// answer and its trace is recorded.
func (c *call) trace(a *answer, began time.Time, took time.Duration) {
	if c.res == nil || c.from != nil && strings.HasPrefix(c.from.status, "hotrow; hit") {
		return
	}
	name := c.res.Name()
	s := c.o.Trace.Start(c.r.traceparent(), c.r.Method+" /"+name, began)
	if s == nil {
		return
	}
	attrs := []trace.Attr{
		trace.Text("http.request.method", c.r.Method),
		trace.Int("http.response.status_code", a.code),
		trace.Text("url.path", string(c.r.Path)),
		trace.Text("hotrow.resource", name),
	}
	if c.from != nil {
		if word := cacheWord(c.from.status); word != "" {
			attrs = append(attrs, trace.Text("hotrow.cache", word))
		}
		at := began
		for _, p := range parts(&c.from.steps) {
			if p.took > 0 {
				s.Child(p.name, p.name == "database", at, p.took)
				at = at.Add(p.took)
			}
		}
	}
	s.End(took, a.code >= 500, attrs...)
}
