package httpfront

import (
	"bytes"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// Who accepts text/event-stream follows a document or a list (WHATWG HTML 9.2): the answer is
// its state of now, and then each new one. Some may be left out, the last never.

// eventsType is the media type of such an answer.
const eventsType = "text/event-stream"

// wantsEvents reports whether an Accept header begins with eventsType.
func wantsEvents(accept []byte) bool {
	if len(accept) < len(eventsType) ||
		!bytes.EqualFold(accept[:len(eventsType)], []byte(eventsType)) {
		return false
	}
	return len(accept) == len(eventsType) || strings.IndexByte(" ;,", accept[len(eventsType)]) >= 0
}

// watch answers with events. The watch is open before the first state is read, so that no
// change falls between the two.
func (c *call) watch(t *target) (*answer, error) {
	conn, ok := c.p.conn.(*eventloop.Conn)
	if !ok { // net/http has the request
		return nil, problem{kind: kindNotAcceptable,
			detail: "a request with a body, or of this form, is not answered with events"}
	}
	if !c.mayFollow() {
		return nil, problem{kind: kindCrossOrigin, detail: "a page of another origin follows this",
			hint: "name the origin of the page in http.cors.origins"}
	}
	if c.res.NoFeed() {
		return nil, problem{kind: kindNoFeed}
	}
	known := knownTag(headerOf(c.r.head, "last-event-id:"))
	c.r.Accept, c.r.AcceptEncoding, c.r.IfMatch, c.r.IfNoneMatch = nil, nil, nil, nil
	w := &watcher{of: &c.h.watches, conn: conn}
	c.follower = w
	a, err := c.state(t)
	if err != nil {
		w.leave()
		return nil, err
	}
	retry := retryLeast + rand.N(retryMost-retryLeast)
	if !w.joined { // too many: clients give up for good when they are refused
		retry += retryFull
	}
	s := stateOf(a, c.from.token)
	body := append(strconv.AppendInt([]byte("retry: "), retry.Milliseconds(), 10), "\n\n"...)
	switch {
	case !w.joined:
	case c.from.status == cacheStatus(resource.HitStale):
		s.tag, body = "", append(body, staleEvent...)
	case s.tag != known:
		body = append(body, s.frame...)
	}
	stream := &answer{code: http.StatusOK, kind: eventsType, body: body, follower: w, known: s.tag,
		shared: bytes.Clone(c.shared("no-store, no-transform")),
		more:   "Content-Type: " + eventsType + "\r\nX-Accel-Buffering: no\r\n"}
	return stream, nil
}

// mayFollow reports whether a page that asks is of this origin, or of one that may read. A
// browser would keep the answer from any other one, but only once it is open.
func (c *call) mayFollow() bool {
	origin, o := row.Alias(c.r.Origin), c.o.cors
	if o != nil && (o.any || o.names(c.r.Origin)) {
		return true
	}
	_, host, _ := strings.Cut(origin, "://")
	return (origin == "" || strings.EqualFold(host, row.Alias(c.r.Host))) &&
		headerText(c.r.head, "sec-fetch-site:") != "cross-site"
}

const (
	// A client that has lost its stream comes back after a time between these.
	retryLeast = time.Second
	retryMost  = 5 * time.Second
	// retryFull is added to it where no more watches are taken.
	retryFull = 14 * time.Second
)

// state reads what is to be followed, and joins those who follow it first.
func (c *call) state(t *target) (a *answer, err error) {
	if t.kind == pathList {
		a, err = c.list()
	} else {
		a, err = c.read(t.key)
	}
	if err == nil && c.m.q.media.format != row.FormatJSON {
		err = problem{kind: kindNotAcceptable, detail: "events are texts: the format is json"}
	}
	return a, err
}

// join has the follower, if there is one, told of a document (ask is nil) or a list.
func (c *call) join(key row.Key, ask *resource.ListAsk) {
	w := c.follower
	if w == nil {
		return
	}
	topic := topicKey{res: c.res}
	switch {
	case ask == nil:
		if k, err := c.res.KeyType().Parse(row.Key(strings.Clone(string(key)))); err == nil {
			key = k
		}
		topic.what = "/" + string(key)
	case ask.Query != nil:
		topic.what = "?" + ask.Variant + "?" + ask.Query.Key()
	default:
		topic.what = "?" + ask.Variant + "?" + strconv.Itoa(ask.Limit)
		if ask.After != nil {
			topic.what += "?" + string(*ask.After)
		}
	}
	if w.rule = c.res.Access().Read; c.private {
		w.issued = c.m.issued
	}
	w.joined = w.of.join(w, c.client(), topic, key, ask)
}

// client names who has a watch: the holder of a token, else the address, but for this machine.
func (c *call) client() string {
	if c.who != "" {
		return c.who
	}
	addr := c.p.conn.RemoteAddr()
	if addr == nil || front.IsLocal(addr) {
		return ""
	}
	host, _, err := net.SplitHostPort(addr.String())
	if err != nil {
		return ""
	}
	return "@" + host
}

// appendStream appends the head of an answer that has no end yet, and its beginning. Its end
// is that of the connection, which every version of HTTP/1 and every proxy knows.
// allowed are the lines of settings.allow.
func (a *answer) appendStream(dst []byte, r *request, allowed string) []byte {
	dst = r.AppendConnection(http1.AppendStatus(dst, a.code), true)
	dst = append(append(dst, a.shared...), allowed...)
	if r.RequestID != nil && requestID(row.Alias(r.RequestID)) != "" {
		dst = http1.AppendHeader(dst, "X-Request-Id", row.Alias(r.RequestID))
	}
	return append(http1.AppendEnd(append(dst, a.more...)), a.body...)
}

// A state is a document or a list as who follows it is told.
type state struct {
	tag   string // what Last-Event-ID ends with
	frame []byte // the event
}

// absentTag is the tag of a document that is not there.
const absentTag = "absent"

// stateOf returns what an answer says, which covers the changes up to a position.
func stateOf(a *answer, at resource.Token) state {
	if a.doc == nil {
		return newState(nil, at)
	}
	return newState(a.doc, at)
}

// newState returns the state of a document, or of a list that was packed as one. nil, or one
// that is absent: there is none.
func newState(doc *row.Document, at resource.Token) (s state) {
	if doc == nil || doc.Absent() {
		s.tag = absentTag
		s.frame = appendID([]byte("event: absent\n"), at, s.tag)
		s.frame = append(s.frame, "data: null\n\n"...)
		return s
	}
	s.tag = strings.Trim(doc.ETag(), `"`)
	body := doc.Body()
	if len(body) > front.StateBytes {
		s.frame = appendID([]byte("event: changed\n"), at, s.tag)
		s.frame = append(strconv.AppendQuote(append(s.frame, `data: {"etag":`...), doc.ETag()),
			"}\n\n"...)
		return s
	}
	s.frame = appendID(make([]byte, 0, len(body)+128), at, s.tag)
	s.frame = append(appendData(s.frame, body), '\n')
	return s
}

// appendID appends the id of an event, by which a client that comes back tells what it has.
func appendID(dst []byte, at resource.Token, tag string) []byte {
	dst = append(dst, "id: "...)
	if !at.IsZero() {
		dst = append(at.Append(dst), '~')
	}
	return append(append(dst, tag...), '\n')
}

// appendData appends a text, of which each line is one of data. JSON may have ends of lines
// between its tokens.
func appendData(dst, text []byte) []byte {
	for more := true; more; {
		line := text
		at := bytes.IndexAny(text, "\r\n")
		if more = at >= 0; more {
			line, text = text[:at], text[at+1:]
		}
		dst = append(append(append(dst, "data: "...), line...), '\n')
	}
	return dst
}

// knownTag returns the tag in the id of the last event that a client has got.
func knownTag(id []byte) string {
	return string(id[bytes.LastIndexByte(id, '~')+1:])
}
