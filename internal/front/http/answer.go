package httpfront

import (
	"strconv"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// An answer is what is sent. appendAnswer makes the bytes of every one, for the event
// loop; behind net/http the same bytes are given to it line by line.
type answer struct {
	code   int
	shared []byte // the header lines that the answers of a source have in common
	more   string // further header lines, with their ends

	doc   *row.Document   // nil: body
	media *media          // the name of doc's representation; nil: as it is stored
	tag   string          // of a 304
	kind  string          // the media type of list or body; "": there is none
	list  []*row.Document // one array of them, of media's format; nil: body
	size  int             // of list, in bytes, as sent
	body  []byte

	stream *stream // by which what comes after body is told; nil: nothing comes
}

// appendAnswer appends the answer to r. closing says that the connection is closed after
// it, headOnly leaves the body out, as for HEAD. allowed are the lines of settings.allow.
func appendAnswer(
	dst []byte, r *request, a *answer, allowed string, closing, headOnly bool,
) []byte {
	dst = http1.AppendStatus(dst, a.code)
	dst = r.AppendConnection(dst, closing)
	dst = append(dst, a.shared...)
	if allowed != "" {
		dst = append(dst, allowed...)
	}
	if r.RequestID != nil && requestID(row.Alias(r.RequestID)) != "" {
		dst = http1.AppendHeader(dst, "X-Request-Id", row.Alias(r.RequestID))
	}
	if a.more != "" {
		dst = append(dst, a.more...)
	}
	switch {
	case a.doc != nil && a.media != nil && !a.media.stored():
		dst = appendRenamed(dst, a)
	case a.doc != nil && headOnly:
		return a.doc.AppendWireHead(dst)
	case a.doc != nil:
		return a.doc.AppendWire(dst)
	case a.tag != "":
		dst = http1.AppendEnd(http1.AppendHeader(dst, "Etag", a.tag))
	case a.kind == "":
		return http1.AppendEnd(dst)
	default:
		dst = http1.AppendHeader(dst, "Content-Type", a.kind)
		if a.stream == nil { // else it ends with its connection: every proxy knows that
			dst = http1.AppendLength(dst, a.length())
		}
		dst = http1.AppendEnd(dst)
	}
	if headOnly {
		return dst
	}
	return a.appendBody(dst)
}

// appendRenamed appends the header lines of a document under another name than that of
// its format.
func appendRenamed(dst []byte, a *answer) []byte {
	dst = http1.AppendHeader(dst, "Content-Type", a.media.name)
	if c := a.doc.Coding(); c != row.Identity {
		dst = http1.AppendHeader(dst, "Content-Encoding", c.String())
	}
	dst = http1.AppendHeader(dst, "Etag", a.doc.ETag())
	return http1.AppendEnd(http1.AppendLength(dst, len(a.doc.Body())))
}

// length returns how many bytes the body has.
func (a *answer) length() int {
	switch {
	case a.doc != nil:
		return len(a.doc.Body())
	case a.list != nil:
		return a.size
	}
	return len(a.body)
}

// appendBody appends the body.
func (a *answer) appendBody(dst []byte) []byte {
	switch {
	case a.doc != nil:
		return append(dst, a.doc.Body()...)
	case a.list != nil:
		return a.appendList(dst)
	}
	return append(dst, a.body...)
}

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

// millis returns d in milliseconds, rounded up: what is promised must not be less than
// what is so.
func millis(d time.Duration) int64 {
	return max(int64(d+time.Millisecond-1)/int64(time.Millisecond), 0)
}

// appendMillis writes d in seconds with three places: see millis.
func appendMillis(dst []byte, d time.Duration) []byte {
	ms := millis(d)
	dst = append(strconv.AppendInt(dst, ms/1000, 10), '.')
	return append(dst, byte('0'+ms/100%10), byte('0'+ms/10%10), byte('0'+ms%10))
}

// A provenance is where an answer came from. Every answer that a resource gave has it, a
// 304 or 404 included.
type provenance struct {
	status string // of Cache-Status; "": none
	token  resource.Token
	lag    time.Duration
	steps  resource.Steps
	varies string // Vary; "": that of a document or list
}

// appendShared appends the header lines that the answers of one source at one time have
// in common. from is nil where no resource was asked.
func (o *settings) appendShared(dst []byte, from *provenance, cacheControl string) []byte {
	dst = append(dst, "Server: hotrow\r\nX-Content-Type-Options: nosniff\r\n"...)
	if from != nil {
		varies := o.varies
		if cacheControl == privateControl {
			varies = o.variesBy
		}
		if from.varies != "" {
			varies = from.varies
		}
		dst = http1.AppendHeader(dst, "Vary", varies)
		if from.status != "" {
			dst = http1.AppendHeader(dst, "Cache-Status", from.status)
		}
	} else {
		dst = append(dst, o.common...)
	}
	if cacheControl != "" {
		dst = http1.AppendHeader(dst, "Cache-Control", cacheControl)
	}
	if o.HSTS {
		dst = append(dst, "Strict-Transport-Security: "+strictTransport+"\r\n"...)
	}
	if from == nil {
		return dst
	}
	if !from.token.IsZero() {
		dst = append(dst, "Hotrow-Position: "...)
		dst = append(appendPosition(dst, from.token, from.lag), "\r\n"...)
	}
	if from.steps != (resource.Steps{}) {
		dst = appendServerTiming(dst, &from.steps)
	}
	return dst
}

// strictTransport is the value of Strict-Transport-Security (RFC 6797): two
// years, and nothing about other hosts of the domain.
const strictTransport = "max-age=63072000"

// privateControl is the Cache-Control of an answer that not everybody may read: it
// is for the browser's own cache at most.
const privateControl = "private, no-cache"

// cacheControl returns what caches on the way are told.
func (o *settings) cacheControl(private bool) string {
	if private {
		return privateControl
	}
	return o.CacheControl
}
