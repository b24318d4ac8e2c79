package linksfront

import (
	"bytes"
	"net/http"
	"time"

	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/lane"
	"github.com/hotrow/hotrow/internal/row"
)

// A lap gives the answers of one wake-up of a loop their duration: that of the
// whole wake-up, as the HTTP front has it.
type lap struct {
	began   time.Time
	untimed uint64
	took    front.Durations
}

// begin begins a wake-up at now, which ends the one before if it did not rest.
func (s *scope) begin(now time.Time) {
	s.settle(now.Sub(s.began))
	s.began = now
}

// Rest ends a wake-up after which the loop sleeps or lets others run. It is
// lane.Rester.
func (s *scope) Rest() {
	if s.untimed > 0 || s.ring != nil && s.ring.Pending() {
		s.settle(time.Since(s.began))
	}
}

// settle gives what the wake-up has answered its duration.
func (s *scope) settle(took time.Duration) {
	if s.untimed > 0 {
		s.took.Add(took, s.untimed)
		s.untimed = 0
	}
	if s.ring != nil {
		s.ring.Publish(took)
	}
}

// observe counts one answer of another road.
func (f *Front) observe(took time.Duration) { f.took.Add(took, 1) }

// openLog looks whether there is an access log, once per wake-up.
func (s *scope) openLog() {
	s.access = nil
	if s.f.Access == nil || !s.f.Access.On() {
		return
	}
	if s.ring == nil {
		s.ring = s.f.Access.Ring()
	}
	s.access = s.ring
}

// A line is what the access log says of a request, in the columns of
// httpfront.AccessColumns.
type line struct {
	peer, method, path string
	status, bytes      int
	cache, agent       string
}

func (l *line) fill(r *accesslog.Ring, weight int64) {
	r.Text(l.peer)
	r.Text(l.method)
	r.Text(l.path)
	r.Int(int64(l.status))
	r.Int(int64(l.bytes))
	r.Text(l.cache)
	r.Text(resourceName)
	r.Text("")
	r.Text("")
	r.Text(l.agent)
	r.Int(weight)
}

// resourceName is what the access log calls the resource of every request.
const resourceName = "links"

// logHit logs a request that was answered from memory.
func (s *scope) logHit(c *lane.Conn, answer []byte) {
	s.x.readFields()
	s.log(line{
		peer: c.Data.(*peer).address(c), method: methodOf(&s.x), path: row.Alias(s.req.Path),
		cache: "hit", agent: row.Alias(s.x.fields.agent),
	}, answer)
}

// logRefusal logs a request that was too broken to be one.
func (s *scope) logRefusal(c *lane.Conn, answer []byte) {
	if s.access != nil {
		s.log(line{peer: c.Data.(*peer).address(c)}, answer)
	}
}

// log logs one line, if it is in the sample.
func (s *scope) log(l line, answer []byte) {
	weight, picked := s.access.Pick()
	if !picked || !s.access.Start(s.began) {
		return
	}
	l.status, l.bytes = sizes(answer)
	l.fill(s.access, weight)
	s.access.End()
}

// logParked logs a request that was answered off the loop.
func (f *Front) logParked(x *exchange, peer string, began time.Time, answer []byte) {
	l := line{peer: peer, method: methodOf(x), path: string(x.req.Path), cache: "miss",
		agent: string(x.fields.agent)}
	l.status, l.bytes = sizes(answer)
	took := time.Since(began)
	f.Access.Record(began, took, l.status >= 500, l.fill)
}

// logFull logs a request of the full road.
func (f *Front) logFull(c *counted, r *http.Request, began time.Time, took time.Duration) {
	if f.Access == nil || !f.Access.On() {
		return
	}
	l := line{peer: r.RemoteAddr, method: r.Method, path: r.URL.EscapedPath(),
		status: c.code, bytes: c.bytes, agent: r.Header.Get("User-Agent")}
	if r.Method == http.MethodHead {
		l.bytes = 0
	}
	f.Access.Record(began, took, l.status >= 500, l.fill)
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

// sizes returns the status and the length of the body of an answer of ours.
func sizes(answer []byte) (status, body int) {
	if len(answer) < 12 {
		return 0, 0
	}
	for _, digit := range answer[9:12] {
		status = status*10 + int(digit-'0')
	}
	if end := bytes.Index(answer, []byte("\r\n\r\n")); end >= 0 {
		body = len(answer) - end - 4
	}
	return status, body
}

// address returns the address of the connection's peer.
func (p *peer) address(c *lane.Conn) string {
	if p.addr == "" {
		p.addr = c.RemoteAddr().String()
	}
	return p.addr
}
