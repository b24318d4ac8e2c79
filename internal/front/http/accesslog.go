package httpfront

import (
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// statusGone is the status under which a request counts whose client went away
// before there was an answer, as nginx has it.
const statusGone = 499

// log logs the request. A sample always has what failed because of us,
// and what took long: these are what a log is searched for.
func (c *call) log(a *answer, at time.Time, took time.Duration) {
	line := front.AccessLine{
		Peer: c.p.address(), Method: c.r.Method, Path: string(c.r.Path),
		Protocol: c.r.protocol(c.p), Status: a.code, Resource: c.resourceName(), Principal: c.who,
		RequestID: requestID(string(c.r.RequestID)), Agent: c.r.agent(),
		Trace: c.r.traceID(),
	}
	if c.from != nil {
		line.Cache = cacheWord(c.from.status)
	}
	if !c.r.Head {
		line.Bytes = a.length()
	}
	always := line.Status >= 500 || took >= front.Slow
	c.o.Access.Record(at, took, always, line.Fill)
}

// cacheWord returns what the access log says of a Cache-Status: "hit", or why
// the request was forwarded (RFC 9211 2.2), where "uri-miss" is "miss".
func cacheWord(status string) string {
	_, rest, ok := strings.Cut(status, "; ")
	if !ok {
		return ""
	}
	word, _, _ := strings.Cut(rest, ";")
	word = strings.TrimPrefix(word, "fwd=")
	if word == "uri-miss" {
		return "miss"
	}
	return word
}
