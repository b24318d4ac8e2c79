package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A kind is one sort of problem, as docs/reference/links-api.md lists them.
type kind struct {
	slug   string
	status int
	title  string
}

// The kinds of problems.
var (
	kindBadJSON      = &kind{"bad-json", http.StatusBadRequest, "The body cannot be read"}
	kindBadQuery     = &kind{"bad-query", http.StatusBadRequest, "The query cannot be answered"}
	kindUnauthorized = &kind{"unauthorized", http.StatusUnauthorized, "A key is needed"}
	kindForbidden    = &kind{"forbidden", http.StatusForbidden, "This is not allowed"}
	kindNotFound     = &kind{"not-found", http.StatusNotFound, "Not found"}
	kindMethod       = &kind{"method", http.StatusMethodNotAllowed, "Not with this method"}
	kindAcceptable   = &kind{"not-acceptable", http.StatusNotAcceptable, "Not in this form"}
	kindTaken        = &kind{"code-taken", http.StatusConflict, "Code already in use"}
	kindPrecondition = &kind{"precondition", http.StatusPreconditionFailed,
		"The link has changed"}
	kindTooLarge    = &kind{"too-large", http.StatusRequestEntityTooLarge, "The body is too large"}
	kindMedia       = &kind{"media-type", http.StatusUnsupportedMediaType, "Not this kind of body"}
	kindMisdirected = &kind{"misdirected", http.StatusMisdirectedRequest,
		"This Host is not served here"}
	kindInvalid     = &kind{"invalid", http.StatusUnprocessableEntity, "A value is not allowed"}
	kindLoop        = &kind{"loop", http.StatusUnprocessableEntity, "The link leads to itself"}
	kindRate        = &kind{"rate-limited", http.StatusTooManyRequests, "Too many requests"}
	kindInternal    = &kind{"internal", http.StatusInternalServerError, "An error of the server"}
	kindUnavailable = &kind{"unavailable", http.StatusServiceUnavailable, "Not now"}
	kindLogFull     = &kind{"log-full", http.StatusServiceUnavailable, "The click log is full"}
)

// A problem is an error as a client sees it (RFC 9457).
type problem struct {
	kind   *kind
	detail string
	field  string        // the member that is wrong
	after  time.Duration // when to try again; 0: not said
}

// Error returns the sentence that a client is told.
func (p problem) Error() string {
	if p.detail != "" {
		return p.detail
	}
	return p.kind.title
}

// A problemDocument is the body of a problem.
type problemDocument struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Field  string `json:"field,omitempty"`
}

// document returns the body of p.
func (p problem) document() problemDocument {
	return problemDocument{Type: "/-/problems/" + p.kind.slug, Title: p.kind.title,
		Status: p.kind.status, Detail: strings.ToValidUTF8(p.detail, "\uFFFD"), Field: p.field}
}

// fail ends the request with the problem that err is.
func (c *call) fail(err error) {
	if c.r.Context().Err() != nil {
		return // nobody waits for an answer
	}
	p := problemOf(err)
	if p.kind.status >= http.StatusInternalServerError {
		c.o.Log.Error("request failed", "method", c.r.Method, "path", c.r.URL.EscapedPath(),
			"status", p.kind.status, "err", err)
	}
	if c.sent {
		panic(http.ErrAbortHandler) // a broken stream must not look like a whole one
	}
	c.send(p)
}

// send writes p as the answer.
func (c *call) send(p problem) {
	c.sent = true
	head := c.w.Header()
	head.Set("Content-Type", "application/problem+json")
	head.Del("ETag")
	if p.kind == kindUnauthorized {
		head.Set("WWW-Authenticate", `Bearer realm="hotrow links"`)
	}
	if p.after > 0 {
		head.Set("Retry-After", strconv.Itoa(int((p.after+time.Second-1)/time.Second)))
	}
	body, err := json.Marshal(p.document())
	if err != nil { // strings and a number: it cannot be
		body = []byte("{}")
	}
	c.w.WriteHeader(p.kind.status)
	_, _ = c.w.Write(append(body, '\n')) // who has gone needs no answer
}

// problemOf returns what a client is told of err. What the database says goes to
// the log only: it may name hosts and users.
func problemOf(err error) problem {
	var p problem
	var field *links.FieldError
	var decode *row.DecodeError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &field) && field.Loop:
		return problem{kind: kindLoop, detail: field.Error(), field: field.Field}
	case errors.As(err, &field):
		return problem{kind: kindInvalid, detail: field.Error(), field: field.Field}
	case errors.As(err, &decode):
		return problem{kind: kindBadJSON, detail: decode.Error(), field: decode.Path}
	case errors.Is(err, links.ErrNotFound):
		return problem{kind: kindNotFound, detail: "there is no link of this code"}
	case errors.Is(err, links.ErrNoKey):
		return problem{kind: kindNotFound, detail: "there is no key of this number"}
	case errors.Is(err, links.ErrTaken):
		return problem{kind: kindTaken, detail: "there is another link of this code", field: "code"}
	case errors.Is(err, links.ErrPrecondition):
		return problem{kind: kindPrecondition,
			detail: "the link is not the one that the request names: read it again"}
	case errors.Is(err, links.ErrCursor):
		return problem{kind: kindBadQuery, detail: "after is not the next of a list in this order"}
	case errors.Is(err, context.DeadlineExceeded):
		return problem{kind: kindUnavailable, after: time.Second}
	}
	switch source.ClassOf(err) {
	case source.Unavailable, source.Busy, source.Retry, source.Unknown, source.Full,
		source.ReadOnly:
		return problem{kind: kindUnavailable, after: time.Second,
			detail: "the database cannot do this now"}
	}
	return problem{kind: kindInternal}
}

// clip returns s in quotes, or its beginning when a client made it long.
func clip(s string) string {
	if len(s) > 64 {
		s = s[:64] + "..."
	}
	return strconv.QuoteToASCII(s)
}
