package linksfront

import (
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// An exchange is one request and what decides about its answer, whichever road
// it takes: on a loop, parked, or in net/http. All three answer with the
// same bytes, made here.
type exchange struct {
	f    *Front
	o    *settings
	now  time.Time
	date []byte // the Date line; nil in net/http, which writes it

	writer  *clicklog.Writer // of the loop; nil: the shared one
	counts  *counts
	req     *http1.Request
	closing bool
	method  string // "" for GET and HEAD
	head    []byte // what fields are to be read from; nil: they have been
	fields  fields
	peer    netip.Addr
	asked   asked
	record  clicklog.Record
	lost    bool // the log was full: nothing was recorded
	stale   bool // the link is as it was before the feed lagged
}

// A place is where the answer to a request is.
type place uint8

const (
	here        place = iota // it has been appended
	inDatabase               // memory does not know enough
	withOthers               // another handler's
	inQuestions              // repair may find a code in the path
)

// redirect appends the answer that a prepared redirect gives to x: a redirect,
// or why there is none. rest is what pass_path passes on.
func (x *exchange) redirect(out []byte, p prepared, rest []byte) ([]byte, place) {
	flags := p.flags()
	if flags&needsRules != 0 || x.method != "" {
		switch x.rule(p, flags) {
		case isHidden:
			return x.miss(out)
		case isOver:
			return x.over(out, p, flags)
		case isUnknown:
			return out, inDatabase
		case isRefused:
			return x.methodNotAllowed(out), here
		}
	}
	x.record.Link, x.record.Path = p.id(), rest
	if ok := x.append(); !ok || flags&hasLimit != 0 && x.lost {
		// A limit that forgets a redirect is none after the next start.
		x.giveBack(p, flags)
		return x.unavailable(out), here
	}
	x.count(&x.counts.redirected)
	return x.send(out, p, flags, rest), here
}

// A ruling is what the rules of a link say about one request.
type ruling uint8

const (
	isOpen    ruling = iota
	isHidden         // as if there were no link
	isOver           // too late
	isUnknown        // how many have been redirected is not known yet
	isRefused        // the method is not one that the link takes
)

// rule looks at what a prepared redirect has to be looked at for. The clock is
// the loop's: an expiry needs nobody to write or to forget anything. Only some
// take one of the redirects that a link has left: spends.
func (x *exchange) rule(p prepared, flags uint16) ruling {
	now := x.now.UnixMilli()
	switch {
	case flags&(isDisabled|isBroken) != 0, flags&hasStart != 0 && now < p.starts():
		return isHidden
	case flags&hasExpiry != 0 && now >= p.expires():
		return isOver
	case x.method != "" && p.status() != 307 && p.status() != 308:
		return isRefused
	case flags&hasLimit == 0:
		return isOpen
	}
	taken := x.f.limits.of(p.id())
	switch {
	case taken == nil:
		return isUnknown
	case !x.spends() && taken.Load() < p.limit(), x.spends() && take(taken, p.limit()):
		return isOpen
	}
	return isOver
}

// spends reports whether a redirect counts against the limit of its link: one that
// a person follows. A preview in a chat must not use up what was meant for those
// who read it.
func (x *exchange) spends() bool {
	if x.req.Head || x.f.Bot == nil {
		return !x.req.Head
	}
	x.readFields()
	return !x.fields.prefetch && !x.f.Bot(x.fields.agent)
}

// giveBack takes back what rule has taken, for there is no redirect.
func (x *exchange) giveBack(p prepared, flags uint16) {
	if flags&hasLimit != 0 && x.spends() {
		x.f.limits.of(p.id()).Add(-1)
	}
}

// staleLine says of a redirect what Cache-Status says of a document.
const staleLine = "Cache-Status: hotrow; fwd=stale\r\n"

// send appends the redirect.
func (x *exchange) send(out []byte, p prepared, flags uint16, rest []byte) []byte {
	out = append(append(out, p.line()...), x.date...)
	out = x.req.AppendConnection(out, x.closing)
	if x.stale {
		out = append(out, staleLine...)
	}
	query := x.req.Query
	if flags&passesQuery == 0 {
		query = nil
	}

	// Fast path: the target as it is.
	if len(query) == 0 && len(rest) == 0 && flags&hasExpiry == 0 {
		return append(out, p.rest()...)
	}

	// Slow path: with what the request passes on, or an end that may be near.
	out = append(out, prefix...)
	if len(query) == 0 && len(rest) == 0 {
		out = append(out, p.url()...)
	} else {
		out = appendTarget(out, p.url(), rest, query)
	}
	if flags&hasExpiry == 0 {
		return append(out, p.tail()...)
	}
	return p.appendTail(out, p.expires()-x.now.UnixMilli())
}

// append gives the record to the log, with what is the same for all kinds of
// them. When it returns the record outlives this process: the answer may go out.
func (x *exchange) append() bool {
	if x.f.log == nil {
		x.lost = false
		return true
	}
	x.readFields()
	r := &x.record
	r.At = x.now.UnixMilli()
	r.Flags, r.IP = 0, [16]byte{}
	if x.req.Head {
		r.Flags |= clicklog.FlagHead
	}
	if x.fields.prefetch {
		r.Flags |= clicklog.FlagPrefetch
	}
	if x.fields.private {
		r.Flags |= clicklog.FlagPrivate
	} else if client := x.client(); client.IsValid() {
		r.IP = client.As16()
	}
	r.Agent, r.Referrer = x.fields.agent, x.fields.referrer
	var seq clicklog.Seq
	ok := true
	if x.writer != nil {
		seq, ok = x.writer.Append(r)
	} else {
		seq, ok = x.f.log.Shared().Append(r)
	}
	x.lost = seq == 0
	switch {
	case !ok:
		x.count(&x.counts.refused)
	case seq == 0:
		x.count(&x.counts.dropped)
	default:
		x.count(&x.counts.recorded)
	}
	return ok
}

// readFields reads what the request says of who follows the link, if nobody has
// yet: where hits are recorded nowhere, a redirect does without.
func (x *exchange) readFields() {
	if x.head != nil {
		x.fields.scan(x.head)
		x.head = nil
	}
}

// client returns whose request it is.
func (x *exchange) client() netip.Addr {
	x.readFields()
	return x.o.proxies.client(x.peer, x.fields.forwarded)
}

// miss appends the answer where there is no link, or none that may be seen:
// both are alike, so that nobody learns which codes are taken.
func (x *exchange) miss(out []byte) ([]byte, place) {
	if !x.f.rates.allow(x.client(), x.now, x.o.MissRate) {
		x.count(&x.counts.limited)
		return x.tooMany(out), here
	}
	x.count(&x.counts.missed)
	if x.o.Orphans {
		x.record.Link, x.record.Path = 0, x.f.orphans.name(x.req.Path, x.now)
		if !x.append() {
			return x.unavailable(out), here
		}
	}
	if x.o.MissURL != "" {
		return x.elsewhere(out, x.o.MissURL), here
	}
	return x.problem(out, &notFound), here
}

// over appends the answer for a link that is no more.
func (x *exchange) over(out []byte, p prepared, flags uint16) ([]byte, place) {
	x.count(&x.counts.gone)
	if flags&hasExpiredURL != 0 {
		return x.elsewhere(out, string(p.expiredURL())), here
	}
	return x.problem(out, &gone), here
}

// elsewhere appends a redirect to an address of the operator's.
func (x *exchange) elsewhere(out []byte, url string) []byte {
	out = append(append(out, "HTTP/1.1 302 Found\r\n"...), x.date...)
	out = x.req.AppendConnection(out, x.closing)
	out = append(append(out, prefix...), url...)
	return append(out, "\r\nX-Robots-Tag: noindex\r\nContent-Length: 0\r\n\r\n"...)
}

// counts are what one loop has answered, or all other roads together.
type counts struct {
	redirected, gone, missed, limited, other, failed atomic.Uint64
	recorded, dropped, refused                       atomic.Uint64
	_                                                [64]byte
}

// count adds one to a counter of x.counts. A store is enough where a loop is the
// one writer.
func (x *exchange) count(c *atomic.Uint64) {
	if x.counts == &x.f.shared {
		c.Add(1)
		return
	}
	c.Store(c.Load() + 1)
}
