package front

import (
	"time"

	"github.com/hotrow/hotrow/internal/accesslog"
)

// Slow is how long an answer takes that no loop has from memory, and that is in
// the access log even when this is a sample.
const Slow = time.Second

// AccessColumns are the fields of a line of the access log, which holds the lines
// of all fronts. There is no query and no referrer among them, for both may hold
// what is secret, and of a token there is the name of its holder.
func AccessColumns() []accesslog.Column {
	return []accesslog.Column{
		{Name: "time", Kind: accesslog.Time},
		{Name: "duration", Kind: accesslog.Duration},
		{Name: "remote_addr", Kind: accesslog.Text, Max: 64},
		{Name: "method", Kind: accesslog.Text, Max: 16},
		{Name: "path", Kind: accesslog.Text, Max: 1024},
		{Name: "protocol", Kind: accesslog.Text, Max: 16}, // of HTTP, and its version
		{Name: "status", Kind: accesslog.Int},
		{Name: "bytes", Kind: accesslog.Int}, // of the body
		{Name: "cache", Kind: accesslog.Text, Max: 32},
		{Name: "resource", Kind: accesslog.Text, Max: 128},
		{Name: "principal", Kind: accesslog.Text, Max: 64},
		{Name: "request_id", Kind: accesslog.Text, Max: 128},
		{Name: "trace_id", Kind: accesslog.Text, Max: 32},
		{Name: "user_agent", Kind: accesslog.Text, Max: 256},
		{Name: "weight", Kind: accesslog.Count}, // requests that the line stands for
	}
}

// An AccessLine is what a line of the access log says, besides the time. Its
// texts may alias a buffer.
type AccessLine struct {
	Peer, Method, Path  string
	Protocol            string // "HTTP/1.1", say; "": not HTTP
	Status, Bytes       int
	Cache               string
	Resource, Principal string
	RequestID, Agent    string
	Trace               string // the id of the client's trace
}

// Fill gives r the values of AccessColumns.
func (a *AccessLine) Fill(r *accesslog.Ring, weight int64) {
	r.Text(a.Peer)
	r.Text(a.Method)
	r.Text(a.Path)
	r.Text(a.Protocol)
	r.Int(int64(a.Status))
	r.Int(int64(a.Bytes))
	r.Text(a.Cache)
	r.Text(a.Resource)
	r.Text(a.Principal)
	r.Text(a.RequestID)
	r.Text(a.Trace)
	r.Text(a.Agent)
	r.Int(weight)
}

// ProtocolOf returns what AccessLine.Protocol says of a request that a loop has read,
// under the name that net/http has for it.
func ProtocolOf(http2, http10 bool) string {
	switch {
	case http2:
		return "HTTP/2.0"
	case http10:
		return "HTTP/1.0"
	}
	return "HTTP/1.1"
}

// A LoopLog is where one loop logs the requests that it answers: a ring of its
// own, so that a hit takes no lock for its line, allocates nothing, and makes no
// system call. The lines of a wake-up have its clock read as their time, and
// share its duration. The loop alone uses it; its zero value is off.
//
// For each line: Start, then End if it is to be.
type LoopLog struct {
	now  *accesslog.Ring // nil: off
	ring *accesslog.Ring // now, when it was on last
	of   *accesslog.Log  // whose ring it is
}

// Open looks whether there is an access log, once per wake-up. nil is none.
func (l *LoopLog) Open(to *accesslog.Log) {
	l.now = nil
	if to == nil || !to.On() {
		return
	}
	if l.of != to {
		l.ring, l.of = to.Ring(), to
	}
	l.now = l.ring
}

// On reports whether the requests of this wake-up are logged.
func (l *LoopLog) On() bool { return l.now != nil }

// Start begins the line of the next request, which was answered in the wake-up
// that began at at. It reports false when there is none: the request is not in
// the sample, or there is no room. It must be On.
func (l *LoopLog) Start(at time.Time) (weight int64, picked bool) {
	weight, picked = l.now.Pick()
	return weight, picked && l.now.Start(at)
}

// End writes the line that Start has begun, with the weight that this has given.
func (l *LoopLog) End(line *AccessLine, weight int64) {
	line.Fill(l.now, weight)
	l.now.End()
}

// Pending reports whether there are lines that wait for their duration.
func (l *LoopLog) Pending() bool { return l.ring != nil && l.ring.Pending() }

// Publish gives the lines that wait for it their duration.
func (l *LoopLog) Publish(took time.Duration) {
	if l.ring != nil {
		l.ring.Publish(took)
	}
}
