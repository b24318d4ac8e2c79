package linksfront

import (
	"net/http"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// observe counts one answer of another road.
func (f *Front) observe(took time.Duration) { f.took.Add(took, 1) }

// resourceName is what the access log calls the resource of every request.
const resourceName = "links"

// logHit logs a request that was answered from memory.
func (s *scope) logHit(c *eventloop.Conn, answer []byte) {
	s.x.readFields()
	s.log(front.AccessLine{
		Peer: c.Data.(*peer).address(c), Method: methodOf(&s.x), Path: row.Alias(s.req.Path),
		Protocol: front.ProtocolOf(c.HTTP2(), s.req.HTTP10), Cache: "hit",
		Agent: row.Alias(s.x.fields.agent),
	}, answer)
}

// logRefusal logs a request that was too broken to be one.
func (s *scope) logRefusal(c *eventloop.Conn, answer []byte) {
	if s.Access.On() {
		s.log(front.AccessLine{Peer: c.Data.(*peer).address(c)}, answer)
	}
}

// log logs one line, if it is in the sample.
func (s *scope) log(l front.AccessLine, answer []byte) {
	weight, picked := s.Access.Start(s.Began)
	if !picked {
		return
	}
	l.Resource = resourceName
	l.Status, l.Bytes = http1.AnswerSize(answer)
	s.Access.End(&l, weight)
}

// logParked logs a request that was answered off the loop.
func (f *Front) logParked(
	c *eventloop.Conn, x *exchange, peer string, began time.Time, answer []byte,
) {
	l := front.AccessLine{
		Peer: peer, Method: methodOf(x), Path: string(x.req.Path), Cache: "miss",
		Protocol: front.ProtocolOf(c.HTTP2(), x.req.HTTP10),
		Resource: resourceName, Agent: string(x.fields.agent),
	}
	l.Status, l.Bytes = http1.AnswerSize(answer)
	took := time.Since(began)
	f.Access.Record(began, took, l.Status >= 500, l.Fill)
}

// logFull logs a request that net/http has.
func (f *Front) logFull(c *counted, r *http.Request, began time.Time, took time.Duration) {
	if f.Access == nil || !f.Access.On() {
		return
	}
	l := front.AccessLine{
		Peer: r.RemoteAddr, Method: r.Method, Path: r.URL.EscapedPath(),
		Protocol: r.Proto, Status: c.code, Bytes: c.bytes, Resource: resourceName,
		Agent: r.Header.Get("User-Agent"),
	}
	if r.Method == http.MethodHead {
		l.Bytes = 0
	}
	f.Access.Record(began, took, l.Status >= 500, l.Fill)
}

// methodOf returns the method of an exchange.
func methodOf(x *exchange) string {
	switch {
	case x.method != "":
		return x.method
	case x.req.Head:
		return "HEAD"
	}
	return "GET"
}

// address returns the address of the connection's peer.
func (p *peer) address(c *eventloop.Conn) string {
	if p.addr == "" {
		p.addr = c.RemoteAddr().String()
	}
	return p.addr
}
