package httpfront

import (
	"bytes"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/lane"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// logHit logs a request that was answered from memory. head is the request as
// it was sent, and answer what is sent back.
func (s *scope) logHit(c *lane.Conn, r *http1.Request, head, answer []byte) {
	weight, picked := s.access.Start(s.began)
	if !picked {
		return
	}
	name, _, _ := splitPath(r.Path, s.live.BasePath)
	line := front.AccessLine{
		Peer: c.Data.(*peer).address(c), Method: "GET", Path: row.Alias(r.Path),
		Cache: "hit", Resource: row.Alias(name), Principal: s.holder(name, r.Authorization),
		Agent: row.Alias(userAgent(head)), RequestID: requestID(row.Alias(r.RequestID)),
	}
	line.Status, line.Bytes = http1.AnswerSize(answer)
	if r.Head {
		line.Method = "HEAD"
	}
	s.access.End(&line, weight)
}

// logRefusal logs a request that was too broken to be one.
func (s *scope) logRefusal(c *lane.Conn, answer []byte) {
	if !s.access.On() {
		return
	}
	weight, picked := s.access.Start(s.began)
	if !picked {
		return
	}
	line := front.AccessLine{Peer: c.Data.(*peer).address(c)}
	line.Status, line.Bytes = http1.AnswerSize(answer)
	s.access.End(&line, weight)
}

// address returns the address of the connection's peer. It is made at the first
// request that is logged.
func (p *peer) address(c *lane.Conn) string {
	if p.addr == "" {
		p.addr = c.RemoteAddr().String()
	}
	return p.addr
}

// holder returns whose token has opened a resource that is not for everybody.
func (s *scope) holder(resource, authorization []byte) string {
	if len(authorization) == 0 {
		return ""
	}
	if r := s.resource(resource); r == nil || r.public {
		return ""
	}
	return s.tokens[row.Alias(authorization)].Name
}

// userAgent returns the value of the first User-Agent line of a head that http1
// has read. The parser does not keep it: only a request that is logged is
// searched for it.
func userAgent(head []byte) []byte {
	const name = "user-agent:"
	for {
		end := bytes.IndexByte(head, '\n')
		if end < 0 {
			return nil
		}
		head = head[end+1:]
		if len(head) > len(name) && head[0]|0x20 == 'u' && head[len(name)-1] == ':' &&
			bytes.EqualFold(head[:len(name)], []byte(name)) {
			value, _, _ := bytes.Cut(head[len(name):], []byte("\r\n"))
			return bytes.Trim(value, " \t")
		}
	}
}
