package httpfront

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
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

// watchPath is what follows "/-" in the path of a stream that tells of several things.
const watchPath = "/watch"

// manyExample is a body that asks for several things.
const manyExample = `{"q":["/depts/10"]}`

// watch answers with the events of a document or a list.
func (c *call) watch(t *target) (*answer, error) {
	s, err := c.newStream()
	if err != nil {
		return nil, err
	}
	known := knownTag(headerOf(c.r.head, "last-event-id:"))
	now, err := c.state(t, 0, "")
	if err != nil {
		return nil, err
	}
	var body []byte
	if now.tag != known || now.event == eventStale {
		body = now.alone
	}
	return c.streamed(s, body), nil
}

// watchMany answers with the events of several documents and lists, which q names as a path
// and a query. Each event says which one it is of.
func (c *call) watchMany() (*answer, error) {
	s, err := c.newStream()
	if err != nil {
		return nil, err
	}
	list, err := c.questions()
	if err != nil {
		return nil, err
	}
	s.haves = newHaves(list, headerOf(c.r.head, "last-event-id:"))
	whole, states, private := c.r, make([]state, len(list)), false
	for i, q := range list {
		now, err := c.ofMany(whole, i, q)
		c.release() // the states together are counted with the answer
		private = private || c.private
		if err != nil {
			p := problemOf(err)
			p.detail = q + ": " + p.detail
			return nil, p
		}
		states[i] = now
	}
	c.r, c.res, c.private = whole, nil, private
	return c.streamed(s, s.haves.first(list, states)), nil
}

// ofMany reads one of several things that whole asks for, that of a number.
func (c *call) ofMany(whole *request, number int, q string) (state, error) {
	r := *whole
	path, query, _ := strings.Cut(q, "?")
	r.Path, r.Query, r.Method, r.content = []byte(path), []byte(query), http.MethodGet, nil
	c.r, c.private = &r, false
	var t target
	err := c.o.route(c.m, c.p, c.r, &t)
	switch {
	case err != nil:
		return state{}, err
	case t.kind != pathList && t.kind != pathDocument || t.profile:
		return state{}, problem{kind: kindNotFound, detail: "this is no document and no list"}
	}
	if c.res, err = c.o.find(t.name); err != nil {
		return state{}, err
	}
	return c.state(&t, number, q)
}

// questions returns what a stream of several things is asked for.
func (c *call) questions() (list []string, err error) {
	switch {
	case c.r.Method == http.MethodPost:
		var body struct {
			Q []string `json:"q"`
		}
		name, coding := c.r.contentType()
		kind, _, _ := strings.Cut(name, ";")
		if strings.TrimSpace(kind) != "application/json" || coding != "" {
			return nil, problem{kind: kindMediaType, detail: "the body is JSON: " + manyExample}
		}
		d := json.NewDecoder(bytes.NewReader(c.r.content))
		d.DisallowUnknownFields()
		if err := d.Decode(&body); err != nil {
			return nil, problem{kind: kindBadBody,
				detail: "want " + manyExample + ": " + err.Error()}
		}
		list = body.Q
	default:
		values, err := url.ParseQuery(string(c.r.Query))
		if err != nil || len(values) > 1 || len(values) == 1 && values["q"] == nil {
			return nil, problem{kind: kindBadQuery,
				detail: "want q=PATH for each document or list, percent-encoded"}
		}
		list = values["q"]
	}
	if len(list) == 0 || len(list) > front.StreamWatches {
		return nil, problem{kind: kindBadQuery,
			detail: "want 1 to " + strconv.Itoa(front.StreamWatches) + " documents or lists"}
	}
	for i, q := range list {
		if !strings.HasPrefix(q, "/") || strings.ContainsFunc(q, func(r rune) bool {
			return r <= ' ' || r >= 0x7f
		}) {
			return nil, problem{kind: kindBadPath,
				detail: "q[" + strconv.Itoa(i) + "] is no path: " + clip(q)}
		}
	}
	return list, nil
}

// newStream makes the stream of an answer that goes on.
func (c *call) newStream() (*stream, error) {
	conn, ok := c.p.conn.(*eventloop.Conn)
	if !ok { // net/http has the request
		return nil, problem{kind: kindNotAcceptable,
			detail: "a request of this form is not answered with events",
			hint:   "ask with GET and no body, or with a small body that has a Content-Length"}
	}
	if !c.mayFollow() {
		return nil, followedByOthers()
	}
	c.stream = &stream{of: &c.h.watches, conn: conn}
	return c.stream, nil
}

// streamed returns the beginning of an answer that goes on: body are the states of now.
func (c *call) streamed(s *stream, body []byte) *answer {
	retry := retryLeast + rand.N(retryMost-retryLeast)
	if s.full { // clients give up for good when they are refused
		retry, body = retry+retryFull, nil
	}
	head := strconv.AppendInt([]byte("retry: "), retry.Milliseconds(), 10)
	return &answer{code: http.StatusOK, kind: eventsType, stream: s,
		body:   append(append(head, "\n\n"...), body...),
		shared: bytes.Clone(c.shared("no-store, no-transform")),
		more:   "X-Accel-Buffering: no\r\n"}
}

// mayFollow reports whether a page that asks is of this origin, or of one that may read. A
// browser would keep the answer from any other one, but only once it is open.
func (c *call) mayFollow() bool {
	origin, o := row.Alias(c.r.Origin), c.o.cors
	if o != nil && (o.any || o.names(c.r.Origin)) {
		return true
	}
	_, host, _ := strings.Cut(origin, "://")
	site := headerText(c.r.head, "sec-fetch-site:")
	if c.r.http != nil {
		site = c.r.http.Header.Get("Sec-Fetch-Site")
	}
	return (origin == "" || strings.EqualFold(host, row.Alias(c.r.Host))) && site != "cross-site"
}

const (
	// A client that has lost its stream comes back after a time between these.
	retryLeast = time.Second
	retryMost  = 5 * time.Second
	// retryFull is added to it where no more watches are taken.
	retryFull = 14 * time.Second
)

// state reads what is to be followed, which q names beside others, where it has a number, or "".
// The client joins those who follow it first, so that no change falls between the two.
func (c *call) state(t *target, number int, q string) (now state, err error) {
	if c.res.NoFeed() {
		return now, problem{kind: kindNoFeed}
	}
	c.r.Accept, c.r.AcceptEncoding, c.r.IfMatch, c.r.IfNoneMatch = nil, nil, nil, nil
	c.watcher = &watcher{s: c.stream, q: q, number: number}
	var a *answer
	if t.kind == pathList {
		a, err = c.list()
	} else {
		a, err = c.read(t.key)
	}
	switch {
	case err != nil:
		return now, err
	case c.m.q.media.format != row.FormatJSON:
		return now, problem{kind: kindNotAcceptable, detail: "events are texts: the format is json"}
	case c.from.status == cacheStatus(resource.HitStale):
		now = staleState
	default:
		now = newState(a.doc, c.from.token)
	}
	c.watcher.tag = now.tag // nobody else looks at it before the stream is active
	return now, nil
}

// join has the watcher, if there is one, told of a document (ask is nil) or a list.
func (c *call) join(key row.Key, ask *resource.ListAsk) {
	w := c.watcher
	if w == nil {
		return
	}
	topic := topicKey{res: c.res}
	switch {
	case ask == nil:
		key = row.Key(strings.Clone(string(key)))
		if k, err := c.res.KeyType().Parse(key); err == nil {
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
	w.rule = c.res.Access().Read
	if w.role, _ = c.m.role(c.o, c.r); w.role != "" {
		_, w.rights = c.res.GrantsNow(w.role)
	}
	if who := c.m.who; who != nil {
		w.s.grounds, w.s.until = c.m.grounds, who.until
	}
	w.join(c.client(), topic, key, ask)
}

// client names who has a watch: the holder of a token, else the address, but for this machine.
func (c *call) client() string {
	if c.m.who != nil {
		return c.m.who.client
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

// A state is a document or a list as who follows it is told.
type state struct {
	tag   string // what Last-Event-ID ends with
	alone []byte // the event for a stream that tells of nothing else
	event string // its name; "": none
	id    []byte // the position
	body  []byte // nil: null
	etag  string
}

const (
	absentTag = "absent" // the tag of a document that is not there

	eventAbsent  = "absent"
	eventChanged = "changed" // the state is too large: who wants it reads it
	eventStale   = "stale"
)

// staleState says that the state that was told may be old.
var staleState = state{event: eventStale, alone: []byte("event: stale\ndata: null\n\n")}

// newState returns the state of a document, or of a list that was packed as one, which covers
// the changes up to a position. nil, or one that is absent: there is none.
func newState(doc *row.Document, at resource.Token) state {
	s := state{event: eventAbsent, tag: absentTag}
	if !at.IsZero() {
		s.id = at.Append(nil)
	}
	if doc != nil && !doc.Absent() {
		s.event, s.etag, s.body = "", doc.ETag(), doc.Body()
		s.tag = strings.Trim(s.etag, `"`)
	}
	if len(s.body) > front.StateBytes {
		s.event, s.body = eventChanged, nil
	}
	data := s.body
	switch s.event {
	case eventAbsent:
		data = []byte("null")
	case eventChanged:
		data = append(strconv.AppendQuote([]byte(`{"etag":`), s.etag), '}')
	}
	id := append(append(bytes.Clone(s.id), '~'), s.tag...)
	if len(s.id) == 0 {
		id = id[1:]
	}
	s.alone = appendEvent(make([]byte, 0, len(data)+128), s.event, id, data)
	return s
}

// of returns the event for a stream that tells of several things, of which q is this, without
// its id: see haves.
func (s *state) of(q string) []byte {
	data, _ := json.Marshal(q) // a text
	data = append([]byte(`{"q":`), data...)
	if s.etag != "" {
		data = strconv.AppendQuote(append(data, `,"etag":`...), s.etag)
	}
	switch {
	case s.event == "":
		data = append(append(data, `,"body":`...), s.body...)
	case s.event == eventAbsent:
		data = append(data, `,"body":null`...)
	}
	return appendEvent(nil, s.event, nil, append(data, '}'))
}

// appendEvent appends an event. JSON may have ends of lines between its tokens: each line of it is
// one of data.
func appendEvent(dst []byte, name string, id, data []byte) []byte {
	if name != "" {
		dst = append(append(append(dst, "event: "...), name...), '\n')
	}
	if len(id) > 0 {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	for more := true; more; {
		line := data
		at := bytes.IndexAny(data, "\r\n")
		if more = at >= 0; more {
			line, data = data[:at], data[at+1:]
		}
		dst = append(append(append(dst, "data: "...), line...), '\n')
	}
	return append(dst, '\n')
}

// knownTag returns the tag in the id of the last event that a client has got.
func knownTag(id []byte) string {
	return string(id[bytes.LastIndexByte(id, '~')+1:])
}

// many answers below watchPath.
func (c *call) many() (*answer, error) {
	switch c.r.Method {
	case http.MethodGet, http.MethodPost:
		return c.watchMany()
	case http.MethodOptions:
		return c.options("GET, POST, OPTIONS")
	}
	return nil, c.notAllowed("GET, POST, OPTIONS")
}
