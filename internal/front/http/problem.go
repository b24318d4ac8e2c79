package httpfront

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// A problem is an error as a client sees it: RFC 9457, with the members code,
// message, details and hint that clients of PostgREST know.
type problem struct {
	kind    *kind
	detail  string        // one sentence; "": what the kind means
	hint    string        // how to mend it; "": the kind's
	details string        // the database's own detail
	code    string        // the database's own code; "": the kind's
	after   time.Duration // when to try again; 0: in a second

	// cacheable says that the problem is an answer like a document: caches are
	// told the same about it.
	cacheable bool
}

// Error returns the sentence that a client is told.
func (p problem) Error() string {
	if p.detail != "" {
		return p.detail
	}
	return p.kind.means
}

// problemDocument is the body of a problem.
type problemDocument struct {
	Type     string  `json:"type"`
	Title    string  `json:"title"`
	Status   int     `json:"status"`
	Detail   string  `json:"detail"`
	Instance string  `json:"instance"`
	Code     string  `json:"code"`
	Message  string  `json:"message"`
	Details  *string `json:"details"`
	Hint     *string `json:"hint"`
}

// document returns the body of p for a request of path.
func (p problem) document(base, path string) problemDocument {
	d := problemDocument{
		Type:     base + "/-/problems/" + p.kind.slug,
		Title:    http.StatusText(p.kind.status),
		Status:   p.kind.status,
		Detail:   front.Clip(p.Error(), 1024),
		Instance: front.Clip(path, 1024),
		Code:     p.code,
	}
	d.Message = d.Detail
	if d.Code == "" {
		d.Code = p.kind.code()
	}
	if p.details != "" {
		s := front.Clip(p.details, 1024)
		d.Details = &s
	}
	if hint := p.hint; hint != "" || p.kind.hint != "" {
		if hint == "" {
			hint = p.kind.hint
		}
		d.Hint = &hint
	}
	return d
}

// statusGone counts requests whose client went away before the answer, as
// nginx counts them.
const statusGone = 499

// fail ends the request with the problem that err is. What the client is not
// told is logged, at most ten times a second: an outage must not become an
// outage of the log.
func (c *call) fail(err error) {
	if errors.Is(err, context.Canceled) && c.r.Context().Err() != nil {
		c.w.code = statusGone
		return
	}
	p := problemOf(err)
	if p.logged(err) && c.h.logLimit.Allow(c.o.Now()) {
		c.o.Log.Error("request failed", "method", front.Clip(c.r.Method, 64), "path",
			front.Clip(c.r.URL.EscapedPath(), 1024), "status", p.kind.status, "err", err)
	}
	c.send(p)
}

// logged reports whether the log has what the client is not told of err.
func (p *problem) logged(err error) bool {
	switch p.kind {
	case kindNotCached, kindUnread, kindStarting: // the client is told all
		return front.Refused(err)
	}
	return p.kind.status >= 500 || front.Refused(err)
}

// send writes p as the answer.
func (c *call) send(p problem) {
	head := c.w.Header()
	if !p.cacheable {
		head.Set("Cache-Control", "no-store")
		head.Del("ETag")
	}
	switch p.kind {
	case kindUnavailable, kindBusy, kindStarting, kindUnread, kindRetry, kindUnknown:
		head.Set("Retry-After", strconv.Itoa(retrySeconds(p.after)))
	case kindMethod, kindReadOnly: // RFC 9110 15.5.6 wants Allow with a 405
		if head.Get("Allow") == "" {
			head.Set("Allow", "GET, HEAD, OPTIONS")
		}
	}
	body, err := json.Marshal(p.document(c.o.BasePath, c.r.URL.EscapedPath()))
	if err != nil { // strings and numbers: it cannot be
		body = []byte("{}")
	}
	_ = c.sendBody(p.kind.status, "application/problem+json", append(body, '\n'))
}

// retrySeconds returns after in whole seconds, rounded up, at least one.
func retrySeconds(after time.Duration) int {
	return int(max(1, (after+time.Second-1)/time.Second))
}

// clip returns s, or its beginning when a client made it long: what goes back
// to it in an error need not be all of what it sent.
func clip(s string) string { return strconv.QuoteToASCII(front.Clip(s, 64)) }
