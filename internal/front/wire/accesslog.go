package wirefront

import (
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/row"
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

// logHit logs a message that was answered from memory. c.mu is held.
func (s *scope) logHit(c *conn, id uint64, res *served, bytes int, keys ...string) {
	weight, picked := s.Access.Start(s.Began)
	if !picked {
		return
	}
	s.path = appendPath(s.path[:0], res.name, keys)
	s.Access.End(&front.AccessLine{
		Peer: c.address(), Method: methodOf(id), Path: row.Alias(s.path), Bytes: bytes,
		Cache: "hit", Resource: res.name, Principal: c.holder(), Agent: c.session.Peer().Name,
	}, weight)
}

// appendPath appends "depts/10", of several keys "depts/10 20".
func appendPath(dst []byte, resource string, keys []string) []byte {
	dst = append(dst, resource...)
	for i, k := range keys {
		between := byte(' ')
		if i == 0 {
			between = '/'
		}
		if dst = append(append(dst, between), k...); len(dst) > front.LogPath {
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

// logAnswer logs an answer that no loop gives from memory. c.mu is held; the
// lock of the log is innermost.
func (c *conn) logAnswer(began time.Time, code gofast.Code, line front.AccessLine) {
	line.Peer, line.Principal, line.Agent = c.address(), c.holder(), c.session.Peer().Name
	line.Status = int(code)
	took := time.Since(began)
	c.f.live.Load().Access.Record(began, took, ours(code) || took >= front.Slow, line.Fill)
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
	c.logAnswer(time.Now(), code, front.AccessLine{
		Method: methodOf(id), Path: string(appendPath(nil, res, keys)),
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
	t.c.logAnswer(t.began, code, front.AccessLine{
		Method: methodOf(t.id), Path: string(appendPath(nil, t.resourceName(), keys)),
		Bytes: t.bytes, Cache: t.cache, Resource: t.resourceName(),
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
	return c.who.Holder()
}
