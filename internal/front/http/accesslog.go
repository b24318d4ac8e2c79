package httpfront

import (
	"net/http"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// clientGone is the status under which a request counts whose client went away
// before there was an answer, as nginx has it.
const clientGone = 499

// logAccess logs the request. A sample always has what failed because of us,
// and what took long: these are what a log is searched for.
func (c *call) logAccess(at time.Time, took time.Duration) {
	if !c.o.Access.On() {
		return
	}
	line := front.AccessLine{
		Peer: c.r.RemoteAddr, Method: c.r.Method, Path: c.r.URL.EscapedPath(),
		Status: c.w.code, Bytes: c.w.bytes,
		Cache:    cacheWord(c.w.Header().Get("Cache-Status")),
		Resource: c.resourceName(), Principal: c.who,
		RequestID: c.w.Header().Get("X-Request-Id"), Agent: c.r.Header.Get("User-Agent"),
	}
	if line.Status == 0 {
		line.Status = clientGone
	}
	if c.r.Method == http.MethodHead {
		line.Bytes = 0 // net/http leaves out what was written
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
