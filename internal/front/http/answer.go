package httpfront

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
)

// cacheStatus returns what Cache-Status says of an origin (RFC 9211).
func cacheStatus(o resource.Origin) string {
	switch o {
	case resource.HitMemory:
		return "hotrow; hit; detail=mem"
	case resource.HitDisk:
		return "hotrow; hit; detail=disk"
	case resource.Stored:
		return "hotrow; fwd=uri-miss; stored; detail=db"
	case resource.Unstored:
		return "hotrow; fwd=uri-miss; detail=db"
	case resource.Collapsed:
		return "hotrow; fwd=uri-miss; collapsed"
	case resource.Requested:
		return "hotrow; fwd=request"
	case resource.HitStale:
		return "hotrow; fwd=stale"
	}
	return "hotrow; fwd=bypass"
}

// appendPosition writes the value of Hotrow-Position: the token and, in
// seconds, how long ago the feed was known to be complete.
func appendPosition(dst []byte, t resource.Token, lag time.Duration) []byte {
	dst = t.Append(dst)
	dst = append(dst, "; lag="...)
	return appendMillis(dst, lag)
}

// appendMillis writes d in seconds with three places, rounded up: what is
// promised must not be less than what is so.
func appendMillis(dst []byte, d time.Duration) []byte {
	ms := max(int64(d+time.Millisecond-1)/int64(time.Millisecond), 0)
	dst = append(strconv.AppendInt(dst, ms/1000, 10), '.')
	return append(dst, byte('0'+ms/100%10), byte('0'+ms/10%10), byte('0'+ms%10))
}

// describe sets the headers that say where an answer came from. They are on
// every answer that a resource gave, a 304 or 404 included.
func (c *call) describe(status string, a *resource.Answer) {
	head := c.w.Header()
	head.Set("Vary", c.o.vary())
	head.Set("Cache-Control", c.cacheControl())
	if status != "" {
		head.Set("Cache-Status", status)
		if c.o.XCache {
			head.Set("X-Cache", xCache(status))
		}
	}
	if !a.Token.IsZero() {
		var buf [128]byte
		head.Set("Hotrow-Position", string(appendPosition(buf[:0], a.Token, a.Lag)))
	}
}

// appendLines appends the header lines that the answers with a document have in
// common. They are those that the full road sends (see call.describe).
func (o *settings) appendLines(
	dst []byte, status, cacheControl string, t resource.Token, lag time.Duration,
) []byte {
	dst = append(dst, "Server: hotrow\r\nX-Content-Type-Options: nosniff\r\nVary: "...)
	dst = append(append(dst, o.vary()...), "\r\nCache-Status: "...)
	dst = append(append(dst, status...), "\r\nCache-Control: "...)
	dst = append(append(dst, cacheControl...), "\r\n"...)
	if o.HSTS {
		dst = append(dst, "Strict-Transport-Security: "+strictTransport+"\r\n"...)
	}
	if o.XCache {
		dst = append(append(append(dst, "X-Cache: "...), xCache(status)...), "\r\n"...)
	}
	if !t.IsZero() {
		dst = append(dst, "Hotrow-Position: "...)
		dst = append(appendPosition(dst, t, lag), "\r\n"...)
	}
	return dst
}

// strictTransport is the value of Strict-Transport-Security (RFC 6797): two
// years, and nothing about other hosts of the domain.
const strictTransport = "max-age=63072000"

// xCache returns what X-Cache says, in the words of old caches, of what
// Cache-Status says.
func xCache(status string) string {
	if strings.HasPrefix(status, "hotrow; hit") {
		return "HIT"
	}
	return "MISS"
}

// privateControl is the Cache-Control of an answer that not everybody may read: it
// is for the browser's own cache at most.
const privateControl = "private, no-cache"

// cacheControl returns what caches on the way are told.
func (c *call) cacheControl() string {
	if c.private {
		return privateControl
	}
	return c.o.CacheControl
}

// sendBody writes a complete answer. net/http leaves the body out for HEAD.
func (c *call) sendBody(code int, contentType string, body []byte) error {
	c.settle(len(body))
	head := c.w.Header()
	head.Set("Content-Type", contentType)
	head.Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(code)
	if c.r.Method != http.MethodHead {
		// An error here is the client's connection: nobody is left to tell.
		_, _ = c.w.Write(body)
	}
	return nil
}
