package httpfront

import (
	"net/http"
	"strings"

	"github.com/hotrow/hotrow/internal/fallback"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// relayedAnswer makes the answer of that of the fallback.
func (c *call) relayedAnswer(got *fallback.Answer) *answer {
	cacheControl := strings.Join(got.Header.Values("Cache-Control"), ", ")
	if cacheControl == "" {
		cacheControl = "private, no-store"
	}
	a := &answer{code: got.Status, shared: c.shared(cacheControl), body: got.Body}
	for _, of := range got.Header.Values("Connection") {
		for name := range strings.SplitSeq(of, ",") {
			got.Header.Del(strings.TrimSpace(name))
		}
	}
	var more []byte
	for name, values := range got.Header {
		if !http1.IsToken(name) || !answersWith(name) {
			continue
		}
		for _, value := range values {
			if name == "Location" || name == "Content-Location" {
				value = c.mounted(value)
			}
			more = http1.AppendHeader(more, name, value)
		}
	}
	kind := got.Header.Get("Content-Type")
	switch bodyless := got.Status < 200 || got.Status == http.StatusNoContent ||
		got.Status == http.StatusNotModified; {
	case bodyless:
		a.body = nil
	case c.r.Head || kind == "" || len(got.Body) == 0:
		if kind != "" {
			more = http1.AppendHeader(more, "Content-Type", kind)
		}
		if !c.r.Head {
			a.kind = "application/octet-stream"
			if len(got.Body) == 0 {
				a.kind, more = "", http1.AppendLength(more, 0)
			}
		}
	default:
		a.kind = kind
	}
	a.more = string(more)
	return a
}

// answersWith reports whether a header of the fallback's answer goes on to the client. What
// browsers are let do is said by us, and no cookie is set for a host that is ours.
func answersWith(name string) bool {
	switch name {
	case "Server", "Date", "Vary", "Cache-Control", "Content-Type", "Content-Length",
		"Cache-Status", "Set-Cookie", "Alt-Svc", "Timing-Allow-Origin", "Server-Timing",
		"Strict-Transport-Security", "X-Content-Type-Options", "X-Request-Id":
		return false
	}
	return !fallback.OfConnection(name) && !strings.HasPrefix(name, "Access-Control-") &&
		!strings.HasPrefix(name, "Hotrow-")
}

// mounted returns a reference of the fallback's as it leads there through us.
func (c *call) mounted(reference string) string {
	s := c.o.Fallback.Server
	path := reference
	if rest, ok := strings.CutPrefix(path, s.Origin()); ok && (rest == "" || rest[0] == '/') {
		path = rest
	}
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return reference
	}
	if rest, ok := strings.CutPrefix(path, s.Base()); ok &&
		(rest == "" || rest[0] == '/' || rest[0] == '?') {
		path = rest
	}
	return c.o.BasePath + c.o.Postgrest + path
}

// variesWith returns what the answer depends on: what ours do, and what the fallback says.
func (c *call) variesWith(got *fallback.Answer) string {
	list := c.o.variesBy
	for _, line := range got.Header.Values("Vary") {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.TrimSpace(name)
			if name == "*" {
				return "*"
			}
			if http1.IsToken(name) && !http1.ListHas([]byte(list), []byte(name)) {
				list += ", " + name
			}
		}
	}
	return list
}
