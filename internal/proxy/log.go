package proxy

import (
	"errors"
	"time"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// An Entry is what an access log knows of a request. Its slices are good during
// the call only.
type Entry struct {
	Time     time.Time
	Remote   string // address and port
	Method   []byte
	URI      []byte // the path alone: queries hold what is no log's business
	Host     []byte
	Agent    []byte
	ID       []byte
	Status   int
	Size     int64 // of the response's body
	BytesIn  int64 // of the request's body
	Took     time.Duration
	Proto    string
	Upstream string        // its address; none: it was not asked
	Waited   time.Duration // for the upstream, until the response was relayed
	Reused   bool          // the upstream connection was not new
	Retries  int
}

// errorsPerSecond bounds the lines that failing upstreams can write.
const errorsPerSecond = 50

// finish counts a request and logs it. err is why it has failed, if it has.
func (c *client) finish(x *roundTrip, status int, err error) {
	s := c.srv
	if errors.Is(err, errClientGone) {
		status = statusClientGone
	}
	now := time.Now()
	e := &x.log
	e.Took = now.Sub(x.began)
	if !x.sent.IsZero() {
		e.Waited = now.Sub(x.sent)
	}
	s.count.statuses[status%len(s.count.statuses)].Add(1)
	s.count.bytesIn.Add(x.up.total)
	s.count.bytesOut.Add(x.down.total)
	s.times.add(e.Took)
	told := err != nil && (status >= statusClientGone || errors.Is(err, errDenied))
	if told && s.count.errors.Add(1) <= errorsPerSecond {
		host, scheme := x.to.named()
		s.log.Error("request failed", "request_host", string(x.host),
			"request_path", string(x.uri), "proxy_host", host, "proxy_scheme", scheme,
			"proxy_id", string(x.id), "upstream_addr", x.addr, "status", status, "err", err)
	}
	if s.opts.Access == nil && x.span == nil {
		return
	}
	e.Method, e.URI, e.Host, e.Agent, e.ID = x.method, x.uri, x.host, x.agent, x.id
	e.Status, e.Size, e.BytesIn, e.Upstream = status, x.down.total, x.up.total, x.addr
	e.Proto = c.proto(&x.req)
	if s.opts.Access != nil {
		s.opts.Access(e)
	}
	c.endSpan(x)
}

// proto returns what the client speaks.
func (c *client) proto(r *http1.RequestHead) string {
	if r.HTTP10 {
		return "HTTP/1.0"
	}
	return "HTTP/1.1"
}
