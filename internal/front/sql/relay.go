package sqlfront

import (
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
)

// A relay is the protocol of sessions on an event loop. A goroutine gets each connection with its
// first bytes, and logs the client in. Then the loop has the connection again, and the server's
// joined with it: what comes from one goes to the other in the same turn.
type relay struct{}

// Open implements eventloop.Protocol.
func (relay) Open(_ *eventloop.Conn, out []byte) []byte { return out }

// Step implements eventloop.Protocol.
func (relay) Step(c *eventloop.Conn, in, out []byte) (int, []byte, eventloop.Next) {
	s, _ := c.Data.(*session)
	if s == nil {
		return 0, out, eventloop.HandOver
	}
	other := c.Linked()
	if other == nil {
		return len(in), out, eventloop.Close
	}
	if !c.Upstream() {
		n, out := s.forward(other, in, out)
		if n < len(in) && len(out) >= front.SQLChunk {
			return n, out, eventloop.Again
		}
		return n, out, eventloop.More
	}
	if !s.answer(other, in) {
		return len(in), out, eventloop.Close // the client is gone
	}
	if c.Draining() {
		other.Poke()
	}
	return len(in), out, eventloop.More
}

// Rest implements eventloop.LastReader.
func (relay) Rest(c *eventloop.Conn, rest []byte) {
	if s, _ := c.Data.(*session); s != nil {
		s.last(c.Linked(), rest)
	}
}

// Tick implements eventloop.Protocol. When hotrow stops it ends a session in which nothing is
// under way, and the client hears why.
func (relay) Tick(c *eventloop.Conn, out []byte) ([]byte, eventloop.Next) {
	s, _ := c.Data.(*session)
	server := c.Linked()
	if s == nil || server == nil || c.Upstream() || !c.Draining() || !s.track.end() {
		return out, eventloop.More
	}
	server.Pass(terminate)
	return stopping.append(out), eventloop.Close
}

// End implements eventloop.Ender. A session ends with its connection to the database.
func (relay) End(c *eventloop.Conn) {
	if c.Upstream() {
		s := c.Data.(*session)
		s.track.lost()
		s.site.forget(s)
	}
}
