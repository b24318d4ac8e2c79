package httpfront

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/row"
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
	header  string        // header lines of its own, with their ends
	logged  bool          // the log has the cause: the client is not told it
	lacks   bool          // a preference is not offered here: see Options.Fallback
}

// problemType is the media type of a problem.
const problemType = "application/problem+json"

// Error returns the sentence that a client is told.
func (p problem) Error() string {
	if p.detail != "" {
		return p.detail
	}
	return p.kind.Means
}

// append appends the body of p for a request of path. subject is what the detail speaks
// of, which stands in front of it. It allocates nothing for texts without an escape.
func (p *problem) append(dst []byte, base, path, subject string) []byte {
	detail := front.Clip(p.Error(), front.ProblemText)
	if len(subject)+len(detail) > front.ProblemText {
		subject, detail = "", front.Clip(subject+detail, front.ProblemText)
	}
	hint := p.hint
	if hint == "" {
		hint = p.kind.Hint
	}
	dst = appendMember(dst, `{"type":`, base, "/-/problems/")
	dst = append(append(dst[:len(dst)-1], p.kind.Slug...), `","title":"`...)
	dst = append(append(dst, http.StatusText(p.kind.status)...), `","status":`...)
	dst = strconv.AppendInt(dst, int64(p.kind.status), 10)
	dst = append(dst, `,"detail":`...)
	at := len(dst)
	dst = appendMember(dst, "", subject, detail)
	end := len(dst)
	dst = appendMember(dst, `,"instance":`, front.Clip(path, front.ProblemText))
	if p.code != "" {
		dst = appendMember(dst, `,"code":`, p.code)
	} else {
		dst = append(append(append(dst, `,"code":"`...), p.kind.code()...), '"')
	}
	dst = append(append(dst, `,"message":`...), dst[at:end]...)
	dst = appendOptional(dst, `,"details":`, front.Clip(p.details, front.ProblemText))
	dst = appendOptional(dst, `,"hint":`, hint)
	return append(dst, "}\n"...)
}

// appendOptional appends a member that is null for "".
func appendOptional(dst []byte, name, text string) []byte {
	if text == "" {
		return append(append(dst, name...), "null"...)
	}
	return appendMember(dst, name, text)
}

// appendMember appends name, which has its quotes and colon, and a string that is
// written in parts.
func appendMember(dst []byte, name string, parts ...string) []byte {
	dst = append(dst, name...)
	at := len(dst)
	dst = append(dst, '"')
	for _, p := range parts {
		for i := range len(p) {
			if !unescaped[p[i]] {
				text, err := json.Marshal(strings.Join(parts, ""))
				if err != nil { // it is text: it cannot be
					text = []byte(`""`)
				}
				return append(dst[:at], text...)
			}
		}
		dst = append(dst, p...)
	}
	return append(dst, '"')
}

// unescaped are the bytes that stand in a JSON text as they are, in a page, too.
var unescaped = func() (is [256]bool) {
	for b := byte(' '); b < 0x7f; b++ {
		is[b] = strings.IndexByte(`"\<>&`, b) < 0
	}
	return is
}()

// refuse returns the answer that err is. What the client is not told is logged, at most
// ten times a second: an outage must not become an outage of the log.
func (c *call) refuse(err error) *answer {
	if errors.Is(err, context.Canceled) && c.ctx.Err() != nil {
		return &answer{code: statusGone}
	}
	p := problemOf(err)
	c.sight.scrub(c.res, err, &p)
	if p.logged && c.h.logLimit.Allow(c.o.Now()) {
		fields := []any{"method", front.Clip(c.r.Method, 64), "path",
			front.Clip(string(c.r.Path), 1024), "status", p.kind.status, "err", err}
		if id := c.r.traceID(); id != "" {
			fields = append(fields, "trace_id", id)
		}
		c.o.Log.Error("request failed", fields...)
	}
	return c.problem(p)
}

// problem returns the answer that p is. Caches are told to keep none.
func (c *call) problem(p problem) *answer {
	more := p.header
	switch p.kind {
	case kindUnavailable, kindBusy, kindStarting, kindUnread, kindRetry, kindUnknown,
		kindKeys, kindFallbackAway:
		more += "Retry-After: " + strconv.Itoa(retrySeconds(p.after)) + "\r\n"
	case kindMethod, kindReadOnly: // RFC 9110 15.5.6 wants Allow with a 405
		if !strings.Contains(more, "Allow: ") {
			more += "Allow: GET, HEAD, OPTIONS\r\n"
		}
	}
	if c.inProfile() {
		p.inWords(c.res)
		return &answer{code: p.kind.status, shared: c.shared("no-store"), more: more,
			kind: "application/json", body: p.appendFour(nil)}
	}
	return &answer{code: p.kind.status, shared: c.shared("no-store"), more: more,
		kind: problemType, body: p.append(nil, c.o.BasePath, string(c.r.Path), "")}
}

// retrySeconds returns after in whole seconds, rounded up, at least one.
func retrySeconds(after time.Duration) int {
	return int(max(1, (after+time.Second-1)/time.Second))
}

// clip returns s, or its beginning when a client made it long: what goes back
// to it in an error need not be all of what it sent.
func clip(s string) string { return strconv.QuoteToASCII(front.Clip(s, 64)) }

// absent makes the answer that there is no row of the key that q asks for: a problem that
// caches may treat as they do a document. It costs no more than a hit: whoever asks for
// many keys that nobody has must not get more of a server than others.
func (m *memo) absent(o *settings, q *question, r *request, key row.Key) {
	path, n := row.Alias(r.Path), len(q.res.KeyType())
	var name string // as errors call a document: "depts/10"
	if string(key) == q.segment && isPlain(r.Path) {
		name = path[len(o.BasePath)+1:]
	} else {
		name = DocumentPath(q.res.Name(), key, n)[1:]
	}
	p := problem{kind: kindNotFound, detail: " is not there"}
	m.body = p.append(m.body[:0], o.BasePath, path, name)
	m.a.code, m.a.kind, m.a.body = p.kind.status, problemType, m.body
}

// isPlain reports whether DocumentPath writes nothing in path otherwise: letters,
// digits, and what is left of the other characters. A comma is plain between the columns
// of a key, where parseKey has left it.
func isPlain(path []byte) bool {
	for _, b := range path {
		if !plainBytes[b] {
			return false
		}
	}
	return true
}

var plainBytes = func() (is [256]bool) {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" +
		"-_.~$+=:@/,"
	for _, b := range []byte(plain) {
		is[b] = true
	}
	return is
}()
