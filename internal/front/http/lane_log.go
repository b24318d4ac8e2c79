package httpfront

import (
	"bytes"

	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/lane"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// A laneLog is where one loop logs the requests that it answers: a ring of its
// own, so that a hit takes no lock for its line, allocates nothing, and makes no
// system call. The lines of a wake-up have its clock read as their time, and
// share its duration.
type laneLog struct {
	log  *accesslog.Ring // nil: off
	ring *accesslog.Ring // log, when it was on last
	of   *accesslog.Log  // whose ring it is
}

// openLog looks whether there is an access log, once per wake-up.
func (l *laneLog) openLog(to *accesslog.Log) {
	l.log = nil
	if to == nil || !to.On() {
		return
	}
	if l.of != to {
		l.ring, l.of = to.Ring(), to
	}
	l.log = l.ring
}

// logHit logs a request that was answered from memory. head is the request as
// it was sent, and answer what is sent back.
func (s *scope) logHit(c *lane.Conn, r *http1.Request, head, answer []byte) {
	weight, picked := s.log.Pick()
	if !picked || !s.log.Start(s.began) {
		return
	}
	name, _, _ := splitPath(r.Path, s.live.BasePath)
	line := accessLine{
		peer: c.Data.(*peer).address(c), method: "GET", path: row.Alias(r.Path),
		status: statusOf(answer), bytes: bodyOf(answer), cache: "hit",
		resource: row.Alias(name), principal: s.holder(name, r.Authorization),
		agent: row.Alias(userAgent(head)),
	}
	if r.Head {
		line.method = "HEAD"
	}
	line.fill(s.log, weight)
	s.log.End()
}

// logRefusal logs a request that was too broken to be one.
func (s *scope) logRefusal(c *lane.Conn, answer []byte) {
	if s.log == nil {
		return
	}
	weight, picked := s.log.Pick()
	if !picked || !s.log.Start(s.began) {
		return
	}
	line := accessLine{
		peer:   c.Data.(*peer).address(c),
		status: statusOf(answer), bytes: bodyOf(answer),
	}
	line.fill(s.log, weight)
	s.log.End()
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

// statusOf returns the status of an answer of ours: "HTTP/1.1 200 OK...".
func statusOf(answer []byte) int {
	if len(answer) < 12 {
		return 0
	}
	code := 0
	for _, digit := range answer[9:12] {
		code = code*10 + int(digit-'0')
	}
	return code
}

// bodyOf returns how many bytes the body of an answer has.
func bodyOf(answer []byte) int {
	end := bytes.Index(answer, []byte("\r\n\r\n"))
	if end < 0 {
		return 0
	}
	return len(answer) - end - 4
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
