package httpfront

import (
	"net/http"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/accesslog"
)

// AccessColumns are the fields of a line of the access log. There is no query
// and no referrer among them, for both may hold what is secret, and of a token
// there is the name of its holder.
func AccessColumns() []accesslog.Column {
	return []accesslog.Column{
		{Name: "time", Kind: accesslog.Time},
		{Name: "duration", Kind: accesslog.Duration},
		{Name: "remote_addr", Kind: accesslog.Text, Max: 64},
		{Name: "method", Kind: accesslog.Text, Max: 16},
		{Name: "path", Kind: accesslog.Text, Max: 1024},
		{Name: "status", Kind: accesslog.Int},
		{Name: "bytes", Kind: accesslog.Int}, // of the body
		{Name: "cache", Kind: accesslog.Text, Max: 32},
		{Name: "resource", Kind: accesslog.Text, Max: 128},
		{Name: "principal", Kind: accesslog.Text, Max: 64},
		{Name: "request_id", Kind: accesslog.Text, Max: 128},
		{Name: "user_agent", Kind: accesslog.Text, Max: 256},
		{Name: "weight", Kind: accesslog.Count}, // requests that the line stands for
	}
}

// An accessLine is what a line of the access log says, besides the time.
type accessLine struct {
	peer, method, path  string
	status, bytes       int
	cache               string
	resource, principal string
	requestID, agent    string
}

// fill gives r the values of AccessColumns.
func (a *accessLine) fill(r *accesslog.Ring, weight int64) {
	r.Text(a.peer)
	r.Text(a.method)
	r.Text(a.path)
	r.Int(int64(a.status))
	r.Int(int64(a.bytes))
	r.Text(a.cache)
	r.Text(a.resource)
	r.Text(a.principal)
	r.Text(a.requestID)
	r.Text(a.agent)
	r.Int(weight)
}

// clientGone is the status under which a request counts whose client went away
// before there was an answer, as nginx has it.
const clientGone = 499

// slow is how long an answer of the full road takes that is in the access log
// even when this is a sample.
const slow = time.Second

// logAccess logs the request. A sample always has what failed because of us,
// and what took long: these are what a log is searched for.
func (c *call) logAccess(at time.Time, took time.Duration) {
	if !c.o.Access.On() {
		return
	}
	line := accessLine{
		peer: c.r.RemoteAddr, method: c.r.Method, path: c.r.URL.EscapedPath(),
		status: c.w.code, bytes: c.w.bytes,
		cache:    cacheWord(c.w.Header().Get("Cache-Status")),
		resource: c.resourceName(), principal: c.who,
		requestID: c.w.Header().Get("X-Request-Id"), agent: c.r.Header.Get("User-Agent"),
	}
	if line.status == 0 {
		line.status = clientGone
	}
	if c.r.Method == http.MethodHead {
		line.bytes = 0 // net/http leaves out what was written
	}
	always := line.status >= 500 || took >= slow
	c.o.Access.Record(at, took, always, line.fill)
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
