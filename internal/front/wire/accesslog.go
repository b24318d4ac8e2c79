package wirefront

import (
	"time"

	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/gofast"
	"github.com/hotrow/hotrow/internal/wire/rows"
)

// methods are the messages by their ids, as the access log has them.
var methods = [...]string{
	rows.IDGet: "GET", rows.IDGetMulti: "GETM", rows.IDPut: "PUT", rows.IDDelete: "DEL",
	rows.IDWatch: "WATCH", rows.IDQuery: "QUERY", rows.IDPatch: "PATCH", rows.IDInfo: "INFO",
	rows.IDCreate: "CREATE",
}

// methodOf returns the name of a message.
func methodOf(id uint64) string {
	if id < uint64(len(methods)) {
		return methods[id]
	}
	return ""
}

// cacheWords say where an answer came from, as the access log has it of HTTP.
var cacheWords = [...]string{
	rows.HitMemory: "hit", rows.HitDisk: "hit", rows.Stored: "miss", rows.Unstored: "miss",
	rows.Collapsed: "collapsed", rows.Requested: "request", rows.Stale: "stale",
	rows.Bypassed: "bypass",
}

// An accessLine is what the access log says of a message, besides the time, in
// the columns of httpfront.AccessColumns: one log holds the lines of all fronts.
type accessLine struct {
	peer, method, path  string
	status              gofast.Code
	bytes               int
	cache               string
	resource, principal string
	agent               string
}

func (a *accessLine) fill(r *accesslog.Ring, weight int64) {
	r.Text(a.peer)
	r.Text(a.method)
	r.Text(a.path)
	r.Int(int64(a.status))
	r.Int(int64(a.bytes))
	r.Text(a.cache)
	r.Text(a.resource)
	r.Text(a.principal)
	r.Text("") // there are no request ids
	r.Text(a.agent)
	r.Int(weight)
}

// A loopLog is where one loop logs the messages that it answers from memory: a
// ring of its own, so that a hit takes no lock for its line, allocates nothing,
// and makes no system call.
type loopLog struct {
	log  *accesslog.Ring // nil: off
	ring *accesslog.Ring // log, when it was on last
	of   *accesslog.Log  // whose ring it is
	path []byte          // scratch
}

// openLog looks whether there is an access log, once per wake-up.
func (l *loopLog) openLog(to *accesslog.Log) {
	l.log = nil
	if to == nil || !to.On() {
		return
	}
	if l.of != to {
		l.ring, l.of = to.Ring(), to
	}
	l.log = l.ring
}

// pendingLog reports whether there are lines that wait for their duration.
func (l *loopLog) pendingLog() bool { return l.ring != nil && l.ring.Pending() }

// logHit logs a message that was answered from memory. c.mu is held.
func (s *scope) logHit(c *conn, id uint64, res *served, bytes int, keys ...string) {
	weight, picked := s.log.Pick()
	if !picked || !s.log.Start(s.began) {
		return
	}
	s.path = appendPath(s.path[:0], res.name, keys)
	line := accessLine{
		peer: c.address(), method: methodOf(id), path: row.Alias(s.path), bytes: bytes,
		cache: "hit", resource: res.name, principal: c.holder(), agent: c.session.Peer().Name,
	}
	line.fill(s.log, weight)
	s.log.End()
}

// longestPath is what a line shows of a path, and is read of many keys.
const longestPath = 1024

// appendPath appends "depts/10", of several keys "depts/10 20".
func appendPath(dst []byte, resource string, keys []string) []byte {
	dst = append(dst, resource...)
	for i, k := range keys {
		between := byte(' ')
		if i == 0 {
			between = '/'
		}
		if dst = append(append(dst, between), k...); len(dst) > longestPath {
			break
		}
	}
	return dst
}

// logging reports whether messages are logged that a loop does not answer from
// memory.
func (f *Front) logging() bool {
	o := f.live.Load()
	return o.Access != nil && o.Access.On()
}

// slow is how long an answer takes that is in the access log even when this is
// a sample.
const slow = time.Second

// logAnswer logs an answer that no loop gives from memory. c.mu is held; the
// lock of the log is innermost.
func (c *conn) logAnswer(began time.Time, line accessLine) {
	line.peer, line.principal, line.agent = c.address(), c.holder(), c.session.Peer().Name
	took := time.Since(began)
	c.f.live.Load().Access.Record(began, took, ours(line.status) || took >= slow, line.fill)
}

// ours reports whether a failure is the server's or its database's: a sample has
// all of them.
func ours(code gofast.Code) bool {
	switch code {
	case gofast.Unknown, gofast.Internal, gofast.Unavailable, gofast.DataLoss,
		gofast.DeadlineExceeded:
		return true
	}
	return false
}

// logNow logs a message that was answered at once, but not from memory. c.mu is
// held.
func (c *conn) logNow(id uint64, payload []byte, code gofast.Code) {
	if !c.f.logging() {
		return
	}
	res, keys := rows.Names(payload)
	c.logAnswer(time.Now(), accessLine{
		method: methodOf(id), path: string(appendPath(nil, res, keys)), status: code,
	})
}

// log logs the answer of a task. c.mu is held.
func (t *task) log(code gofast.Code) {
	if !t.c.f.logging() {
		return
	}
	keys := []string{string(t.key)}
	if t.keys != nil {
		keys = keys[:0]
		for _, k := range t.keys {
			keys = append(keys, string(k))
		}
	} else if t.key == "" {
		keys = nil
	}
	t.c.logAnswer(t.began, accessLine{
		method: methodOf(t.id), path: string(appendPath(nil, t.resourceName(), keys)), status: code,
		bytes: t.bytes, cache: t.cache, resource: t.resourceName(),
	})
}

// address returns the address of the peer. It is made at the first line of the
// connection. c.mu is held.
func (c *conn) address() string {
	if c.addr == "" {
		if a := c.lc.RemoteAddr(); a != nil {
			c.addr = a.String()
		}
	}
	return c.addr
}

// holder returns whose token the peer has sent, if one was needed so far. c.mu
// is held.
func (c *conn) holder() string {
	if !c.who.asked || !c.who.known {
		return ""
	}
	return c.who.who.Name
}
