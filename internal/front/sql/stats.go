package sqlfront

import (
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/sqlcache"
)

// A loginResult is what became of a connection that has begun.
type loginResult uint8

const (
	loginNone    loginResult = iota
	loginOpen                // the client was let in
	loginRefused             // by the database, or because its way to log in cannot be passed on
	loginTrusted             // the database trusts hotrow's address, and the client is elsewhere
	loginTooMany             // sql.max_clients, or too many log-ins at a time
	loginAway                // the database could not be reached
	loginBroken              // a peer went away, was late, or did not speak the protocol
	loginCancel              // it was a request to cancel
	numLogins
)

// loginNames are the results in metrics.
var loginNames = [numLogins]string{loginOpen: "open", loginRefused: "refused",
	loginTrusted: "trusted", loginTooMany: "too_many", loginAway: "away", loginBroken: "broken"}

// resultOf returns what an error makes of a log-in.
func resultOf(err error, otherwise loginResult) loginResult {
	if f := faultOf(err); f != nil && f.result != loginNone {
		return f.result
	}
	return otherwise
}

// What became of requests to cancel.
const (
	cancelPassed  = iota
	cancelUnknown // no session has the key
	cancelFailed
	numCancels
)

var cancelNames = [numCancels]string{"passed", "unknown", "failed"}

// counters are what the front counts.
type counters struct {
	open              atomic.Int64
	logins            [numLogins]atomic.Uint64
	cancels           [numCancels]atomic.Uint64
	groups            atomic.Uint64
	bytesIn, bytesOut atomic.Uint64

	hits, misses atomic.Uint64 // groups that memory would have answered, or not
	passes       [sqlcache.NumWhys]atomic.Uint64
}

// pass counts a group that memory was not looked into for.
func (c *counters) pass(why sqlcache.Why) { c.passes[why].Add(1) }

// Stats are counts since the start, but for Open.
type Stats struct {
	Open     int               // sessions now, each with a connection to the database
	Logins   map[string]uint64 // connections by what became of them
	Cancels  map[string]uint64 // requests to cancel by what became of them
	Groups   uint64            // answers of the database, each up to its ReadyForQuery
	BytesIn  uint64            // that clients have sent after they logged in
	BytesOut uint64            // that they were sent

	Hits   uint64            // groups that memory would have answered
	Misses uint64            // groups that it could have answered, but had no good copy
	Passes map[string]uint64 // groups for which it was not looked into, by why
}

// Stats returns the counts up to now.
func (f *Front) Stats() Stats {
	c := &f.count
	s := Stats{Open: int(c.open.Load()), Groups: c.groups.Load(), BytesIn: c.bytesIn.Load(),
		BytesOut: c.bytesOut.Load(), Logins: make(map[string]uint64),
		Cancels: make(map[string]uint64), Hits: c.hits.Load(), Misses: c.misses.Load(),
		Passes: make(map[string]uint64)}
	for why := range c.passes {
		if why > 0 {
			s.Passes[sqlcache.Why(why).String()] = c.passes[why].Load()
		}
	}
	for i, name := range loginNames {
		if name != "" {
			s.Logins[name] = c.logins[i].Load()
		}
	}
	for i, name := range cancelNames {
		s.Cancels[name] = c.cancels[i].Load()
	}
	return s
}
