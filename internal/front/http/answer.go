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
	case resource.Stale:
		return "hotrow; fwd=stale"
	}
	return "hotrow; fwd=bypass"
}

// appendPosition writes the value of Hotrow-Position: the token and, in
// seconds, how long ago the feed was known to be complete.
func appendPosition(dst []byte, t resource.Token, lag time.Duration) []byte {
	dst = t.Append(dst)
	dst = append(dst, "; lag="...)
	return strconv.AppendFloat(dst, max(lag, 0).Seconds(), 'f', 3, 64)
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
			if strings.HasPrefix(status, "hotrow; hit") {
				head.Set("X-Cache", "HIT")
			} else {
				head.Set("X-Cache", "MISS")
			}
		}
	}
	if !a.Token.IsZero() {
		var buf [128]byte
		head.Set("Hotrow-Position", string(appendPosition(buf[:0], a.Token, a.Lag)))
	}
}

// cacheControl returns what caches on the way are told. An answer that not
// everybody may read is for the browser's own cache at most.
func (c *call) cacheControl() string {
	if c.private {
		return "private, no-cache"
	}
	return c.o.CacheControl
}

// sendBody writes a complete answer. net/http leaves the body out for HEAD.
func (c *call) sendBody(code int, contentType string, body []byte) error {
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
