package wirefront

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/wire/exchange"
	"github.com/hotrow/hotrow/internal/workers"
)

// An httpExchange is one that a proxy at the other end of the wire passes
// on: Options.HTTP answers it in a goroutine, as if it had come over HTTP. It is
// the exchange's http.ResponseWriter, and the body of its request.
type httpExchange struct {
	c      *conn
	opaque uint64
	stream bool
	isHead bool
	ctx    context.Context
	cancel context.CancelFunc
	poke   chan struct{} // something has come: a part, credit, the end; holds one

	// Of the request's body; guarded by c.mu.
	unread []byte
	left   int64 // to come; less than 0: until its trailers
	whole  bool
	over   bool // nobody wants the answer, or it was given

	// Of the answer; the handler's alone.
	header   http.Header
	status   int // 0: the head was not written
	body     []byte
	headSent bool // the head was sent on the stream
}

// maxPiece is how much of a body goes into one message of a stream.
const maxPiece = exchange.MaxPart

// relay begins to answer an exchange, if HTTP is served. c.mu is held.
func (c *conn) relay(s *scope, e *gofast.Event) bool {
	h := s.live.HTTP
	if e.ID != exchange.ID || h == nil {
		return false
	}
	stream := e.Type == gofast.EventStart
	p := &httpExchange{c: c, opaque: e.Opaque, stream: stream, poke: make(chan struct{}, 1)}
	req, err := p.read(append([]byte(nil), e.Data...))
	if err != nil {
		p.refuse(fail(kindBadMessage, err.Error()))
		return true
	}
	if e.Deadline > 0 && !stream {
		p.ctx, p.cancel = context.WithTimeout(c.f.ctx, e.Deadline)
	} else {
		p.ctx, p.cancel = context.WithCancel(c.f.ctx)
	}
	ctx := context.WithValue(p.ctx, http.LocalAddrContextKey, c.lc.LocalAddr())
	ctx = front.WithPeer(ctx, c.peer)
	_ = c.session.SetUser(e.Opaque, p) // it is the exchange that Next has told of
	c.tasks++
	if !c.f.start(func() { p.run(h, req.WithContext(ctx)) }) {
		c.tasks--
		p.cancel()
		p.refuse(&fault{kind: kindDraining})
	}
	return true
}

// read returns the request in a message.
func (p *httpExchange) read(data []byte) (*http.Request, error) {
	var m exchange.Request
	if err := m.Decode(data); err != nil {
		return nil, err
	}
	if m.Streamed && !p.stream {
		return nil, errors.New("a request that streams its body is a stream")
	}
	target, err := url.ParseRequestURI(string(m.Path))
	if err != nil {
		return nil, err
	}
	r := &http.Request{
		Method: string(m.Method), URL: target, RequestURI: string(m.Path),
		Host:  string(m.Authority),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: make(http.Header, len(m.Fields)),
		RemoteAddr: p.c.lc.RemoteAddr().String(), Body: http.NoBody,
	}
	r.ContentLength = int64(len(m.Body))
	if m.Streamed {
		r.ContentLength = -1
	}
	for _, f := range m.Fields {
		r.Header.Add(string(f.Name), string(f.Value))
	}
	if text := r.Header.Get("Content-Length"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || !m.Streamed && n != r.ContentLength {
			return nil, errors.New("a length that is not that of the body")
		}
		r.ContentLength = n
	}
	if token := p.c.who.Token(); token != "" && r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	p.isHead, p.unread = r.Method == http.MethodHead, m.Body
	p.left, p.whole = r.ContentLength, !m.Streamed || r.ContentLength == 0
	if r.ContentLength != 0 {
		r.Body = io.NopCloser(p)
	}
	return r, nil
}

// run has the handler answer, and sends what it has not sent itself.
func (p *httpExchange) run(h http.Handler, r *http.Request) {
	defer p.cancel()
	defer p.recovered()
	p.header = http.Header{}
	h.ServeHTTP(p, r)
	if p.status == 0 { // a handler that answers nothing has not said 200
		p.give(func() { p.refuse(&fault{kind: kindCanceled}) })
		return
	}
	p.finish()
}

// recovered ends an exchange whose handler has panicked: net/http would log it and
// cut the connection, which others share.
func (p *httpExchange) recovered() {
	if v := recover(); v != nil {
		if v != http.ErrAbortHandler {
			_ = workers.Caught(p.c.f.live.Load().Log, "answer an HTTP request", v)
		}
		p.give(func() { p.refuse(&fault{kind: kindInternal}) })
	}
}

// Read implements io.Reader for the request's body.
func (p *httpExchange) Read(b []byte) (int, error) {
	c := p.c
	for {
		c.mu.Lock()
		if n := copy(b, p.unread); n > 0 {
			if p.unread = p.unread[n:]; p.stream && !p.over {
				c.side = c.session.AppendConsumed(c.side, p.opaque, n)
				c.flush()
			}
			c.mu.Unlock()
			return n, nil
		}
		whole, over := p.whole, p.over
		c.mu.Unlock()
		switch {
		case whole:
			return 0, io.EOF
		case over:
			return 0, io.ErrUnexpectedEOF
		}
		if err := p.wait(); err != nil {
			return 0, err
		}
	}
}

// wait waits for something to come.
func (p *httpExchange) wait() error {
	select {
	case <-p.poke:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// wake has the handler look again.
func (p *httpExchange) wake() {
	select {
	case p.poke <- struct{}{}:
	default:
	}
}

// take takes a part of the request. c.mu is held.
func (p *httpExchange) take(data []byte) {
	var part exchange.Part
	switch err := part.Decode(data); {
	case err != nil, part.Kind == exchange.Head, part.Kind == exchange.Number:
		p.end(fail(kindBadMessage, "not a part of a request"))
	case part.Kind == exchange.Trailers && p.left < 0:
		p.whole = true
	case part.Kind == exchange.Trailers, p.left >= 0 && int64(len(part.Data)) > p.left:
		p.end(fail(kindBadMessage, "more than the request has"))
	case !p.over:
		p.unread = append(p.unread, part.Data...)
		if p.left >= 0 {
			p.left -= int64(len(part.Data))
			p.whole = p.left == 0
		}
	}
	// What is around the data costs credit as well.
	p.c.side = p.c.session.AppendConsumed(p.c.side, p.opaque, len(data)-len(part.Data))
	p.wake()
}

// ended takes the end of the peer's side. c.mu is held.
func (p *httpExchange) ended() {
	if !p.whole {
		p.end(&fault{kind: kindCanceled})
	}
}

// end ends an exchange whose answer nobody wants. c.mu is held.
func (p *httpExchange) end(f *fault) {
	if !p.over {
		p.over = true
		p.c.tasks--
		p.refuse(f)
	}
	p.cancel()
	p.wake()
}

// refuse answers with a fault. c.mu is held.
func (p *httpExchange) refuse(f *fault) {
	if p.stream {
		p.c.endStream(p.opaque, f)
		return
	}
	p.c.refuse(p.opaque, exchange.ID, f)
}

// give ends the exchange with an answer, unless it has ended.
func (p *httpExchange) give(answer func()) {
	c := p.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.over || c.ended {
		return
	}
	p.over = true
	c.tasks--
	answer()
	c.flush()
}

// Header implements http.ResponseWriter.
func (p *httpExchange) Header() http.Header { return p.header }

// WriteHeader implements http.ResponseWriter. Interim answers are left out.
func (p *httpExchange) WriteHeader(status int) {
	if p.status == 0 && status >= 200 {
		p.status = status
		p.header = p.header.Clone()
	}
}

// Write implements http.ResponseWriter. The answer to a request is sent when it
// is complete, that on a stream as it comes.
func (p *httpExchange) Write(b []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	if p.isHead {
		return len(b), nil
	}
	p.body = append(p.body, b...)
	if p.stream && len(p.body) >= maxPiece {
		if err := p.drain(); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// Flush implements http.Flusher.
func (p *httpExchange) Flush() {
	p.WriteHeader(http.StatusOK)
	if p.stream {
		_ = p.drain() // the next Write says so
	}
}

// fields returns the head's fields as they travel.
func (p *httpExchange) fields() (list []exchange.Field) {
	for name, values := range p.header {
		for _, v := range values {
			if f := (exchange.Field{Name: []byte(name), Value: []byte(v)}); !exchange.Hop(f.Name) {
				list = append(list, f)
			}
		}
	}
	return list
}

// finish sends what is left.
func (p *httpExchange) finish() {
	p.WriteHeader(http.StatusOK)
	bodiless := p.isHead || p.status == http.StatusNoContent || p.status == http.StatusNotModified
	if p.header.Get("Content-Length") == "" && !bodiless && !p.headSent {
		p.header.Set("Content-Length", strconv.Itoa(len(p.body)))
	}
	if !p.stream {
		a := exchange.Answer{Status: p.status, Fields: p.fields(), Body: p.body}
		payload := a.Append(nil)
		p.give(func() {
			p.c.respond(p.opaque, exchange.ID, nil, payload)
			p.c.settle()
		})
		return
	}
	chunked := p.headSent && p.header.Get("Content-Length") == "" && !bodiless
	err := p.drain()
	if err == nil && chunked {
		err = p.send(exchange.AppendTrailers(nil, nil))
	}
	if err == nil {
		p.give(func() { p.c.endStream(p.opaque, nil) })
		return
	}
	p.give(func() { p.refuse(&fault{kind: kindCanceled}) })
}

// drain sends what was written on the stream.
func (p *httpExchange) drain() error {
	if !p.headSent {
		p.headSent = true
		if err := p.send(exchange.AppendAnswerHead(nil, p.status, p.fields())); err != nil {
			return err
		}
	}
	for len(p.body) > 0 {
		piece := p.body[:min(len(p.body), maxPiece)]
		p.body = p.body[len(piece):]
		if err := p.send(exchange.AppendData(nil, piece)); err != nil {
			return err
		}
	}
	p.body = nil
	return nil
}

// errOver is the error of sending to a peer that wants nothing more.
var errOver = errors.New("the exchange has ended")

// send sends a part on the stream, as the peer takes it.
func (p *httpExchange) send(part []byte) error {
	c := p.c
	for c.room() {
		c.mu.Lock()
		if p.over || c.ended {
			c.mu.Unlock()
			return errOver
		}
		m := gofast.Message{ID: exchange.ID, Data: part}
		var err error
		c.side, err = c.session.AppendMessage(c.side, p.opaque, &m)
		c.flush()
		c.mu.Unlock()
		if err != gofast.ErrNoCredit {
			return err
		}
		if err := p.wait(); err != nil {
			return err
		}
	}
	return errOver
}

// passed tells an exchange of what its peer has sent. It reports false if the event
// is not one of an exchange. c.mu is held.
func passed(e *gofast.Event) bool {
	p, ok := e.User.(*httpExchange)
	if !ok {
		return false
	}
	switch e.Type {
	case gofast.EventMessage:
		p.take(e.Data)
	case gofast.EventFinish:
		p.ended()
	case gofast.EventCancel:
		p.end(&fault{kind: kindCanceled})
	case gofast.EventCredit:
		p.wake()
	}
	return true
}
