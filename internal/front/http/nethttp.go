package httpfront

import (
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
)

// ServeHTTP answers one request that net/http has read, by the rules and with the bytes
// of every other. It is an http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := memos.Get().(*memo)
	defer m.release()
	m.ctx = r.Context()
	c := call{h: h, o: h.live.Load(), m: m, p: peerOf(r), r: newRequest(r), w: w, ctx: m.ctx}
	if c.inside() {
		return
	}
	c.budget = front.ShareOf(c.ctx)
	c.answer(c.send)
}

// WithConn gives the requests of a connection their part of the budget for answers
// that clients do not read. Under HTTP/2 many handlers may wait for one client.
func (h *Handler) WithConn(ctx context.Context, c net.Conn) context.Context {
	if peer, ok := eventloop.MeterOf(c).(*front.ClientShare); ok {
		return front.WithShare(ctx, peer)
	}
	return ctx
}

// send gives an answer to net/http, which frames it for the client's protocol. To who has
// gone nothing is sent.
func (c *call) send(a *answer) {
	if a.code == statusGone {
		return
	}
	text := string(appendAnswer(nil, c.r, a, c.allow(), false, true))
	_, lines, _ := strings.Cut(text, "\r\n")
	head := c.w.Header()
	for {
		line, rest, _ := strings.Cut(lines, "\r\n")
		name, value, ok := strings.Cut(line, ": ")
		if !ok {
			break // the empty line
		}
		head.Add(name, value)
		lines = rest
	}
	c.w.WriteHeader(a.code)
	if a.length() == 0 || c.r.Head {
		return
	}
	body := a.body
	switch {
	case a.doc != nil:
		body = a.doc.Body()
	case a.list != nil:
		body = a.appendList(make([]byte, 0, a.size))
	}
	// An error here is the client's connection: nobody is left to tell.
	_, _ = c.w.Write(body)
}
